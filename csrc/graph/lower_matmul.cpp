// Matrix products, with bias, activation and whatever else follows in the same kernel.
#include <algorithm>
#include <cstdlib>

#include "graph/codegen.h"
#include "kernels/matmul.h"

namespace wgt::graph {

namespace {

bool aligned(const FlushGraph& g, const Operand& o, int batch_rank) {
  int64_t offset = o.layout.offset + (g.is_leaf(o.value) ? g.leaf(o.value)->layout.offset : 0);
  bool all = offset % 4 == 0;
  for (int d = 0; d < batch_rank; ++d) all = all && o.layout.strides[d] % 4 == 0;
  return all;
}

// fn batch_offset(b): first elements of both operands, over the batch dimensions collapsed
// together.
std::string batch_offset(KernelCode& k, const Dims& shape, const Operand& a, const Operand& b,
                         int rank, const Part& part) {
  Dims sizes, sa, sb;
  for (int d = 0; d < rank; ++d) {
    if (shape[d] == 1) continue;
    int64_t da = a.layout.strides[d], db = b.layout.strides[d];
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
  // The first row of a part of A, the first column of a part of B. in0 and in1 are their bindings.
  auto base = [&](const Operand& o, int binding, int dim) {
    int64_t first = o.layout.offset;
    if (!part.empty())
      first += part[static_cast<size_t>(binding) + 1].begin * o.layout.strides[dim];
    uint32_t fixed = static_cast<uint32_t>(first);
    if (k.windowed) return k.params.add_patched("offset", Patch::window, binding, fixed);
    return k.g.is_leaf(o.value) ? k.params.add_patched("offset", Patch::offset, o.value, fixed)
                                : k.params.add("offset", fixed);
  };
  std::string s = "fn batch_offset(b: u32) -> vec2<u32> {\n  var ia = " + base(a, 0, rank) +
                  ";\n  var ib = " + base(b, 1, rank + 1) + ";\n";
  std::string begin =
      part.empty() ? "" : " + " + k.params.add("begin", static_cast<uint32_t>(part[0].begin));
  if (!sizes.empty()) s += "  var rest = b" + begin + ";\n";
  for (int d = sizes.size() - 1; d >= 0; --d) {
    std::string c = "rest";
    if (d > 0) {
      std::string size = k.params.add("size", static_cast<uint32_t>(sizes[d]));
      s += "  let q" + std::to_string(d) + " = rest / " + size + ";\n  let c" + std::to_string(d) +
           " = rest - q" + std::to_string(d) + " * " + size + ";\n  rest = q" + std::to_string(d) +
           ";\n";
      c = "c" + std::to_string(d);
    }
    s += "  ia += " + c + " * " + k.params.add("stride", static_cast<uint32_t>(sa[d])) + ";\n";
    s += "  ib += " + c + " * " + k.params.add("stride", static_cast<uint32_t>(sb[d])) + ";\n";
  }
  return s + "  return vec2<u32>(ia, ib);\n}\n";
}

// Columns are cut between vec4s, unless so few of them reach beyond a binding.
int64_t column_unit(const LowerContext& c, const Node& n, const Operand& b) {
  int64_t step = std::abs(b.layout.strides[n.shape.size() - 1]);
  return step > KernelCode::window_limit(c.device) / 64 ? 1 : 4;
}

// What a part of the rows (or, for B, columns) of an operand reaches: all of the shared axis.
Reach operand_reach(const Node& n, const Operand& o, const Part& part, bool is_b) {
  int batch_rank = n.shape.size() - 2;
  Dims batch, strides;
  for (int d = 0; d < batch_rank; ++d) {
    batch.push_back(n.shape[d]);
    strides.push_back(o.layout.strides[d]);
  }
  int kept = batch_rank + is_b, shared = batch_rank + !is_b;
  int64_t k = n.inputs[0]->shape.back();
  Reach out{o.layout.offset, o.layout.offset};
  out.add(reach_of(batch, strides, part[0]));
  out.add(reach_of(Dims{n.shape[kept]}, Dims{o.layout.strides[kept]}, part[is_b ? 2 : 1]));
  out.add(reach_of(Dims{k}, Dims{o.layout.strides[shared]}, {0, k}));
  return out;
}

std::vector<Part> parts_of_product(LowerContext& c, const SpaceCode& out, const Node& n,
                                   const Operand& a, const Operand& b) {
  Dims batch;
  for (int d = 0; d < n.shape.size() - 2; ++d) batch.push_back(n.shape[d]);
  int rank = n.shape.size();
  int64_t row_unit = a.layout.strides[rank - 2] == 1 ? 4 : 1;
  std::vector<CutAxis> axes{{batch, 1},
                            {Dims{n.shape[rank - 2]}, row_unit},
                            {Dims{n.shape[rank - 1]}, column_unit(c, n, b)}};
  return parts_of(cut(axes, KernelCode::window_limit(c.device), [&](const Part& p) {
    int64_t elements =
        std::max(operand_reach(n, a, p, false).count(), operand_reach(n, b, p, true).count());
    return std::max(out.widest(p), elements * info(n.dtype).size);
  }));
}

// One kernel; with large buffers for a part of the result. Given parts to fill, it only cuts them.
void lower_product(LowerContext& c, int gi, const Part& part, bool first,
                   std::vector<Part>* parts) {
  KernelCode k(c, gi);
  int id = k.group.anchor;
  const Node& n = *c.g.node_of(id);
  Operand a = c.g.nodes[static_cast<size_t>(id)].operands[0];
  Operand b = c.g.nodes[static_cast<size_t>(id)].operands[1];
  int rank = n.shape.size(), batch_rank = rank - 2;

  SpaceCode out(k, 1, k.group.space[1]);
  collect_outputs(k, out, id);
  out.collapse({"b", "r", "c"}, {0, batch_rank, rank - 1, rank});

  if (parts) {
    *parts = parts_of_product(c, out, n, a, b);
    return;
  }
  out.restrict_to(part);
  kernels::MatmulProblem problem{};
  problem.dtype = n.dtype;
  problem.batch = out.extent(0);
  problem.m = part.empty() ? n.shape[rank - 2] : part[1].size();
  problem.n = part.empty() ? n.shape[rank - 1] : part[2].size();
  problem.k = n.inputs[0]->shape.back();
  problem.a_rs = a.layout.strides[rank - 2];
  problem.a_cs = a.layout.strides[rank - 1];
  problem.b_rs = b.layout.strides[rank - 2];
  problem.b_cs = b.layout.strides[rank - 1];
  problem.a_aligned = aligned(c.g, a, batch_rank);
  problem.b_aligned = aligned(c.g, b, batch_rank);
  kernels::MatmulLaunch launch =
      kernels::plan_matmul(c.device.limits(), c.device.software_kernels(), problem);

  // in0 and in1 are the template's; the same value twice is bound twice, as its two forms may
  // differ.
  auto reach = [&](const Operand& o, bool is_b) {
    return k.windowed ? std::optional(operand_reach(n, o, part, is_b)) : std::nullopt;
  };
  k.bind_operand(a.value, launch.a_vec4, reach(a, false));
  k.bind_operand(b.value, launch.b_vec4, reach(b, true));
  k.params.add_named("m", static_cast<uint32_t>(problem.m));
  k.params.add_named("n", static_cast<uint32_t>(problem.n));
  k.params.add_named("k", static_cast<uint32_t>(problem.k));
  k.params.add_named("batch", static_cast<uint32_t>(problem.batch));
  k.params.add_named("a_rs", static_cast<uint32_t>(problem.a_rs));
  k.params.add_named("a_cs", static_cast<uint32_t>(problem.a_cs));
  k.params.add_named("b_rs", static_cast<uint32_t>(problem.b_rs));
  k.params.add_named("b_cs", static_cast<uint32_t>(problem.b_cs));
  std::string functions = batch_offset(k, n.shape, a, b, batch_rank, part);

  bool whole_vectors = !k.windowed || column_unit(c, n, b) == 4;
  int width = whole_vectors && problem.n > 1 && out.can_vectorize(2, false, true) ? 4 : 1;
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
  std::string declarations = k.declarations() + functions;
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
