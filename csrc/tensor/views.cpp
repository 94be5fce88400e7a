#include <algorithm>
#include <numeric>

#include "tensor/autograd.h"
#include "tensor/gradients.h"

namespace wgt {

using graph::Engine;
using graph::NodeRef;
using graph::OpId;

namespace {

Tensor make_view(const Tensor& t, const Dims& shape, const Layout& layout) {
  Engine& e = t.engine();
  if (numel(shape) == 0) return Tensor(e.fill(t.dtype(), shape, 0));
  return Tensor(e.view(t.node(), shape, layout));
}

void check_rank(const char* op, int rank) {
  if (rank > kMaxRank)
    raise(ErrorKind::shape, std::string("[") + op + "] a result of " + std::to_string(rank) +
                                " dimensions: tensors have at most " + std::to_string(kMaxRank) +
                                " dimensions");
}

int result_rank(const std::vector<IndexItem>& items) {
  auto kept = [](const IndexItem& i) { return i.what != IndexItem::integer; };
  return static_cast<int>(std::count_if(items.begin(), items.end(), kept));
}

}  // namespace

Placed indexed(const Layout& from, const std::vector<IndexItem>& items) {
  Placed p;
  p.at.offset = from.offset;
  int d = 0;
  for (const IndexItem& i : items) {
    if (i.what == IndexItem::newaxis) {
      p.shape.push_back(1);
      p.at.strides.push_back(0);
      continue;
    }
    int64_t stride = from.strides[d++];
    if (i.length > 0 || i.what == IndexItem::integer) p.at.offset += i.start * stride;
    if (i.what == IndexItem::slice) {
      p.shape.push_back(i.length);
      p.at.strides.push_back(stride * i.step);
    }
  }
  return p;
}

Placed diagonal_of(const Layout& from, const Dims& shape, int64_t offset, int64_t axis1,
                   int64_t axis2) {
  int rank = shape.size();
  if (rank < 2)
    raise(ErrorKind::shape,
          "[diagonal] needs 2 dimensions or more: the tensor has shape " + to_string(shape));
  int i = normalize_axis("diagonal", axis1, rank);
  int j = normalize_axis("diagonal", axis2, rank);
  if (i == j)
    raise(ErrorKind::value, "[diagonal] axis1 and axis2 are both axis " + std::to_string(i));
  int64_t rows = shape[i], columns = shape[j];
  offset = std::clamp(offset, -rows, columns);  // beyond the matrix all are alike: empty
  int64_t down = std::max<int64_t>(-offset, 0), right = std::max<int64_t>(offset, 0);
  Placed p;
  p.at.offset = from.offset + down * from.strides[i] + right * from.strides[j];
  for (int d = 0; d < rank; ++d) {
    if (d == i || d == j) continue;
    p.shape.push_back(shape[d]);
    p.at.strides.push_back(from.strides[d]);
  }
  p.shape.push_back(std::max<int64_t>(std::min(rows - down, columns - right), 0));
  p.at.strides.push_back(from.strides[i] + from.strides[j]);
  return p;
}

Tensor strided(const Tensor& t, const Dims& shape, const Layout& layout) {
  if (autograd::recording(t)) return gradients::strided(t, shape, layout);
  Engine& e = t.engine();
  rt::Lock lock = e.lock();
  if (numel(shape) == 0) return Tensor(e.fill(t.dtype(), shape, 0));
  Layout from = Engine::layout_of(*t.node());
  if (is_contiguous(t.shape(), from.strides))
    return Tensor(e.view(t.node(), shape, {layout.strides, from.offset + layout.offset}));
  NodeRef dense = e.map(OpId::copy, t.dtype(), t.shape(), &t.node(), 1);
  return Tensor(e.view(dense, shape, layout));
}

Tensor reshape(const Tensor& t, const Dims& target) {
  if (autograd::recording(t)) return gradients::reshape(t, target);
  Dims shape = resolve_reshape(t.shape(), target);
  if (shape == t.shape()) return t.detached();
  rt::Lock lock = t.engine().lock();
  if (t.size() == 0) return Tensor(t.engine().fill(t.dtype(), shape, 0));
  Layout from = Engine::layout_of(*t.node());
  if (auto strides = reshape_strides(t.shape(), from.strides, shape))
    return make_view(t, shape, {*strides, from.offset});
  NodeRef dense = t.engine().map(OpId::copy, t.dtype(), t.shape(), &t.node(), 1);
  return Tensor(t.engine().view(dense, shape, {contiguous_strides(shape), 0}));
}

bool reshape_copies(const Tensor& t, const Dims& target) {
  Dims shape = resolve_reshape(t.shape(), target);
  rt::Lock lock = t.engine().lock();
  return !reshape_strides(t.shape(), Engine::layout_of(*t.node()).strides, shape);
}

Tensor permute(const Tensor& t, const std::vector<int64_t>& axes) {
  if (autograd::recording(t)) return gradients::permute(t, axes);
  if (static_cast<int>(axes.size()) != t.rank())
    raise(ErrorKind::value, "[permute] " + std::to_string(axes.size()) +
                                " axes for a tensor with " + std::to_string(t.rank()) +
                                " dimensions");
  axes_mask("permute", axes, t.rank());
  rt::Lock lock = t.engine().lock();
  Layout from = Engine::layout_of(*t.node()), to{Dims(), from.offset};
  Dims shape;
  for (int64_t a : axes) {
    int d = normalize_axis("permute", a, t.rank());
    shape.push_back(t.shape()[d]);
    to.strides.push_back(from.strides[d]);
  }
  return make_view(t, shape, to);
}

Tensor broadcast_to(const Tensor& t, const Dims& shape) {
  if (autograd::recording(t)) return gradients::broadcast_to(t, shape);
  for (int64_t d : shape)
    if (d < 0) raise(ErrorKind::value, "[broadcast_to] negative size in " + to_string(shape));
  rt::Lock lock = t.engine().lock();
  Layout from = Engine::layout_of(*t.node());
  return make_view(
      t, shape, {broadcast_strides("broadcast_to", t.shape(), from.strides, shape), from.offset});
}

Tensor expand_dims(const Tensor& t, const std::vector<int64_t>& axes) {
  if (autograd::recording(t)) return gradients::expand_dims(t, axes);
  int rank = t.rank() + static_cast<int>(axes.size());
  check_rank("expand_dims", rank);
  uint32_t mask = axes_mask("expand_dims", axes, rank);
  rt::Lock lock = t.engine().lock();
  Layout from = Engine::layout_of(*t.node()), to{Dims(), from.offset};
  Dims shape;
  for (int i = 0, d = 0; i < rank; ++i) {
    bool fresh = (mask >> i) & 1u;
    shape.push_back(fresh ? 1 : t.shape()[d]);
    to.strides.push_back(fresh ? 0 : from.strides[d]);
    if (!fresh) ++d;
  }
  return make_view(t, shape, to);
}

Tensor squeeze(const Tensor& t, const std::optional<std::vector<int64_t>>& axes) {
  if (autograd::recording(t)) return gradients::squeeze(t, axes);
  uint32_t mask = 0;
  if (axes) {
    mask = axes_mask("squeeze", *axes, t.rank());
    for (int d = 0; d < t.rank(); ++d)
      if (((mask >> d) & 1u) && t.shape()[d] != 1)
        raise(ErrorKind::value, "[squeeze] axis " + std::to_string(d) + " of " +
                                    to_string(t.shape()) + " has not size 1");
  } else {
    for (int d = 0; d < t.rank(); ++d)
      if (t.shape()[d] == 1) mask |= 1u << d;
  }
  rt::Lock lock = t.engine().lock();
  Layout from = Engine::layout_of(*t.node()), to{Dims(), from.offset};
  Dims shape;
  for (int d = 0; d < t.rank(); ++d) {
    if ((mask >> d) & 1u) continue;
    shape.push_back(t.shape()[d]);
    to.strides.push_back(from.strides[d]);
  }
  return make_view(t, shape, to);
}

Tensor diagonal(const Tensor& t, int64_t offset, int64_t axis1, int64_t axis2) {
  if (autograd::recording(t)) return gradients::diagonal(t, offset, axis1, axis2);
  rt::Lock lock = t.engine().lock();
  Placed p = diagonal_of(Engine::layout_of(*t.node()), t.shape(), offset, axis1, axis2);
  return make_view(t, p.shape, p.at);
}

Tensor windows(const Tensor& t, const Dims& sizes, const Dims& steps, const Dims& dilations) {
  if (autograd::recording(t)) return gradients::windows(t, sizes, steps, dilations);
  int n = sizes.size(), lead = t.rank() - n;
  if (lead < 0 || steps.size() != n || dilations.size() != n)
    internal_error("windows of other dimensions than the tensor's");
  check_rank("windows", t.rank() + n);
  rt::Lock lock = t.engine().lock();
  Layout from = Engine::layout_of(*t.node()), to{Dims(), from.offset};
  Dims shape, counts;
  for (int d = 0; d < lead; ++d) {
    shape.push_back(t.shape()[d]);
    to.strides.push_back(from.strides[d]);
  }
  for (int i = 0; i < n; ++i) {
    int64_t span = (sizes[i] - 1) * dilations[i] + 1, size = t.shape()[lead + i];
    if (sizes[i] < 1 || steps[i] < 1 || dilations[i] < 1 || span > size)
      internal_error("windows that do not fit the tensor");
    counts.push_back((size - span) / steps[i] + 1);
    shape.push_back(sizes[i]);
    to.strides.push_back(dilations[i] * from.strides[lead + i]);
  }
  for (int i = 0; i < n; ++i) {
    shape.push_back(counts[i]);
    to.strides.push_back(steps[i] * from.strides[lead + i]);
  }
  if (numel(shape) == 0) return Tensor(t.engine().fill(t.dtype(), shape, 0));
  return Tensor(t.engine().overlapping_view(t.node(), shape, to));
}

Tensor index(const Tensor& t, const std::vector<IndexItem>& items) {
  if (autograd::recording(t)) return gradients::index(t, items);
  check_rank("getitem", result_rank(items));
  rt::Lock lock = t.engine().lock();
  Placed p = indexed(Engine::layout_of(*t.node()), items);
  return make_view(t, p.shape, p.at);
}

Tensor part_of(const Tensor& t, int axis, int64_t start, int64_t length) {
  std::vector<IndexItem> items;
  for (int d = 0; d < t.rank(); ++d)
    items.push_back(
        {IndexItem::slice, d == axis ? start : 0, 1, d == axis ? length : t.shape()[d]});
  return index(t, items);
}

Tensor with_axis_last(const Tensor& t, int axis) {
  if (axis == t.rank() - 1) return t;
  std::vector<int64_t> order(static_cast<size_t>(t.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(axis)], order.back());
  return permute(t, order);
}

Tensor index_assign(const Tensor& t, const std::vector<IndexItem>& items, const Operand& value) {
  auto* of = std::get_if<Tensor>(&value);
  if (autograd::recording(t) || (of && autograd::recording(*of)))
    return gradients::index_assign(t, items, value);
  check_rank("setitem", result_rank(items));
  Engine& e = t.engine();
  if (is_packed(t.dtype())) {
    // Small items share words; single ones are written in a 32-bit form.
    DType wide = unpacked(t.dtype());
    Tensor v = std::holds_alternative<Tensor>(value)
                   ? astype(std::get<Tensor>(value), t.dtype())
                   : full(e, Dims(), std::get<Scalar>(value), t.dtype(), "setitem");
    return astype(index_assign(astype(t, wide), items, astype(v, wide)), t.dtype());
  }
  auto [shape, layout] = indexed({contiguous_strides(t.shape()), 0}, items);
  Tensor source = std::holds_alternative<Tensor>(value)
                      ? astype(std::get<Tensor>(value), t.dtype())
                      : full(e, Dims(), std::get<Scalar>(value), t.dtype(), "setitem");
  if (&source.engine() != &e)
    raise(ErrorKind::device_mismatch,
          "[setitem] the tensor is on " + e.name() + ", the value on " + source.engine().name());
  // NumPy lets a value have leading dimensions of 1 that the target lacks.
  while (source.rank() > shape.size() && source.shape()[0] == 1)
    source = squeeze(source, std::vector<int64_t>{0});
  Dims fitted =
      source.rank() <= shape.size() ? broadcast("setitem", source.shape(), shape) : source.shape();
  if (!(fitted == shape))
    raise(ErrorKind::shape, "[setitem] a value of shape " + to_string(source.shape()) +
                                " does not fit the shape " + to_string(shape) + " of what is set");
  source = broadcast_to(source, shape);
  if (numel(shape) == 0) return t;
  rt::Lock lock = e.lock();
  return Tensor(e.assign(t.node(), source.node(), layout));
}

}  // namespace wgt
