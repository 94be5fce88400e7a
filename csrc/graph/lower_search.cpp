// Searches in a sorted vector, with the elementwise work before and after them in the same kernel.
#include <algorithm>

#include "graph/sort_code.h"
#include "graph/storage.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

// The sorted vector is bound whole; with large buffers the values are processed in parts.
void lower_part(LowerContext& c, int gi, const Part& part, std::vector<Part>* parts) {
  KernelCode k(c, gi);
  int id = k.group.anchor;
  const Node& n = *c.g.node_of(id);
  const auto& operands = c.g.nodes[static_cast<size_t>(id)].operands;
  const Operand &values = operands[0], &sorted = operands[1];
  int rank = n.shape.size();

  SpaceCode in(k, 0, k.group.space[0]);
  in.collect(values.value, values.layout);
  in.collapse({"r"}, {0, rank});
  SpaceCode out(k, 1, k.group.space[1]);
  collect_outputs(k, out, id);
  out.collapse({"r"}, {0, rank});
  if (parts) {
    *parts = parts_of(cut({{in.sizes(0), 1}}, KernelCode::window_limit(c.device),
                          [&](const Part& p) { return std::max(in.widest(p), out.widest(p)); }));
    return;
  }
  in.restrict_to(part);
  out.restrict_to(part);
  in.set_width(1, 0);
  out.set_width(1, 0);

  SortKeys keys(n.inputs[0]->dtype);
  in.begin();
  std::string value = in.emit(values.value, values.layout);
  std::string functions = "fn value_words(r: u32) -> vec2<u32> {\n" + in.take_body() +
                          keys.to_words(k, value) + "}\n" +
                          "fn sorted_words(i: u32) -> vec2<u32> {\n";
  int64_t count = n.inputs[1]->shape[0];
  functions += "  let v = " + element_at(k, sorted, count, "i") + ";\n" + keys.to_words(k, "v") +
               "}\nfn emit(r: u32, v: i32) {\n" + output_body(k, out, id) + "}\n";

  int64_t top = 1;
  while (top * 2 <= count) top *= 2;
  kernels::Vars vars;
  keys.describe(vars);
  vars.set("SIDE", static_cast<int64_t>(n.side));
  vars.set("COUNT", k.params.add("count", static_cast<uint32_t>(count)));
  vars.set("TOP", k.params.add("top", static_cast<uint32_t>(top)));
  int64_t total = in.extent(0);
  vars.set("VALUES", k.params.add("values", static_cast<uint32_t>(total)));
  vars.set("FUNCTIONS", functions);
  vars.set("DECLARATIONS", k.declarations());
  Step step;
  if (part.empty() || part[0].begin == 0)
    for (int o : k.group.outputs) step.outputs.push_back(step_output(c.g, o));
  fold_groups(static_cast<uint64_t>((total + 255) / 256), c.device.limits().max_groups, step.x,
              step.z);
  step.y = 1;
  k.finish(step, "search", kernels::expand("search.wgsl", vars));
  c.plan.steps.push_back(std::move(step));
}

}  // namespace

void lower_search(LowerContext& c, int gi) {
  if (!c.windowed(gi)) return lower_part(c, gi, {}, nullptr);
  std::vector<Part> parts;
  lower_part(c, gi, {}, &parts);
  for (const Part& part : parts) lower_part(c, gi, part, nullptr);
}

}  // namespace wgt::graph
