// Softmax over the last axis, with the elementwise work before and after it in the same kernel.
#include <algorithm>

#include "graph/codegen.h"
#include "graph/row_lanes.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

// One kernel; with large buffers for a part of the rows. Given parts to fill, it only cuts them.
void lower_rows(LowerContext& c, int gi, const Part& part, bool first, std::vector<Part>* parts) {
  KernelCode k(c, gi);
  k.numbers = true;
  int id = k.group.anchor;
  Operand source = c.g.nodes[static_cast<size_t>(id)].operands[0];
  int rank = k.group.space[0].size();
  std::vector<int> bounds{0, rank - 1, rank};

  SpaceCode in(k, 0, k.group.space[0]);
  in.collect(source.value, source.layout);
  in.collapse({"o", "r"}, bounds);
  SpaceCode out(k, 1, k.group.space[1]);
  collect_outputs(k, out, id);
  out.collapse({"o", "r"}, bounds);

  if (parts) {
    *parts = parts_of(cut(
        {{in.sizes(0), 1}, {in.sizes(1), 0}}, KernelCode::window_limit(c.device),
        [&](const Part& p) { return std::max(in.widest(p), out.widest(p)); }, c.share(gi)));
    return;
  }
  in.restrict_to(part);
  out.restrict_to(part);
  int64_t rows = in.extent(0), count = in.extent(1);
  int rw = in.can_vectorize(1, false, true) && out.can_vectorize(1, false, true) ? 4 : 1;
  const int64_t tr = lanes_of_row(c, gi, rows, count, rw);
  int64_t per_lane = (count + tr * rw - 1) / (tr * rw);
  int64_t cache = 1;
  while (cache < per_lane) cache *= 2;
  DType dtype = c.g.node_of(id)->dtype;
  std::string wide = is_wide(dtype) ? "64" : "";
  if (cache * rw * info(dtype).size > 128) cache = 0;  // bytes of registers

  in.set_width(rw, 1);
  out.set_width(rw, 1);
  in.begin();
  std::string value = in.emit(source.value, source.layout);
  std::string ty = wgsl_type(info(dtype).compute, rw);
  std::string functions =
      "fn load(o: u32, r: u32) -> " + ty + " {\n" + in.take_body() + "  return " + value + ";\n}\n";
  functions += "fn emit(o: u32, r: u32, v: " + ty + ") {\n" + output_body(k, out, id) + "}\n";

  kernels::Vars vars;
  vars.set("TR", tr);
  vars.set("TO", kRowThreads / tr);
  vars.set("RW", int64_t{rw});
  vars.set("CACHE", cache);
  vars.set("V", ty);
  vars.set("MAX", k.use_function("max_nan" + wide, 1));
  vars.set("MAXV", k.use_function("max_nan" + wide, rw));
  vars.set("EXPV", k.use_function("exp" + wide, rw));
  bool logarithm = c.g.node_of(id)->logarithm;
  vars.set("LOG", int64_t{logarithm});
  if (logarithm) vars.set("LOGARITHM", k.use_function("log" + wide, 1));
  vars.set("T", info(dtype).compute);
  vars.set("LOW", k.constant(dtype, lowest_bits(dtype)));
  vars.set("ROWS", k.params.add("rows", static_cast<uint32_t>(rows)));
  vars.set("COUNT", k.params.add("count", static_cast<uint32_t>(count)));
  vars.set("FUNCTIONS", functions);
  vars.set("DECLARATIONS", k.declarations());

  Step step;
  if (first)
    for (int o : k.group.outputs) step.outputs.push_back(step_output(c.g, o));
  int64_t to = kRowThreads / tr;
  fold_groups(static_cast<uint64_t>((rows + to - 1) / to), c.device.limits().max_groups, step.x,
              step.z);
  step.y = 1;
  k.finish(step, logarithm ? "log_softmax" : "softmax", kernels::expand("softmax.wgsl", vars));
  c.plan.steps.push_back(std::move(step));
}

}  // namespace

void lower_softmax(LowerContext& c, int gi) {
  if (!c.windowed(gi)) return lower_rows(c, gi, {}, true, nullptr);
  std::vector<Part> parts;
  lower_rows(c, gi, {}, true, &parts);
  for (size_t i = 0; i < parts.size(); ++i) lower_rows(c, gi, parts[i], i == 0, nullptr);
}

}  // namespace wgt::graph
