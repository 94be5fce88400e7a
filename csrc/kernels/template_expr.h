// Integer expressions of the template engine, and where their variables come from.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/template.h"

namespace wgt::kernels::tmpl {

struct Place {
  const std::string* shader;
  int line;
};

/// Raises Error "shaders/FILE:LINE: message".
[[noreturn]] void fail(const Place& at, const std::string& message);

inline bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool is_name(char c) {
  return is_name_start(c) || is_digit(c);
}
std::string_view trim(std::string_view s);

/// The caller's variables, and above them those of `for` and `let`, innermost last.
struct Scope {
  const Vars& vars;
  std::vector<std::pair<std::string, int64_t>> locals;
};

/// Null where the innermost variable of that name is not a text.
const std::string* find_text(const Scope& scope, const std::string& name);

struct Expr {
  std::string op;  // "int", "name", "neg", "!", "?:" or a binary operator
  int64_t value = 0;
  std::string name;
  std::vector<Expr> args;
};

int64_t evaluate(const Expr& e, const Scope& scope, const Place& at);

/// Recursive descent over one line; precedence as in C.
class ExprParser {
 public:
  ExprParser(std::string_view text, const Place& at) : text_(text), at_(at) {}

  Expr parse_all();  // refuses anything after the expression
  Expr parse();
  std::string_view rest();  // what was not read yet
  bool take(std::string_view token);
  std::string take_name();  // empty where there is none
  [[noreturn]] void bad();

 private:
  Expr binary(size_t level);
  Expr unary();
  Expr operand();
  Expr number();

  std::string_view text_;
  Place at_;
  int depth_ = 0;
};

}  // namespace wgt::kernels::tmpl
