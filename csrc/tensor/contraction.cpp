// Sums of products over several dimensions at once, of operands with any strides: convolutions are
// such, of weights and of windows over the input.
#include <algorithm>
#include <cstdlib>

#include "tensor/autograd.h"
#include "tensor/gradients.h"

namespace wgt {

using graph::OpId;
using graph::ProductRanks;

namespace {

int shared_begin(const Tensor& t, bool is_a, ProductRanks ranks) {
  return is_a ? t.rank() - ranks.shared : t.rank() - ranks.columns - ranks.shared;
}

// Dimensions of the result.
Dims result_shape(const Tensor& a, const Tensor& b, ProductRanks ranks, const char* op) {
  Dims batch_a, batch_b;
  int end_a = a.rank() - ranks.rows - ranks.shared, end_b = b.rank() - ranks.columns - ranks.shared;
  for (int d = 0; d < end_a; ++d) batch_a.push_back(a.shape()[d]);
  for (int d = 0; d < end_b; ++d) batch_b.push_back(b.shape()[d]);
  Dims shape = broadcast(op, batch_a, batch_b);
  for (int d = end_a; d < end_a + ranks.rows; ++d) shape.push_back(a.shape()[d]);
  for (int d = b.rank() - ranks.columns; d < b.rank(); ++d) shape.push_back(b.shape()[d]);
  return shape;
}

int64_t product(const Dims& shape, int first, int count) {
  int64_t n = 1;
  for (int d = first; d < first + count; ++d) n *= shape[d];
  return n;
}

}  // namespace

Tensor sum_of_products(const Tensor& a, const Tensor& b, ProductRanks ranks, int rank) {
  std::vector<int64_t> columns, rows, axes;
  for (int i = 0; i < ranks.columns; ++i) columns.push_back(-1 - i);
  int end_b = b.rank() - ranks.columns - ranks.shared;
  for (int i = 0; i < ranks.rows; ++i) rows.push_back(end_b + i);
  for (int i = 0; i < ranks.shared; ++i) axes.push_back(rank - ranks.columns + i);
  Tensor terms = elementwise(OpId::multiply, {expand_dims(a, columns), expand_dims(b, rows)});
  return reduce("sum", terms, axes, false);
}

namespace {

// The shared dimension to halve, or -1: no loop may be longer than software drivers allow, and what
// a few rows or columns reach must fit a binding.
int dimension_to_cut(const Tensor& a, const Tensor& b, ProductRanks ranks) {
  constexpr int64_t kLongest = int64_t{1} << 19;
  rt::Lock lock = a.engine().lock();
  int64_t most = static_cast<int64_t>(a.engine().device().limits().max_binding) / 8;
  for (const Tensor* t : {&a, &b}) {
    int begin = shared_begin(*t, t == &a, ranks), widest = -1, largest = -1;
    int64_t reach = 0, count = 1, span = 0;
    Layout l = graph::Engine::layout_of(*t->node());
    for (int d = begin; d < begin + ranks.shared; ++d) {
      int64_t n = t->shape()[d], own = (n - 1) * std::abs(l.strides[d]);
      if (n > 1 && own > span) {
        widest = d - begin;
        span = own;
      }
      if (n > 1 && (largest < 0 || n > t->shape()[begin + largest])) largest = d - begin;
      reach += own;
      count *= n;
    }
    if (reach > most) return widest;
    if (count > kLongest) return largest;
  }
  return -1;
}

Tensor contract_same(const Tensor& a, const Tensor& b, ProductRanks ranks, const Dims& shape) {
  int cut = dimension_to_cut(a, b, ranks);
  if (cut < 0) {
    rt::Lock lock = a.engine().lock();
    return Tensor(a.engine().matmul(a.node(), b.node(), shape, ranks));
  }
  int at_a = shared_begin(a, true, ranks) + cut, at_b = shared_begin(b, false, ranks) + cut;
  int64_t n = a.shape()[at_a], half = n / 2;
  auto piece = [&](int64_t start, int64_t length) {
    return contract_same(part_of(a, at_a, start, length), part_of(b, at_b, start, length), ranks,
                         shape);
  };
  return elementwise(OpId::add, {piece(0, half), piece(half, n - half)});
}

}  // namespace

Tensor contract(const Tensor& a0, const Tensor& b0, ProductRanks ranks, const char* op) {
  if (autograd::recording(a0, b0)) return gradients::contract(a0, b0, ranks, op);
  std::string name = std::string("[") + op + "] ";
  if (&a0.engine() != &b0.engine())
    raise(ErrorKind::device_mismatch, name + "operands are on " + a0.engine().name() + " and " +
                                          b0.engine().name() + ": move one of them");
  DType t = promote(op, a0.dtype(), b0.dtype());
  if (is_bool(t)) raise(ErrorKind::dtype, name + "is not defined for bool: cast with astype()");
  check_dtype(a0.engine(), t, op);
  if (a0.rank() < ranks.rows + ranks.shared || b0.rank() < ranks.columns + ranks.shared)
    internal_error(name + "operands with too few dimensions");
  int at_a = shared_begin(a0, true, ranks), at_b = shared_begin(b0, false, ranks);
  for (int i = 0; i < ranks.shared; ++i)
    if (a0.shape()[at_a + i] != b0.shape()[at_b + i])
      raise(ErrorKind::shape, name + "summed dimensions of " + to_string(a0.shape()) + " and " +
                                  to_string(b0.shape()) + " do not match");
  Dims shape = result_shape(a0, b0, ranks, op);
  int64_t shared = product(a0.shape(), at_a, ranks.shared);
  if (numel(shape) == 0 || shared == 0) {
    rt::Lock lock = a0.engine().lock();
    return Tensor(a0.engine().fill(t, shape, 0));
  }
  DType wide = unpacked(t);  // 16-bit floats are summed in float32
  if (t != wide) return astype(contract(astype(a0, wide), astype(b0, wide), ranks, op), t);
  Tensor a = astype(a0, t), b = astype(b0, t);
  int64_t rows = product(a.shape(), a.rank() - ranks.rows - ranks.shared, ranks.rows);
  int64_t columns = product(b.shape(), b.rank() - ranks.columns, ranks.columns);
  bool small = numel(shape) < (int64_t{1} << 32) / shared;
  if ((rows == 1 || columns == 1) && small && shape.size() + ranks.shared <= kMaxRank)
    return sum_of_products(a, b, ranks, shape.size());
  return contract_same(a, b, ranks, shape);
}

}  // namespace wgt
