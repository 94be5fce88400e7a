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

// One kernel; with large buffers for a part of the result. Given parts to fill, it only cuts them.
void lower_product(LowerContext& c, int gi, const Part& part, bool first,
                   std::vector<Part>* parts) {
  KernelCode k(c, gi);
  int id = k.group.anchor;
  const Node& n = *c.g.node_of(id);
  const auto& operands = c.g.nodes[static_cast<size_t>(id)].operands;
  const Side a(c.g, n, operands[0], 0), b(c.g, n, operands[1], 1);
  int rank = n.shape.size(), rows = rank - n.ranks.columns - n.ranks.rows;

  SpaceCode out(k, 1, k.group.space[1]);
  collect_outputs(k, out, id);
  out.collapse({"b", "r", "c"}, {0, rows, rows + n.ranks.rows, rank});

  if (parts) {
    *parts = parts_of_product(c, gi, out, n, a, b);
    return;
  }
  out.restrict_to(part);
  bool whole_vectors = !k.windowed || column_unit(c, b) == 4;
  kernels::MatmulProblem problem =
      problem_of(n, out, a, b, part, whole_vectors, k.group.ops > kFlatEpilogue);
  const int forced = forced_variant(c.device, n.inputs[0]->dtype);
  if (problem.by_function &&
      (forced >= 0 ? kernels::matmul_variant_of_halves(forced) : n.bits != 0)) {
    problem.half_sums = true;
    problem.by_function = false;
  }
  const bool fours = whole_vectors && problem.n > 1 && out.can_vectorize(2, false, true);
  for (int o : k.group.outputs)
    if (!fours && is_packed(c.g.node_of(o)->dtype))
      raise(ErrorKind::unsupported, "[matmul] parts of rows of packed numbers");  // planned again
  const int variant = forced >= 0 ? forced : measured_variant(c, gi, problem);
  const kernels::MatmulLaunch launch =
      kernels::plan_matmul(matmul_target(c.device), problem, variant);

  // in0 and in1 are the template's; the same value twice is bound twice, as its two forms may
  // differ.
  auto reach = [&](const Side& side) {
    return k.windowed ? std::optional(side.reach(part)) : std::nullopt;
  };
  const char* element = is_packed(n.inputs[0]->dtype) ? "f16" : nullptr;
  k.bind_operand(a.operand.value, launch.a_vec4, reach(a), element);
  k.bind_operand(b.operand.value, launch.b_vec4, reach(b), element);
  k.params.add_named("m", static_cast<uint32_t>(problem.m));
  k.params.add_named("n", static_cast<uint32_t>(problem.n));
  k.params.add_named("k", static_cast<uint32_t>(problem.k));
  k.params.add_named("batch", static_cast<uint32_t>(problem.batch));
  k.params.add_named("a_rs", static_cast<uint32_t>(problem.a_rs));
  k.params.add_named("a_cs", static_cast<uint32_t>(problem.a_cs));
  k.params.add_named("b_rs", static_cast<uint32_t>(problem.b_rs));
  k.params.add_named("b_cs", static_cast<uint32_t>(problem.b_cs));
  std::string functions = batch_offset(k, a, b, part) + depth_of(k, n, a, part) + walks(k, a, part) + walks(k, b, part);
  if (problem.by_function) functions += read(0, launch.a_vec4) + read(1, launch.b_vec4);

  const int width = fours ? 4 : 1;
  out.set_width(width, 2);
  std::string ty = info(n.dtype).compute;
  functions += "fn " + std::string(width == 4 ? "emit4" : "emit") +
               "(b: u32, r: u32, c: u32, v: " + wgsl_type(ty.c_str(), width) + ") {\n" +
               output_body(k, out, id) + "}\n";
  if (width == 1) {
    functions += "fn emit4(b: u32, r: u32, c: u32, v: vec4<" + ty + ">) {\n";
    if (c.device.software_kernels() || k.group.ops > 8) {
      // A loop that no compiler unrolls: the code of a long epilogue stands here once.
      functions += "  let n = min(p.n - c, 4u);\n";
      functions += "  for (var j = 0u; j < n; j++) { emit(b, r, c + j, v[j]); }\n";
    } else {
      for (int j = 0; j < 4; ++j)
        functions += "  if (c + " + std::to_string(j) + "u < p.n) { emit(b, r, c + " +
                     std::to_string(j) + "u, v[" + std::to_string(j) + "]); }\n";
    }
    functions += "}\n";
  }

  Step step;
  if (first)
    for (int o : k.group.outputs) step.outputs.push_back(step_output(c.g, o));
  step.x = launch.gx;
  step.y = launch.gy;
  step.z = launch.gz;
  std::string declarations = (element ? "enable f16;\n" : "") + k.declarations() + functions;
  k.finish(step, "matmul", kernels::matmul_source(launch, declarations));
  c.plan.steps.push_back(std::move(step));
}

}  // namespace

void lower_matmul(LowerContext& c, int gi) {
  if (!c.windowed(gi)) return lower_product(c, gi, {}, true, nullptr);
  std::vector<Part> parts;
  lower_product(c, gi, {}, true, &parts);
  for (size_t i = 0; i < parts.size(); ++i) lower_product(c, gi, parts[i], i == 0, nullptr);
}

}  // namespace wgt::graph
