// Folds of rows in order of the segments that they belong to: by blocks, level upon level.
#include <algorithm>

#include "graph/accumulator.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

constexpr int64_t kBlock = 32;  // rows that a lane folds one after the other
constexpr int64_t kLanes = 64;

class SegmentsLowering {
 public:
  SegmentsLowering(LowerContext& c, int gi)
      : c_(c),
        gi_(gi),
        id_(c.fusion.groups[static_cast<size_t>(gi)].anchor),
        node_(c.g.node_of(id_)),
        values_(c.g.nodes[static_cast<size_t>(id_)].operands[1]),
        rows_(c.g.nodes[static_cast<size_t>(id_)].operands[2]),
        elements_(node_->inputs[1]->shape[1]) {}

  void run() {
    Rows from{-1, -1, node_->inputs[1]->shape[0]};
    for (bool first = true;; first = false) {
      bool last = from.count <= kBlock;
      Rows to;
      if (!last) to = {c_.scratch(), c_.scratch(), 2 * ((from.count + kBlock - 1) / kBlock)};
      fold(from, to, first, last);
      if (!first)
        for (int v : {from.values, from.segments}) c_.plan.steps.back().dies.push_back(v);
      if (last) return;
      from = to;
    }
  }

 private:
  /// Rows on the way from one kernel to the next: their elements, and their segments.
  struct Rows {
    int values = -1, segments = -1;
    int64_t count = 0;
  };

  void fold(const Rows& from, const Rows& to, bool first, bool last) {
    KernelCode k(c_, gi_);
    Accumulator acc(k, node_->reduce, node_->dtype);
    Step step;
    std::string functions = acc.declare(1);
    if (first) {
      functions += read_operands(k, acc, step);
    } else {
      functions += read_rows(k, acc, from);
    }
    functions += write_result(k, acc);
    if (!last) functions += keep_rows(k, acc, to, step);
    kernels::Vars vars;
    vars.set("LANES", kLanes);
    vars.set("BLOCK", kBlock);
    vars.set("LAST", int64_t{last});
    vars.set("COMBINE", acc.combine(1));
    vars.set("IDENTITY", acc.identity(1));
    vars.set("ELEMENTS", k.params.add("elements", static_cast<uint32_t>(elements_)));
    vars.set("COUNT", k.params.add("count", static_cast<uint32_t>(from.count)));
    vars.set("FUNCTIONS", functions);
    vars.set("DECLARATIONS", k.declarations());
    int64_t lanes = (from.count + kBlock - 1) / kBlock * elements_;
    fold_groups(static_cast<uint64_t>((lanes + kLanes - 1) / kLanes), c_.device.limits().max_groups,
                step.x, step.z);
    step.y = 1;
    k.finish(step, std::string("segments ") + reduce_name(node_->reduce),
             kernels::expand("segments.wgsl", vars));
    c_.plan.steps.push_back(std::move(step));
  }

  // The first kernel computes what is folded, and takes over the base.
  std::string read_operands(KernelCode& k, const Accumulator& acc, Step& step) {
    SpaceCode in(k, 0, k.group.space[0]);
    in.collect(values_.value, values_.layout);
    in.collect(rows_.value, rows_.layout);
    in.collapse({"r", "o"}, {0, 1, 2});
    if (k.windowed) {
      Part all{{0, node_->inputs[1]->shape[0]}, {0, elements_}};
      check_binding(in.widest(all));
      in.restrict_to(all);
    }
    int base = c_.g.nodes[static_cast<size_t>(id_)].operands[0].value;
    StepOutput out = step_output(c_.g, id_);
    out.in_place = base_to_write(c_, gi_, id_, in.reads(base), true);
    step.outputs = {out};
    in.set_width(1, 1);
    in.begin();
    std::string value = in.emit(values_.value, values_.layout);
    std::string s = "fn load(r: u32, o: u32) -> " + acc.type(1) + " {\n" + in.take_body() +
                    "  return " + value + ";\n}\n";
    in.begin();
    std::string row = in.emit(rows_.value, rows_.layout);
    return s + "fn segment_of(r: u32, o: u32) -> u32 {\n" + in.take_body() + "  return " + row +
           ";\n}\n";
  }

