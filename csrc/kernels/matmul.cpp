#include "kernels/matmul.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/errors.h"

namespace wgt::kernels {
namespace {

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
constexpr int kGpu = kPrefetch | kAlways | kGap;
constexpr int kBranch = kPrefetch | kGap;
constexpr Variant kVariants[] = {
    {"128x128x16_8x16_b", 128, 128, 16, 8, 16, 1, 8, 4, 16, kBranch},
    {"128x128x16_8x16_be", 128, 128, 16, 8, 16, 1, 8, 4, 16, kBranch | kEmitLoop},
    {"128x128x16_16x8", 128, 128, 16, 16, 8, 1, 8, 4, 16, kGpu},
    {"128x128x8_8x16", 128, 128, 8, 8, 16, 1, 8, 4, 8, kGpu},
    {"128x96x16_8x12", 128, 96, 16, 8, 12, 1, 8, 4, 16, kGpu},
    {"256x128x16_8x16", 256, 128, 16, 8, 16, 1, 8, 4, 16, kGpu},
    {"128x64x16_8x8", 128, 64, 16, 8, 8, 1, 8, 4, 16, kGpu},
    {"128x64x16_8x8_e", 128, 64, 16, 8, 8, 1, 8, 4, 16, kGpu | kEmitLoop},
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
    {"half_128x64x32_8x8", 128, 64, 32, 8, 8, 1, 8, 4, 32, kGpu | kHalf},
    {"half_128x64x32_8x8_l216", 128, 64, 32, 8, 8, 1, 2, 16, 32, kGpu | kHalf},
    {"half_64x128x32_8x8", 64, 128, 32, 8, 8, 1, 8, 4, 32, kGpu | kHalf},
    {"half_64x128x32_8x8_l162", 64, 128, 32, 8, 8, 1, 16, 2, 32, kGpu | kHalf},
    {"half_64x128x32_8x8_l48", 64, 128, 32, 8, 8, 1, 4, 8, 32, kGpu | kHalf},
    {"128x128x16_8x16_bl48", 128, 128, 16, 8, 16, 1, 4, 8, 16, kBranch},
    {"128x128x16_8x16_bl216", 128, 128, 16, 8, 16, 1, 2, 16, 16, kBranch},
    {"128x64x16_8x8_l48", 128, 64, 16, 8, 8, 1, 4, 8, 16, kGpu},
    {"128x64x16_8x8_l216", 128, 64, 16, 8, 8, 1, 2, 16, 16, kGpu},
    {"64x128x16_8x8", 64, 128, 16, 8, 8, 1, 8, 4, 16, kGpu},
    {"64x128x16_8x8_l162", 64, 128, 16, 8, 8, 1, 16, 2, 16, kGpu},
    {"half_128x64x32_8x8_e", 128, 64, 32, 8, 8, 1, 8, 4, 32, kGpu | kHalf | kEmitLoop},
    {"half_128x64x16_8x8", 128, 64, 16, 8, 8, 1, 8, 4, 16, kGpu | kHalf},
    {"half_128x128x32_8x8", 128, 128, 32, 8, 8, 1, 8, 4, 32, kGpu | kHalf},
    {"half_128x64x64_8x8", 128, 64, 64, 8, 8, 1, 8, 4, 64, kGpu | kHalf},
    {"half_64x64x32_8x8", 64, 64, 32, 8, 8, 1, 8, 4, 32, kGpu | kHalf},
    {"half_64x64x32_8x8_b", 64, 64, 32, 8, 8, 1, 8, 4, 32, kBranch | kHalf},
    {"half_64x64x64_8x8", 64, 64, 64, 8, 8, 1, 8, 4, 64, kGpu | kHalf},
    {"half_64x64x32_8x8_e", 64, 64, 32, 8, 8, 1, 8, 4, 32, kGpu | kHalf | kEmitLoop},
    {"half_64x64x32_8x4", 64, 64, 32, 8, 4, 1, 8, 4, 32, kGpu | kHalf},
    {"half_128x64x32_8x4", 128, 64, 32, 8, 4, 1, 8, 4, 32, kGpu | kHalf},
    {"half_32x32x32_4x4", 32, 32, 32, 4, 4, 1, 8, 4, 32, kGpu | kHalf | kEmitLoop},
    {"cpu_128x128x16_16x16", 128, 128, 16, 16, 16, 1, 2, 4, 1, kEmitLoop},
    {"cpu_64x64x16_8x8", 64, 64, 16, 8, 8, 1, 8, 8, 1, kEmitLoop},
    {"cpu_16x16x32_8x8_s4", 16, 16, 32, 8, 8, 4, 2, 2, 1, kEmitLoop},
};
constexpr int kCount = static_cast<int>(std::size(kVariants));

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

int64_t div_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
int64_t tiles(const Variant& v, const MatmulProblem& p) {
  return div_up(p.m, v.bm) * div_up(p.n, v.bn);
}

bool fits(const rt::Limits& limits, const Variant& v, DType t) {
  return v.threads() <= limits.max_invocations && v.threads() <= limits.max_workgroup_x &&
         v.workgroup_bytes(t) <= limits.max_workgroup_memory;
}

/// What a GPU makes of a variant: `rate`, multiply-adds of a multiprocessor over those of the best
/// variant, once `full` tiles share it; `alone` is a single tile's part of that rate. Fitted to an
/// NVIDIA H100 (benches/EXPERIMENTS.md), where ratios matter more than numbers.
struct Candidate {
  int flat, looped;  // variants with a short epilogue, with a long one
  double rate;
  int full;
  double alone;

