// Matrix products, and the way back to the host.
#include <algorithm>

#include "base/settings.h"
#include "graph/products.h"
#include "tensor/autograd.h"
#include "tensor/gradients.h"
#include "tensor/products.h"

namespace wgt {

using graph::OpId;

namespace {

// Pieces of the shared axis: no loop is longer than software drivers allow, and four rows or
// columns of an operand reach no farther than a binding.
int64_t longest_piece(const Tensor& a, const Tensor& b) {
  rt::Lock lock = a.engine().lock();
  auto step = [](const Tensor& t, int axis) {
    Layout l = graph::Engine::layout_of(*t.node());
    return std::abs(l.strides[axis]);
  };
  int64_t reach = static_cast<int64_t>(a.engine().device().limits().max_binding) / 8;
  int64_t stride = std::max({step(a, a.rank() - 1), step(b, b.rank() - 2), int64_t{1}});
  return std::clamp<int64_t>(reach / stride / 4 * 4, 4, int64_t{1} << 19);
}

Tensor plain_product(const Tensor& a, const Tensor& b, const Dims& shape, int64_t last = 0) {
  rt::Lock lock = a.engine().lock();
  graph::NodeRef n = a.engine().matmul(a.node(), b.node(), shape);
  // See lower_matmul.cpp.
  n->step = static_cast<uint64_t>(last);
  n->bits = graph::product_bits(settings().half_sums && is_packed(a.dtype()),
                                settings().matmul_pieces == 0);
  return Tensor(std::move(n));
}

Tensor product_of(const Tensor& a, const Tensor& b);

// Pieces along the shared axis, summed.
Tensor long_product(const Tensor& a, const Tensor& b, int64_t longest) {
  int64_t k = a.shape().back();
  std::optional<Tensor> sum;
  for (int64_t at = 0; at < k; at += longest) {
    int64_t length = std::min(longest, k - at);
    Tensor part =
        product_of(part_of(a, a.rank() - 1, at, length), part_of(b, b.rank() - 2, at, length));
    sum = sum ? elementwise(OpId::add, {*sum, part}) : part;
  }
  return *sum;
}

/// Length of the pieces of the shared axis, whole steps; where it is none itself, of equal ones if
/// such are near. All of it where cutting does not pay.
int64_t piece_length(const Tensor& a, const Tensor& b, const Dims& shape, int64_t k) {
  int64_t pieces = settings().matmul_pieces;
  if (pieces == 0) {
    const rt::Device& device = a.engine().device();
    if (graph::meets_in_product(device, a.dtype(), a.shape(), b.shape())) return k;
    pieces = graph::product_pieces(device, unpacked(a.dtype()), shape, k);
  }
  if (pieces < 2 || shape.size() == kMaxRank) return k;
  int64_t least = graph::length_of_pieces(k, pieces);
  if (k % graph::kPieceStep == 0) return least;
  for (int64_t length = least; length < 2 * least; length += 4)
    if (k % length == 0) return length;
  return least;
}

/// Sum over an axis: of a few by additions, which take less than a reduction.
Tensor sum_of_pieces(const Tensor& stack, int axis) {
  constexpr int64_t kFew = 8;
  if (stack.shape()[axis] > kFew) return reduce("sum", stack, std::vector<int64_t>{axis}, false);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < stack.shape()[axis]; ++i)
    parts.push_back(squeeze(part_of(stack, axis, i, 1), std::vector<int64_t>{axis}));
  for (; parts.size() > 1; parts.resize((parts.size() + 1) / 2))
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] = elementwise(OpId::add, {parts[i], parts[parts.size() - 1 - i]});
  return parts.front();
}

/// An axis as two: pieces, and the elements of one. The last one may reach beyond the end.
Tensor in_pieces(const Tensor& t, int axis, int64_t pieces, int64_t length) {
  rt::Lock lock = t.engine().lock();
  Layout from = graph::Engine::layout_of(*t.node());
  Dims shape = t.shape();
  shape[axis] = length;
  const int64_t stride = from.strides[axis];
  shape.insert(t.rank() - 2, pieces);
  from.strides.insert(t.rank() - 2, stride * length);
  return Tensor(t.engine().overlapping_view(t.node(), shape, from));
}

// [.., m, k] and [.., k, n] as stacks of pieces: one batched product, then one sum over the stack,
// which takes the epilogue. The kernel knows how long the last one is; where that is no whole
// number of its steps, it is a product of its own.
Tensor split_product(const Tensor& a, const Tensor& b, const Dims& shape, int64_t length) {
  int64_t k = a.shape().back(), rest = k % graph::kPieceStep == 0 ? 0 : k % length;
  int64_t pieces = rest ? k / length : (k + length - 1) / length;
  int64_t last = k - rest - (pieces - 1) * length;
  Dims partial = shape;
  partial.insert(shape.size() - 2, pieces);
  Tensor sum = sum_of_pieces(
      plain_product(in_pieces(a, a.rank() - 1, pieces, length),
                    in_pieces(b, b.rank() - 2, pieces, length), partial, last == length ? 0 : last),
      shape.size() - 2);
  if (rest == 0) return sum;
  return elementwise(OpId::add,
                     {sum, plain_product(part_of(a, a.rank() - 1, k - rest, rest),
                                         part_of(b, b.rank() - 2, k - rest, rest), shape)});
}

