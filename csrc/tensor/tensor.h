// Tensors: mutable handles on immutable nodes, and the functions on them. Every function takes the
// device's lock itself; call them without the GIL.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "graph/engine.h"
#include "tensor/variable.h"

namespace wgt {

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(graph::NodeRef n) : h_(std::move(n)) {}
  const graph::NodeRef& node() const { return h_.ref(); }
  graph::Engine& engine() const { return *h_->engine; }
  const Dims& shape() const { return h_->shape; }
  DType dtype() const { return h_->dtype; }
  int rank() const { return h_->shape.size(); }
  int64_t size() const { return numel(h_->shape); }
  /// The same tensor with another value.
  void move_to(graph::NodeRef n) { h_ = graph::Handle(std::move(n)); }

  /// What the tape knows of it; null for most tensors.
  autograd::Variable* variable() const { return variable_.get(); }
  bool requires_grad() const { return variable_ && variable_->requires_grad; }
  /// The same value with another place on the tape, or none.
  Tensor with_variable(Ref<autograd::Variable> v) const {
    Tensor t(*this);
    t.variable_ = std::move(v);
    return t;
  }
  Tensor detached() const { return with_variable({}); }
  const Ref<autograd::Variable>& variable_ref() const { return variable_; }

 private:
  graph::Handle h_;
  Ref<autograd::Variable> variable_;
};

/// A Python scalar: takes the dtype of the tensors it meets.
struct Scalar {
  Kind kind = Kind::f;  // b, i, u (an int above int64's range) or f
  double f = 0;
  int64_t i = 0;  // of kind u: the bits where 64 of them hold it, else 0
};

using Operand = std::variant<Tensor, Scalar>;

// Elementwise. Raises ShapeError, DTypeError, DeviceMismatchError.
Tensor elementwise(graph::OpId op, std::span<const Operand> args,
                   graph::Engine* engine_of_scalars = nullptr);
inline Tensor elementwise(graph::OpId op, std::initializer_list<Operand> args) {
  return elementwise(op, std::span<const Operand>(args.begin(), args.size()));
}
/// The same if it takes no waiting and starts no work, else an empty tensor: so short that the GIL
/// may be kept.
Tensor try_elementwise(graph::OpId op, std::span<const Operand> args);
Tensor astype(const Tensor& t, DType dtype);
Tensor copy(const Tensor& t);
/// The same bytes as another dtype, along the last axis where items differ in size; the value is
/// computed first. No copy where strides allow. Raises ValueError where sizes do not fit.
Tensor bitcast(const Tensor& t, DType dtype);

bool has_dtype(graph::Engine& e, DType dtype);
/// Raises DTypeError where the adapter lacks the dtype.
void check_dtype(graph::Engine& e, DType dtype, const char* op);

// Creation.
Tensor full(graph::Engine& e, const Dims& shape, const Scalar& value, DType dtype,
            const char* op = "full");
Tensor arange(graph::Engine& e, double start, double stop, double step, DType dtype);
Tensor eye(graph::Engine& e, int64_t n, int64_t m, int64_t k, DType dtype);
/// Zeros, or in debug mode its pattern. Not `blank`: for what is then written, all of it.
Tensor empty(graph::Engine& e, const Dims& shape, DType dtype, bool blank = true);
/// Copies host memory at the call. `strides` in bytes, of any sign.
Tensor from_host(graph::Engine& e, DType dtype, const Dims& shape, const Dims& strides,
                 const void* data);

// Views: no copy, but for a reshape that strides cannot express.
Tensor reshape(const Tensor& t, const Dims& shape);
bool reshape_copies(const Tensor& t, const Dims& shape);
Tensor permute(const Tensor& t, const std::vector<int64_t>& axes);
Tensor broadcast_to(const Tensor& t, const Dims& shape);
Tensor expand_dims(const Tensor& t, const std::vector<int64_t>& axes);
Tensor squeeze(const Tensor& t, const std::optional<std::vector<int64_t>>& axes);
/// The diagonals of the planes of two axes, as a last axis; above the main one for offset > 0.
Tensor diagonal(const Tensor& t, int64_t offset, int64_t axis1, int64_t axis2);

/// What windows of `sizes` over the last dimensions see, `steps` apart, of elements `dilations`
/// apart:
/// [.., place in the window.., windows..]. Shows elements as often as windows see them.
Tensor windows(const Tensor& t, const Dims& sizes, const Dims& steps, const Dims& dilations);

struct IndexItem {
  enum What : uint8_t { integer, slice, newaxis } what;
  int64_t start = 0, step = 1, length = 0;  // integer: start, checked and not negative
};
/// Basic indexing with as many integers and slices as dimensions.
Tensor index(const Tensor& t, const std::vector<IndexItem>& items);
/// Shape of a view, and where its elements lie.
struct Placed {
  Dims shape;
  Layout at;
};
/// An index into what `from` lays out; the diagonals of what it lays out in `shape`.
Placed indexed(const Layout& from, const std::vector<IndexItem>& items);
Placed diagonal_of(const Layout& from, const Dims& shape, int64_t offset, int64_t axis1,
                   int64_t axis2);
