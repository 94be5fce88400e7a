// Folds of rows in order of the segments that they belong to: by blocks, level upon level.
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
    if (c_.windowed(gi_))
      raise(ErrorKind::unsupported,
            "[segments] a buffer is above this adapter's largest binding: split the tensor");
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
           bind(k, from.values, node_->dtype, false) + "[r * " + elements +
           " + o];\n}\nfn segment_of(r: u32, o: u32) -> u32 {\n  return " +
           bind(k, from.segments, DType::uint32, false) + "[r];\n}\n";
  }

  std::string write_result(KernelCode& k, const Accumulator& acc) {
    std::string out = KernelCode::name_of(k.bind(id_, rt::Access::read_write));
    std::string elements = k.params.add("elements", static_cast<uint32_t>(elements_));
    return "fn finish(segment: u32, o: u32, v: " + acc.type(1) + ") {\n  let at = segment * " +
           elements + " + o;\n  " + out + "[at] = " + acc.combine(1) + "(" + out + "[at], v);\n}\n";
  }

  std::string keep_rows(KernelCode& k, const Accumulator& acc, const Rows& to, Step& step) {
    std::string elements = k.params.add("elements", static_cast<uint32_t>(elements_));
    uint64_t count = static_cast<uint64_t>(to.count);
    step.outputs.push_back({to.values, count * static_cast<uint64_t>(elements_) *
                                           static_cast<uint64_t>(info(node_->dtype).size)});
    step.outputs.push_back({to.segments, count * sizeof(uint32_t)});
    return "fn keep(row: u32, o: u32, segment: u32, v: " + acc.type(1) + ") {\n  " +
           bind(k, to.values, node_->dtype, true) + "[row * " + elements +
           " + o] = v;\n  if (o == 0u) { " + bind(k, to.segments, DType::uint32, true) +
           "[row] = segment; }\n}\n";
  }

  std::string bind(KernelCode& k, int v, DType t, bool write) const {
    k.scratch_types.push_back({v, t});
    return KernelCode::name_of(k.bind(v, write ? rt::Access::read_write : rt::Access::read));
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
