// Reductions over axes, and softmax.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "tensor/autograd.h"
#include "tensor/gradients.h"

namespace wgt {

using graph::OpId;
using graph::ReduceOp;

namespace {

enum class Takes : uint8_t { numbers, sums, floats, truth, any };

struct Rule {
  const char* name;
  ReduceOp op;
  Takes takes;   // what operands become: sums: bools int32; floats: all else the default float;
                 // truth: bool
  double empty;  // result for no elements; NaN: there is none
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Rule kRules[] = {
    {"sum", ReduceOp::sum, Takes::sums, 0},
    {"mean", ReduceOp::sum, Takes::floats, 0},
    {"prod", ReduceOp::prod, Takes::sums, 1},
    {"max", ReduceOp::max, Takes::numbers, kNone},
    {"min", ReduceOp::min, Takes::numbers, kNone},
    {"any", ReduceOp::any, Takes::truth, 0},
    {"all", ReduceOp::all, Takes::truth, 1},
    {"count_nonzero", ReduceOp::sum, Takes::truth, 0},
    {"argmax", ReduceOp::argmax, Takes::any, kNone},
    {"argmin", ReduceOp::argmin, Takes::any, kNone},
    {"logsumexp", ReduceOp::logsumexp, Takes::floats, -kInf},
};

const Rule& rule_of(std::string_view name) {
  for (const Rule& r : kRules)
    if (r.name == name) return r;
  internal_error("no reduction " + std::string(name));
}

Tensor with_kept_axes(const Tensor& r, const Dims& shape, uint32_t mask) {
  Dims kept = shape;
  for (int d = 0; d < shape.size(); ++d)
    if ((mask >> d) & 1u) kept[d] = 1;
  return reshape(r, kept);
}

// Small items are folded in 32 bits, 16-bit floats in float32.
Tensor widened(const Tensor& t) {
  return is_bool(t.dtype()) ? t : astype(t, unpacked(t.dtype()));
}

DType float_of(const Tensor& t) {
  return is_float(t.dtype()) ? t.dtype() : default_float();
}

Tensor as_float(const Tensor& t) {
  return astype(t, unpacked(float_of(t)));
}

// A float result in the operand's own dtype, or in the default one.
Tensor narrowed(const Tensor& r, const Tensor& operand) {
  return is_float(r.dtype()) ? astype(r, float_of(operand)) : r;
}

uint32_t mask_of(const char* op, const std::optional<std::vector<int64_t>>& axes, int rank) {
  return axes ? axes_mask(op, *axes, rank) : (1u << rank) - 1u;
}

int64_t count_over(const Tensor& t, uint32_t mask) {
  int64_t count = 1;
  for (int d = 0; d < t.rank(); ++d)
    if ((mask >> d) & 1u) count *= t.shape()[d];
  return count;
}

Tensor operand_of(const Rule& rule, const Tensor& t) {
  switch (rule.takes) {
    case Takes::sums:
      return is_bool(t.dtype()) ? astype(t, DType::int32) : widened(t);
    case Takes::floats:
      return as_float(t);
    case Takes::truth: {
      Tensor truth = astype(t, DType::bool_);
      return rule.op == ReduceOp::sum ? astype(truth, DType::int32) : truth;
    }
    default:
      return widened(t);
  }
}

Tensor filled(const Tensor& t, DType dtype, const Dims& shape, double value) {
  rt::Lock lock = t.engine().lock();
  return Tensor(t.engine().fill(dtype, shape, scalar_bits(dtype, value)));
}

// Whether a tensor of so many words may not fit one binding, whatever its views.
bool above_binding(graph::Engine& e, int64_t elements) {
  auto limit = static_cast<int64_t>(e.device().limits().max_binding);
  return elements * info(DType::uint32).size > limit / 2;
}

// `mask` names axes of `t`, which has the operand's dtype.
Tensor reduce_axes(const char* name, ReduceOp op, double empty, const Tensor& t, uint32_t mask) {
  Dims shape;
  for (int d = 0; d < t.rank(); ++d)
    if (!((mask >> d) & 1u)) shape.push_back(t.shape()[d]);
  DType dtype = graph::reduced_dtype(op, t.dtype());
  int64_t count = count_over(t, mask);
  if (count == 0 && std::isnan(empty) && numel(shape) != 0)
    raise(ErrorKind::value, std::string("[") + name + "] of zero elements: the tensor has shape " +
                                to_string(t.shape()));
  bool arg = op == ReduceOp::argmax || op == ReduceOp::argmin;
  if (arg && count > std::numeric_limits<int32_t>::max())
    raise(ErrorKind::unsupported, std::string("[") + name + "] over " + std::to_string(count) +
                                      " elements of shape " + to_string(t.shape()) +
                                      ": their indices do not fit int32; reduce over one axis");
  if (numel(shape) == 0) return filled(t, dtype, shape, 0);
  if (count == 0) return filled(t, dtype, shape, empty);
  if (mask == 0 && arg) return filled(t, dtype, shape, 0);
  if (mask == 0) return copy(t);
  rt::Lock lock = t.engine().lock();
  return Tensor(t.engine().reduce(op, t.node(), mask));
}

}  // namespace

Tensor reduce(const char* name, const Tensor& t, const std::optional<std::vector<int64_t>>& axes,
              bool keepdims) {
  if (autograd::recording(t)) return gradients::reduce(name, t, axes, keepdims);
  uint32_t mask = mask_of(name, axes, t.rank());
  Rule rule = rule_of(name);
  Tensor in = operand_of(rule, t);
  if (is_bool(in.dtype()) && rule.takes == Takes::numbers)
    rule.op = rule.op == ReduceOp::max ? ReduceOp::any : ReduceOp::all;
  bool words = is_bool(in.dtype()) && (rule.op == ReduceOp::any || rule.op == ReduceOp::all) &&
               above_binding(t.engine(), t.size());
  if (words) {  // results that share no words can be computed one by one
    in = astype(in, DType::uint32);
    rule.op = rule.op == ReduceOp::any ? ReduceOp::max : ReduceOp::min;
  }
  Tensor r = reduce_axes(name, rule.op, rule.empty, in, mask);
  if (words) r = astype(r, DType::bool_);
  if (std::string_view(name) == "mean")
    r = elementwise(OpId::divide, {r, Scalar{Kind::f, static_cast<double>(count_over(t, mask))}});
  r = rule.takes == Takes::numbers && !is_bool(t.dtype()) ? astype(r, t.dtype()) : narrowed(r, t);
  return keepdims ? with_kept_axes(r, t.shape(), mask) : r;
}

Tensor variance(const char* name, const Tensor& t, const std::optional<std::vector<int64_t>>& axes,
                double correction, bool keepdims) {
  if (autograd::recording(t)) return gradients::variance(name, t, axes, correction, keepdims);
  uint32_t mask = mask_of(name, axes, t.rank());
  Tensor in = as_float(t);
  double count = static_cast<double>(count_over(t, mask));
  Tensor mean = elementwise(
      OpId::divide, {with_kept_axes(reduce_axes(name, ReduceOp::sum, 0, in, mask), t.shape(), mask),
                     Scalar{Kind::f, count}});
  Tensor difference = elementwise(OpId::subtract, {in, mean});
  if (mask == 0) difference = elementwise(OpId::multiply, {difference, difference});
  Tensor squares = reduce_axes(name, ReduceOp::deviations, 0, difference, mask);
  Tensor r =
      elementwise(OpId::divide, {squares, Scalar{Kind::f, std::max(count - correction, 0.0)}});
  if (std::string_view(name) == "std") r = elementwise(OpId::sqrt, {r});
  r = narrowed(r, t);
  return keepdims ? with_kept_axes(r, t.shape(), mask) : r;
}

namespace {

// Rows that no kernel can bind: the same formula in several kernels.
Tensor softmax_of_long_rows(const Tensor& x, bool logarithm) {
  std::vector<int64_t> last{x.rank() - 1};
  Scalar zero{Kind::f, 0}, low{Kind::f, -kInf};
  Tensor top = reduce("max", x, last, true);
  Tensor shift = elementwise(OpId::where, {elementwise(OpId::equal, {top, low}), zero, top});
  Tensor shifted = elementwise(OpId::subtract, {x, shift});
  Tensor powers = elementwise(OpId::exp, {shifted});
  Tensor sum = reduce("sum", powers, last, true);
  Tensor masked = elementwise(OpId::equal, {sum, zero});
  if (!logarithm)
    return elementwise(OpId::where, {masked, zero, elementwise(OpId::divide, {powers, sum})});
  Tensor logs = elementwise(OpId::subtract, {shifted, elementwise(OpId::log, {sum})});
  return elementwise(OpId::where, {masked, low, logs});
}

// One kernel where it can be.
Tensor softmax_of_rows(const Tensor& rows, bool logarithm) {
  graph::Engine& e = rows.engine();
  if (above_binding(e, rows.size())) {
    if (above_binding(e, rows.shape().back())) return softmax_of_long_rows(rows, logarithm);
    rt::Lock lock = e.lock();
    bool dense = graph::Engine::layout_of(*rows.node()).strides.back() == 1;
    lock.unlock();
    if (!dense) return softmax_of_rows(copy(rows), logarithm);
  }
  rt::Lock lock = e.lock();
  return Tensor(e.softmax(rows.node(), logarithm));
}

}  // namespace

Tensor softmax(const Tensor& t, int64_t axis, bool logarithm) {
  if (autograd::recording(t)) return gradients::softmax(t, axis, logarithm);
  int a = normalize_axis(logarithm ? "log_softmax" : "softmax", axis, t.rank());
  Tensor in = as_float(t);
  if (in.size() == 0) return narrowed(in, t);
  return with_axis_last(narrowed(softmax_of_rows(with_axis_last(in, a), logarithm), t), a);
}

}  // namespace wgt
