// Gradients of matrix products and of sums of products over several dimensions: products again.
#include <algorithm>

#include "tensor/autograd.h"
#include "tensor/gradients.h"

namespace wgt::gradients {

using autograd::Context;
using autograd::Gradients;
using autograd::Keeps;
using autograd::record;
using autograd::untracked;
using graph::ProductRanks;

namespace {

Tensor transposed(const Tensor& t) {
  std::vector<int64_t> order;
  for (int d = 0; d < t.rank(); ++d) order.push_back(d);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return wgt::permute(t, order);
}

/// Leading dimensions of 1 up to a rank.
Tensor with_rank(const Tensor& t, int rank) {
  Dims shape = t.shape();
  while (shape.size() < rank) shape.insert(0, 1);
  return wgt::reshape(t, shape);
}

Tensor with_order(const Tensor& t, const std::vector<std::vector<int64_t>>& parts) {
  std::vector<int64_t> order;
  for (const auto& p : parts) order.insert(order.end(), p.begin(), p.end());
  return wgt::permute(t, order);
}

std::vector<int64_t> range(int first, int count) {
  std::vector<int64_t> r;
  for (int i = 0; i < count; ++i) r.push_back(first + i);
  return r;
}

/// The gradient of one operand, [batch.., own.., shared..] with rows or [batch.., shared.., own..]
/// with columns: a product of the result's gradient, [batch.., rows.., columns..], with the other
/// operand, over what only those two have. Batches that broadcast for the operand are summed by
/// the product itself.
Tensor operand_gradient(const Tensor& g, const Tensor& other0, const Dims& operand, bool is_a,
                        ProductRanks ranks, const char* op) {
  int batch = g.rank() - ranks.rows - ranks.columns, shared = ranks.shared;
  int own = is_a ? ranks.rows : ranks.columns, far = is_a ? ranks.columns : ranks.rows;
  Tensor other = with_rank(other0, batch + shared + far);
  int missing = batch + own + shared - operand.size();
  std::vector<int64_t> kept, summed;
  for (int d = 0; d < batch; ++d) {
    bool has = d >= missing && operand[d - missing] == g.shape()[d];
    (has ? kept : summed).push_back(d);
  }
  auto g_own = range(is_a ? batch : batch + ranks.rows, own);
  auto g_far = range(is_a ? batch + ranks.rows : batch, far);
  auto o_shared = range(is_a ? batch : batch + far, shared);
  auto o_far = range(is_a ? batch + shared : batch, far);
  int over = static_cast<int>(summed.size()) + far;
  auto u8 = [](int n) { return static_cast<uint8_t>(n); };
  Tensor r;
  if (is_a)
    r = wgt::contract(with_order(g, {kept, g_own, summed, g_far}),
                      with_order(other, {kept, summed, o_far, o_shared}),
                      {u8(own), u8(shared), u8(over)}, op);
  else
    r = wgt::contract(with_order(other, {kept, o_shared, summed, o_far}),
                      with_order(g, {kept, summed, g_far, g_own}), {u8(shared), u8(own), u8(over)},
                      op);
  return wgt::reshape(r, operand);
}

bool same_batch(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return false;
  for (int d = 0; d + 2 < a.size(); ++d)
    if (a[d] != b[d]) return false;
  return true;
}

/// [batch.., m, n] as [batch.. m, n], or nothing where that takes a copy.
std::optional<Tensor> flattened(const Tensor& t) {
  Dims flat{-1, t.shape().back()};
  if (reshape_copies(t, flat)) return std::nullopt;
  return wgt::reshape(t, flat);
}

/// Whether columns of the matrices lie one after the other.
bool by_columns(const Tensor& t) {
  if (t.rank() < 2) return false;
  rt::Lock lock = t.engine().lock();
  Layout l = graph::Engine::layout_of(*t.node());
  int last = t.rank() - 1;
  return l.strides[last] > l.strides[last - 1] && t.shape()[last - 1] > 1;
}

/// a @ b, in memory as `like` is: what is elementwise between a weight that is used transposed and
/// its gradient then is a part of the product's kernel.
Tensor product_like(const Tensor& like, const Tensor& a, const Tensor& b) {
  if (!by_columns(like)) return wgt::matmul(a, b);
  return transposed(wgt::matmul(transposed(b), transposed(a)));
}

Tensor left_gradient(const Tensor& g, const Tensor& a, const Tensor& b) {
  if (same_batch(a.shape(), g.shape())) return product_like(a, g, transposed(b));
  return operand_gradient(g, b, a.shape(), true, {}, "matmul");
}

Tensor right_gradient(const Tensor& g, const Tensor& a, const Tensor& b) {
  if (same_batch(b.shape(), g.shape())) return product_like(b, transposed(a), g);
  if (b.rank() == 2 && same_batch(a.shape(), g.shape())) {
    auto rows = flattened(a), grads = flattened(g);
    if (rows && grads) return product_like(b, transposed(*rows), *grads);
  }
  return operand_gradient(g, a, b.shape(), false, {}, "matmul");
}

}  // namespace

Tensor matmul(const Tensor& a0, const Tensor& b0) {
  Tensor r = untracked([&] { return wgt::matmul(a0, b0); });
  return record("matmul", r, {a0, b0}, Keeps::operands, [a0, b0](const Context& c) {
    Tensor a = a0.rank() == 1 ? wgt::expand_dims(a0, {0}) : a0;
    Tensor b = b0.rank() == 1 ? wgt::expand_dims(b0, {1}) : b0;
    std::vector<int64_t> axes;
    if (b0.rank() == 1) axes.push_back(-1);
    if (a0.rank() == 1) axes.push_back(-2);
    Tensor g = axes.empty() ? c.grad() : wgt::expand_dims(c.grad(), axes);
    Gradients grads(2);
    if (c.needs(0)) grads[0] = wgt::reshape(left_gradient(g, a, b), a0.shape());
    if (c.needs(1)) grads[1] = wgt::reshape(right_gradient(g, a, b), b0.shape());
    return grads;
  });
}

namespace {

// Whether `b` is a view of windows over as many dimensions as there are columns: a convolution.
const autograd::WindowsOf* windows_of(const Tensor& b, ProductRanks ranks) {
  if (!b.requires_grad() || !b.variable()->fn) return nullptr;
  const autograd::WindowsOf* w = b.variable()->fn->windows.get();
  bool fits = w && w->sizes.size() == ranks.columns && ranks.shared >= ranks.columns;
  return fits ? w : nullptr;
}

/// The gradient of what the windows look at, a convolution with the weights turned round: the
/// result's gradient, its elements as far apart as the steps were and zeros around, seen through
/// windows of the same size; so nothing of the windows' size is written.
Tensor source_gradient(const Tensor& g, const Tensor& a, const autograd::WindowsOf& w,
                       ProductRanks ranks, const char* op) {
  int n = ranks.columns, lead = ranks.shared - n, batch = g.rank() - ranks.rows - n;
  const Dims& source = w.source.shape();
  Dims shape = g.shape();
  for (int i = 0; i < n; ++i)
    shape[batch + ranks.rows + i] =
        source[source.size() - n + i] + (w.sizes[i] - 1) * w.dilations[i];
  Layout at{contiguous_strides(shape), 0};
  for (int i = 0; i < n; ++i) {
    int64_t& stride = at.strides[batch + ranks.rows + i];
    at.offset += (w.sizes[i] - 1) * w.dilations[i] * stride;
    stride *= w.steps[i];
  }
  Tensor around = wgt::place(g.engine(), shape, g.dtype(), {{g, at}}, Scalar{Kind::f, 0}, op);
  Dims ones(n, 1);
  Tensor seen = wgt::windows(around, w.sizes, ones, w.dilations);
  int batch_a = a.rank() - ranks.rows - ranks.shared;
  std::vector<IndexItem> turned;
  for (int d = 0; d < a.rank(); ++d) {
    bool tap = d >= a.rank() - n;
    int64_t size = a.shape()[d];
    turned.push_back({IndexItem::slice, tap ? size - 1 : 0, tap ? -1 : 1, size});
  }
  Tensor weights =
      with_order(wgt::index(a, turned), {range(0, batch_a), range(batch_a + ranks.rows, lead),
                                         range(batch_a, ranks.rows), range(a.rank() - n, n)});
  auto u8 = [](int x) { return static_cast<uint8_t>(x); };
  return wgt::contract(weights, seen, {u8(lead), u8(n), u8(ranks.rows + n)}, op);
}

}  // namespace

Tensor contract(const Tensor& a, const Tensor& b, ProductRanks ranks, const char* op) {
  Tensor r = untracked([&] { return wgt::contract(a, b, ranks, op); });
  const autograd::WindowsOf* w = windows_of(b, ranks);
  // Rules outlive the names of their callers.
  constexpr const char* kName = "contract";
  return record(kName, r, {a, w ? w->source : b}, Keeps::operands, [a, b, ranks](const Context& c) {
    Gradients grads(2);
    if (c.needs(0)) grads[0] = operand_gradient(c.grad(), b, a.shape(), true, ranks, kName);
    if (!c.needs(1)) return grads;
    if (const autograd::WindowsOf* seen = windows_of(b, ranks))
      grads[1] = source_gradient(c.grad(), a, *seen, ranks, kName);
    else
      grads[1] = operand_gradient(c.grad(), a, b.shape(), false, ranks, kName);
    return grads;
  });
}

}  // namespace wgt::gradients
