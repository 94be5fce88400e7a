// The primitive functions on tensors with their gradients: each calls its namesake without a record
// of what happens inside, and puts the result on the tape with a rule. The functions call these
// when an operand requires a gradient.
#pragma once
#include "tensor/tensor.h"

namespace wgt::gradients {

Tensor elementwise(graph::OpId op, std::span<const Operand> operands, const Tensor& result);
Tensor astype(const Tensor& t, DType dtype);
Tensor copy(const Tensor& t);

Tensor reshape(const Tensor& t, const Dims& shape);
Tensor permute(const Tensor& t, const std::vector<int64_t>& axes);
Tensor broadcast_to(const Tensor& t, const Dims& shape);
Tensor expand_dims(const Tensor& t, const std::vector<int64_t>& axes);
Tensor squeeze(const Tensor& t, const std::optional<std::vector<int64_t>>& axes);
Tensor diagonal(const Tensor& t, int64_t offset, int64_t axis1, int64_t axis2);
Tensor windows(const Tensor& t, const Dims& sizes, const Dims& steps, const Dims& dilations);
Tensor index(const Tensor& t, const std::vector<IndexItem>& items);
Tensor index_assign(const Tensor& t, const std::vector<IndexItem>& items, const Operand& value);
Tensor strided(const Tensor& t, const Dims& shape, const Layout& layout);
Tensor place(graph::Engine& e, const Dims& shape, DType dtype, const std::vector<Piece>& pieces,
             const std::optional<Scalar>& fill, const char* op);
Tensor concat(const std::vector<Tensor>& parts, int64_t axis, const char* op);

Tensor reduce(const char* op, const Tensor& t, const std::optional<std::vector<int64_t>>& axes,
              bool keepdims);
Tensor variance(const char* name, const Tensor& t, const std::optional<std::vector<int64_t>>& axes,
                double correction, bool keepdims);
Tensor softmax(const Tensor& t, int64_t axis, bool logarithm);
Tensor scan(const char* name, const Tensor& t, std::optional<int64_t> axis, bool initial);

Tensor sort(const Tensor& t, int64_t axis, bool descending);
Tensor running_extremum_gradient(const Tensor& g, const Tensor& x, const Tensor& result, int axis);

Tensor matmul(const Tensor& a, const Tensor& b);
Tensor contract(const Tensor& a, const Tensor& b, graph::ProductRanks ranks, const char* op);

}  // namespace wgt::gradients
