// The same bytes as elements of another dtype.
#include "tensor/autograd.h"

namespace wgt {

using graph::NodeRef;
using graph::OpId;

namespace {

[[noreturn]] void refuse(const Tensor& t, DType to, const std::string& why) {
  raise(ErrorKind::value, std::string("[bitcast] ") + info(t.dtype()).name + " of shape " +
                              to_string(t.shape()) + " as " + info(to).name + ": " + why);
}

Dims shape_as(const Tensor& t, DType to) {
  int64_t from = info(t.dtype()).size, size = info(to).size;
  Dims shape = t.shape();
  if (from == size) return shape;
  if (t.rank() == 0) refuse(t, to, "items of another size need a last axis to change");
  int64_t bytes = shape.back() * from;
  if (bytes % size != 0)
    refuse(t, to,
           "the last axis has " + std::to_string(bytes) + " bytes, no multiple of " +
               std::to_string(size));
  shape[shape.size() - 1] = bytes / size;
  return shape;
}

// Of the same bytes in items of another size; nothing where that takes a copy first.
std::optional<Layout> layout_as(const Dims& shape, const Layout& l, int64_t from, int64_t to) {
  if (from == to) return l;
  int last = shape.size() - 1;
  if (shape[last] > 1 && l.strides[last] != 1) return std::nullopt;
  auto whole = [&](int64_t items) { return items * from % to == 0; };
  Layout out{Dims(), l.offset * from / to};
  bool fits = whole(l.offset);
  for (int d = 0; d < last; ++d) {
    fits = fits && (shape[d] == 1 || whole(l.strides[d]));
    out.strides.push_back(l.strides[d] * from / to);
  }
  out.strides.push_back(1);
  return fits ? std::optional<Layout>(out) : std::nullopt;
}

Tensor same_bytes(const Tensor& t, DType to) {
  graph::Engine& e = t.engine();
  Dims shape = shape_as(t, to);
  rt::Lock lock = e.lock();
  if (numel(shape) == 0) return Tensor(e.fill(to, shape, 0));
  NodeRef n = e.computed(t.node());
  std::optional<Layout> layout =
      layout_as(n->shape, n->layout, info(t.dtype()).size, info(to).size);
  if (!layout) {
    n = e.computed(e.map(OpId::copy, n->dtype, n->shape, &n, 1));
    layout =
        Layout{contiguous_strides(shape), n->layout.offset * info(t.dtype()).size / info(to).size};
  }
  return Tensor(e.reinterpret(n, to, shape, *layout));
}

}  // namespace

Tensor bitcast(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  check_dtype(t.engine(), dtype, "bitcast");
  if (is_float(dtype)) autograd::check_no_rule("bitcast", t);
  if (!is_bool(dtype)) return same_bytes(t, dtype);
  // Any byte but 0 is True, and True is 1 in memory.
  return elementwise(OpId::not_equal, {bitcast(t, DType::uint8), Scalar{Kind::i, 0, 0}});
}

}  // namespace wgt
