// Elementwise groups, and assignments: an elementwise group that writes through a view.
#include <algorithm>
#include <optional>

#include "graph/codegen.h"
#include "graph/storage.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

Layout dense(const Dims& shape) {
  return Layout{contiguous_strides(shape), 0};
}

class MapLowering {
 public:
  MapLowering(LowerContext& c, int gi)
      : c_(c), gi_(gi), k_(c, gi), space_(k_, 0, k_.group.space[0]) {}

  /// Parts whose windows fit; steps of four elements along a row and words of bools stay whole.
  std::vector<Part> parts() {
    prepare();
    std::vector<CutAxis> axes;
    for (int i = 0; i < static_cast<int>(space_.axes().size()); ++i)
      axes.push_back({space_.sizes(i), by_rows_ && i == 0 ? 1 : width_, quad_ ? 4 : 1});
    return parts_of(cut(
        axes, KernelCode::window_limit(c_.device), [&](const Part& p) { return space_.widest(p); },
        c_.share(gi_)));
  }

  /// All of the group, or a part of it; the first one makes the results.
  void run(const Part& part = {}, bool first = true) {
    first_ = first;
    prepare();
    if (assign_ >= 0) take_base();
    space_.restrict_to(part);
    choose_units();
    space_.set_width(width_, rows_ > 0 ? 1 : 0);
    if (assign_ < 0) take_over();
    if (auto reads = by_words(part))
      write_words(*reads);
    else
      write();
  }

 private:
  void prepare() {
    const Group& group = k_.group;
    assign_ = group.anchor;
    Layout all = dense(group.space[0]);
    for (int o : group.outputs) {
      if (o == assign_) {
        const auto& operands = c_.g.nodes[static_cast<size_t>(o)].operands;
        const Node& n = *c_.g.node_of(o);
        source_ = operands[1];
        space_.collect(source_.value, source_.layout);
        scatters_ = n.kind == NodeKind::scatter;
        if (scatters_) {
          position_ = operands[2];
          space_.collect(position_.value, position_.layout);
          space_.add_scatter(o, n.layout, static_cast<int64_t>(n.step));
        } else {
          space_.add_write(o, n.layout);
        }
      } else {
        space_.collect(o, all);
        space_.add_write(o, all);
      }
    }
    space_.collapse({"x"}, {0, group.space[0].size()});
    choose_form();
  }

  // A thread must own whole words.
  bool has_packed_output() const {
    return std::any_of(k_.group.outputs.begin(), k_.group.outputs.end(),
                       [&](int o) { return is_packed(c_.g.node_of(o)->dtype); });
  }

  void choose_form() {
    bool packed = has_packed_output();
    bool overrun = assign_ < 0 && !space_.checks();
    if (space_.can_vectorize(0, overrun, packed)) {
      width_ = 4;
    } else if (packed) {
      quad_ = true;
    }
    if (!quad_ && space_.shape().size() > 1) {
      space_.split_inner("y", "x");
      by_rows_ = true;
    }
  }

  void choose_units() {
    if (by_rows_) rows_ = space_.extent(0);
    int64_t n = space_.extent(by_rows_ ? 1 : 0);
    units_ = quad_ ? (n + 3) / 4 : (n + width_ - 1) / width_;
    total_ = n;
    if (rows_ > 0) {
      wx_ = units_ > 32 ? 64 : units_ > 8 ? 32 : 8;
      wy_ = 256 / wx_;
    }
  }

  // An operand that dies here and is read just where an output is written lends its buffer.
  void take_over() {
    for (int o : k_.group.outputs) {
      for (int v : k_.group.externals) {
        if (taken(v) || !c_.dies(gi_, v) || !space_.same_place(v, o)) continue;
        if (info(c_.g.node_of(v)->dtype).size != info(c_.g.node_of(o)->dtype).size) continue;
        if (c_.g.node_of(v)->dtype != c_.g.node_of(o)->dtype) continue;
        if (numel(c_.g.node_of(v)->shape) != numel(c_.g.node_of(o)->shape)) continue;
        if (!fits_buffer(c_.g, v, o)) continue;
        k_.bind_in_place(o, v);
        over_.push_back({o, v});
        break;
      }
    }
  }

  bool taken(int v) const {
    return std::any_of(over_.begin(), over_.end(), [&](const auto& p) { return p.second == v; });
  }

  void take_base() {
    int base = c_.g.nodes[static_cast<size_t>(assign_)].operands[0].value;
    if (int v = base_to_write(c_, gi_, assign_, space_.reads(base), first_); v >= 0)
      over_.push_back({assign_, v});
  }

  // Reads of the form that moves 64 bits at a time, where a software adapter gains by it.
  std::optional<std::vector<std::pair<int, Layout>>> by_words(const Part& part) const {
    constexpr int64_t kFewest = int64_t{1} << 16;
    if (!c_.device.software_kernels() || !c_.device.features().int64 || width_ != 4 || by_rows_ ||
        quad_ || assign_ >= 0 || !part.empty() || !over_.empty() || total_ % 16 != 0 ||
        total_ < kFewest || space_.checks())
      return std::nullopt;
    return space_.dense_reads();
  }

