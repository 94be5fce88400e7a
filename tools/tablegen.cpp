// Writes what is generated from the elementwise table: Python functions and the stub's methods.
//   wgt_tablegen py OUT             _generated.py
//   wgt_tablegen pyi TEMPLATE OUT   _core.pyi: TEMPLATE with the line "    # ROWS" replaced by
//   methods and operators
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Row {
  std::string name, parameters, rule, wgsl[4];  // float, int, uint, bool
  std::string numpy, domain, dunder, doc, gradient;
  size_t arity() const {
    return 1 + static_cast<size_t>(std::count(parameters.begin(), parameters.end(), ','));
  }
  std::string kinds() const {
    std::string k;
    for (int i = 0; i < 4; ++i)
      if (!wgsl[i].empty()) k += "fiub"[i];
    return k;
  }
};

const std::vector<Row> kRows = {
#define ROW(name, parameters, rule, f, i, u, b, numpy, domain, dunder, doc, ...) \
  {#name, parameters, #rule, {f, i, u, b}, numpy, domain, dunder, doc, #__VA_ARGS__},
#include "graph/elementwise.def"
#undef ROW
};

// Other names of rows.
const std::vector<std::pair<std::string, std::string>> kAliases = {
#define ALIAS(name, row) {#name, #row},
#include "graph/aliases.def"
#undef ALIAS
};

// Names for a call; or with types and defaults for a definition, those without default by position
// only.
std::string parameters(const Row& r, bool definition) {
  std::istringstream list(r.parameters);
  std::string s, text;
  bool defaults = false;
  while (std::getline(list >> std::ws, text, ',')) {
    size_t sign = text.find('=');
    std::string name = text.substr(0, sign);
    if (definition && sign != std::string::npos && !defaults) {
      s += ", /";
      defaults = true;
    }
    s += (s.empty() ? "" : ", ") + name;
    if (definition) s += ": ArrayLike";
    if (definition && defaults) s += " = " + text.substr(sign + 1);
  }
  return definition && !defaults ? s + ", /" : s;
}

std::string dtypes(const Row& r) {
  if (r.rule == "logical") return "any; operands count as bool";
  std::string s;
  for (char k : r.kinds()) {
    const char* name = k == 'f' ? "float32" : k == 'i' ? "int32" : k == 'u' ? "uint32" : "bool";
    s += (s.empty() ? "" : ", ") + std::string(name);
  }
  if (r.rule == "unary_float" || r.rule == "arith_float")
    s += "; integers and bool become the default float";
  return s;
}

// The NumPy ufunc of the same meaning, or "".
std::string ufunc(const Row& r) {
  size_t open = r.numpy.find('(');
  if (r.numpy.rfind("np.", 0) != 0 || open == std::string::npos || r.arity() > 2) return "";
  return r.numpy.substr(open) == (r.arity() == 1 ? "(x)" : "(x, y)") ? r.numpy.substr(3, open - 3)
                                                                     : "";
}

std::string literal(const std::string& s) {
  std::string out = "\"";
  for (char c : s) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

std::string python() {
  std::ostringstream o;
  o << "\"\"\"The elementwise functions. Generated from csrc/graph/elementwise.def: do not "
       "edit.\"\"\"\n\n"
       "from __future__ import annotations\n\nfrom collections.abc import Callable\n\n"
       "from wgtensor import _core\nfrom wgtensor._arrays import ArrayLike, into\nfrom "
       "wgtensor._core import Tensor\n";
  for (size_t i = 0; i < kRows.size(); ++i) {
    const Row& r = kRows[i];
    o << "\n\ndef " << r.name << "(" << parameters(r, true)
      << ", *, out: Tensor | None = None) -> Tensor:\n"
      << "    \"\"\"" << r.doc << "\n\n";
    if (r.arity() > 1)
      o << "    Shapes broadcast. ";
    else
      o << "    ";
    o << "Dtypes: " << dtypes(r) << ".\n"
      << (ufunc(r).empty() ? "    Reference: ``" : "    NumPy: ``") << r.numpy
      << "``. `out` receives the result; it has the result's shape and dtype.\n    \"\"\"\n"
      << "    result = _core.elementwise(" << i << ", " << parameters(r, false) << ")\n"
      << "    return result if out is None else into(" << literal(r.name) << ", out, result)\n";
  }
  o << "\n\n#: name, arity, parameters, dtype rule, kinds of operands, NumPy reference, test "
       "domain, operator, "
       "documentation\n"
       "TABLE: tuple[tuple[str, int, str, str, str, str, str, str, str], ...] = (\n";
  for (const Row& r : kRows)
    o << "    (" << literal(r.name) << ", " << r.arity() << ", " << literal(r.parameters) << ", "
      << literal(r.rule) << ", " << literal(r.kinds()) << ", " << literal(r.numpy) << ", "
      << literal(r.domain) << ", " << literal(r.dunder) << ", " << literal(r.doc) << "),\n";
  o << ")\n\n#: rules of the differentiable rows, as the table has them\nGRADIENTS: dict[str, str] "
       "= {\n";
  for (const Row& r : kRows)
    if (!r.gradient.empty() && r.gradient != "NO_GRAD")
      o << "    " << literal(r.name) << ": " << literal(r.gradient) << ",\n";
  o << "}\n\nUFUNCS: dict[str, Callable[..., Tensor]] = {\n";
  for (const Row& r : kRows)
    if (!ufunc(r).empty()) o << "    " << literal(ufunc(r)) << ": " << r.name << ",\n";
  o << "}\n\n#: other names of the functions\n";
  for (const auto& a : kAliases) o << a.first << " = " << a.second << "\n";
  o << "\nALIASES: dict[str, str] = {\n";
  for (const auto& a : kAliases)
    o << "    " << literal(a.first) << ": " << literal(a.second) << ",\n";
  o << "}\n\n__all__ = [\n";
  for (const Row& r : kRows) o << "    " << literal(r.name) << ",\n";
  for (const auto& a : kAliases) o << "    " << literal(a.first) << ",\n";
  o << "]\n";
  return o.str();
}

std::string stub_rows() {
  std::ostringstream o;
  for (const Row& r : kRows) {
    if (r.arity() == 1) o << "    def " << r.name << "(self) -> Tensor: ...\n";
    if (r.arity() > 1 && r.rule != "select")
      o << "    def " << r.name << "(self, *args: ArrayLike, **kwargs: ArrayLike) -> Tensor: ...\n";
    if (r.dunder.empty()) continue;
    if (r.arity() == 1) {
      o << "    def __" << r.dunder << "__(self) -> Tensor: ...\n";
      continue;
    }
    bool eq = r.dunder == "eq" || r.dunder == "ne";
    std::string ignore = eq ? "  # type: ignore[override]" : "";
    o << "    def __" << r.dunder << "__(self, arg0: ArrayLike, /) -> Tensor: ..." << ignore
      << "\n";
    if (r.rule == "compare") continue;
    o << "    def __r" << r.dunder << "__(self, arg0: ArrayLike, /) -> Tensor: ...\n";
    o << "    def __i" << r.dunder << "__(self, arg0: ArrayLike, /) -> Tensor: ...\n";
  }
  return o.str();
}

bool write(const char* path, const std::string& text) {
  std::ofstream f(path, std::ios::binary);
  f << text;
  return static_cast<bool>(f);
}

}  // namespace

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "py" && argc == 3) return write(argv[2], python()) ? 0 : 1;
  if (mode == "pyi" && argc == 4) {
    std::ifstream in(argv[2]);
    std::string out, line;
    while (std::getline(in, line)) out += line == "    # ROWS" ? stub_rows() : line + "\n";
    return write(argv[3], out) ? 0 : 1;
  }
  std::cerr << "usage: wgt_tablegen py OUT | pyi TEMPLATE OUT\n";
  return 2;
}
