// Writing to places that are data.
#pragma once
#include "tensor/gather.h"

namespace wgt {

/// `base` with `value` put in: element by element over value's shape with `strides` of the dense
/// base, moved by `position` (uint32, broadcast), unless that is beyond `last`. dtypes of whole
/// words, for all but `store` int32 and uint32.
Tensor scatter(graph::ScatterOp op, const Tensor& base, const Tensor& value, const Tensor& position,
               const Dims& strides, int64_t last);

/// The places of what is true, in row-major order, as indices for each axis in int32. Reads their
/// number back.
std::vector<Tensor> places_of_true(const Tensor& mask);

}  // namespace wgt
