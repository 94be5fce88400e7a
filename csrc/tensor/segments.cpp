#include "tensor/segments.h"

#include <algorithm>
#include <bit>

#include "graph/exact_sums.h"
#include "tensor/autograd.h"
#include "tensor/gradients_indexing.h"
#include "tensor/regions.h"
#include "tensor/scatter.h"

namespace wgt {

using graph::OpId;
using graph::ReduceOp;
using graph::ScatterOp;

namespace {

// Atomics on integers of 32 bits give the same result in any order.
std::optional<ScatterOp> atomic_of(ReduceOp op, DType t) {
  if (t != DType::int32 && t != DType::uint32) return std::nullopt;
  if (op == ReduceOp::sum) return ScatterOp::add;
  if (op == ReduceOp::max) return ScatterOp::max;
  if (op == ReduceOp::min) return ScatterOp::min;
  return std::nullopt;
}

// All axes, some of them first.
std::vector<int64_t> moved_first(const std::vector<int64_t>& first, int rank) {
  std::vector<int64_t> order = first;
  for (int64_t d = 0; d < rank; ++d)
    if (std::find(first.begin(), first.end(), d) == first.end()) order.push_back(d);
  return order;
}

std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> out(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    out[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return out;
}

ReduceOp op_for(ReduceOp op, DType t) {
  if (!is_bool(t)) return op;
  return op == ReduceOp::sum ? ReduceOp::max : op == ReduceOp::prod ? ReduceOp::min : op;
}

// An indexed region: rows of the indexed axes, by the elements of the others.
Tensor accumulated(ReduceOp op, const Tensor& region, const Resolved& key, const Tensor& values,
                   const Dims& common, const char* name) {
  std::vector<int64_t> indexed, among;
  for (int d = 0; d < region.rank(); ++d)
    if (key.indices[static_cast<size_t>(d)]) indexed.push_back(d);
  for (int d = 0; d < common.size(); ++d) among.push_back(key.at + d);
  Dims sizes = indexed_sizes(region.shape(), key.indices);
  int64_t n = numel(sizes), m = numel(common), elements = values.size() / m;
  Position p = position_of(region.shape(), key.indices,
                           spread(contiguous_strides(sizes), key.indices), name, Use::write);
  std::vector<int64_t> order = moved_first(indexed, region.rank());
  DType wide = unpacked(region.dtype());
  Tensor moved = permute(region, order);
  Tensor base = astype(reshape(moved, Dims{n, elements}), wide);
  Tensor rows = reshape(permute(values, moved_first(among, values.rank())), Dims{m, elements});
  Tensor folded = fold_rows(op_for(op, region.dtype()), base, astype(rows, wide),
                            reshape(p.element, Dims{m}), p.partial);
  return permute(reshape(astype(folded, region.dtype()), moved.shape()), inverse(order));
}

Tensor identity(ReduceOp op, const Tensor& like) {
  rt::Lock lock = like.engine().lock();
  return Tensor(like.engine().fill(like.dtype(), Dims(), identity_bits(op, like.dtype())));
}

// Rows of many elements are better sorted: that is little work for each element.
bool exact(ReduceOp op, const Tensor& base, const Tensor& values) {
  constexpr int64_t kNarrow = 4;
  return op == ReduceOp::sum && base.dtype() == DType::float32 && base.shape()[1] <= kNarrow &&
         graph::sums_exactly(base.engine().device(), base.size(), values.size());
}

OpId elementwise_of(ReduceOp op, DType t) {
  op = op_for(op, t);
  return op == ReduceOp::sum    ? OpId::add
         : op == ReduceOp::prod ? OpId::multiply
         : op == ReduceOp::max  ? OpId::maximum
                                : OpId::minimum;
}

// Integers, in any order. Many that go to few places go to copies of these, which are folded then.
Tensor fold_by_atomics(ReduceOp op, ScatterOp atomic, const Tensor& base, const Tensor& values,
                       const Tensor& rows, bool partial) {
  int64_t n = base.shape()[0], elements = base.shape()[1];
  auto put = [&](const Tensor& target, const Tensor& row) {
    Tensor place = elementwise(OpId::multiply, {row, number(elements)});
    return scatter(atomic, target, values, expand_dims(place, {1}), Dims{0, 1},
                   (target.shape()[0] - 1) * elements);
  };
  // As many rows as there are is beyond the last, times the elements of a row too.
  Tensor row = partial ? elementwise(OpId::minimum, {rows, number(n)}) : rows;
  graph::Engine& e = base.engine();
  int64_t copies = graph::copies_of(e.device(), base.size(), values.size());
  if (copies == 1) return put(base, row);
  int64_t apart = n + 1;  // with a row for what leads nowhere
  Tensor turn = arange(e, 0, static_cast<double>(rows.size()), 1, DType::uint32);
  Tensor copy = elementwise(OpId::bitwise_and, {turn, number(copies - 1)});
  Tensor moved = elementwise(OpId::multiply, {copy, number(apart)});
  Tensor none = broadcast_to(identity(op, base), Dims{copies * apart, elements});
  Tensor all =
      reshape(put(none, elementwise(OpId::add, {row, moved})), Dims{copies, apart, elements});
  Tensor folded = reduce(graph::reduce_name(op), all, std::vector<int64_t>{0}, false);
  folded = index(folded, {whole_axis(n), whole_axis(elements)});
  return elementwise(elementwise_of(op, base.dtype()), {base, folded});
}

}  // namespace

Tensor fold_rows(ReduceOp op, const Tensor& base, const Tensor& values, const Tensor& rows,
                 bool partial) {
  int64_t n = base.shape()[0];
  if (values.size() == 0) return base;
  if (auto atomic = atomic_of(op, base.dtype()))
    return fold_by_atomics(op, *atomic, base, values, rows, partial);
  graph::Engine& e = base.engine();
  if (exact(op, base, values)) {
    Tensor all = expand_dims(rows, {1});
    rt::Lock lock = e.lock();
    return Tensor(e.segments(op, base.node(), values.node(), all.node(), true));
  }
  if (n == 1) {  // in order as they are
    Tensor all = expand_dims(rows, {1}), own = values;
    if (partial) {
      own = elementwise(OpId::where,
                        {elementwise(OpId::less, {all, number(1)}), values, identity(op, values)});
      all = elementwise(OpId::multiply, {all, number(0)});
    }
    rt::Lock lock = e.lock();
    return Tensor(e.segments(op, base.node(), own.node(), all.node()));
  }
  // What leads nowhere is sorted behind the rows that there are.
  Tensor keys = partial ? elementwise(OpId::minimum, {rows, number(n)}) : rows;
  auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(partial ? n : n - 1)));
  Tensor order = argsort(keys, 0, false, std::max(bits, 1));
  Tensor sorted = take(values, order, 0, IndexMode::trusted, "segments");
  Tensor segments = expand_dims(take(rows, order, 0, IndexMode::trusted, "segments"), {1});
  rt::Lock lock = e.lock();
  return Tensor(e.segments(op, base.node(), sorted.node(), segments.node()));
}

