#include "graph/ops.h"

#include <iterator>
#include <string>
#include <vector>

#include "base/errors.h"
#include "graph/codegen.h"

namespace wgt::graph {

namespace {
constexpr int count(std::string_view parameters) {
  int n = 1;
  for (char c : parameters) n += c == ',';
  return n;
}
constexpr OpInfo kOps[] = {
#define ROW(name, parameters, rule, f, i, u, b, numpy, domain, dunder, doc, ...) \
  {#name, parameters, count(parameters), Rule::rule, {b, i, u, f}, numpy, domain, dunder, doc},
#include "graph/elementwise.def"
#undef ROW
    {"astype", "x", 1, Rule::same, {"", "", "", ""}, "", "", "", ""},
    {"copy", "x", 1, Rule::same, {"$0", "$0", "$0", "$0"}, "", "", "", ""},
    {"index", "i, faults", 2, Rule::same, {"", "", "", ""}, "", "", "", ""},
    {"index", "i, faults", 2, Rule::same, {"", "", "", ""}, "", "", "", ""},
    {"gather", "x, i", 2, Rule::same, {"", "", "", ""}, "", "", "", ""},
    {"unit", "", 2, Rule::same, {"", "", "@unit($0, $1)", ""}, "", "", "", ""},
    {"unit", "", 2, Rule::same, {"", "", "@unit64($0, $1)", ""}, "", "", "", ""},
    {"minus_log", "", 1, Rule::same, {"", "", "@minus_log($0)", ""}, "", "", "", ""},
    {"minus_log", "", 2, Rule::same, {"", "", "@minus_log64($0, $1)", ""}, "", "", "", ""},
    {"cos_turn", "", 1, Rule::same, {"", "", "@cos_turn($0)", ""}, "", "", "", ""},
    {"cos_turn", "", 2, Rule::same, {"", "", "@cos_turn64($0, $1)", ""}, "", "", "", ""},
    {"below", "", 3, Rule::same, {"", "", "@below($0, $1, $2)", ""}, "", "", "", ""},
    {"affine", "", 3, Rule::arith, {"", "", "", "@affine($0, $1, $2)"}, "", "", "", ""},
};
}  // namespace

const OpInfo& op_info(OpId op) {
  return kOps[static_cast<int>(op)];
}

int find_op(std::string_view name) {
  for (int i = 0; i < kTableRows; ++i)
    if (name == kOps[i].name) return i;
  return -1;
}

// Whether the row takes the dtype; in 64 bits, whether the library has the functions too.
bool is_defined(OpId op, DType compute) {
  // The float32 next to a number of 16 bits rounds back to it.
  if (op == OpId::nextafter && is_packed(compute)) return false;
  std::string_view text = op_info(op).wgsl[static_cast<int>(info(compute).kind)];
  if (text.empty() || !is_wide(compute)) return !text.empty();
  for (size_t at = text.find('@'); at != text.npos; at = text.find('@', at + 1)) {
    std::string name(text.substr(at + 1, text.find('(', at) - at - 1));
    if (!library_has(name + "64")) return false;
  }
  return true;
}

namespace {
OpTypes types_by_rule(OpId op, DType common) {
  const OpInfo& o = op_info(op);
  OpTypes t{common, common};
  switch (o.rule) {
    case Rule::arith:
    case Rule::same:
    case Rule::bits:
    case Rule::select:
      break;
    case Rule::arith_float:
    case Rule::unary_float:
      if (!is_float(common)) t = {default_float(), default_float()};
      break;
    case Rule::compare:
    case Rule::predicate:
      t.result = DType::bool_;
      break;
    case Rule::logical:
      t = {DType::bool_, DType::bool_};
      break;
  }
  if (o.rule == Rule::predicate && is_bool(common)) t.compute = DType::uint32;
  return t;
}
}  // namespace

bool takes(OpId op, DType operands) {
  return is_defined(op, types_by_rule(op, operands).compute);
}

OpTypes op_types(OpId op, DType common) {
  // Most operations are of float32 on both sides, and are known to be: no look at the table.
  static const std::vector<bool> plain = [] {
    std::vector<bool> v(std::size(kOps));
    for (size_t i = 0; i < v.size(); ++i) {
      const OpTypes t = types_by_rule(static_cast<OpId>(i), DType::float32);
      v[i] = t.compute == DType::float32 && t.result == DType::float32 &&
             is_defined(static_cast<OpId>(i), DType::float32);
    }
    return v;
  }();
  if (common == DType::float32 && plain[static_cast<size_t>(op)])
    return {DType::float32, DType::float32};
  OpTypes t = types_by_rule(op, common);
  if (!is_defined(op, t.compute))
    raise(ErrorKind::dtype,
          std::string("[") + op_info(op).name + "] is not defined for " + info(t.compute).name);
  return t;
}

}  // namespace wgt::graph
