// Matrix products, with bias, activation and whatever else follows in the same kernel.
#include <algorithm>
#include <cstdlib>

#include "graph/meeting.h"
#include "graph/product_code.h"
#include "graph/products.h"
#include "graph/tuning.h"

namespace wgt::graph {

namespace {

// Columns are cut between vec4s, unless so few of them reach beyond a binding.
int64_t column_unit(const LowerContext& c, const Side& b) {
  int64_t step = 0;
  for (int64_t stride : b.kept.strides) step = std::max(step, std::abs(stride));
  return step > KernelCode::window_limit(c.device) / 64 ? 1 : 4;
}

std::vector<Part> parts_of_product(LowerContext& c, int group, const SpaceCode& out, const Node& n,
                                   const Side& a, const Side& b) {
  // Multiples of a unit are vec4s in memory only if the cuts between outer dimensions are some,
  // too.
  auto axis = [](const Side& side, int64_t unit) {
    return CutAxis{side.kept.sizes, unit, side.kept.walks() ? unit : 1};
  };
  int64_t row_unit = a.kept.strides.back() == 1 ? 4 : 1;
  std::vector<CutAxis> axes{{a.batch.sizes, 1}, axis(a, row_unit), axis(b, column_unit(c, b))};
  return parts_of(cut(
      axes, KernelCode::window_limit(c.device),
      [&](const Part& p) {
        int64_t elements = std::max(a.reach(p).count(), b.reach(p).count());
        return std::max(out.widest(p), elements * info(n.dtype).size);
      },
      c.share(group)));
}

// Operations behind a product that each vec4 of results may have a copy of.
constexpr int kFlatEpilogue = 3;

kernels::MatmulProblem problem_of(const Node& n, const SpaceCode& out, const Side& a, const Side& b,
                                  const Part& part, bool whole_vectors, bool long_epilogue) {
  kernels::MatmulProblem p{};
  p.by_function = is_packed(n.inputs[0]->dtype);
  p.dtype = n.dtype;
  p.batch = out.extent(0);
  p.m = part.empty() ? a.kept.size() : part[1].size();
  p.n = part.empty() ? b.kept.size() : part[2].size();
  p.k = a.shared.size();
  p.last_k = static_cast<int64_t>(n.step);
  p.a_rs = a.kept.strides.back();
  p.a_cs = a.shared.strides.back();
  p.b_rs = b.shared.strides.back();
  p.b_cs = b.kept.strides.back();
  p.a_aligned = a.aligned;
  p.b_aligned = b.aligned && whole_vectors;
  p.a_rows = a.kept.walk();
  p.a_k = a.shared.walk();
  p.b_k = b.shared.walk();
  p.b_columns = b.kept.walk();
  p.long_epilogue = long_epilogue;
  return p;
}

/// The variant to use, of those that may be; -1: as the estimate says.
int measured_variant(LowerContext& c, int gi, const kernels::MatmulProblem& p) {
  if (!c.tuning.table && c.forced < 0) return -1;
  Question q{"matmul", kernels::matmul_class(p, size_step), {}};
  for (int v : kernels::matmul_candidates(matmul_target(c.device), p))
    q.candidates.push_back({v, kernels::matmul_variant_name(v)});
  return q.candidates.empty() ? -1 : choose(c, gi, q);
}

/// Which of a product's kernels: of whole tiles, of the last tiles' pieces, or of their sums.
struct Stage {
  enum Kind { tiles, pieces, sums, meeting } kind = tiles;  // meeting: all of it in one
  int variant = -1;                                         // of all of them
  kernels::MatmulTail tail;
  int scratch = -1;
};

// fn emit4(b, r, c, v): the results, with what else the group computes of them.
std::string emit_functions(KernelCode& k, LowerContext& c, SpaceCode& out, const Node& n, int id,
                           bool fours) {
  const int width = fours ? 4 : 1;
  out.set_width(width, 2);
  const std::string ty = info(n.dtype).compute;
  std::string s = "fn " + std::string(fours ? "emit4" : "emit") +
                  "(b: u32, r: u32, c: u32, v: " + wgsl_type(ty.c_str(), width) + ") {\n" +
                  output_body(k, out, id) + "}\n";
  if (fours) return s;
  s += "fn emit4(b: u32, r: u32, c: u32, v: vec4<" + ty + ">) {\n";
  if (c.device.software_kernels() || k.group.ops > 8) {
    // A loop that no compiler unrolls: the code of a long epilogue stands here once.
    s += "  let n = min(p.n - c, 4u);\n";
    s += "  for (var j = 0u; j < n; j++) { emit(b, r, c + j, v[j]); }\n";
  } else {
    for (int j = 0; j < 4; ++j)
      s += "  if (c + " + std::to_string(j) + "u < p.n) { emit(b, r, c + " + std::to_string(j) +
           "u, v[" + std::to_string(j) + "]); }\n";
  }
  return s + "}\n";
}

void add_params(KernelCode& k, const kernels::MatmulProblem& p) {
  for (auto [name, value] : {std::pair{"m", p.m},
                             {"n", p.n},
                             {"k", p.k},
                             {"batch", p.batch},
                             {"a_rs", p.a_rs},
                             {"a_cs", p.a_cs},
                             {"b_rs", p.b_rs},
                             {"b_cs", p.b_cs}})
    k.params.add_named(name, static_cast<uint32_t>(value));
}

// What the kernels of a tail take, with the array between them.
kernels::MatmulCut bind_cut(KernelCode& k, const Stage& stage, DType results) {
  auto number = [&](const char* name, int64_t value) {
    return k.params.add(name, static_cast<uint32_t>(value));
  };
  const kernels::MatmulTail& t = stage.tail;
  const bool meet = stage.kind == Stage::meeting;
  std::string array;
  if (meet) {
    array = bind_workspace(k, stage.scratch);
  } else {
    k.scratch_types.push_back({stage.scratch, results});
    k.want_vec4(stage.scratch, true);
    k.bind(stage.scratch, stage.kind == Stage::sums ? rt::Access::read : rt::Access::read_write);
    array = k.binding_name(stage.scratch);
  }
  return {number("first", t.first),
          number("rest", t.tiles),
          number("length", t.length),
          number("pieces", t.pieces),
          array,
          meet,
          rt::kWorkspaceZeros};
}

// One kernel, or those of whole tiles and of a tail; with large buffers for a part of the result.
class ProductLowering {
 public:
  ProductLowering(LowerContext& c, int gi, const Part& part)
      : c_(c),
        gi_(gi),
        part_(part),
        k_(c, gi),
        id_(k_.group.anchor),
        n_(*c.g.node_of(id_)),
        a_(c.g, n_, operand(0), 0),
        b_(c.g, n_, operand(1), 1),
        out_(k_, 1, k_.group.space[1]) {
    const int rank = n_.shape.size(), rows = rank - n_.ranks.columns - n_.ranks.rows;
    collect_outputs(k_, out_, id_);
    out_.collapse({"b", "r", "c"}, {0, rows, rows + n_.ranks.rows, rank});
  }

