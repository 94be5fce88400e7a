// Gradients of views and of what is put together from pieces.
#include <algorithm>

#include "tensor/autograd.h"
#include "tensor/gradients.h"

namespace wgt::gradients {

using autograd::Context;
using autograd::Gradients;
using autograd::Keeps;
using autograd::record;
using autograd::untracked;

namespace {

// A view with the same elements in the same order: reshape, squeeze, expand_dims.
Tensor same_order(const char* name, const Tensor& t, const Tensor& result) {
  return record(name, result, {t}, Keeps::nothing, [shape = t.shape()](const Context& c) {
    return Gradients{wgt::reshape(c.grad(), shape)};
  });
}

/// Zeros of `shape` with `value` at a layout that shows no element twice.
Tensor in_zeros(const Tensor& value, const Dims& shape, const Layout& at, const char* op) {
  return wgt::place(value.engine(), shape, value.dtype(), {{value, at}}, Scalar{Kind::f, 0}, op);
}

// Whether an index shows each element once: then its gradient is an index too, which fuses.
bool shows_all(const Dims& shape, const std::vector<IndexItem>& items) {
  int d = 0;
  for (const IndexItem& i : items) {
    if (i.what == IndexItem::newaxis) continue;
    int64_t n = shape[d++];
    if (i.what == IndexItem::integer ? n != 1 : i.length != n) return false;
  }
  return true;
}

Tensor unindexed(const Tensor& g, const Dims& shape, const std::vector<IndexItem>& items) {
  Tensor r = wgt::reshape(g, shape);
  std::vector<IndexItem> back;
  bool turned = false;
  int d = 0;
  for (const IndexItem& i : items) {
    if (i.what == IndexItem::newaxis) continue;
    int64_t n = shape[d++];
    bool reversed = i.what == IndexItem::slice && i.step < 0 && n > 1;
    turned = turned || reversed;
    back.push_back({IndexItem::slice, reversed ? n - 1 : 0, reversed ? -1 : 1, n});
  }
  return turned ? wgt::index(r, back) : r;
}

}  // namespace

Tensor reshape(const Tensor& t, const Dims& shape) {
  return same_order("reshape", t, untracked([&] { return wgt::reshape(t, shape); }));
}

Tensor expand_dims(const Tensor& t, const std::vector<int64_t>& axes) {
  return same_order("expand_dims", t, untracked([&] { return wgt::expand_dims(t, axes); }));
}

Tensor squeeze(const Tensor& t, const std::optional<std::vector<int64_t>>& axes) {
  return same_order("squeeze", t, untracked([&] { return wgt::squeeze(t, axes); }));
}

Tensor permute(const Tensor& t, const std::vector<int64_t>& axes) {
  Tensor r = untracked([&] { return wgt::permute(t, axes); });
  std::vector<int64_t> inverse(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    int from = normalize_axis("permute", axes[i], t.rank());
    inverse[static_cast<size_t>(from)] = static_cast<int64_t>(i);
  }
  return record("permute_dims", r, {t}, Keeps::nothing,
                [inverse](const Context& c) { return Gradients{wgt::permute(c.grad(), inverse)}; });
}

Tensor broadcast_to(const Tensor& t, const Dims& shape) {
  Tensor r = untracked([&] { return wgt::broadcast_to(t, shape); });
  return record("broadcast_to", r, {t}, Keeps::nothing, [](const Context& c) {
    return Gradients{c.grad()};  // summed by who receives it
  });
}

Tensor diagonal(const Tensor& t, int64_t offset, int64_t axis1, int64_t axis2) {
  Tensor r = untracked([&] { return wgt::diagonal(t, offset, axis1, axis2); });
  return record(
      "diagonal", r, {t}, Keeps::nothing,
      [shape = t.shape(), offset, axis1, axis2](const Context& c) {
        Placed p = diagonal_of({contiguous_strides(shape), 0}, shape, offset, axis1, axis2);
        return Gradients{in_zeros(c.grad(), shape, p.at, "diagonal")};
      });
}

Tensor index(const Tensor& t, const std::vector<IndexItem>& items) {
  Tensor r = untracked([&] { return wgt::index(t, items); });
  return record("getitem", r, {t}, Keeps::nothing, [shape = t.shape(), items](const Context& c) {
    if (shows_all(shape, items)) return Gradients{unindexed(c.grad(), shape, items)};
    Layout at = indexed({contiguous_strides(shape), 0}, items).at;
    return Gradients{in_zeros(c.grad(), shape, at, "getitem")};
  });
}

Tensor strided(const Tensor& t, const Dims& shape, const Layout& layout) {
  Tensor r = untracked([&] { return wgt::strided(t, shape, layout); });
  return record("strided", r, {t}, Keeps::nothing, [whole = t.shape(), layout](const Context& c) {
    return Gradients{in_zeros(c.grad(), whole, layout, "strided")};
  });
}

Tensor index_assign(const Tensor& t, const std::vector<IndexItem>& items, const Operand& value) {
  Tensor r = untracked([&] { return wgt::index_assign(t, items, value); });
  Tensor source;
  if (auto* v = std::get_if<Tensor>(&value)) source = *v;
  Dims shape = source.node() ? source.shape() : Dims();
  return record("setitem", r, {t, source}, Keeps::nothing, [items, shape](const Context& c) {
    Gradients grads(2);
    if (c.needs(0)) grads[0] = wgt::index_assign(c.grad(), items, Scalar{Kind::f, 0});
    if (c.needs(1)) {
      Tensor part = wgt::index(c.grad(), items);
      // A value may have leading dimensions of 1 that what is set lacks.
      Dims fitted = part.shape();
      while (fitted.size() < shape.size()) fitted.insert(0, 1);
      grads[1] = wgt::reshape(part, fitted);
    }
    return grads;
  });
}

// Pieces do not overlap.
Tensor place(graph::Engine& e, const Dims& shape, DType dtype, const std::vector<Piece>& pieces,
             const std::optional<Scalar>& fill, const char* op) {
  Tensor r = untracked([&] { return wgt::place(e, shape, dtype, pieces, fill, op); });
  std::vector<Tensor> values;
  std::vector<std::pair<Dims, Layout>> places;
  for (const Piece& p : pieces) {
    values.push_back(p.value);
    places.emplace_back(p.value.shape(), p.at);
  }
  return record(op, r, values, Keeps::nothing, [places](const Context& c) {
    Gradients grads(places.size());
    for (size_t i = 0; i < grads.size(); ++i)
      if (c.needs(i)) grads[i] = wgt::strided(c.grad(), places[i].first, places[i].second);
    return grads;
  });
}

Tensor concat(const std::vector<Tensor>& parts, int64_t axis, const char* op) {
  Tensor r = untracked([&] { return wgt::concat(parts, axis, op); });
  int a = normalize_axis(op, axis, r.rank());
  std::vector<int64_t> lengths;
  for (const Tensor& t : parts) lengths.push_back(t.shape()[a]);
  return record(op, r, parts, Keeps::nothing, [a, lengths](const Context& c) {
    Gradients grads(lengths.size());
    int64_t at = 0;
    for (size_t i = 0; i < grads.size(); at += lengths[i++])
      if (c.needs(i)) grads[i] = part_of(c.grad(), a, at, lengths[i]);
    return grads;
  });
}

namespace {

// Each element of the windowed tensor receives what the windows that saw it got.
Tensor sum_of_windows(const Tensor& g, const Dims& whole, const autograd::WindowsOf& w) {
  int n = w.sizes.size(), lead = whole.size() - n;
  Dims shape = whole;  // [lead.., place in the window.., padded]
  bool apart = true;   // no element is seen twice
  for (int i = 0; i < n; ++i) {
    shape.insert(lead + i, w.sizes[i]);
    shape[lead + n + i] = 0;
  }
  for (int i = 0; i < n; ++i) {
    int64_t span = (w.sizes[i] - 1) * w.dilations[i];
    shape[lead + n + i] = whole[lead + i] + span;
    apart = apart && (w.steps[i] > span || g.shape()[lead + n + i] == 1);
  }
  if (apart) {
    Dims own = contiguous_strides(whole);
    Layout at{Dims(), 0};
    for (int d = 0; d < lead; ++d) at.strides.push_back(own[d]);
    for (int i = 0; i < n; ++i) at.strides.push_back(w.dilations[i] * own[lead + i]);
    for (int i = 0; i < n; ++i) at.strides.push_back(w.steps[i] * own[lead + i]);
    return in_zeros(g, whole, at, "windows");
  }
  // Windows spread by their steps and shifted by their places: along the diagonals of that,
  // everything that element p received stands at p.
  Dims strides = contiguous_strides(shape);
  Layout spread{strides, 0}, skewed{strides, 0};
  std::vector<int64_t> places;
  for (int i = 0; i < n; ++i) {
    int64_t step = strides[lead + n + i], first = (w.sizes[i] - 1) * w.dilations[i] * step;
    spread.offset += first;
    spread.strides[lead + n + i] *= w.steps[i];
    skewed.offset += first;
    skewed.strides[lead + i] -= w.dilations[i] * step;
    places.push_back(lead + i);
  }
  Dims seen = shape;
  for (int i = 0; i < n; ++i) seen[lead + n + i] = whole[lead + i];
  Tensor all = in_zeros(g, shape, spread, "windows");
  return wgt::reduce("sum", wgt::strided(all, seen, skewed), places, false);
}

}  // namespace

Tensor windows(const Tensor& t, const Dims& sizes, const Dims& steps, const Dims& dilations) {
  Tensor r = untracked([&] { return wgt::windows(t, sizes, steps, dilations); });
  auto w =
      std::make_shared<const autograd::WindowsOf>(autograd::WindowsOf{t, sizes, steps, dilations});
  r = record("windows", r, {t}, Keeps::nothing, [w](const Context& c) {
    return Gradients{sum_of_windows(c.grad(), w->source.shape(), *w)};
  });
  if (r.variable()) r.variable()->fn->windows = w;
  return r;
}

}  // namespace wgt::gradients
