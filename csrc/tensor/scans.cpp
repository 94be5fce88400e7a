// Cumulative sums, products and extrema.
#include <string_view>

#include "tensor/autograd.h"
#include "tensor/gradients.h"

namespace wgt {

using graph::ReduceOp;

namespace {

ReduceOp op_of(std::string_view name) {
  if (name == "cumulative_sum") return ReduceOp::sum;
  if (name == "cumulative_prod") return ReduceOp::prod;
  if (name == "cumulative_max") return ReduceOp::max;
  if (name == "cumulative_min") return ReduceOp::min;
  internal_error("no scan " + std::string(name));
}

}  // namespace

Tensor scan(const char* name, const Tensor& t0, std::optional<int64_t> axis, bool initial) {
  if (autograd::recording(t0)) return gradients::scan(name, t0, axis, initial);
  Tensor t = t0.rank() == 0 ? reshape(t0, Dims{1}) : t0;
  if (!axis && t.rank() != 1)
    raise(ErrorKind::value, std::string("[") + name + "] of a tensor of shape " +
                                to_string(t.shape()) + " needs an axis");
  int a = normalize_axis(name, axis.value_or(0), t.rank());
  ReduceOp op = op_of(name);
  bool extremum = op == ReduceOp::max || op == ReduceOp::min;
  Tensor in = is_bool(t.dtype()) ? astype(t, DType::int32) : astype(t, unpacked(t.dtype()));
  Tensor rows = with_axis_last(in, a);
  Dims shape = rows.shape();
  shape[rows.rank() - 1] += initial;
  rt::Lock lock = t.engine().lock();
  // Without elements there is at most the initial value.
  Tensor r(t.size() == 0
               ? t.engine().fill(in.dtype(), shape, scalar_bits(in.dtype(), op == ReduceOp::prod))
               : t.engine().scan(op, rows.node(), shape));
  lock.unlock();
  if (extremum || is_float(t.dtype())) r = astype(r, t.dtype());
  return with_axis_last(r, a);
}

}  // namespace wgt
