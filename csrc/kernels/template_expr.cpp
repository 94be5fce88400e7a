#include "kernels/template_expr.h"

#include "base/errors.h"

namespace wgt::kernels::tmpl {
namespace {

constexpr int kMaxDepth = 100;

int64_t find_integer(const Scope& scope, const std::string& name, const Place& at) {
  for (auto it = scope.locals.rbegin(); it != scope.locals.rend(); ++it)
    if (it->first == name) return it->second;
  const Value* v = scope.vars.find(name);
  if (!v) fail(at, "unknown variable '" + name + "'");
  if (const int64_t* i = std::get_if<int64_t>(v)) return *i;
  fail(at, "'" + name + "' is a text, and an integer is needed");
}

int64_t apply(const std::string& op, int64_t a, int64_t b, const Place& at) {
  auto wrap = [](uint64_t v) { return static_cast<int64_t>(v); };
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  if (op == "+") return wrap(ua + ub);
  if (op == "-") return wrap(ua - ub);
  if (op == "*") return wrap(ua * ub);
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  if (b == 0) fail(at, "division by zero");
  if (b == -1) return op == "/" ? wrap(0 - ua) : 0;
  return op == "/" ? a / b : a % b;
}

template <class... Args>
Expr make(std::string op, Args... args) {
  Expr e;
  e.op = std::move(op);
  (e.args.push_back(std::move(args)), ...);
  return e;
}

}  // namespace

void fail(const Place& at, const std::string& message) {
  raise(ErrorKind::generic,
        "shaders/" + *at.shader + ":" + std::to_string(at.line) + ": " + message);
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

const std::string* find_text(const Scope& scope, const std::string& name) {
  for (auto it = scope.locals.rbegin(); it != scope.locals.rend(); ++it)
    if (it->first == name) return nullptr;
  const Value* v = scope.vars.find(name);
  return v ? std::get_if<std::string>(v) : nullptr;
}

int64_t evaluate(const Expr& e, const Scope& scope, const Place& at) {
  auto arg = [&](size_t i) { return evaluate(e.args[i], scope, at); };
  if (e.op == "int") return e.value;
  if (e.op == "name") return find_integer(scope, e.name, at);
  if (e.op == "neg") return apply("-", 0, arg(0), at);
  if (e.op == "!") return arg(0) == 0;
  if (e.op == "&&") return arg(0) != 0 && arg(1) != 0;
  if (e.op == "||") return arg(0) != 0 || arg(1) != 0;
  if (e.op == "?:") return arg(0) != 0 ? arg(1) : arg(2);
  const int64_t a = arg(0);
  return apply(e.op, a, arg(1), at);
}

Expr ExprParser::parse_all() {
  Expr e = parse();
  if (!rest().empty()) bad();
  return e;
}

Expr ExprParser::parse() {
  if (++depth_ > kMaxDepth) fail(at_, "the expression nests too deeply");
  Expr e = binary(0);
  if (take("?")) {
    Expr yes = parse();
    if (!take(":")) bad();
    Expr no = parse();
    e = make("?:", std::move(e), std::move(yes), std::move(no));
  }
  --depth_;
  return e;
}

std::string_view ExprParser::rest() {
  text_ = trim(text_);
  return text_;
}

bool ExprParser::take(std::string_view token) {
  if (!rest().starts_with(token)) return false;
  text_.remove_prefix(token.size());
  return true;
}

std::string ExprParser::take_name() {
  rest();
  size_t n = 0;
  while (n < text_.size() && (n ? is_name(text_[n]) : is_name_start(text_[n]))) ++n;
  std::string name(text_.substr(0, n));
  text_.remove_prefix(n);
  return name;
}

void ExprParser::bad() {
  if (rest().empty()) fail(at_, "unexpected end of the expression");
  fail(at_, "bad syntax at '" + std::string(text_) + "'");
}

Expr ExprParser::binary(size_t level) {
  // Within a level the longer spelling comes first: "<=" is not "<".
  static const std::vector<std::vector<const char*>> levels = {
      {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}};
  if (level == levels.size()) return unary();
  Expr e = binary(level + 1);
  for (bool more = true; more;) {
    more = false;
    for (const char* op : levels[level]) {
      if (!take(op)) continue;
      e = make(op, std::move(e), binary(level + 1));
      more = true;
      break;
    }
  }
  return e;
}

Expr ExprParser::unary() {
  if (++depth_ > kMaxDepth) fail(at_, "the expression nests too deeply");
  Expr e;
  if (take("-"))
    e = make("neg", unary());
  else if (take("!"))
    e = make("!", unary());
  else
    e = operand();
  --depth_;
  return e;
}

Expr ExprParser::operand() {
  if (take("(")) {
    Expr e = parse();
    if (!take(")")) bad();
    return e;
  }
  Expr e;
  e.op = "name";
  e.name = take_name();
  return e.name.empty() ? number() : e;
}

Expr ExprParser::number() {
  Expr e;
  e.op = "int";
  size_t n = 0;
  for (; n < text_.size() && is_digit(text_[n]); ++n) {
    if (n == 18) fail(at_, "the number is too large");
    e.value = e.value * 10 + (text_[n] - '0');
  }
  if (n == 0 || (n < text_.size() && is_name(text_[n]))) bad();
  text_.remove_prefix(n);
  return e;
}

}  // namespace wgt::kernels::tmpl