  std::string read_rows(KernelCode& k, const Accumulator& acc, const Rows& from) {
    std::string elements = k.params.add("elements", static_cast<uint32_t>(elements_));
    return "fn load(r: u32, o: u32) -> " + acc.type(1) + " {\n  return " +
           bind(k, from.values, node_->dtype, from.count * elements_, false) + "[r * " + elements +
           " + o];\n}\nfn segment_of(r: u32, o: u32) -> u32 {\n  return " +
           bind(k, from.segments, DType::uint32, from.count, false) + "[r];\n}\n";
  }

  std::string write_result(KernelCode& k, const Accumulator& acc) {
    std::string elements = k.params.add("elements", static_cast<uint32_t>(elements_));
    std::string rows = k.params.add("rows", static_cast<uint32_t>(node_->shape[0]));
    std::string s = "fn finish(segment: u32, o: u32, v: " + acc.type(1) +
                    ") {\n  let at = segment * " + elements + " + o;\n  let known = segment < " +
                    rows + ";\n";
    auto put = [&](int binding, const std::string& at) {
      std::string place = KernelCode::name_of(binding) + "[" + at + "]";
      return place + " = " + acc.combine(1) + "(" + place + ", v);";
    };
    if (!k.windowed)
      return s + "  if (known) { " + put(k.bind(id_, rt::Access::read_write), "at") + " }\n}\n";
    int64_t room = KernelCode::window_limit(c_.device) / info(node_->dtype).size;
    for (int64_t first = 0; first < numel(node_->shape); first += room) {
      Reach part{first, std::min(numel(node_->shape), first + room) - 1};
      int binding = k.bind_slice(id_, rt::Access::read_write, part);
      auto begin = static_cast<uint32_t>(first);
      std::string i = "at - " + k.params.add("begin", begin);
      std::string count = k.params.add("count", static_cast<uint32_t>(part.count()));
      std::string shift = k.params.add_patched("shift", Patch::window, binding, begin);
      s +=
          "  if (known && " + i + " < " + count + ") { " + put(binding, i + " + " + shift) + " }\n";
    }
    return s + "}\n";
  }

  void check_binding(int64_t bytes) const {
    int64_t limit = KernelCode::window_limit(c_.device);
    if (bytes > limit)
      raise(ErrorKind::unsupported, "[segments] one step reaches " + std::to_string(bytes) +
                                        " bytes of a buffer, and this adapter binds " +
                                        std::to_string(limit) + " at most: split the tensor");
  }

  std::string keep_rows(KernelCode& k, const Accumulator& acc, const Rows& to, Step& step) {
    std::string elements = k.params.add("elements", static_cast<uint32_t>(elements_));
    uint64_t count = static_cast<uint64_t>(to.count);
    step.outputs.push_back({to.values, count * static_cast<uint64_t>(elements_) *
                                           static_cast<uint64_t>(info(node_->dtype).size)});
    step.outputs.push_back({to.segments, count * sizeof(uint32_t)});
    return "fn keep(row: u32, o: u32, segment: u32, v: " + acc.type(1) + ") {\n  " +
           bind(k, to.values, node_->dtype, to.count * elements_, true) + "[row * " + elements +
           " + o] = v;\n  if (o == 0u) { " + bind(k, to.segments, DType::uint32, to.count, true) +
           "[row] = segment; }\n}\n";
  }

  std::string bind(KernelCode& k, int v, DType t, int64_t count, bool write) const {
    k.scratch_types.push_back({v, t});
    rt::Access access = write ? rt::Access::read_write : rt::Access::read;
    if (!k.windowed) return KernelCode::name_of(k.bind(v, access));
    check_binding(count * info(t).size);
    return KernelCode::name_of(k.bind_window(v, access, {0, count - 1}));
  }

  LowerContext& c_;
  int gi_, id_;
  Node* node_;
  Operand values_, rows_;
  int64_t elements_;
};

}  // namespace

void lower_segments(LowerContext& c, int group) {
  SegmentsLowering(c, group).run();
}

}  // namespace wgt::graph
