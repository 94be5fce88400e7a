// Which kernel a matrix product takes, by an estimate of its time.
#include "kernels/matmul_variants.h"

namespace wgt::kernels {
namespace {

/// Multiply-adds of a multiprocessor over those of the best variant, by what is transposed on its
/// way into workgroup memory: A is where its rows lie along k, B where its columns do.
struct Rates {
  double none, a, b, both;
  consteval Rates(double all) : Rates(all, all, all, all) {}
  consteval Rates(double n, double of_a, double of_b, double of_both)
      : none(n), a(of_a), b(of_b), both(of_both) {}
  double of(const MatmulProblem& p) const {
    const bool along_a = reading_of_a(p).along_k, along_b = reading_of_b(p).along_k;
    return along_a ? (along_b ? both : a) : along_b ? b : none;
  }
};

/// What a GPU makes of a variant: its rates once `full` tiles share a multiprocessor; `alone` is a
/// single tile's part of them. Fitted to an NVIDIA H100 and H200 (benches/EXPERIMENTS.md), where
/// ratios matter more than numbers.
struct Candidate {
  int flat, looped;  // variants with a short epilogue, with a long one
  Rates rates;
  int full;
  double alone;

  consteval Candidate(const char* flat_name, const char* looped_name, Rates r, int f, double a)
      : flat(index_of(flat_name)), looped(index_of(looped_name)), rates(r), full(f), alone(a) {}

