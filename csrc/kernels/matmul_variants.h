// The kernels for matrix products: one template, many tiles.
#pragma once
#include <algorithm>
#include <iterator>
#include <string_view>

#include "kernels/matmul.h"

namespace wgt::kernels {

enum Flag : int {
  kPrefetch = 1,  // the next step is read while this one is multiplied
  kAlways = 2,    // and that without a branch
  kGap = 4,       // gaps in transposed operands keep writes out of each other's banks
  kEmitLoop = 8,  // one copy of the epilogue's code, for which the results are spilled
  kHalf = 16,     // for half_sums: a step's sums are float16, whole sums float32
};

/// See shaders/matmul.wgsl. The names say tile, results per thread, and what is special: s slices,
/// b a branch around reads, e emitted by a loop. Those that no choice names serve benchmarks.
struct Variant {
  const char* name;
  int bm, bn, bk;  // the tile
  int tm, tn;      // results per thread
  int split;       // slices of threads along k
  int lx, ly;      // lanes of a block
  int unroll;      // flat steps along k
  int flags;

  bool has(Flag f) const { return (flags & f) != 0; }
  uint32_t threads() const { return static_cast<uint32_t>(bm / tm * (bn / tn) * split); }
  int gap(bool along_k) const { return has(kGap) && along_k ? std::max(32 / bk, 1) : 0; }
  uint32_t workgroup_bytes(DType t) const {
    // A place of a half's tile has two steps, and so has one in a gap.
    const int tiles = bk * (bm / 4 + bn / 4) + bk / 4 * 2 * gap(true) * (has(kHalf) ? 2 : 1);
    const int sums = (split - 1) * bm * bn / 4;
    return static_cast<uint32_t>(std::max(tiles, sums) * 4 * (has(kHalf) ? 2 : info(t).size));
  }
};

// cpu_* come from a sweep on llvmpipe, which likes many results per thread, few barriers and little
// code: a flat epilogue halves its speed.
inline constexpr int kGpu = kPrefetch | kAlways | kGap;
inline constexpr int kBranch = kPrefetch | kGap;
inline constexpr Variant kVariants[] = {
    {"128x128x16_8x16_b", 128, 128, 16, 8, 16, 1, 8, 4, 16, kBranch},
    {"128x128x16_8x16_be", 128, 128, 16, 8, 16, 1, 8, 4, 16, kBranch | kEmitLoop},
    {"128x128x16_16x8", 128, 128, 16, 16, 8, 1, 8, 4, 16, kGpu},
    {"128x128x8_8x16", 128, 128, 8, 8, 16, 1, 8, 4, 8, kGpu},
    {"128x96x16_8x12", 128, 96, 16, 8, 12, 1, 4, 8, 16, kGpu},
    {"128x96x16_8x12_e", 128, 96, 16, 8, 12, 1, 4, 8, 16, kGpu | kEmitLoop},
    {"96x128x16_12x8", 96, 128, 16, 12, 8, 1, 8, 4, 16, kGpu},
    {"96x128x16_12x8_e", 96, 128, 16, 12, 8, 1, 8, 4, 16, kGpu | kEmitLoop},
    {"256x128x16_8x16", 256, 128, 16, 8, 16, 1, 8, 4, 16, kGpu},
    {"64x128x16_8x8", 64, 128, 16, 8, 8, 1, 4, 8, 16, kGpu},
    {"64x128x16_8x8_e", 64, 128, 16, 8, 8, 1, 4, 8, 16, kGpu | kEmitLoop},
    {"128x64x16_8x8", 128, 64, 16, 8, 8, 1, 4, 8, 16, kGpu},
    {"128x64x16_8x8_e", 128, 64, 16, 8, 8, 1, 4, 8, 16, kGpu | kEmitLoop},
    {"128x64x8_8x8", 128, 64, 8, 8, 8, 1, 8, 4, 8, kGpu},
    {"64x64x16_8x8", 64, 64, 16, 8, 8, 1, 8, 4, 16, kGpu},
    {"64x64x16_8x8_e", 64, 64, 16, 8, 8, 1, 8, 4, 16, kGpu | kEmitLoop},
    {"64x64x16_8x8_s2", 64, 64, 16, 8, 8, 2, 8, 4, 8, kGpu},
    {"64x64x16_8x8_s2e", 64, 64, 16, 8, 8, 2, 8, 4, 8, kGpu | kEmitLoop},
    {"64x64x16_8x4", 64, 64, 16, 8, 4, 1, 8, 4, 16, kGpu},
    {"64x64x16_8x4_e", 64, 64, 16, 8, 4, 1, 8, 4, 16, kGpu | kEmitLoop},
    {"64x64x32_8x8_s4", 64, 64, 32, 8, 8, 4, 8, 4, 8, kGpu},
    {"64x32x16_8x4", 64, 32, 16, 8, 4, 1, 8, 4, 16, kGpu},
    {"64x32x32_8x4_s4", 64, 32, 32, 8, 4, 4, 8, 4, 8, kGpu},
    {"32x32x32_4x4_s4", 32, 32, 32, 4, 4, 4, 8, 4, 8, kGpu},
    {"32x32x16_4x4_s2", 32, 32, 16, 4, 4, 2, 8, 4, 8, kGpu},
    {"16x16x64_4x4_s8", 16, 16, 64, 4, 4, 8, 4, 4, 8, kGpu},
    {"half_64x128x32_8x8", 64, 128, 32, 8, 8, 1, 8, 4, 32, kGpu | kHalf},
    {"half_64x128x32_8x8_e", 64, 128, 32, 8, 8, 1, 8, 4, 32, kGpu | kHalf | kEmitLoop},
    {"half_128x64x32_8x8", 128, 64, 32, 8, 8, 1, 2, 16, 32, kGpu | kHalf},
    {"half_64x64x32_8x8", 64, 64, 32, 8, 8, 1, 8, 4, 32, kGpu | kHalf},
    {"half_64x64x32_8x8_e", 64, 64, 32, 8, 8, 1, 8, 4, 32, kGpu | kHalf | kEmitLoop},
    {"half_64x64x32_8x4", 64, 64, 32, 8, 4, 1, 8, 4, 32, kGpu | kHalf},
    {"half_32x32x32_4x4", 32, 32, 32, 4, 4, 1, 8, 4, 32, kGpu | kHalf | kEmitLoop},
    {"cpu_128x128x16_16x16", 128, 128, 16, 16, 16, 1, 2, 4, 1, kEmitLoop},
    {"cpu_64x64x16_8x8", 64, 64, 16, 8, 8, 1, 8, 8, 1, kEmitLoop},
    {"cpu_16x16x32_8x8_s4", 16, 16, 32, 8, 8, 4, 2, 2, 1, kEmitLoop},
};
inline constexpr int kCount = static_cast<int>(std::size(kVariants));

constexpr int find(std::string_view name) {
  for (int i = 0; i < kCount; ++i)
    if (name == kVariants[i].name) return i;
  return -1;
}

/// A name that stands in this file: looked up by the compiler, which refuses one that is not there.
consteval int index_of(std::string_view name) {
  const int v = find(name);
  if (v < 0) throw "no such variant";
  return v;
}

inline int64_t div_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
inline int64_t tiles(const Variant& v, const MatmulProblem& p) {
  return div_up(p.m, v.bm) * div_up(p.n, v.bn);
}

inline bool fits(const rt::Limits& limits, const Variant& v, DType t) {
  return v.threads() <= limits.max_invocations && v.threads() <= limits.max_workgroup_x &&
         v.workgroup_bytes(t) <= limits.max_workgroup_memory;
}

/// How one operand is read: along k or along its rows or columns, by vec4s or single elements.
struct Reading {
  bool along_k, vec4;
};
Reading reading_of_a(const MatmulProblem& p);
Reading reading_of_b(const MatmulProblem& p);

/// The variant by the estimate; -1 where none fits.
int choose_variant(const MatmulTarget& target, const MatmulProblem& problem);

}  // namespace wgt::kernels
