// Matrix products, with bias, activation and whatever else follows in the same kernel.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "graph/codegen.h"
#include "graph/products.h"
#include "graph/tuning.h"

namespace wgt::graph {

namespace {

/// An index of an operand: the dimensions that it runs over, the last one fastest.
struct Index {
  Dims sizes, strides;

  int64_t size() const { return numel(sizes); }
  bool walks() const { return sizes.size() > 1; }
  std::optional<kernels::MatmulWalk> walk() const {
    if (!walks()) return std::nullopt;
    bool fours = true;
    for (int d = 0; d < sizes.size() - 1; ++d) fours = fours && strides[d] % 4 == 0;
    return kernels::MatmulWalk{sizes.back(), fours};
  }
};

/// `count` dimensions of an operand from `first` on, those merged that make one.
Index index_of(const Dims& sizes, const Layout& layout, int first, int count) {
  Index out;
  for (int d = first; d < first + count; ++d) {
    int64_t stride = layout.strides[d];
    if (sizes[d] == 1 && count > 1) continue;
    if (!out.sizes.empty() && out.strides.back() == stride * sizes[d]) {
      out.sizes.back() *= sizes[d];
      out.strides.back() = stride;
    } else {
      out.sizes.push_back(sizes[d]);
      out.strides.push_back(stride);
    }
  }
  return out.sizes.empty() ? Index{{1}, {0}} : out;
}

/// One operand: kept is its rows' index for A, its columns' for B.
struct Side {
  Operand operand;
  int binding;  // 0: A, 1: B
  Index batch, kept, shared;
  bool aligned;  // every offset, but those that `kept` and `shared` add, is a multiple of 4

  Side(const FlushGraph& g, const Node& n, const Operand& o, int which)
      : operand(o), binding(which) {
    int kept_rank = which == 0 ? n.ranks.rows : n.ranks.columns;
    int batch_rank = n.shape.size() - n.ranks.rows - n.ranks.columns;
    const Dims& own = n.inputs[which]->shape;
    Dims sizes;
    for (int d = 0; d < batch_rank; ++d) sizes.push_back(n.shape[d]);
    for (int d = own.size() - kept_rank - n.ranks.shared; d < own.size(); ++d)
      sizes.push_back(own[d]);
    for (int d = 0; d < batch_rank; ++d) {
      batch.sizes.push_back(sizes[d]);
      batch.strides.push_back(o.layout.strides[d]);
    }
    int shared_at = batch_rank + (which == 0 ? kept_rank : 0);
    int kept_at = batch_rank + (which == 0 ? 0 : n.ranks.shared);
    kept = index_of(sizes, o.layout, kept_at, kept_rank);
    shared = index_of(sizes, o.layout, shared_at, n.ranks.shared);
    int64_t offset = o.layout.offset + (g.is_leaf(o.value) ? g.leaf(o.value)->layout.offset : 0);
    aligned = offset % 4 == 0;
    for (int64_t stride : batch.strides) aligned = aligned && stride % 4 == 0;
  }

  Range range(const Part& part) const { return part[static_cast<size_t>(binding) + 1]; }

