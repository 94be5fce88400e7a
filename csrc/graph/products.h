// What matrix products ask of the adapter before there is a plan.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/layout.h"
#include "kernels/matmul.h"
#include "runtime/device.h"

namespace wgt::graph {

kernels::MatmulTarget matmul_target(const rt::Device& device);

/// Into how many pieces to cut the shared axis of a product [.., m, k] @ [.., k, n], whose shape is
/// `shape`; the pieces' results are added up by a second kernel, or by workgroups that meet. 1: it
/// does not pay.
int64_t product_pieces(const rt::Device& device, DType dtype, const Dims& shape, int64_t k);

/// Whether one kernel can cut the shared axis of a @ b and add up: then no node is cut.
bool meets_in_product(const rt::Device& device, DType dtype, const Dims& a, const Dims& b);

/// Pieces of a shared axis are whole steps of the kernels, or whole parts of one.
constexpr int64_t kPieceStep = 16;
/// Of `pieces` of k, all but the last one, which may be shorter.
constexpr int64_t length_of_pieces(int64_t k, int64_t pieces) {
  return (k + pieces * kPieceStep - 1) / (pieces * kPieceStep) * kPieceStep;
}

/// The bits of a product's node: whether sums may be of float16, and the last tiles cut.
constexpr uint64_t kHalfSums = 1, kMayCut = 2;
constexpr uint64_t product_bits(bool half_sums, bool may_cut) {
  return (half_sums ? kHalfSums : 0) | (may_cut ? kMayCut : 0);
}

/// The kernels that fit the device, as the setting `kernels` names them.
std::vector<std::string> matmul_kernels(const rt::Device& device);

/// Raises ValueError with all names where a value of the setting `kernels` names none of them.
void check_kernels(std::string_view kernels, const char* setting);

/// The variant that the setting `kernels` asks for ("matmul:NAME"), where it fits; else -1. Those
/// for half_sums fit float16 alone.
int forced_variant(const rt::Device& device, DType operands);

/// Whether products read operands of the dtype as they are: float16 where kernels have it. Others
/// of 16 bits are cast to float32 first.
bool reads_packed(const rt::Device& device, DType operands);

}  // namespace wgt::graph
