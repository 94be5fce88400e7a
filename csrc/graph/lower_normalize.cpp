// Normalization over the last axis and its gradient, with the elementwise work before and after
// them in the same kernel.
#include <algorithm>

#include "graph/codegen.h"
#include "graph/row_lanes.h"
#include "graph/storage.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

constexpr int64_t kRegisters = 128;  // bytes of a row that a lane keeps

class NormalizeLowering {
 public:
  NormalizeLowering(LowerContext& c, int gi)
      : c_(c),
        gi_(gi),
        k_(c, gi),
        id_(k_.group.anchor),
        node_(*c.g.node_of(id_)),
        in_(k_, 0, k_.group.space[0]),
        out_(k_, 1, k_.group.space[1]) {
    int rank = k_.group.space[0].size();
    std::vector<int> bounds{0, rank - 1, rank};
    for (const Operand& o : operands()) in_.collect(o.value, o.layout);
    in_.collapse({"o", "r"}, bounds);
    collect_outputs(k_, out_, id_);
    out_.collapse({"o", "r"}, bounds);
  }

  std::vector<Part> parts() const {
    return parts_of(cut(
        {{in_.sizes(0), 1}, {in_.sizes(1), 0}}, KernelCode::window_limit(c_.device),
        [&](const Part& p) { return std::max(in_.widest(p), out_.widest(p)); }, c_.share(gi_)));
  }

  void run(const Part& part, bool first) {
    in_.restrict_to(part);
    out_.restrict_to(part);
    choose();
    std::string text = functions();
    Step step;
    if (first)
      for (int o : k_.group.outputs) step.outputs.push_back(step_output(c_.g, o));
    int64_t rows = in_.extent(0), to = kRowThreads / tr_;
    fold_groups(static_cast<uint64_t>((rows + to - 1) / to), c_.device.limits().max_groups, step.x,
                step.z);
    step.y = 1;
    k_.finish(step, node_.arity == 2 ? "normalize gradient" : "normalize",
              kernels::expand("normalize.wgsl", variables(std::move(text))));
    c_.plan.steps.push_back(std::move(step));
  }

 private:
  const std::vector<Operand>& operands() const {
    return c_.g.nodes[static_cast<size_t>(id_)].operands;
  }

  // Lanes to a row, and how much of it each keeps.
  void choose() {
    int64_t count = in_.extent(1);
    rw_ = in_.can_vectorize(1, false, true) && out_.can_vectorize(1, false, true) ? 4 : 1;
    tr_ = lanes_of_row(c_, gi_, in_.extent(0), count, rw_);
    int64_t per_lane = (count + tr_ * rw_ - 1) / (tr_ * rw_);
    cache_ = 1;
    while (cache_ < per_lane) cache_ *= 2;
    if (cache_ * rw_ * info(node_.dtype).size * node_.arity > kRegisters) cache_ = 0;
    in_.set_width(rw_, 1);
    out_.set_width(rw_, 1);
    type_ = wgsl_type(info(node_.dtype).compute, rw_);
  }

  std::string loader(const char* name, const Operand& source) {
    in_.begin();
    std::string value = in_.emit(source.value, source.layout);
    return std::string("fn ") + name + "(o: u32, r: u32) -> " + type_ + " {\n" + in_.take_body() +
           "  return " + value + ";\n}\n";
  }

  std::string functions() {
    std::string text = loader("load", operands()[0]);
    if (node_.arity == 2) text += loader("load_gradient", operands()[1]);
    return text + "fn emit(o: u32, r: u32, v: " + type_ + ") {\n" + output_body(k_, out_, id_) +
           "}\n";
  }

  kernels::Vars variables(std::string text) {
    std::string wide = is_wide(node_.dtype) ? "64" : "";
    kernels::Vars vars;
    vars.set("TR", tr_);
    vars.set("TO", kRowThreads / tr_);
    vars.set("RW", int64_t{rw_});
    vars.set("CACHE", cache_);
    vars.set("MEAN", int64_t{node_.centred});
    vars.set("BACK", int64_t{node_.arity == 2});
    vars.set("V", type_);
    vars.set("T", info(node_.dtype).compute);
    vars.set("DIV", k_.use_function("div_f" + wide, 1));
    vars.set("RSQRT", k_.use_function("rsqrt_f" + wide, 1));
    std::string low = k_.params.add_patched("eps", Patch::bits, id_, 0), high;
    if (is_wide(node_.dtype)) high = k_.params.add_patched("eps", Patch::bits_high, id_, 0);
    vars.set("EPS", graph::constant(node_.dtype, low, high));
    vars.set("ROWS", k_.params.add("rows", static_cast<uint32_t>(in_.extent(0))));
    vars.set("COUNT", k_.params.add("count", static_cast<uint32_t>(in_.extent(1))));
    vars.set("FUNCTIONS", std::move(text));
    vars.set("DECLARATIONS", k_.declarations());
    return vars;
  }

  LowerContext& c_;
  int gi_;
  KernelCode k_;
  int id_;
  const Node& node_;
  SpaceCode in_, out_;
  int rw_ = 1;
  int64_t tr_ = 8, cache_ = 0;
  std::string type_;
};

}  // namespace

void lower_normalize(LowerContext& c, int gi) {
  if (!c.windowed(gi)) return NormalizeLowering(c, gi).run({}, true);
  std::vector<Part> parts = NormalizeLowering(c, gi).parts();
  for (size_t i = 0; i < parts.size(); ++i) NormalizeLowering(c, gi).run(parts[i], i == 0);
}

}  // namespace wgt::graph