/// What a layout shows of the dense tensor, each element at most once. A copy comes first where `t`
/// is not dense.
Tensor strided(const Tensor& t, const Dims& shape, const Layout& layout);
/// `length` places of one axis from `start` on.
Tensor part_of(const Tensor& t, int axis, int64_t start, int64_t length);
/// `t` with the axis and the last one swapped: its own inverse.
Tensor with_axis_last(const Tensor& t, int axis);
/// `t` with the indexed elements replaced by `value`, broadcast and cast.
Tensor index_assign(const Tensor& t, const std::vector<IndexItem>& items, const Operand& value);

// Results made of pieces: a kernel for each piece writes it into its place.
struct Piece {
  Tensor value;
  Layout at;  // over the value's shape, in elements of the dense result
};
/// Pieces in a result of `fill` or, without one, of unspecified elements. Raises ValueError for a
/// piece outside, DeviceMismatchError.
Tensor place(graph::Engine& e, const Dims& shape, DType dtype, const std::vector<Piece>& pieces,
             const std::optional<Scalar>& fill, const char* op);
/// Raises ValueError for no tensors, ShapeError, DTypeError, DeviceMismatchError.
Tensor concat(const std::vector<Tensor>& parts, int64_t axis, const char* op);

// Reductions by name (reductions.cpp lists them); `axes` absent: all. Raises ValueError for what
// has no value over no elements.
Tensor reduce(const char* op, const Tensor& t, const std::optional<std::vector<int64_t>>& axes,
              bool keepdims);
/// "var": sum of squared differences from the mean, over the number of elements less `correction`,
/// or over 0 where that is less; "std": its root.
Tensor variance(const char* name, const Tensor& t, const std::optional<std::vector<int64_t>>& axes,
                double correction, bool keepdims);
Tensor softmax(const Tensor& t, int64_t axis, bool logarithm = false);
/// cumulative_sum, _prod, _max, _min along an axis, which may be absent for vectors; `initial`: one
/// place longer, behind the operation's identity.
Tensor scan(const char* name, const Tensor& t, std::optional<int64_t> axis, bool initial);
/// Stable, along an axis; NaN is last in either order, -0.0 and 0.0 are alike.
Tensor sort(const Tensor& t, int64_t axis, bool descending = false);
/// The same as int32 places. `key_bits`: the elements are integers from 0 to 2^key_bits - 1, which
/// takes less work. Raises IndexError for no dimensions.
Tensor argsort(const Tensor& t, int64_t axis, bool descending = false, int key_bits = 0);
/// Places (int32) of the k greatest or least elements along an axis, in order; of equal ones the
/// first come first, NaN last. Few of long rows are chosen without sorting all. Raises ValueError
/// for another k than 0 to the axis's size.
Tensor top_places(const Tensor& t, int64_t k, int64_t axis, bool largest);
/// The vector whose element order[i] is t[i]: `order` has each place once. Of whole words.
Tensor unpermuted(const Tensor& t, const Tensor& order);
/// For each value how many elements of a sorted vector are less (left), less or equal (right), or
/// whether one is equal (found); int32. Both of one dtype. NaN is above all and equals itself.
Tensor search(const Tensor& sorted, const Tensor& values, graph::SearchSide side, const char* op);

/// What a mask, where anything but 0 is true, selects of each tensor of its size, in row-major
/// order; of none the places (int32). Reads their number back: waits. Raises UnsupportedError for
/// 2^31 elements or more.
std::vector<Tensor> select_true(const Tensor& mask,
                                const std::vector<std::optional<Tensor>>& wanted);
/// As NumPy's @: vectors, matrices, broadcast batches.
Tensor matmul(const Tensor& a, const Tensor& b);
/// x @ weight.T + bias of [.., in], [out, in] or [in], and what broadcasts. Raises ShapeError.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor* bias);
/// Sums of products of [batch.., rows.., shared..] and [batch.., shared.., columns..] over the
/// shared dimensions: [batch.., rows.., columns..]. Batches broadcast. One kernel, whatever the
/// strides, where both have one dtype of whole words.
Tensor contract(const Tensor& a, const Tensor& b, graph::ProductRanks ranks, const char* op);
/// The same as a reduction, to a result of `rank` dimensions. With one row or one column nothing is
/// used twice: it reads no more than a product of matrices does, at bandwidth.
Tensor sum_of_products(const Tensor& a, const Tensor& b, graph::ProductRanks ranks, int rank);

/// The number as a fill of the dtype holds it. Raises OverflowError or ValueError.
uint64_t scalar_as_bits(const char* op, DType t, const Scalar& s);

/// Starts the work of these tensors and does not wait.
void eval(const std::vector<Tensor>& tensors);
/// Dense row-major bytes of the tensor; waits.
rt::ReadbackRef to_host(const Tensor& t);
std::string explain(const Tensor& t);

}  // namespace wgt