  consteval Candidate(const char* flat_name, const char* looped_name, double r, int f, double a)
      : flat(index_of(flat_name)), looped(index_of(looped_name)), rate(r), full(f), alone(a) {}
};
constexpr Candidate kGpuPlain[] = {{"128x128x16_8x16_b", "128x128x16_8x16_be", 1.00, 2, 0.53},
                                   {"128x64x16_8x8", "128x64x16_8x8_e", 0.97, 3, 0.70},
                                   {"64x64x16_8x8_s2", "64x64x16_8x8_s2e", 0.93, 3, 0.66},
                                   {"64x64x16_8x4", "64x64x16_8x4_e", 0.84, 4, 0.78},
                                   {"64x32x32_8x4_s4", "64x32x32_8x4_s4", 0.75, 2, 0.80},
                                   {"32x32x32_4x4_s4", "32x32x32_4x4_s4", 0.55, 4, 0.60},
                                   {"16x16x64_4x4_s8", "16x16x64_4x4_s8", 0.39, 4, 0.80}};
// Results of 64 bits take twice the registers and memory: the last one fits every adapter.
constexpr Candidate kGpuWide[] = {{"64x64x16_8x8_e", "64x64x16_8x8_e", 1.00, 2, 0.5},
                                  {"32x32x32_4x4_s4", "32x32x32_4x4_s4", 0.55, 4, 0.20},
                                  {"32x32x16_4x4_s2", "32x32x16_4x4_s2", 0.55, 4, 0.20}};

// The first is the fastest on an NVIDIA H200; the others are guesses, from the same tiles of
// float32.
constexpr Candidate kGpuHalf[] = {{"half_64x128x32_8x8", "half_128x64x32_8x8_e", 1.00, 3, 0.70},
                                  {"half_64x64x32_8x8", "half_64x64x32_8x8_e", 0.95, 4, 0.60},
                                  {"half_32x32x32_4x4", "half_32x32x32_4x4", 0.50, 8, 0.20}};

/// Time on the busiest multiprocessor: rounds of `full` tiles, and what is left, slower for each.
double cost(const Candidate& c, const Variant& v, int units, const MatmulProblem& p) {
  const int64_t busiest = div_up(tiles(v, p) * p.batch, units);
  // Writing a result takes as long as some steps, more by way of an array.
  const double steps = static_cast<double>(div_up(p.k, v.bk) * v.bk) + (v.has(kEmitLoop) ? 40 : 10);
  const int64_t left = busiest % c.full;
  double work = static_cast<double>(busiest - left);
  if (left > 0) {
    const double part = static_cast<double>(left - 1) / std::max(c.full - 1, 1);
    work += static_cast<double>(left) / (c.alone + (1 - c.alone) * part);
  }
  // Halves that are converted as they are read cost the largest tiles most.
  const double rate = p.by_function && v.bm * v.bn >= 128 * 128 ? 0.9 * c.rate : c.rate;
  return work * v.bm * v.bn * steps / rate;
}

struct Best {
  int variant = -1;
  double cost = 0;
};

template <class F>
void each_candidate(const MatmulProblem& p, F&& consider) {
  if (p.half_sums)
    for (const Candidate& c : kGpuHalf) consider(c);
  else if (is_wide(p.dtype))
    for (const Candidate& c : kGpuWide) consider(c);
  else
    for (const Candidate& c : kGpuPlain) consider(c);
}

const Candidate* candidate_of(const MatmulProblem& p, int variant) {
  const Candidate* found = nullptr;
  each_candidate(p, [&](const Candidate& c) {
    if (!found && (c.flat == variant || c.looped == variant)) found = &c;
  });
  return found;
}

Best best_of(const MatmulTarget& target, const MatmulProblem& p) {
  Best best;
  each_candidate(p, [&](const Candidate& c) {
    const int variant = p.long_epilogue ? c.looped : c.flat;
    const Variant& v = kVariants[variant];
    if (!fits(target.limits, v, p.dtype)) return;
    const double time = cost(c, v, target.units, p);
    if (best.variant < 0 || time < best.cost) best = {variant, time};
  });
  return best;
}

// llvmpipe ends every loop of an invocation after 65,535 turns in all: longer sums take a variant
// whose steps along k are flat.
constexpr int64_t kLongOnSoftware = 50000;

/// Those of the table, by estimated time, then the others that compile in reasonable time.
std::vector<int> order_of_gpu(const MatmulTarget& target, const MatmulProblem& p) {
  std::vector<std::pair<double, int>> timed;
  each_candidate(p, [&](const Candidate& c) {
    const int variant = p.long_epilogue ? c.looped : c.flat;
    if (fits(target.limits, kVariants[variant], p.dtype))
      timed.emplace_back(cost(c, kVariants[variant], target.units, p), variant);
  });
  std::stable_sort(timed.begin(), timed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int> out;
  for (auto [time, variant] : timed) out.push_back(variant);
  for (int i = 0; i < kCount && !is_wide(p.dtype); ++i) {
    const Variant& v = kVariants[i];
    const bool short_code = v.has(kEmitLoop) || v.tm * v.tn <= 32;
    if (v.has(kPrefetch) && v.has(kHalf) == p.half_sums && fits(target.limits, v, p.dtype) &&
        (p.long_epilogue ? short_code : !v.has(kEmitLoop)) &&
        std::find(out.begin(), out.end(), i) == out.end())
      out.push_back(i);
  }
  return out;
}

int choose_software(const rt::Limits& limits, const MatmulProblem& p) {
  if (p.half_sums) return index_of("half_64x64x32_8x8_e");
  if (std::min(p.m, p.n) <= 16 && p.k <= kLongOnSoftware) return index_of("cpu_16x16x32_8x8_s4");
  auto either = [&](int first, int second) {
    return fits(limits, kVariants[first], p.dtype) ? first : second;
  };
  if (p.k > kLongOnSoftware) return either(index_of("64x64x16_8x8_e"), index_of("32x32x16_4x4_s2"));
  // The big tile takes 0.7 s to compile, the middle one 0.2 s: small work does not earn it back.
  const double work = static_cast<double>(p.batch) * static_cast<double>(p.m) *
                      static_cast<double>(p.n) * static_cast<double>(p.k);
  const bool big = std::min(p.m, p.n) > 64 && work >= 32e6;
  constexpr int kMiddle = index_of("cpu_64x64x16_8x8");
  return either(big ? index_of("cpu_128x128x16_16x16") : kMiddle, kMiddle);
}

struct Index {
  int64_t size, stride;
  const std::optional<MatmulWalk>& walk;
  int64_t run() const { return walk ? walk->run : size; }
  bool fours() const { return !walk || walk->fours; }
  /// Lines of memory to an element, about, where the index steps by one.
  double lines() const {
    constexpr double kLine = 16;
    return std::min(static_cast<double>(std::abs(stride)), kLine) / kLine +
           1 / static_cast<double>(run());
  }
};

/// How one operand is read. x is its kept index: rows of A, columns of B.
struct Reading {
  bool along_k, vec4;
};
Reading reading(const Index& x, const Index& k, bool aligned) {
  const bool plain = !x.walk && !k.walk;
  const bool along_k =
      plain ? k.stride == 1 || (x.stride != 1 && std::abs(k.stride) <= std::abs(x.stride))
            : k.lines() < x.lines();
  const Index &unit = along_k ? k : x, &other = along_k ? x : k;
  return {along_k, aligned && unit.stride == 1 && unit.run() % 4 == 0 && unit.size % 4 == 0 &&
                       unit.fours() && other.stride % 4 == 0 && other.fours()};
}

Reading reading_of_a(const MatmulProblem& p) {
  return reading({p.m, p.a_rs, p.a_rows}, {p.k, p.a_cs, p.a_k}, p.a_aligned);
}
Reading reading_of_b(const MatmulProblem& p) {
  return reading({p.n, p.b_cs, p.b_columns}, {p.k, p.b_rs, p.b_k}, p.b_aligned);
}

/// Tiles go along x, matrices along z; what passes the limit folds into y.
void set_grid(MatmulLaunch& l, const rt::Limits& limits, int64_t tiles, int64_t batch) {
  const int64_t most = limits.max_groups;
  const bool fold_tiles = tiles > most, fold_batch = batch > most;
  if ((fold_tiles && fold_batch) || tiles > most * most || batch > most * most)
    raise(ErrorKind::unsupported, "[matmul] the result is too large for this adapter");
  int64_t x = tiles, y = 1, z = batch;
  if (fold_tiles) {
    y = div_up(tiles, most);
    x = div_up(tiles, y);
  } else if (fold_batch) {
    z = div_up(batch, most);
    y = div_up(batch, z);
  }
  l.gx = static_cast<uint32_t>(x);
  l.gy = static_cast<uint32_t>(y);
  l.gz = static_cast<uint32_t>(z);
  l.vars.set("FOLD", fold_tiles ? 1 : fold_batch ? 2 : 0);
}

}  // namespace

MatmulLaunch plan_matmul(const MatmulTarget& target, const MatmulProblem& p, int force) {
  const rt::Limits& limits = target.limits;
  MatmulLaunch l;
  l.variant = force >= 0        ? force
              : target.software ? choose_software(limits, p)
                                : best_of(target, p).variant;
  if (l.variant < 0 || !fits(limits, kVariants[l.variant], p.dtype))
    raise(ErrorKind::unsupported, "[matmul] no kernel fits this adapter's limits");
  const Variant& v = kVariants[l.variant];
  const Reading a = reading_of_a(p), b = reading_of_b(p);
  l.a_vec4 = a.vec4;
  l.b_vec4 = b.vec4;
  l.wx = v.threads();
  l.vars.set("R", info(p.dtype).compute);
  l.vars.set("T", p.half_sums ? "f16" : info(p.dtype).compute);
  l.vars.set("HALF", p.half_sums);
  l.vars.set("SUM", p.half_sums ? "whole" : "sum");
  l.vars.set("READ", p.by_function ? "mm_read_" : "in");
  l.vars.set("OPEN", p.by_function ? "(" : "[");
  l.vars.set("CLOSE", p.by_function ? ")" : "]");
  for (auto [name, value] : {std::pair{"BM", v.bm},
                             {"BN", v.bn},
                             {"BK", v.bk},
                             {"TM", v.tm},
                             {"TN", v.tn},
                             {"SPLIT", v.split},
                             {"LX", v.lx},
                             {"LY", v.ly},
                             {"UNROLL", v.unroll}})
    l.vars.set(name, value);
  l.vars.set("PREFETCH", v.has(kPrefetch));
  l.vars.set("EMIT_LOOP", v.has(kEmitLoop));
  l.vars.set("ALWAYS", v.has(kAlways));
  l.vars.set("GAP_0", v.gap(a.along_k));
  l.vars.set("GAP_1", v.gap(b.along_k));
  l.vars.set("A_ALONG_K", a.along_k);
  l.vars.set("A_VEC", a.vec4);
  l.vars.set("B_ALONG_K", b.along_k);
  l.vars.set("B_VEC", b.vec4);
  l.vars.set("X_WALK_0", p.a_rows.has_value());
  l.vars.set("K_WALK_0", p.a_k.has_value());
  l.vars.set("X_WALK_1", p.b_columns.has_value());
  l.vars.set("K_WALK_1", p.b_k.has_value());
  l.vars.set("GUARD_K", p.k % v.bk != 0 || p.last_k % v.bk != 0);
  l.vars.set("UNEVEN", p.last_k != 0);
  set_grid(l, limits, tiles(v, p), p.batch);
  return l;
}

std::vector<int> matmul_candidates(const MatmulTarget& target, const MatmulProblem& p) {
  if (!target.software) return order_of_gpu(target, p);
  std::vector<int> out{choose_software(target.limits, p)};
  if (!fits(target.limits, kVariants[out[0]], p.dtype)) return {};
  if (p.k > kLongOnSoftware || p.half_sums) return out;  // not all are right there
  for (std::string_view name : {"cpu_64x64x16_8x8", "cpu_128x128x16_16x16", "cpu_16x16x32_8x8_s4",
                                "64x64x16_8x8_e", "32x32x16_4x4_s2"})
    if (const int v = find(name); v != out[0] && fits(target.limits, kVariants[v], p.dtype))
      out.push_back(v);
  return out;
}

std::string matmul_class(const MatmulProblem& p, int (*size_step)(int64_t size, int most)) {
  constexpr int kLargest = 12, kMostMatrices = 8;  // beyond them the order is the same
  auto text = [](const char* name, const Reading& r, const auto& x, const auto& k) {
    return std::string(" ") + name + (r.along_k ? "k" : "x") + (r.vec4 ? "4" : "1") +
           (x || k ? "w" : "");
  };
  std::string out = info(p.dtype).name;
  for (auto [name, size] : {std::pair{" m", p.m}, {" n", p.n}, {" k", p.k}})
    out += name + std::to_string(size_step(size, kLargest));
  out += " b" + std::to_string(size_step(p.batch, kMostMatrices));
  out +=
      text("A", reading_of_a(p), p.a_rows, p.a_k) + text("B", reading_of_b(p), p.b_columns, p.b_k);
  if (p.half_sums || p.by_function) out += p.half_sums ? " halves" : " float16";
  return out + (p.long_epilogue ? " long" : " short");
}

// In a last round `idle` workgroups more would fit: two pieces, a long one that each tile begins with
// and a short one, of which the idle ones take several. Where half of them or more are idle, so many
// equal pieces as fit.
MatmulTail matmul_tail(const MatmulTarget& target, const MatmulProblem& p, int variant) {
  constexpr double kSecondKernel = 1.1e6, kMove = 38, kWorthwhile = 1.5;
  constexpr int64_t kMostPieces = 8, kMostBytes = 64 << 20;
  const Variant& v = kVariants[variant];
  const Candidate* c = candidate_of(p, variant);
  const int64_t all = tiles(v, p), together = c ? int64_t{target.units} * c->full : 0;
  if (!c || p.batch > 1 || p.last_k || p.a_k || p.b_k || is_wide(p.dtype) || all <= together)
    return {};
  MatmulTail t;
  t.tiles = all % together;
  if (t.tiles == 0 || t.tiles * kMostPieces > target.limits.max_groups) return {};
  t.first = all - t.tiles;
  auto up = [&](int64_t k) { return div_up(k, v.bk) * v.bk; };
  if (2 * t.tiles <= together) {
    t.length = up(div_up(p.k, std::min(together / t.tiles, kMostPieces)));
  } else {
    const int64_t idle = together - t.tiles, turns = div_up(t.tiles, idle);
    t.length = up(p.k - p.k / (turns + 1));
  }
  t.pieces = div_up(p.k, t.length);
  t.sums = v.tm * v.tn / 4;
  t.lanes = v.bm / v.tm * (v.bn / v.tn);
  const double tile = static_cast<double>(v.bm) * v.bn;
  const double saved = static_cast<double>(p.k - t.length) * tile * c->full / c->rate;
  const double moved = static_cast<double>(t.tiles * t.pieces) * tile * kMove / target.units;
  if (saved < kWorthwhile * (kSecondKernel + moved) || t.fours() * 16 > kMostBytes) return {};
  return t;
}

std::string matmul_source(const MatmulLaunch& launch, const std::string& declarations) {
  Vars vars = launch.vars;
  vars.set("DECLARATIONS", declarations);
  vars.set("CUT", int64_t{0});
  return expand("matmul.wgsl", vars);
}

namespace {
Vars cut_vars(const MatmulLaunch& launch, const std::string& declarations, const MatmulCut& cut) {
  Vars vars = launch.vars;
  vars.set("DECLARATIONS", declarations);
  vars.set("CUT", int64_t{1});
  vars.set("FIRST", cut.first);
  vars.set("REST", cut.rest);
  vars.set("LENGTH", cut.length);
  vars.set("COUNT", cut.count);
  vars.set("PIECES", cut.pieces);
  return vars;
}
}  // namespace

std::string matmul_pieces_source(const MatmulLaunch& launch, const std::string& declarations,
                                 const MatmulCut& cut) {
  return expand("matmul.wgsl", cut_vars(launch, declarations, cut));
}

std::string matmul_sum_source(const MatmulLaunch& launch, const std::string& declarations,
                              const MatmulCut& cut) {
  return expand("matmul_sum.wgsl", cut_vars(launch, declarations, cut));
}

double matmul_cost(const MatmulTarget& target, const MatmulProblem& problem) {
  return best_of(target, problem).cost;
}

int matmul_variant_named(std::string_view name) {
  return find(name);
}

int matmul_variant_count() {
  return kCount;
}

const char* matmul_variant_name(int variant) {
  if (variant < 0 || variant >= kCount) raise(ErrorKind::value, "no such matmul variant");
  return kVariants[variant].name;
}

bool matmul_variant_fits(const rt::Limits& limits, int variant, DType dtype) {
  matmul_variant_name(variant);
  return fits(limits, kVariants[variant], dtype);
}

bool matmul_variant_of_halves(int variant) {
  matmul_variant_name(variant);
  return kVariants[variant].has(kHalf);
}

}  // namespace wgt::kernels