Tensor product_of(const Tensor& a, const Tensor& b) {
  Dims batch_a, batch_b;
  for (int d = 0; d < a.rank() - 2; ++d) batch_a.push_back(a.shape()[d]);
  for (int d = 0; d < b.rank() - 2; ++d) batch_b.push_back(b.shape()[d]);
  Dims shape = broadcast("matmul", batch_a, batch_b);
  int64_t m = a.shape()[a.rank() - 2], n = b.shape().back(), k = a.shape().back();
  shape.push_back(m);
  shape.push_back(n);
  const DType wide = unpacked(a.dtype());
  if (numel(shape) == 0 || k == 0) {
    rt::Lock lock = a.engine().lock();
    return Tensor(a.engine().fill(wide, shape, 0));
  }
  if ((m == 1 || n == 1) && shape.size() < kMaxRank)
    return sum_of_products(astype(a, wide), astype(b, wide), {}, shape.size());
  if (int64_t longest = longest_piece(a, b); k > longest) return long_product(a, b, longest);
  if (int64_t length = piece_length(a, b, shape, k); length < k)
    return split_product(a, b, shape, length);
  return plain_product(a, b, shape);
}

}  // namespace

Tensor matmul(const Tensor& a0, const Tensor& b0) {
  if (autograd::recording(a0, b0)) return gradients::matmul(a0, b0);
  if (&a0.engine() != &b0.engine())
    raise(ErrorKind::device_mismatch, "[matmul] operands are on " + a0.engine().name() + " and " +
                                          b0.engine().name() + ": move one of them");
  if (a0.rank() == 0 || b0.rank() == 0)
    raise(ErrorKind::shape, "[matmul] takes no 0-d operands: shapes " + to_string(a0.shape()) +
                                " and " + to_string(b0.shape()));
  DType t = promote("matmul", a0.dtype(), b0.dtype());
  if (is_bool(t)) raise(ErrorKind::dtype, "[matmul] is not defined for bool: cast with astype()");
  check_dtype(a0.engine(), t, "matmul");
  Tensor a = a0.rank() == 1 ? expand_dims(a0, {0}) : a0;
  Tensor b = b0.rank() == 1 ? expand_dims(b0, {1}) : b0;
  if (a.shape().back() != b.shape()[b.rank() - 2])
    raise(ErrorKind::shape,
          "[matmul] shapes " + to_string(a0.shape()) + " and " + to_string(b0.shape()) +
              " do not match: " + std::to_string(a.shape().back()) + " columns against " +
              std::to_string(b.shape()[b.rank() - 2]) + " rows");
  // 16-bit floats are summed in float32: cast here, or as the kernel reads them.
  const DType read = graph::reads_packed(a.engine().device(), t) ? t : unpacked(t);
  Tensor r = astype(product_of(astype(a, read), astype(b, read)), t);
  std::vector<int64_t> drop;
  if (a0.rank() == 1) drop.push_back(r.rank() - 2);
  if (b0.rank() == 1) drop.push_back(r.rank() - 1);
  return drop.empty() ? r : squeeze(r, drop);
}

void check_kernels(std::string_view kernels, const char* setting) {
  graph::check_kernels(kernels, setting);
}

std::vector<std::string> matmul_kernels(graph::Engine& engine) {
  return graph::matmul_kernels(engine.device());
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor* bias) {
  int rank = weight.rank();
  if (rank < 1 || rank > 2 || x.rank() == 0 || x.shape().back() != weight.shape().back())
    raise(ErrorKind::shape, "[linear] an input of shape " + to_string(x.shape()) +
                                " and a weight " + to_string(weight.shape()) +
                                " do not match: (.., in) and (out, in) do");
  Tensor y = matmul(x, rank == 2 ? permute(weight, {1, 0}) : weight);
  return bias ? elementwise(graph::OpId::add, {y, *bias}) : y;
}

void eval(const std::vector<Tensor>& tensors) {
  std::vector<graph::Engine*> seen;
  for (const Tensor& t : tensors) {
    graph::Engine* e = &t.engine();
    if (std::find(seen.begin(), seen.end(), e) != seen.end()) continue;
    seen.push_back(e);
    rt::Lock lock = e->lock();
    std::vector<graph::Node*> targets;
    for (const Tensor& u : tensors)
      if (&u.engine() == e) {
        e->settle(*u.node());
        targets.push_back(u.node().get());
      }
    e->device().catch_up(lock);
    e->flush(targets);
    e->device().submit();
  }
}

rt::ReadbackRef to_host(const Tensor& t) {
  rt::Lock lock = t.engine().lock();
  rt::Device& device = t.engine().device();
  device.catch_up(lock);
  rt::ReadbackRef r = t.engine().read(t.node());
  auto faults = t.engine().faults().take(device);
  device.read_wait(*r, lock);
  if (faults) faults->check(device, lock);
  return r;
}

std::string explain(const Tensor& t) {
  rt::Lock lock = t.engine().lock();
  return t.engine().explain(t.node().get());
}

}  // namespace wgt
