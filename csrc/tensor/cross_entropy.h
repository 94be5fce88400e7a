// Cross entropy, and the means of what it gives.
#pragma once
#include "tensor/tensor.h"

namespace wgt {

/// sum(targets * (logsumexp(scores) - scores)) along an axis, which is gone from the result; both
/// of one shape and dtype, float32 or float64. One kernel, which also writes what the gradients'
/// one kernel needs. Raises ShapeError, DTypeError.
Tensor cross_entropy(const Tensor& scores, const Tensor& targets, int64_t axis);

/// The weighted mean of those of the rows that are `counted` (bools of the result's shape, as the
/// weights, which are 0 elsewhere): two kernels, one for the gradient.
Tensor mean_cross_entropy(const Tensor& scores, const Tensor& targets, int64_t axis,
                          const Tensor& counted, const Tensor& weights);

/// sum(a) / sum(b) over all elements, both of one shape and dtype as above. One kernel.
Tensor weighted_mean(const Tensor& a, const Tensor& b);

}  // namespace wgt
