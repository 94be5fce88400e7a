// Sorting along an axis, and searching what is sorted.
#include <algorithm>
#include <cstdlib>
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

/// Elements of what one binding shows.
int64_t room_for(graph::Engine& e, int64_t item) {
  return e.window_limit() / item;
}

/// The axis last, in rows that a kernel can bind whole: it sorts no parts of a row. Raises
/// UnsupportedError where none can.
Tensor rows_of(const Tensor& t, int axis, const char* op) {
  constexpr int64_t kWord = 4, kCounted = 256;  // items on their way, and as many counts of digits
  int64_t count = t.shape()[axis], item = info(t.dtype()).size;
  int64_t room = room_for(t.engine(), std::max(item, kWord));
  if (count > room - kCounted && count > kCounted)
    raise(ErrorKind::unsupported, std::string("[") + op + "] sorts rows of " +
                                      std::to_string(count) +
                                      " elements, of which this adapter binds " +
                                      std::to_string(std::max<int64_t>(room - kCounted, 0)) +
                                      " at most: take parts of them");
  Tensor rows = with_axis_last(t, axis);
  int64_t step = std::abs(layout_of(rows).strides.back());
  return (count - 1) * step >= room_for(t.engine(), item) ? copy(rows) : rows;
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
  Tensor r = sorted_rows(rows_of(t, a, "sort"), {descending, false, 0});
  return with_axis_last(astype(r, t.dtype()), a);
}

Tensor argsort(const Tensor& t, int64_t axis, bool descending, int key_bits) {
  int a = normalize_axis("argsort", axis, t.rank());
  if (t.size() == 0 || t.shape()[a] == 1) return zeros_like(t, DType::int32);
  if (t.shape()[a] > std::numeric_limits<int32_t>::max())
    raise(ErrorKind::unsupported, "[argsort] along an axis of " + std::to_string(t.shape()[a]) +
                                      " elements: their indices do not fit int32");
  graph::SortForm form{descending, true, static_cast<uint8_t>(key_bits)};
  return with_axis_last(sorted_rows(rows_of(t.detached(), a, "argsort"), form), a);
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
  graph::Engine& e = values.engine();
  auto search_in = [&](const Tensor& part) {
    rt::Lock lock = e.lock();
    return Tensor(e.search(values.node(), part.node(), side));
  };
  // A kernel binds all that it searches: of what reaches farther, parts.
  int64_t step = std::max<int64_t>(std::abs(layout_of(sorted).strides[0]), 1);
  int64_t room = std::max<int64_t>(room_for(e, info(sorted.dtype()).size) / step, 1);
  if (sorted.size() <= room) return search_in(sorted);
  std::optional<Tensor> out;
  for (int64_t at = 0; at < sorted.size(); at += room) {
    Tensor found = search_in(part_of(sorted, 0, at, std::min(room, sorted.size() - at)));
    // Places are numbers of elements before, and those of parts add up.
    graph::OpId join = side == graph::SearchSide::found ? graph::OpId::maximum : graph::OpId::add;
    out = out ? elementwise(join, {*out, found}) : found;
  }
  return *out;
}

}  // namespace wgt
