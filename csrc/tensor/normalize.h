// Rows brought to one size.
#pragma once
#include "tensor/tensor.h"

namespace wgt {

/// x / sqrt(mean(x^2) + eps) over the last axis; `centred`: of x less its mean there. One kernel
/// where rows fit a binding. Raises ShapeError for 0-d, DTypeError for what is neither float32 nor
/// float64.
Tensor normalize(const Tensor& x, bool centred, double eps);

}  // namespace wgt