  double rate(const MatmulProblem& p) const {
    // Halves that are converted as they are read cost the largest tiles most.
    const Variant& v = kVariants[flat];
    return rates.of(p) * (p.by_function && v.bm * v.bn > 128 * 64 ? 0.9 : 1.0);
  }
};
constexpr Candidate kGpuPlain[] = {
    {"128x96x16_8x12", "128x96x16_8x12_e", {0.96, 1.00, 0.955, 0.99}, 2, 0.62},
    {"96x128x16_12x8", "96x128x16_12x8_e", {0.98, 0.975, 1.015, 0.995}, 2, 0.62},
    {"128x128x16_8x16_b", "128x128x16_8x16_be", {0.955, 0.97, 0.97, 0.935}, 2, 0.53},
    {"64x128x16_8x8", "64x128x16_8x8_e", {1.01, 0.985, 0.985, 0.985}, 3, 0.58},
    {"128x64x16_8x8", "128x64x16_8x8_e", {1.005, 0.97, 1.00, 0.955}, 3, 0.60},
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
constexpr Candidate kGpuHalf[] = {{"half_64x128x32_8x8", "half_64x128x32_8x8_e", 1.00, 2, 0.53},
                                  {"half_64x64x32_8x8", "half_64x64x32_8x8_e", 0.95, 4, 0.60},
                                  {"half_32x32x32_4x4", "half_32x32x32_4x4", 0.50, 8, 0.20}};

/// Tiles of full rounds that take as long as `left` ones that share a multiprocessor.
double of_full_rounds(const Candidate& c, int64_t left) {
  if (left == 0) return 0;
  const double part = static_cast<double>(left - 1) / std::max(c.full - 1, 1);
  return static_cast<double>(left) / (c.alone + (1 - c.alone) * part);
}

/// Time on the busiest multiprocessor: rounds of `full` tiles, and what is left, slower for each.
double cost(const Candidate& c, const Variant& v, int units, const MatmulProblem& p) {
  const int64_t busiest = div_up(tiles(v, p) * p.batch, units);
  // Writing a result takes as long as some steps, more by way of an array.
  const double steps = static_cast<double>(div_up(p.k, v.bk) * v.bk) + (v.has(kEmitLoop) ? 40 : 10);
  const int64_t left = busiest % c.full;
  const double work = static_cast<double>(busiest - left) + of_full_rounds(c, left);
  return work * v.bm * v.bn * steps / c.rate(p);
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

int64_t in_steps(const Variant& v, int64_t k) {
  return div_up(k, v.bk) * v.bk;
}

/// Those tiles from `first` on, in pieces of `length`.
MatmulTail cut_from(const MatmulProblem& p, const Variant& v, int64_t first, int64_t length,
                    bool meet) {
  return {.first = first,
          .tiles = tiles(v, p) - first,
          .pieces = div_up(p.k, length),
          .length = length,
          .sums = v.tm * v.tn / 4,
          .lanes = v.bm / v.tm * (v.bn / v.tn),
          .meet = meet};
}

// In a last round `idle` workgroups more would fit: two pieces, a long one that each tile begins
// with and a short one, of which the idle ones take several. Where half of them or more are idle,
// so many equal pieces as fit. With it what it saves, as costs are counted.
std::pair<MatmulTail, double> tail_of(const MatmulTarget& target, const MatmulProblem& p,
                                      int variant) {
  constexpr double kTwoKernels = 1.1e6, kMeeting = 0.3e6, kWorthwhile = 1.5;
  constexpr int64_t kMostPieces = 8, kMostBytes = 64 << 20;
  const Variant& v = kVariants[variant];
  const Candidate* c = candidate_of(p, variant);
  const int64_t all = tiles(v, p), together = c ? int64_t{target.units} * c->full : 0;
  if (!c || !matmul_may_cut(p) || all <= together || all > target.limits.max_groups) return {};
  // With more results to a thread, code behind the loop costs the loop more than a tail saves; and
  // kernels with barriers between them keep the next product from filling the last round.
  if (target.meet && v.tm * v.tn > 64) return {};
  const int64_t last = all % together, idle = together - last;
  if (last == 0) return {};
  const int64_t length = 2 * last <= together ? div_up(p.k, std::min(together / last, kMostPieces))
                                              : p.k - p.k / (div_up(last, idle) + 1);
  const MatmulTail t = cut_from(p, v, all - last, in_steps(v, length), target.meet);
  const double tile = static_cast<double>(v.bm) * v.bn;
  const int64_t busiest = div_up(t.tiles, int64_t{target.units});
  const double saved = (of_full_rounds(*c, busiest) * static_cast<double>(p.k) -
                        static_cast<double>(c->full * t.length)) *
                       tile / c->rate(p);
  const double moved = static_cast<double>(t.tiles * t.pieces) * tile * kMatmulMove / target.units;
  const double price = moved + (t.meet ? kMeeting : kTwoKernels);
  if (saved < kWorthwhile * price || t.fours() * 16 > kMostBytes ||
      t.first + t.tiles * t.pieces > target.limits.max_groups)
    return {};
  return {t, saved - price};
}

double time_of(const MatmulTarget& target, const MatmulProblem& p, const Candidate& c,
               int variant) {
  return cost(c, kVariants[variant], target.units, p) - tail_of(target, p, variant).second;
}

Best best_of(const MatmulTarget& target, const MatmulProblem& p) {
  Best best;
  each_candidate(p, [&](const Candidate& c) {
    const int variant = p.long_epilogue ? c.looped : c.flat;
    if (!fits(target.limits, kVariants[variant], p.dtype)) return;
    const double time = time_of(target, p, c, variant);
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
      timed.emplace_back(time_of(target, p, c, variant), variant);
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

}  // namespace

bool matmul_may_cut(const MatmulProblem& p) {
  return p.batch == 1 && !p.last_k && !p.a_k && !p.b_k && !p.half_sums && !p.by_function &&
         !is_wide(p.dtype);
}

int choose_variant(const MatmulTarget& target, const MatmulProblem& p) {
  return target.software ? choose_software(target.limits, p) : best_of(target, p).variant;
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

MatmulTail matmul_tail(const MatmulTarget& target, const MatmulProblem& p, int variant) {
  return tail_of(target, p, variant).first;
}

MatmulTail matmul_all_cut(const MatmulProblem& p, int variant, int64_t pieces) {
  const Variant& v = kVariants[variant];
  return cut_from(p, v, 0, in_steps(v, div_up(p.k, pieces)), true);
}

double matmul_cost(const MatmulTarget& target, const MatmulProblem& problem) {
  return best_of(target, problem).cost;
}

}  // namespace wgt::kernels
