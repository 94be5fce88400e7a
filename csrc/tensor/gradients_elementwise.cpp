// Gradients of the elementwise table: its column of rules, compiled. A rule is an expression in
//   g            the gradient of the result
//   x1, x2, x3   the operands; x of the only one
//   out          the result
// for each operand. What it names is kept for it. The result has any shape that broadcasting makes
// of the operand's.
#include <array>
#include <cmath>
#include <string_view>

#include "tensor/autograd.h"
#include "tensor/gradient_rules.h"
#include "tensor/gradients.h"

namespace wgt {

using autograd::Context;
using autograd::Gradients;
using autograd::Keeps;
using graph::OpId;
using rules::Value;

namespace {

struct Saved {
  const Value &g, &x1, &x2, &x3, &out;
};

struct OperandRule {
  std::string_view text;
  Value (*value)(const Saved&);
};

struct RowRule {
  bool differentiable = true;
  int count = 0;
  OperandRule operands[3] = {};
};

namespace table {

using namespace rules;

#define OPERAND(expression)                                                                \
  OperandRule {                                                                            \
#expression, [](const Saved& s) -> Value {                                               \
      [[maybe_unused]] const Value &g = s.g, &x = s.x1, &x1 = s.x1, &x2 = s.x2, &x3 = s.x3, \
                                   &out = s.out;                                             \
      return expression;                                                                     \
    } \
  }
#define GRAD1(a) \
  RowRule {      \
    true, 1, {   \
      OPERAND(a) \
    }            \
  }
#define GRAD2(a, b)          \
  RowRule {                  \
    true, 2, {               \
      OPERAND(a), OPERAND(b) \
    }                        \
  }
#define GRAD3(a, b, c)                   \
  RowRule {                              \
    true, 3, {                           \
      OPERAND(a), OPERAND(b), OPERAND(c) \
    }                                    \
  }
#define PICK(a, b, c, chosen, ...) chosen
#define GRAD(...) PICK(__VA_ARGS__, GRAD3, GRAD2, GRAD1, )(__VA_ARGS__)
#define NO_GRAD \
  RowRule {     \
    false       \
  }
#define ROW(name, parameters, rule, f, i, u, b, numpy, domain, dunder, doc, ...) \
  RowRule{__VA_ARGS__},
const RowRule kRules[] = {
#include "graph/elementwise.def"
};
#undef ROW

}  // namespace table

// Whether an expression names a variable.
constexpr bool names(std::string_view text, std::string_view variable) {
  auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (size_t at = text.find(variable); at != text.npos; at = text.find(variable, at + 1)) {
    size_t end = at + variable.size();
    if ((at == 0 || !letter(text[at - 1])) && (end == text.size() || !letter(text[end])))
      return true;
  }
  return false;
}

struct Needs {
  uint8_t of[3] = {};  // by operand: bits 0 to 2 the operands, bit 3 the result
};

std::array<Needs, graph::kTableRows> needs_of_rules() {
  std::array<Needs, graph::kTableRows> all{};
  for (size_t i = 0; i < all.size(); ++i)
    for (int k = 0; k < table::kRules[i].count; ++k) {
      std::string_view text = table::kRules[i].operands[k].text;
      uint8_t bits = names(text, "x") || names(text, "x1") ? 1 : 0;
      if (names(text, "x2")) bits |= 2;
      if (names(text, "x3")) bits |= 4;
      if (names(text, "out")) bits |= 8;
      all[i].of[k] = bits;
    }
  return all;
}

const Needs& needs_of(OpId op) {
  static const auto all = needs_of_rules();
  return all[static_cast<size_t>(op)];
}

Value value_of(const Operand& o) {
  if (auto* t = std::get_if<Tensor>(&o)) return *t;
  const Scalar& s = std::get<Scalar>(o);
  return s.kind == Kind::f || s.kind == Kind::u ? s.f : static_cast<double>(s.i);
}

Gradients run_rule(OpId op, const std::array<Value, 3>& kept, const Context& c) {
  const RowRule& row = table::kRules[static_cast<size_t>(op)];
  const Needs& needs = needs_of(op);
  Gradients grads(static_cast<size_t>(row.count));
  Value g = c.grad(), out;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!c.needs(i)) continue;
    if ((needs.of[i] & 8) && out.is_number()) out = c.result();
    Value v = row.operands[i].value({g, kept[0], kept[1], kept[2], out});
    if (v.is_number()) {
      const Dims& shape = v.number() == 0 ? c.shape_of(i) : c.grad().shape();
      v = autograd::filled(c.grad().engine(), shape, c.grad().dtype(), v.number());
    }
    grads[i] = v.tensor();
  }
  return grads;
}

}  // namespace

namespace gradients {

Tensor elementwise(OpId op, std::span<const Operand> operands, const Tensor& result) {
  const RowRule& row = table::kRules[static_cast<size_t>(op)];
  if (!row.differentiable || !is_float(result.dtype())) return result;
  if (row.count == 0)
    for (const Operand& o : operands)
      if (auto* t = std::get_if<Tensor>(&o)) autograd::check_no_rule(graph::op_info(op).name, *t);
  std::array<Tensor, 3> edges;
  std::array<Value, 3> kept;
  const Needs& needs = needs_of(op);
  uint8_t kept_bits = 0;
  for (size_t i = 0; i < operands.size(); ++i)
    if (auto* t = std::get_if<Tensor>(&operands[i]); t && t->requires_grad()) {
      edges[i] = *t;
      kept_bits |= needs.of[i];
    }
  for (size_t i = 0; i < operands.size(); ++i)
    if ((kept_bits >> i) & 1) kept[i] = value_of(operands[i]);
  Keeps keeps = (kept_bits & 8) ? Keeps::result : kept_bits ? Keeps::operands : Keeps::nothing;
  return autograd::record(graph::op_info(op).name, result,
                          std::span<const Tensor>(edges.data(), operands.size()), keeps,
                          [op, kept](const Context& c) { return run_rule(op, kept, c); });
}

Tensor astype(const Tensor& t, DType dtype) {
  Tensor r = autograd::untracked([&] { return wgt::astype(t, dtype); });
  return autograd::record("astype", r, {t}, Keeps::nothing,
                          [](const Context& c) { return Gradients{c.grad()}; });
}

Tensor copy(const Tensor& t) {
  Tensor r = autograd::untracked([&] { return wgt::copy(t); });
  return autograd::record("copy", r, {t}, Keeps::nothing,
                          [](const Context& c) { return Gradients{c.grad()}; });
}

}  // namespace gradients

}  // namespace wgt