  void write_words(const std::vector<std::pair<int, Layout>>& reads) {
    kernels::Vars vars;
    const Layout all = dense(k_.group.space[0]);
    auto four = [&](int v) { return wgsl_type(info(c_.g.node_of(v)->dtype).compute, 4); };
    space_.begin();
    std::string arguments, results;
    for (size_t i = 0; i < reads.size(); ++i) {
      const std::string name = "q" + std::to_string(i);
      arguments += (i ? ", " : "") + name + ": " + four(reads[i].first);
      k_.bind_operand(reads[i].first, true, std::nullopt, "u64");
      space_.define(reads[i].first, reads[i].second, name);
    }
    for (int o : k_.group.outputs) k_.bind_result(o, "u64");
    for (int o : k_.group.outputs)
      results +=
          (results.empty() ? "" : ", ") + ("bitcast<vec4<u32>>(" + space_.emit(o, all)) + ")";
    std::string calls;
    for (const char* h : {"0", "1"})
      for (const char* part : {"low", "high"}) {
        calls += "  let " + std::string(part) + "_" + h + " = lane(";
        for (size_t i = 0; i < reads.size(); ++i)
          calls += (i ? ", " : "") + ("bitcast<" + four(reads[i].first)) + ">(" + part + "(in_" +
                   std::to_string(i) + "_" + h + "))";
        calls += ");\n";
      }
    const int64_t units = total_ / 16;
    vars.set("READS", static_cast<int64_t>(reads.size()));
    vars.set("WRITES", static_cast<int64_t>(k_.group.outputs.size()));
    vars.set("ARGUMENTS", arguments);
    vars.set("RESULTS", results);
    vars.set("CALLS", calls);
    vars.set("UNITS", k_.params.add("units", static_cast<uint32_t>(units)));
    vars.set("BODY", space_.take_body());
    vars.set("DECLARATIONS", k_.declarations());
    Step step;
    for (int o : k_.group.outputs) step.outputs.push_back(step_output(c_.g, o));
    step.y = 1;
    fold_groups(static_cast<uint64_t>((units + 255) / 256), c_.device.limits().max_groups, step.x,
                step.z);
    k_.finish(step, "map", kernels::expand("map_words.wgsl", vars));
    c_.plan.steps.push_back(std::move(step));
  }

  void write() {
    kernels::Vars vars;
    vars.set("QUAD", int64_t{quad_});
    vars.set("ROWS", int64_t{rows_ > 0});
    vars.set("WIDTH", int64_t{width_});
    vars.set("WX", int64_t{wx_});
    vars.set("WY", int64_t{wy_});
    vars.set("NX", k_.params.add("units", static_cast<uint32_t>(units_)));
    if (rows_ > 0) vars.set("NY", k_.params.add("rows", static_cast<uint32_t>(rows_)));
    if (quad_) vars.set("N", k_.params.add("n", static_cast<uint32_t>(total_)));
    vars.set("BODY", body(vars));
    vars.set("DECLARATIONS", k_.declarations());

    Step step;
    for (int o : k_.group.outputs) {
      if (!first_) break;
      StepOutput out = step_output(c_.g, o);
      for (const auto& p : over_)
        if (p.first == o) out.in_place = p.second;
      step.outputs.push_back(out);
    }
    uint32_t limit = c_.device.limits().max_groups;
    step.x = step.y = step.z = 1;
    if (rows_ > 0) {
      step.x = static_cast<uint32_t>((units_ + wx_ - 1) / wx_);
      fold_groups(static_cast<uint64_t>((rows_ + wy_ - 1) / wy_), limit, step.y, step.z);
    } else {
      fold_groups(static_cast<uint64_t>((units_ + wx_ - 1) / wx_), limit, step.x, step.z);
    }
    k_.finish(step,
              scatters_      ? "scatter"
              : assign_ >= 0 ? "assign"
                             : "map",
              kernels::expand("map.wgsl", vars));
    c_.plan.steps.push_back(std::move(step));
  }

  std::string body(kernels::Vars& vars) {
    Layout all = dense(k_.group.space[0]);
    space_.begin();
    std::string stores, result;
    int packed = 0;
    for (int o : k_.group.outputs) {
      bool assigned = o == assign_;
      std::string name =
          assigned ? space_.emit(source_.value, source_.layout) : space_.emit(o, all);
      DType t = c_.g.node_of(o)->dtype;
      if (quad_ && is_packed(t)) {
        stores += space_.emit_word_store(o, "unit * 4u", "raw" + std::to_string(packed));
        result += (packed ? ", " : "") + encode(k_, t, name, 1);
        ++packed;
      } else if (assigned && scatters_) {
        space_.emit_scatter(o, name, space_.emit(position_.value, position_.layout));
      } else {
        space_.emit_store(o, name);
      }
    }
    vars.set("PACKED", int64_t{packed});
    vars.set("STORES", stores);
    std::string text = space_.take_body();
    return quad_ ? text + "  return Items(" + result + ");\n" : text;
  }

  LowerContext& c_;
  int gi_;
  KernelCode k_;
  SpaceCode space_;
  int assign_ = -1, copied_ = -1;
  bool scatters_ = false;
  Operand source_, position_;
  std::vector<std::pair<int, int>> over_;  // output, value whose buffer it takes
  int width_ = 1;
  bool quad_ = false, by_rows_ = false, first_ = true;
  int64_t units_ = 0, rows_ = 0, total_ = 0, wx_ = 256, wy_ = 1;
};

}  // namespace

void lower_map(LowerContext& c, int group) {
  if (!c.windowed(group)) return MapLowering(c, group).run();
  std::vector<Part> parts = MapLowering(c, group).parts();
  for (size_t i = 0; i < parts.size(); ++i) MapLowering(c, group).run(parts[i], i == 0);
}

}  // namespace wgt::graph
