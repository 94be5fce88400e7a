// Class indices as targets.
#pragma once
#include "tensor/tensor.h"

namespace wgt {

struct Classes {
  Tensor counted;  // not the class that is ignored
  Tensor index;    // uint32; 0 where it does not count
};
/// Of integers; a class that counts and is none of `size` raises IndexError at the next read.
/// `axis` is that of the classes among the scores.
Classes classes_of(const Tensor& target, int64_t size, int axis, int64_t ignored, const char* op);
/// True at the class, along `axis` of the result, which has `size` places there.
Tensor class_hits(const Tensor& index, int64_t size, int axis);

}  // namespace wgt
