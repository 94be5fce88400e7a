// WGSL templates: line directives and inline expressions over integers, expanded before
// compilation.
//
//   //% if EXPR  //% elif EXPR  //% else  //% end
//   //% for i in A..B            half open; also "step S"; unrolled here, so that a kernel's
//   registers
//                                are flat `let` and `var` lines such as acc_{{i}}_{{j}}
//   //% let NAME = EXPR          lasts to the end of the enclosing loop body, else of the expansion
//   //% include lib/x.wgsl       sees, and adds to, the variables of the including file
//   {{EXPR}}                     an integer, or a text variable of any number of lines
//
// EXPR: integers, variables, + - * / % ( ) == != < <= > >= && || ! ?:
//
// Why not inja: it brings a JSON library along, and neither counts in integers nor reports the
// shader's file and line for an error inside an expansion.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace wgt::kernels {

using Value = std::variant<int64_t, std::string>;

class Vars {
 public:
  void set(std::string name, int64_t v) { values_[std::move(name)] = v; }
  void set(std::string name, std::string text) { values_[std::move(name)] = std::move(text); }
  /// Null where there is no such variable.
  const Value* find(std::string_view name) const {
    auto it = values_.find(name);
    return it == values_.end() ? nullptr : &it->second;
  }
  bool operator==(const Vars&) const = default;

 private:
  std::map<std::string, Value, std::less<>> values_;
};

/// Expands an embedded shader, named relative to shaders/. Raises Error "shaders/FILE:LINE: ...".
/// Parsed forms are cached; any thread may call.
std::string expand(const std::string& shader, const Vars& vars);

/// Expands `text` under the name `shader` without caching it.
std::string expand_text(const std::string& shader, std::string_view text, const Vars& vars);

}  // namespace wgt::kernels
