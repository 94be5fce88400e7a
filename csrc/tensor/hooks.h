// Whether hooks of tensors are what they were.
#pragma once
#include <cstdint>

#include "tensor/tensor.h"

namespace wgt::autograd {

/// Another number after each hook that is added to or removed from a leaf; 0 for what is none.
uint64_t hooks_version(const Tensor& t);

}  // namespace wgt::autograd
