// Tensors of random numbers. Element i depends on key, counter and i alone.
#pragma once
#include "tensor/tensor.h"

namespace wgt {

/// Where in the sequence of a generator a tensor's words lie: it takes a block of four words for
/// every four elements, from `offset` on, and as many again of each further stream that a
/// distribution needs.
struct RandomState {
  uint64_t seed = 0, offset = 0;
};

enum class Distribution : uint8_t {
  bits,         // uint32: 32 random bits
  uniform,      // in [0, 1), by as many bits as the dtype's fractions have: 24, 53, 11, 8
  exponential,  // -log(u), above 0
  normal,       // sqrt(-2 log(u)) cos(2 pi v) (Box and Muller 1958)
};
/// Raises DTypeError for what is no float (bits: no uint32).
Tensor random(graph::Engine& e, Distribution d, const Dims& shape, DType dtype, RandomState at);
/// Integers in [0, span), of uint32 or uint64; with span 0 all of them. Two words for each: that
/// one comes more often than another by less than 2^-32 of its chance, for spans up to 2^32.
Tensor random_below(graph::Engine& e, uint64_t span, const Dims& shape, DType dtype,
                    RandomState at);
/// x * scale + shift, the product rounded before the sum on every adapter; scalars in x's dtype.
Tensor affine(const Tensor& x, double scale, double shift);

}  // namespace wgt
