#include "tensor/gather.h"

#include <algorithm>
#include <limits>

#include "base/called.h"
#include "tensor/autograd.h"
#include "tensor/gradients_indexing.h"

namespace wgt {

using graph::Engine;
using graph::OpId;
using graph::Reach;

IndexMode to_index_mode(const char* op, const std::string& name) {
  if (name == "raise") return IndexMode::raise;
  if (name == "clip") return IndexMode::clip;
  if (name == "wrap") return IndexMode::wrap;
  raise(ErrorKind::value,
        std::string("[") + op + "] mode must be 'raise', 'clip' or 'wrap', not '" + name + "'");
}

Scalar number(int64_t i) {
  return Scalar{Kind::i, static_cast<double>(i), i};
}

Layout layout_of(const Tensor& t) {
  rt::Lock lock = t.engine().lock();
  return Engine::layout_of(*t.node());
}

namespace {

bool is_signed(const Tensor& t) {
  return info(t.dtype()).kind == Kind::i;
}

Tensor clipped(const Tensor& i, int64_t size) {
  Tensor low = is_signed(i) ? elementwise(OpId::maximum, {i, number(0)}) : i;
  if (!is_wide(i.dtype())) low = astype(low, DType::uint32);
  return astype(elementwise(OpId::minimum, {low, number(size - 1)}), DType::uint32);
}

// An axis beyond int32 is longer than such an index is large.
Tensor wrapped_round(const Tensor& i, int64_t size) {
  bool beyond = size > std::numeric_limits<int32_t>::max() && !is_wide(i.dtype()) && is_signed(i);
  if (!beyond) return astype(elementwise(OpId::remainder, {i, number(size)}), DType::uint32);
  Tensor u = astype(i, DType::uint32);
  return elementwise(OpId::where, {elementwise(OpId::less, {i, number(0)}),
                                   elementwise(OpId::add, {u, number(size)}), u});
}

// As unsigned numbers negative ones are beyond any axis; what 32 bits do not hold stays so.
Tensor from_start(Tensor i) {
  if (!is_signed(i)) return i;
  if (is_wide(i.dtype()))
    i = elementwise(OpId::minimum,
                    {elementwise(OpId::maximum, {i, number(INT32_MIN)}), number(INT32_MAX)});
  return astype(i, DType::uint32);
}

// Elements that an index along an axis moves by.
Tensor scaled(const Tensor& places, int64_t stride) {
  if (stride == 1) return places;
  Scalar step = number(static_cast<uint32_t>(stride));  // a negative one wraps
  return elementwise(OpId::multiply, {places, step});
}

void extend(Position& p, int64_t size, int64_t stride) {
  p.quads = p.quads && stride % 4 == 0;
  p.span.add(
      {std::min<int64_t>((size - 1) * stride, 0), std::max<int64_t>((size - 1) * stride, 0)});
}

void check_device(const Tensor& x, const Tensor& indices, const char* op) {
  if (&x.engine() != &indices.engine())
    raise(ErrorKind::device_mismatch, std::string("[") + op + "] the tensor is on " +
                                          x.engine().name() + ", the indices on " +
                                          indices.engine().name() + ": move one of them");
}

}  // namespace

Tensor places(const Tensor& indices, int64_t size, int axis, IndexMode mode, const char* op,
              Use use) {
  if (!is_integer(indices.dtype()))
    raise(ErrorKind::index,
          std::string("[") + op + "] indices are integers, not " + info(indices.dtype()).name);
  if (indices.size() == 0) return astype(indices, DType::uint32);
  if (size == 0)
    raise(ErrorKind::index, std::string("[") + op + "] no index is in bounds for axis " +
                                std::to_string(axis) + " with size 0");
  Tensor i = astype(indices, unpacked(indices.dtype()));
  switch (mode) {
    case IndexMode::clip:
      return clipped(i, size);
    case IndexMode::wrap:
      return wrapped_round(i, size);
    case IndexMode::trusted:
    case IndexMode::distinct:
      return astype(i, DType::uint32);
    default:
      break;
  }
  auto site = std::make_shared<graph::IndexSite>(graph::IndexSite{name_in_errors(op), axis, size});
  if (mode == IndexMode::from_start) {
    site->is_signed = is_signed(i);
    i = from_start(i);
  }
  rt::Lock lock = i.engine().lock();
  return Tensor(i.engine().checked_index(i.node(), std::move(site), use == Use::write));
}

Tensor checked(const Tensor& bad, const char* op, std::string message) {
  if (bad.size() == 0) return astype(bad, DType::uint32);
  Tensor i = astype(bad, DType::uint32);
  auto site =
      std::make_shared<graph::IndexSite>(graph::IndexSite{op, 0, 1, std::move(message), false});
  rt::Lock lock = i.engine().lock();
  return Tensor(i.engine().checked_index(i.node(), std::move(site), false));
}

Dims broadcast_indices(const Indices& indices, const char* op) {
  Dims shape;
  std::string shapes;
  for (const auto& i : indices) {
    if (!i) continue;
    shapes += (shapes.empty() ? "" : ", ") + to_string(i->at.shape());
    try {
      shape = broadcast(op, shape, i->at.shape());
    } catch (const Error&) {
      raise(ErrorKind::index, std::string("[") + op + "] indices of shapes " + shapes +
                                  " do not broadcast to one shape");
    }
  }
  return shape;
}

Position position_of(const Dims& axes, const Indices& indices, const Dims& strides, const char* op,
                     Use use) {
  Position p;
  p.shape = broadcast_indices(indices, op);
  bool any = false;
  std::optional<Tensor> known;  // where the element is somewhere
  for (int d = 0; d < axes.size(); ++d) {
    const auto& i = indices[static_cast<size_t>(d)];
    if (!i) continue;
    Tensor place = places(i->at, axes[d], i->axis < 0 ? d : i->axis, i->mode, op, use);
    if (use == Use::write && is_checked(i->mode)) {
      Tensor here = elementwise(OpId::less, {place, number(axes[d])});
      known = known ? elementwise(OpId::logical_and, {*known, here}) : here;
    }
    Tensor moved = scaled(place, strides[d]);
    p.element = any ? elementwise(OpId::add, {p.element, moved}) : moved;
    any = true;
    extend(p, axes[d], strides[d]);
  }
  p.partial = known.has_value();
  if (p.partial) p.element = elementwise(OpId::where, {*known, p.element, number(kNowhere)});
  return p;
}

Gathered gathered(const Dims& axes, const Dims& strides, const Indices& indices, const Dims& common,
                  int at, const char* op) {
  Gathered g;
  auto add = [&](int64_t size, int64_t stride) {
    if (g.shape.size() == kMaxRank)
      raise(ErrorKind::shape, std::string("[") + op + "] tensors have at most " +
                                  std::to_string(kMaxRank) + " dimensions");
    g.shape.push_back(size);
    g.strides.push_back(stride);
  };
  int rest = 0;
  for (int d = 0; d <= axes.size(); ++d) {
    if (d < axes.size() && indices[static_cast<size_t>(d)]) continue;
    if (rest++ == at)
      for (int64_t size : common) add(size, 0);
    if (d < axes.size()) add(axes[d], strides[d]);
  }
  return g;
}

Tensor before_rest(const Tensor& t, const Indices& indices, int at) {
  auto free = static_cast<int>(std::count(indices.begin(), indices.end(), std::nullopt));
  std::vector<int64_t> behind;
  for (int r = at; r < free; ++r) behind.push_back(t.rank() + r - at);
  return behind.empty() ? t : expand_dims(t, behind);
}

Tensor gather(const Tensor& x, const Dims& shape, const Dims& strides, const Position& p,
              const Tensor& element) {
  autograd::check_no_rule("gather", x);
  Engine& e = x.engine();
  rt::Lock lock = e.lock();
  return Tensor(e.gather(x.node(), element.node(), shape, strides, p.span, p.quads));
}

Tensor gather(const Tensor& x, const Indices& indices, int at, const char* op) {
  if (autograd::recording(x)) return gradients::gather(x, indices, at, op);
  for (const auto& i : indices)
    if (i) check_device(x, i->at, op);
  Layout from = layout_of(x);
  Dims common = broadcast_indices(indices, op);
  Gathered g = gathered(x.shape(), from.strides, indices, common, at, op);
  // NumPy checks no indices that broadcasting leaves none of.
  Position p;
  if (numel(common) != 0) p = position_of(x.shape(), indices, from.strides, op);
  if (numel(g.shape) == 0) {
    rt::Lock lock = x.engine().lock();
    return Tensor(x.engine().fill(x.dtype(), g.shape, 0));
  }
  return gather(x, g.shape, g.strides, p, before_rest(p.element, indices, at));
}

bool are_distinct(const Indices& indices) {
  return std::all_of(indices.begin(), indices.end(),
                     [](const auto& i) { return !i || i->mode == IndexMode::distinct; });
}

Tensor take(const Tensor& x, const Tensor& indices, int64_t axis, IndexMode mode, const char* op) {
  int a = normalize_axis(op, axis, x.rank());
  Indices all(static_cast<size_t>(x.rank()));
  all[static_cast<size_t>(a)] = AxisIndex{indices, mode};
  return gather(x, all, a, op);
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis, IndexMode mode,
                       const char* op) {
  if (autograd::recording(x)) return gradients::take_along_axis(x, indices, axis, mode, op);
  check_device(x, indices, op);
  if (x.rank() != indices.rank())
    raise(ErrorKind::value, std::string("[") + op + "] the tensor of shape " +
                                to_string(x.shape()) + " and the indices of shape " +
                                to_string(indices.shape()) + " need the same number of dimensions");
  int a = normalize_axis(op, axis, x.rank());
  Dims others = x.shape(), shape = indices.shape();
  others[a] = shape[a] = 1;
  shape = broadcast(op, others, shape);
  Layout from = layout_of(x);
  Dims strides = broadcast_strides(op, others, from.strides, shape);
  shape[a] = indices.shape()[a];
  strides[a] = 0;
  Tensor position = scaled(places(indices, x.shape()[a], a, mode, op), from.strides[a]);
  if (numel(shape) == 0) {
    rt::Lock lock = x.engine().lock();
    return Tensor(x.engine().fill(x.dtype(), shape, 0));
  }
  Position p;
  extend(p, x.shape()[a], from.strides[a]);
  return gather(x, shape, strides, p, position);
}

}  // namespace wgt