  std::vector<Part> parts() { return parts_of_product(c_, gi_, out_, n_, a_, b_); }

  /// The kernel, and whether the last tiles have kernels of their own.
  Stage choose() {
    look();
    for (int o : k_.group.outputs)
      if (!fours_ && is_packed(c_.g.node_of(o)->dtype))
        raise(ErrorKind::unsupported, "[matmul] parts of rows of packed numbers");  // planned again
    const kernels::MatmulTarget target = matmul_target(c_.device);
    const int forced = forced_variant(c_.device, n_.inputs[0]->dtype);
    auto variant_for = [&](const kernels::MatmulProblem& p) {
      const int variant = forced >= 0 ? forced : measured_variant(c_, gi_, p);
      return kernels::plan_matmul(target, p, variant).variant;
    };
    // Each operand is perhaps bound twice.
    const bool may_cut = !k_.windowed && (n_.bits & kMayCut) &&
                         (!c_.device.workgroups_meet() || has_room_to_meet(k_, 2));
    if (const int64_t pieces = may_cut ? pieces_of_all(target) : 1; pieces > 1) {
      kernels::MatmulProblem p = problem_;
      p.batch = pieces;
      p.pieces = true;
      p.k = length_of_pieces(p.k, pieces);
      Stage out;
      out.variant = variant_for(p);
      out.tail = kernels::matmul_all_cut(problem_, out.variant, pieces);
      if (meets(out.tail)) return out;
    }
    Stage out;
    out.variant = variant_for(problem_);
    if (may_cut) out.tail = kernels::matmul_tail(target, problem_, out.variant);
    if (out.tail.meet && !meets(out.tail)) out.tail = {};
    return out;
  }

  void run(bool first, const Stage& stage) {
    look();
    const kernels::MatmulLaunch launch =
        kernels::plan_matmul(matmul_target(c_.device), problem_, stage.variant);
    const char* element = is_packed(n_.inputs[0]->dtype) ? "f16" : nullptr;
    std::string functions;
    if (stage.kind != Stage::sums) functions = bind_operands(launch, element);
    add_params(k_, problem_);
    if (stage.kind != Stage::sums)
      functions += batch_offset(k_, a_, b_, part_) + depth_of(k_, n_, a_, part_) +
                   walks(k_, a_, part_) + walks(k_, b_, part_);
    if (stage.kind != Stage::pieces) functions += emit_functions(k_, c_, out_, n_, id_, fours_);
    kernels::MatmulCut cut;
    if (stage.kind != Stage::tiles) cut = bind_cut(k_, stage, n_.dtype);
    add_step(first, stage, launch, (element ? "enable f16;\n" : "") + k_.declarations() + functions,
             cut);
  }

 private:
  const Operand& operand(size_t i) const {
    return c_.g.nodes[static_cast<size_t>(id_)].operands[i];
  }

