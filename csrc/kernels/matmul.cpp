#include "kernels/matmul.h"

#include <algorithm>
#include <cstdlib>

#include "base/errors.h"
#include "kernels/matmul_variants.h"

namespace wgt::kernels {
namespace {

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

/// x is the operand's kept index: rows of A, columns of B.
Reading reading(const Index& x, const Index& k, bool aligned) {
  const bool plain = !x.walk && !k.walk;
  const bool along_k =
      plain ? k.stride == 1 || (x.stride != 1 && std::abs(k.stride) <= std::abs(x.stride))
            : k.lines() < x.lines();
  const Index &unit = along_k ? k : x, &other = along_k ? x : k;
  return {along_k, aligned && unit.stride == 1 && unit.run() % 4 == 0 && unit.size % 4 == 0 &&
                       unit.fours() && other.stride % 4 == 0 && other.fours()};
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

Reading reading_of_a(const MatmulProblem& p) {
  return reading({p.m, p.a_rs, p.a_rows}, {p.k, p.a_cs, p.a_k}, p.a_aligned);
}
Reading reading_of_b(const MatmulProblem& p) {
  return reading({p.n, p.b_cs, p.b_columns}, {p.k, p.b_rs, p.b_k}, p.b_aligned);
}

MatmulLaunch plan_matmul(const MatmulTarget& target, const MatmulProblem& p, int force) {
  const rt::Limits& limits = target.limits;
  MatmulLaunch l;
  l.variant = force >= 0 ? force : choose_variant(target, p);
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
  if (p.pieces) out += " pieces";
  return out + (p.long_epilogue ? " long" : " short");
}

std::string matmul_source(const MatmulLaunch& launch, const std::string& declarations) {
  Vars vars = launch.vars;
  vars.set("DECLARATIONS", declarations);
  vars.set("CUT", int64_t{0});
  vars.set("MEET", int64_t{0});
  return expand("matmul.wgsl", vars);
}

namespace {
Vars cut_vars(const MatmulLaunch& launch, const std::string& declarations, const MatmulCut& cut) {
  Vars vars = launch.vars;
  vars.set("DECLARATIONS", declarations);
  vars.set("CUT", int64_t{1});
  vars.set("MEET", int64_t{cut.meet});
  vars.set("ZEROS", cut.zeros);
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
