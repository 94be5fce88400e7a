// Sorting along an axis.
#include <limits>

#include "tensor/autograd.h"
#include "tensor/gradients.h"
#include "tensor/scatter.h"

namespace wgt {

namespace {

Tensor sorted_rows(const Tensor& rows, graph::SortForm form) {
  rt::Lock lock = rows.engine().lock();
  return Tensor(rows.engine().sort(rows.node(), form));
}

Tensor zeros_like(const Tensor& t, DType dtype) {
  rt::Lock lock = t.engine().lock();
  return Tensor(t.engine().fill(dtype, t.shape(), 0));
}

}  // namespace

Tensor sort(const Tensor& t, int64_t axis, bool descending) {
  if (autograd::recording(t)) return gradients::sort(t, axis, descending);
  int a = normalize_axis("sort", axis, t.rank());
  if (t.size() == 0 || t.shape()[a] == 1) return copy(t);
  Tensor r = sorted_rows(with_axis_last(t, a), {descending, false, 0});
  return with_axis_last(astype(r, t.dtype()), a);
}

Tensor argsort(const Tensor& t, int64_t axis, bool descending, int key_bits) {
  int a = normalize_axis("argsort", axis, t.rank());
  if (t.size() == 0 || t.shape()[a] == 1) return zeros_like(t, DType::int32);
  if (t.shape()[a] > std::numeric_limits<int32_t>::max())
    raise(ErrorKind::unsupported, "[argsort] along an axis of " + std::to_string(t.shape()[a]) +
                                      " elements: their indices do not fit int32");
  graph::SortForm form{descending, true, static_cast<uint8_t>(key_bits)};
  return with_axis_last(sorted_rows(with_axis_last(t.detached(), a), form), a);
}

Tensor unpermuted(const Tensor& t, const Tensor& order) {
  Tensor out = empty(t.engine(), t.shape(), t.dtype(), false);
  return scatter(graph::ScatterOp::store, out, t, astype(order, DType::uint32), Dims{0},
                 t.size() - 1);
}

Tensor search(const Tensor& sorted, const Tensor& values, graph::SearchSide side, const char* op) {
  if (&sorted.engine() != &values.engine())
    raise(ErrorKind::device_mismatch, std::string("[") + op + "] tensors are on " +
                                          sorted.engine().name() + " and " +
                                          values.engine().name());
  if (values.size() == 0 || sorted.size() == 0) return zeros_like(values, DType::int32);
  rt::Lock lock = values.engine().lock();
  return Tensor(values.engine().search(values.node(), sorted.node(), side));
}

}  // namespace wgt