  // Where no node was cut for it.
  int64_t pieces_of_all(const kernels::MatmulTarget& target) const {
    if (!target.meet || !kernels::matmul_may_cut(problem_)) return 1;
    return product_pieces(c_.device, n_.dtype, {problem_.m, problem_.n}, problem_.k);
  }

  static Meeting meeting(const kernels::MatmulTail& t) { return {t.tiles, t.fours() * 4}; }

  bool meets(const kernels::MatmulTail& t) const {
    return can_meet(k_, meeting(t)) &&
           t.first + t.tiles * t.pieces <= c_.device.limits().max_groups;
  }

  // What is multiplied, of the part.
  void look() {
    out_.restrict_to(part_);
    const bool whole_vectors = !k_.windowed || column_unit(c_, b_) == 4;
    problem_ = problem_of(n_, out_, a_, b_, part_, whole_vectors, k_.group.ops > kFlatEpilogue);
    const int forced = forced_variant(c_.device, n_.inputs[0]->dtype);
    if (problem_.by_function &&
        (forced >= 0 ? kernels::matmul_variant_of_halves(forced) : (n_.bits & kHalfSums) != 0)) {
      problem_.half_sums = true;
      problem_.by_function = false;
    }
    fours_ = whole_vectors && problem_.n > 1 && out_.can_vectorize(2, false, true);
  }

  void add_step(bool first, const Stage& stage, const kernels::MatmulLaunch& launch,
                const std::string& declarations, const kernels::MatmulCut& cut) {
    const kernels::MatmulTail& t = stage.tail;
    Step step;
    step.x = launch.gx;
    step.y = launch.gy;
    step.z = launch.gz;
    if (first && (stage.kind == Stage::tiles || stage.kind == Stage::meeting))
      for (int o : k_.group.outputs) step.outputs.push_back(step_output(c_.g, o));
    if (stage.kind == Stage::tiles) {
      if (t.tiles) step.x = static_cast<uint32_t>(t.first);
      k_.finish(step, "matmul", kernels::matmul_source(launch, declarations));
    } else if (stage.kind == Stage::meeting) {
      step.x = static_cast<uint32_t>(t.first + t.tiles * t.pieces);
      use_workspace(step, stage.scratch, meeting(t));
      k_.finish(step, "matmul in pieces", kernels::matmul_pieces_source(launch, declarations, cut));
    } else if (stage.kind == Stage::pieces) {
      step.x = static_cast<uint32_t>(t.tiles * t.pieces);
      step.outputs = {{stage.scratch, static_cast<uint64_t>(t.fours() * 16), -1}};
      k_.finish(step, "matmul pieces", kernels::matmul_pieces_source(launch, declarations, cut));
    } else {
      step.x = static_cast<uint32_t>(t.tiles);
      step.y = static_cast<uint32_t>(t.sums);
      step.dies = {stage.scratch};
      k_.finish(step, "matmul sums", kernels::matmul_sum_source(launch, declarations, cut));
    }
    c_.plan.steps.push_back(std::move(step));
  }

  // in0 and in1 are the template's; the same value twice is bound twice, as its two forms may
  // differ.
  std::string bind_operands(const kernels::MatmulLaunch& launch, const char* element) {
    auto reach = [&](const Side& side) {
      return k_.windowed ? std::optional(side.reach(part_)) : std::nullopt;
    };
    k_.bind_operand(a_.operand.value, launch.a_vec4, reach(a_), element);
    k_.bind_operand(b_.operand.value, launch.b_vec4, reach(b_), element);
    return problem_.by_function ? read_halves(0, launch.a_vec4) + read_halves(1, launch.b_vec4)
                                : "";
  }

  LowerContext& c_;
  int gi_;
  Part part_;
  KernelCode k_;
  int id_;
  const Node& n_;
  const Side a_, b_;
  SpaceCode out_;
  kernels::MatmulProblem problem_{};
  bool fours_ = false;  // whole vec4s are stored
};

}  // namespace

void lower_matmul(LowerContext& c, int gi) {
  auto run = [&](const Part& part, bool first, const Stage& stage) {
    ProductLowering(c, gi, part).run(first, stage);
  };
  if (c.windowed(gi)) {
    const std::vector<Part> parts = ProductLowering(c, gi, {}).parts();
    for (size_t i = 0; i < parts.size(); ++i)
      run(parts[i], i == 0, ProductLowering(c, gi, parts[i]).choose());
    return;
  }
  Stage stage = ProductLowering(c, gi, {}).choose();
  if (stage.tail.tiles == 0) return run({}, true, stage);
  stage.scratch = c.scratch();
  if (stage.tail.meet) {
    stage.kind = Stage::meeting;
    return run({}, true, stage);
  }
  // Whole tiles fill up behind the pieces: nothing that they touch was in use, so that no barrier
  // comes between, while the array of the pieces may have been the last product's.
  for (Stage::Kind kind : {Stage::pieces, Stage::tiles, Stage::sums}) {
    stage.kind = kind;
    run({}, true, stage);
  }
}

}  // namespace wgt::graph
