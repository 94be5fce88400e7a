// Functions of places that are data with their gradients: see gradients.h.
#pragma once
#include "tensor/regions.h"

namespace wgt::gradients {

Tensor gather(const Tensor& x, const Indices& indices, int at, const char* op);
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis, IndexMode mode,
                       const char* op);
Tensor assign_at(const Tensor& t, const Resolved& key, const Operand& value, const char* op);
Tensor placed_at(const Dims& shape, const Resolved& key, const Tensor& value, const char* op);
/// Products have none.
Tensor accumulate_at(graph::ReduceOp op, const Tensor& t, const Resolved& key, const Operand& value,
                     const char* name);

}  // namespace wgt::gradients