  /// What a part of the kept index reaches: all of the shared one.
  Reach reach(const Part& part) const {
    Reach out{operand.layout.offset, operand.layout.offset};
    out.add(reach_of(batch.sizes, batch.strides, part[0]));
    out.add(reach_of(kept.sizes, kept.strides, range(part)));
    out.add(reach_of(shared.sizes, shared.strides, {0, shared.size()}));
    return out;
  }
};

/// A variable that is where an index leads, and the strides that lead there.
struct Target {
  std::string var;
  Dims strides;
};

// Longest index that floats can divide: the error of (i + 0.5) * (1 / n), at most 2^-23 of it, must
// stay below 0.5 / n.
constexpr int64_t kMostByFloat = int64_t{1} << 21;

// Adds to each variable where `index` leads. `by_float`: divides by multiplying with reciprocals,
// for what runs often: integer division takes many instructions, also to compile.
std::string offsets(KernelCode& k, const std::string& index, const Dims& sizes,
                    const std::vector<Target>& targets, bool by_float) {
  if (sizes.empty()) return "";
  std::string s = "  var rest = " + index + ";\n";
  for (int d = sizes.size() - 1; d >= 0; --d) {
    std::string c = "rest";
    if (d > 0) {
      c = "c" + std::to_string(d);
      std::string q = "q" + std::to_string(d);
      std::string size = k.params.add("size", static_cast<uint32_t>(sizes[d]));
      std::string quotient = "rest / " + size;
      if (by_float) {
        float inverse = 1.0f / static_cast<float>(sizes[d]);
        quotient = "u32((f32(rest) + 0.5) * bitcast<f32>(" +
                   k.params.add("inverse", std::bit_cast<uint32_t>(inverse)) + "))";
      }
      s += "  let " + q + " = " + quotient + ";\n  let " + c + " = rest - " + q + " * " + size +
           ";\n  rest = " + q + ";\n";
    }
    for (const Target& t : targets)
      s += "  " + t.var + " += " + c + " * " +
           k.params.add("stride", static_cast<uint32_t>(t.strides[d])) + ";\n";
  }
  return s;
}

// fn batch_offset(b): first elements of both operands, over the batch dimensions collapsed
// together.
std::string batch_offset(KernelCode& k, const Side& a, const Side& b, const Part& part) {
  const Dims& shape = a.batch.sizes;
  Dims sizes, sa, sb;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    int64_t da = a.batch.strides[d], db = b.batch.strides[d];
    if (!sizes.empty() && sa.back() == da * shape[d] && sb.back() == db * shape[d]) {
      sizes.back() *= shape[d];
      sa.back() = da;
      sb.back() = db;
    } else {
      sizes.push_back(shape[d]);
      sa.push_back(da);
      sb.push_back(db);
    }
  }
  // The first row of a part of A, the first column of a part of B, unless x_offset() counts from
  // there. in0 and in1 are their bindings.
  auto base = [&](const Side& side) {
    int64_t first = side.operand.layout.offset;
    if (!part.empty() && !side.kept.walks())
      first += side.range(part).begin * side.kept.strides.back();
    uint32_t fixed = static_cast<uint32_t>(first);
    if (k.windowed) return k.params.add_patched("offset", Patch::window, side.binding, fixed);
    int value = side.operand.value;
    return k.g.is_leaf(value) ? k.params.add_patched("offset", Patch::offset, value, fixed)
                              : k.params.add("offset", fixed);
  };
  std::string s = "fn batch_offset(b: u32) -> vec2<u32> {\n  var ia = " + base(a) +
                  ";\n  var ib = " + base(b) + ";\n";
  std::string begin =
      part.empty() ? "" : " + " + k.params.add("begin", static_cast<uint32_t>(part[0].begin));
  s += offsets(k, "b" + begin, sizes, {{"ia", sa}, {"ib", sb}}, false);
  return s + "  return vec2<u32>(ia, ib);\n}\n";
}

// fn depth_of(b): the last piece of each matrix, whose pieces are the last dimension of the batch,
// has less of the shared axis (the node's `step`).
std::string depth_of(KernelCode& k, const Node& n, const Side& a, const Part& part) {
  if (n.step == 0) return "";
  std::string begin =
      part.empty() ? "" : " + " + k.params.add("begin", static_cast<uint32_t>(part[0].begin));
  std::string pieces = k.params.add("pieces", static_cast<uint32_t>(a.batch.sizes.back()));
  std::string last = k.params.add("last", static_cast<uint32_t>(n.step));
  return "fn depth_of(b: u32) -> u32 {\n  return select(p.k, " + last + ", (b" + begin + ") % " +
         pieces + " == " + pieces + " - 1u);\n}\n";
}

// fn x_offset_N and k_offset_N, where the kept and the shared index run over several dimensions.
std::string walks(KernelCode& k, const Side& side, const Part& part) {
  auto walk = [&](const char* name, const Index& index, const std::string& begin) {
    if (!index.walks()) return std::string();
    return "fn " + std::string(name) + std::to_string(side.binding) +
           "(i: u32) -> u32 {\n  var at = 0u;\n" +
           offsets(k, "i" + begin, index.sizes, {{"at", index.strides}},
                   index.size() <= kMostByFloat) +
           "  return at;\n}\n";
  };
  std::string begin;
  if (!part.empty() && side.kept.walks())
    begin = " + " + k.params.add("begin", static_cast<uint32_t>(side.range(part).begin));
  return walk("x_offset_", side.kept, begin) + walk("k_offset_", side.shared, "");
}

// fn mm_read_N: elements of a float16 operand as float32.
std::string read(int operand, bool vec4) {
  const std::string o = std::to_string(operand), type = wgsl_type("f32", vec4 ? 4 : 1);
  return "fn mm_read_" + o + "(i: u32) -> " + type + " { return " + type + "(in" + o + "[i]); }\n";
}

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
  enum { tiles, pieces, sums } kind = tiles;
  int variant = -1;  // of all of them, from the second on
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
  for (auto [name, value] : {std::pair{"m", p.m}, {"n", p.n}, {"k", p.k}, {"batch", p.batch},
                             {"a_rs", p.a_rs}, {"a_cs", p.a_cs}, {"b_rs", p.b_rs},
                             {"b_cs", p.b_cs}})
    k.params.add_named(name, static_cast<uint32_t>(value));
}

