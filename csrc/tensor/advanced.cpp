#include "tensor/advanced.h"

#include <algorithm>

#include "tensor/autograd.h"
#include "tensor/gradients_indexing.h"
#include "tensor/regions.h"
#include "tensor/scatter.h"

namespace wgt {

using graph::OpId;
using graph::Reach;
using graph::ScatterOp;

namespace {

// Who writes where: a slot for each element of the indexed axes, with the last place in the
// broadcast indices that leads there, counted from 1; 0 for none.
struct Winners {
  Tensor slots;    // uint32, of the sizes of the indexed axes
  Tensor claims;   // places in the indices from 1, of their shape
  Tensor slot_of;  // the slot that each of them leads to, or kNowhere
};

Winners winners_of(const Dims& region, const Indices& indices, graph::Engine& e, const char* op) {
  Dims sizes = indexed_sizes(region, indices);
  Position p =
      position_of(region, indices, spread(contiguous_strides(sizes), indices), op, Use::write);
  Winners w;
  w.slot_of = p.element;
  int64_t n = numel(p.shape);
  w.claims = reshape(arange(e, 1, static_cast<double>(n) + 1, 1, DType::uint32), p.shape);
  Tensor none = full(e, sizes, number(0), DType::uint32, op);
  w.slots =
      scatter(ScatterOp::max, none, w.claims, w.slot_of, Dims(p.shape.size(), 0), numel(sizes) - 1);
  return w;
}

// The value that each slot's winner has, over the region. `values` are of the shape that reading
// the indices would give.
Tensor won_values(const Tensor& values, const Tensor& slots, const Dims& region,
                  const Indices& indices, const Dims& common, int at) {
  Layout from = layout_of(values);
  Dims strides, inner, inner_strides;
  int rest = 0;
  for (int d = 0; d < common.size(); ++d) {
    inner.push_back(common[d]);
    inner_strides.push_back(from.strides[at + d]);
  }
  for (int d = 0; d < region.size(); ++d) {
    bool indexed = indices[static_cast<size_t>(d)].has_value();
    int own = rest < at ? rest : rest + common.size();
    strides.push_back(indexed ? 0 : from.strides[own]);
    rest += !indexed;
  }
  Scalar one = number(1);
  Tensor place = elementwise(OpId::subtract, {elementwise(OpId::maximum, {slots, one}), one});
  // Row-major places in the indices to elements, dimension by dimension where strides force it.
  std::optional<Tensor> element;
  Position p;
  auto add = [&](const Tensor& along, int64_t size, int64_t stride) {
    if (stride == 0 || size == 1) return;
    Tensor moved = elementwise(OpId::multiply, {along, number(static_cast<uint32_t>(stride))});
    element = element ? elementwise(OpId::add, {*element, moved}) : moved;
    int64_t far = (size - 1) * stride;
    p.span.add({std::min<int64_t>(far, 0), std::max<int64_t>(far, 0)});
    p.quads = p.quads && stride % 4 == 0;
  };
  if (auto one_stride = reshape_strides(inner, inner_strides, Dims{numel(inner)})) {
    add(place, numel(inner), (*one_stride)[0]);
  } else {
    int64_t step = numel(inner);
    for (int d = 0; d < inner.size(); ++d) {
      step /= inner[d];
      Tensor along = elementwise(OpId::floor_divide, {place, number(step)});
      if (d > 0) along = elementwise(OpId::remainder, {along, number(inner[d])});
      add(along, inner[d], inner_strides[d]);
    }
  }
  Tensor moved = element ? *element : elementwise(OpId::multiply, {place, number(0)});
  return gather(values, region, strides, p, moved);
}

// Every element of the region chooses between its winner's value and its own.
Tensor set_by_choice(const Tensor& region, const Resolved& key, const Tensor& values,
                     const Winners& w, const Dims& common) {
  std::vector<int64_t> free = free_axes(key.indices);
  Tensor slots = free.empty() ? w.slots : expand_dims(w.slots, free);
  Tensor mine = elementwise(OpId::greater, {slots, number(0)});
  Tensor won = values.size() == 1
                   ? reshape(values, Dims())
                   : won_values(values, slots, region.shape(), key.indices, common, key.at);
  return elementwise(OpId::where, {mine, won, region});
}

// Where the elements of a region lie in the dense tensor, and its elements among the indexed axes.
struct Target {
  Gathered to;
  Tensor element;
  int64_t last;
};

Target target_of(const Dims& dense_shape, const Resolved& key, const Dims& region, const char* op) {
  Dims strides;
  int64_t offset = 0;
  int axis = 0;
  Dims dense = contiguous_strides(dense_shape);
  for (const IndexItem& i : key.basic) {
    if (i.what == IndexItem::newaxis) {
      strides.push_back(0);
      continue;
    }
    int64_t stride = dense[axis++];
    offset += i.start * stride;
    if (i.what == IndexItem::slice) strides.push_back(stride * i.step);
  }
  Position p = position_of(region, key.indices, strides, op);
  return {gathered(region, strides, key.indices, p.shape, key.at, op),
          elementwise(OpId::add, {p.element, number(offset)}), p.span.last + offset};
}

// Into a dense tensor of items that fill whole words.
Tensor write_at(const Tensor& t, const Resolved& key, const Tensor& values, const Target& target,
                const Tensor& place) {
  return scatter(ScatterOp::store, t, broadcast_to(values, target.to.shape),
                 before_rest(place, key.indices, key.at), target.to.strides, target.last);
}

// Winners alone write.
Tensor set_by_writing(const Tensor& t, const Resolved& key, const Tensor& values, const Winners& w,
                      const Dims& region, const char* op) {
  Target target = target_of(t.shape(), key, region, op);
  // What leads nowhere has claimed no slot: which one it looks at does not matter.
  Tensor slot = elementwise(OpId::minimum, {w.slot_of, number(w.slots.size() - 1)});
  Tensor kept = take(reshape(w.slots, Dims{w.slots.size()}), slot, 0, IndexMode::trusted, op);
  Tensor wins = elementwise(OpId::equal, {kept, w.claims});
  Tensor place = elementwise(OpId::where, {wins, target.element, number(kNowhere)});
  return write_at(t, key, values, target, place);
}

// A value that all that a mask selects shares takes no count: nothing where it has its own elements
// for each.
std::optional<Tensor> set_by_mask(const Tensor& t, const std::vector<KeyItem>& key,
                                  const Operand& value, const char* op) {
  const KeyItem* only = nullptr;
  for (const KeyItem& k : key) {
    if (k.what == KeyItem::gap || (k.what == KeyItem::basic && !is_integer_item(k))) continue;
    if (only || k.what != KeyItem::mask || k.tensor.rank() == 0) return std::nullopt;
    only = &k;
  }
  const Tensor& mask = only->tensor;
  std::vector<IndexItem> basic;
  Dims selected;  // what the key selects, with one place for the mask's elements
  int behind = 0;
  bool seen = false;
  for (const KeyItem& k : key) {
    if (&k == only) {
      seen = true;
      for (int64_t n : mask.shape()) basic.push_back(whole_axis(n));
      selected.push_back(1);
    } else if (k.what != KeyItem::gap) {
      basic.push_back(k.item);
      selected.push_back(k.item.length);
      behind += seen;
    }
  }
  Tensor v = std::holds_alternative<Tensor>(value)
                 ? std::get<Tensor>(value)
                 : full(t.engine(), Dims(), std::get<Scalar>(value), t.dtype(), op);
  while (v.rank() > selected.size() && v.shape()[0] == 1) v = squeeze(v, std::vector<int64_t>{0});
  int along = v.rank() - 1 - behind;  // the dimension of v that meets the mask's elements
  if (along >= 0 && v.shape()[along] != 1) return std::nullopt;
  v = fitted_value(t, v, selected, op);
  for (int extra = 1; along >= 0 && extra < mask.rank(); ++extra)
    v = expand_dims(v, {v.rank() - behind});
  Tensor region = index(t, basic);
  if (region.size() == 0) return t;
  std::vector<int64_t> axes;
  for (int d = 0; d < behind; ++d) axes.push_back(mask.rank() + d);
  Tensor where = axes.empty() ? mask : expand_dims(mask, axes);
  return put_back(t, basic, elementwise(OpId::where, {where, v, region}));
}

}  // namespace

Tensor index_at(const Tensor& t, const Resolved& key, const char* op) {
  return gather(index(t, key.basic), key.indices, key.at, op);
}

Tensor advanced_index(const Tensor& t, const std::vector<KeyItem>& key, const char* op) {
  bool whole = key.size() == 1 && key[0].what == KeyItem::mask && t.rank() > 0 &&
               key[0].tensor.rank() == t.rank();
  if (whole && !autograd::recording(t)) return select_true(key[0].tensor, {t})[0];
  return index_at(t, resolve(key), op);
}

Tensor advanced_assign(const Tensor& t, const std::vector<KeyItem>& key, const Operand& value,
                       const char* op) {
  if (auto done = set_by_mask(t, key, value, op)) return *done;
  return assign_at(t, resolve(key), value, op);
}

Tensor placed_at(const Dims& shape, const Resolved& key, const Tensor& value, const char* op) {
  if (autograd::recording(value)) return gradients::placed_at(shape, key, value, op);
  Tensor wide = astype(value, unpacked(value.dtype()));
  Tensor none = full(value.engine(), shape, number(0), wide.dtype(), op);
  return astype(assign_at(none, key, wide, op), value.dtype());
}

Tensor assign_at(const Tensor& t, const Resolved& r, const Operand& value, const char* op) {
  const Tensor* v0 = std::get_if<Tensor>(&value);
  if (autograd::recording(t) || (v0 && autograd::recording(*v0)))
    return gradients::assign_at(t, r, value, op);
  Tensor region = index(t, r.basic);
  Dims common = broadcast_indices(r.indices, op);
  Dims selected =
      gathered(region.shape(), Dims(region.rank(), 0), r.indices, common, r.at, op).shape;
  Tensor v = fitted_value(t, value, selected, op);
  if (numel(selected) == 0) return t;
  Tensor values = v.size() == 1 ? v : broadcast_to(v, selected);
  if (are_distinct(r.indices) && !is_packed(t.dtype())) {
    Target target = target_of(t.shape(), r, region.shape(), op);
    return write_at(t, r, values, target, target.element);
  }
  Winners w = winners_of(region.shape(), r.indices, t.engine(), op);
  bool sparse = numel(common) * 2 <= w.slots.size();
  if (sparse && !is_packed(t.dtype())) return set_by_writing(t, r, values, w, region.shape(), op);
  return put_back(t, r.basic, set_by_choice(region, r, values, w, common));
}

}  // namespace wgt
