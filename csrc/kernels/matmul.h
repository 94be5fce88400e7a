// Batched matrix products: C[b, r, c] = sum over k of A[b, r, k] * B[b, k, c].
//
// The plan picks a tile and says how the operands are bound; the source is shaders/matmul.wgsl
// around the caller's declarations:
//   in0, in1            storage, read: array<T> or array<vec4<T>> as a_vec4 and b_vec4 say; or
//                       functions mm_read_0(i) and mm_read_1(i) that give such elements
//   p                   with u32 members m, n, k, a_rs, a_cs, b_rs, b_cs (strides in two's
//   complement),
//                       and `batch`, the number of matrices, read only where batch > max_groups
//   fn batch_offset(b: u32) -> vec2<u32>                    first elements of A and B
//   fn emit4(b: u32, r: u32, c: u32, v: vec4<T>)            stores 4 columns from c, a multiple of
//   4, and
//                                                           leaves out those beyond n; r < m and c
//                                                           < n hold
//   fn depth_of(b: u32) -> u32                              k of that matrix, with last_k
//   fn x_offset_N(x: u32) -> u32, fn k_offset_N(k: u32) -> u32
//                                                           where an index of operand N that runs
//                                                           over several dimensions leads
// With half_sums T is f16, and what is emitted f32.
// Its own module-scope names begin with mm_. The source depends on classes (tile, direction of each
// operand, vec4 loads, ragged k), never on a size.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "kernels/template.h"
#include "runtime/adapter.h"

namespace wgt::kernels {

/// An index of an operand that runs over several dimensions, the last one fastest. The stride in
/// the problem is the last one's.
struct MatmulWalk {
  int64_t run;  // size of the last dimension
  bool fours;   // the other strides are multiples of 4
};

/// Sizes and element strides of rows and columns; of any sign, 0 where broadcast. No size is 0.
struct MatmulProblem {
  DType dtype;  // one of 32 or 64 bits: float, signed or unsigned
  int64_t batch, m, n, k;
  int64_t a_rs, a_cs, b_rs, b_cs;
  bool a_aligned, b_aligned;  // every offset (base and batch) is a multiple of 4 elements
  std::optional<MatmulWalk> a_rows = std::nullopt, a_k = std::nullopt, b_k = std::nullopt,
                            b_columns = std::nullopt;
  bool long_epilogue = false;  // emit4 is long: a flat copy for each vec4 would compile for seconds
  bool by_function = false;    // operands are read by mm_read_N(i), not from inN[i]
  int64_t last_k = 0;          // of some matrices, whose k is less; 0: of none
  bool half_sums = false;      // operands are f16, and so are the products of a step and their sums
  bool pieces = false;         // the batch is pieces along k of one product, which meet
};

struct MatmulLaunch {
  Vars vars;
  bool a_vec4 = false, b_vec4 = false;
  uint32_t wx = 1, wy = 1;          // workgroup size
  uint32_t gx = 1, gy = 1, gz = 1;  // workgroups
  int variant = 0;
};

/// The last tiles, which would leave most of a GPU idle, in pieces along k: each of `length`, but
/// for the last one, which may be shorter.
struct MatmulTail {
  int64_t first = 0, tiles = 0;  // none: 0 tiles
  int64_t pieces = 1, length = 0;
  int64_t sums = 0;  // fours of results of a thread
  int64_t lanes = 0;
  bool meet = false;  // one kernel for tiles, pieces and sums
  int64_t fours() const { return pieces * tiles * sums * lanes; }
};

/// What the choice of a kernel looks at.
struct MatmulTarget {
  const rt::Limits& limits;
  bool software = false;
  int units = 132;    // multiprocessors
  bool meet = false;  // Device::workgroups_meet()
};

/// `force` names a variant, for benchmarks and tests; raises where the limits do not allow it.
MatmulLaunch plan_matmul(const MatmulTarget& target, const MatmulProblem& problem, int force = -1);

/// What writing a piece's result and reading it again takes, as costs are counted, over all
/// multiprocessors.
constexpr double kMatmulMove = 38;
/// Time of the kernel that would be chosen on a GPU, in multiply-adds that one multiprocessor does
/// at its best.
double matmul_cost(const MatmulTarget& target, const MatmulProblem& problem);
/// The variants that are right for a problem: what plan_matmul() takes, then the others by their
/// estimated time. Empty where none fits.
std::vector<int> matmul_candidates(const MatmulTarget& target, const MatmulProblem& problem);
/// What their order depends on, in a short text: dtype, sizes, how operands are read, epilogue.
std::string matmul_class(const MatmulProblem& problem, int (*size_step)(int64_t size, int most));
/// Whether the kernels for pieces of k can do it.
bool matmul_may_cut(const MatmulProblem& problem);
/// All tiles in pieces along k, summed by workgroups that meet.
MatmulTail matmul_all_cut(const MatmulProblem& problem, int variant, int64_t pieces);
/// The tail of what plan_matmul() gave.
MatmulTail matmul_tail(const MatmulTarget& target, const MatmulProblem& problem, int variant);

/// Texts that a tail's kernels take: how many tiles lie before it, how many it has, the length and
/// the number of its pieces, and the array of their results.
struct MatmulCut {
  std::string first, rest, length, count, pieces;
  bool meet = false;  // `pieces` are atomic words, the first `zeros` of which count arrivals
  int64_t zeros = 0;
};
std::string matmul_source(const MatmulLaunch& launch, const std::string& declarations);
/// With `meet` of whole tiles, too, and the sums: all in one.
std::string matmul_pieces_source(const MatmulLaunch& launch, const std::string& declarations,
                                 const MatmulCut& cut);
std::string matmul_sum_source(const MatmulLaunch& launch, const std::string& declarations,
                              const MatmulCut& cut);

int matmul_variant_count();
const char* matmul_variant_name(int variant);
/// -1 where there is none of that name.
int matmul_variant_named(std::string_view name);
bool matmul_variant_fits(const rt::Limits& limits, int variant, DType dtype);
/// Whether it is one for half_sums, and for nothing else.
bool matmul_variant_of_halves(int variant);

}  // namespace wgt::kernels