std::vector<KeyItem> along_axis(const Tensor& t, const Tensor& indices, int64_t axis,
                                IndexMode mode, bool broadcast, const char* op) {
  if (t.rank() != indices.rank())
    raise(ErrorKind::value, std::string("[") + op + "] the tensor of shape " +
                                to_string(t.shape()) + " and the indices of shape " +
                                to_string(indices.shape()) + " need the same number of dimensions");
  int a = normalize_axis(op, axis, t.rank());
  std::vector<KeyItem> key;
  for (int d = 0; d < t.rank(); ++d) {
    int64_t size = t.shape()[d], count = indices.shape()[d];
    KeyItem item{KeyItem::indices, whole_axis(size), indices, d == a ? mode : IndexMode::trusted};
    if (d != a) {
      if (broadcast && count == 1) count = size;
      if (count > size || (broadcast && count != size))
        raise(ErrorKind::shape, std::string("[") + op + "] indices of shape " +
                                    to_string(indices.shape()) + " do not fit a tensor of shape " +
                                    to_string(t.shape()) + " in axis " + std::to_string(d));
      Dims shape(t.rank(), 1);
      shape[d] = count;
      item.tensor =
          reshape(arange(t.engine(), 0, static_cast<double>(count), 1, DType::uint32), shape);
    }
    key.push_back(std::move(item));
  }
  return key;
}

Tensor accumulate(ReduceOp op, const Tensor& t, const std::vector<KeyItem>& key,
                  const Operand& value, const char* name) {
  if (is_basic(key)) {
    Tensor region = index(t, basic_items(key));
    OpId e = elementwise_of(op, t.dtype());
    Tensor v = fitted_value(region, value, region.shape(), name);
    return put_back(t, basic_items(key), elementwise(e, {region, v}));
  }
  return accumulate_at(op, t, resolve(key), value, name);
}

Tensor accumulate_at(ReduceOp op, const Tensor& t, const Resolved& r, const Operand& value,
                     const char* name) {
  const Tensor* v0 = std::get_if<Tensor>(&value);
  if (autograd::recording(t) || (v0 && autograd::recording(*v0)))
    return gradients::accumulate_at(op, t, r, value, name);
  Tensor region = index(t, r.basic);
  Dims common = broadcast_indices(r.indices, name);
  Dims selected =
      gathered(region.shape(), Dims(region.rank(), 0), r.indices, common, r.at, name).shape;
  Tensor v = fitted_value(t, value, selected, name);
  if (numel(selected) == 0) return t;
  Tensor values = broadcast_to(v, selected);
  return put_back(t, r.basic, accumulated(op, region, r, values, common, name));
}

}  // namespace wgt