// What the kernels of a tail take, with the array between them.
kernels::MatmulCut bind_cut(KernelCode& k, const Stage& stage, DType results) {
  auto number = [&](const char* name, int64_t value) {
    return k.params.add(name, static_cast<uint32_t>(value));
  };
  const kernels::MatmulTail& t = stage.tail;
  k.scratch_types.push_back({stage.scratch, results});
  k.want_vec4(stage.scratch, true);
  k.bind(stage.scratch, stage.kind == Stage::pieces ? rt::Access::read_write : rt::Access::read);
  return {number("first", t.first), number("rest", t.tiles), number("length", t.length),
          number("pieces", t.pieces), k.binding_name(stage.scratch)};
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

  /// What is left to do: sums of pieces follow pieces, and those whole tiles.
  Stage run(bool first, const Stage& stage = {}) {
    out_.restrict_to(part_);
    const bool whole_vectors = !k_.windowed || column_unit(c_, b_) == 4;
    kernels::MatmulProblem problem =
        problem_of(n_, out_, a_, b_, part_, whole_vectors, k_.group.ops > kFlatEpilogue);
    const int forced = forced_variant(c_.device, n_.inputs[0]->dtype);
    if (problem.by_function &&
        (forced >= 0 ? kernels::matmul_variant_of_halves(forced) : (n_.bits & kHalfSums) != 0)) {
      problem.half_sums = true;
      problem.by_function = false;
    }
    const bool fours = whole_vectors && problem.n > 1 && out_.can_vectorize(2, false, true);
    for (int o : k_.group.outputs)
      if (!fours && is_packed(c_.g.node_of(o)->dtype))
        raise(ErrorKind::unsupported, "[matmul] parts of rows of packed numbers");  // planned again
    const kernels::MatmulTarget target = matmul_target(c_.device);
    const int variant = stage.kind != Stage::tiles ? stage.variant
                        : forced >= 0              ? forced
                                                   : measured_variant(c_, gi_, problem);
    kernels::MatmulLaunch launch = kernels::plan_matmul(target, problem, variant);
    Stage next{Stage::pieces, launch.variant, stage.tail, stage.scratch};
    if (stage.kind == Stage::tiles && !k_.windowed && (n_.bits & kMayCut)) {
      next.tail = kernels::matmul_tail(target, problem, launch.variant);
      if (next.tail.tiles) launch.gx = static_cast<uint32_t>(next.tail.first);
    }
    add_step(first, stage, problem, launch, fours);
    if (stage.kind == Stage::pieces) next.kind = Stage::sums;
    return next;
  }

 private:
  const Operand& operand(size_t i) const {
    return c_.g.nodes[static_cast<size_t>(id_)].operands[i];
  }

  void add_step(bool first, const Stage& stage, const kernels::MatmulProblem& problem,
                kernels::MatmulLaunch& launch, bool fours) {
    const char* element = is_packed(n_.inputs[0]->dtype) ? "f16" : nullptr;
    std::string functions;
    if (stage.kind != Stage::sums) functions = bind_operands(problem, launch, element);
    add_params(k_, problem);
    if (stage.kind != Stage::sums)
      functions += batch_offset(k_, a_, b_, part_) + depth_of(k_, n_, a_, part_) +
                   walks(k_, a_, part_) + walks(k_, b_, part_);
    if (stage.kind != Stage::pieces) functions += emit_functions(k_, c_, out_, n_, id_, fours);
    kernels::MatmulCut cut;
    if (stage.kind != Stage::tiles) cut = bind_cut(k_, stage, n_.dtype);
    Step step;
    if (first && stage.kind == Stage::tiles)
      for (int o : k_.group.outputs) step.outputs.push_back(step_output(c_.g, o));
    step.x = launch.gx;
    step.y = launch.gy;
    step.z = launch.gz;
    const std::string declarations = (element ? "enable f16;\n" : "") + k_.declarations() + functions;
    const kernels::MatmulTail& t = stage.tail;
    if (stage.kind == Stage::tiles) {
      k_.finish(step, "matmul", kernels::matmul_source(launch, declarations));
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
  std::string bind_operands(const kernels::MatmulProblem& problem,
                            const kernels::MatmulLaunch& launch, const char* element) {
    auto reach = [&](const Side& side) {
      return k_.windowed ? std::optional(side.reach(part_)) : std::nullopt;
    };
    k_.bind_operand(a_.operand.value, launch.a_vec4, reach(a_), element);
    k_.bind_operand(b_.operand.value, launch.b_vec4, reach(b_), element);
    return problem.by_function ? read(0, launch.a_vec4) + read(1, launch.b_vec4) : "";
  }

  LowerContext& c_;
  int gi_;
  Part part_;
  KernelCode k_;
  int id_;
  const Node& n_;
  const Side a_, b_;
  SpaceCode out_;
};

}  // namespace

void lower_matmul(LowerContext& c, int gi) {
  if (c.windowed(gi)) {
    const std::vector<Part> parts = ProductLowering(c, gi, {}).parts();
    for (size_t i = 0; i < parts.size(); ++i) ProductLowering(c, gi, parts[i]).run(i == 0);
    return;
  }
  Stage next = ProductLowering(c, gi, {}).run(true);
  if (next.tail.tiles == 0) return;
  next.scratch = c.scratch();
  next = ProductLowering(c, gi, {}).run(false, next);
  ProductLowering(c, gi, {}).run(false, next);
}

}  // namespace wgt::graph
