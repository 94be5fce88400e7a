// Counting and placing the true elements of a vector of bools, which is computed where it is read.
#include <algorithm>

#include "graph/sort_code.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

class CompactLowering {
 public:
  CompactLowering(LowerContext& c, int gi, const Part& part)
      : c_(c),
        k_(c, gi),
        id_(k_.group.anchor),
        node_(*c.g.node_of(id_)),
        operands_(c.g.nodes[static_cast<size_t>(id_)].operands),
        compact_(node_.kind == NodeKind::compact),
        part_(part),
        in_(k_, 0, k_.group.space[0]),
        from_(k_, 0, k_.group.space[0]),
        out_(k_, 1, k_.group.space[1]) {
    in_.collect(operands_[0].value, operands_[0].layout);
    in_.collapse({"r"}, {0, 1});
    if (values()) from_.collect(operands_[2].value, operands_[2].layout);
    from_.collapse({"r"}, {0, 1});
    collect_outputs(k_, out_, id_);
    out_.collapse({"r"}, {0, 1});
  }

  /// Whole blocks, by parts of the result: which of them a block's elements go to only data tells.
  std::vector<Part> parts() {
    return parts_of(
        cut({{in_.sizes(0), kTallyBlock, kTallyBlock}, {out_.sizes(0)}},
            KernelCode::window_limit(c_.device), [&](const Part& p) {
              return std::max({in_.widest({p[0]}), from_.widest({p[0]}), out_.widest({p[1]})});
            }));
  }

  void run() {
    if (!part_.empty()) {
      in_.restrict_to({part_[0]});
      from_.restrict_to({part_[0]});
      out_.restrict_to({part_[1]});
    }
    int64_t count = in_.extent(0), blocks = (count + kTallyBlock - 1) / kTallyBlock;
    bool serial = c_.device.software_kernels();
    int64_t lanes = 8;
    kernels::Vars vars;
    vars.set("COMPACT", int64_t{compact_});
    vars.set("SERIAL", int64_t{serial});
    vars.set("SUBGROUPS", int64_t{c_.device.features().subgroups});
    vars.set("LANES", lanes);
    vars.set("COUNT", count_ = k_.params.add("count", static_cast<uint32_t>(count)));
    vars.set("BLOCKS", k_.params.add("blocks", static_cast<uint32_t>(blocks)));
    vars.set("FUNCTIONS", functions());
    vars.set("FOUR", int64_t{four_});
    vars.set("DECLARATIONS", k_.declarations());
    Step step;
    if (first() == 0 && first_place() == 0)
      for (int o : k_.group.outputs) step.outputs.push_back(step_output(c_.g, o));
    int64_t groups = serial ? (blocks + lanes - 1) / lanes : blocks;
    fold_groups(static_cast<uint64_t>(groups), c_.device.limits().max_groups, step.x, step.z);
    step.y = 1;
    k_.finish(step, compact_ ? "compact" : "tally", kernels::expand("compact.wgsl", vars));
    c_.plan.steps.push_back(std::move(step));
  }

 private:
  bool values() const { return operands_.size() == 3; }
  int64_t first() const { return part_.empty() ? 0 : part_[0].begin; }
  int64_t first_place() const { return part_.empty() ? 0 : part_[1].begin; }

  std::string functions() {
    // All widths before any code: what both read is bound for the narrower one.
    four_ = in_.can_vectorize(0, true, false);
    in_.set_width(four_ ? 4 : 1, 0);
    from_.set_width(1, 0);
    out_.set_width(1, 0);
    std::string s = truth();
    std::string begin = k_.params.add("begin", static_cast<uint32_t>(first()));
    std::string first_block =
        k_.params.add("first_block", static_cast<uint32_t>(first() / kTallyBlock));
    std::string v = "bitcast<i32>(r + " + begin + ")";
    if (values()) {
      from_.begin();
      v = from_.emit(operands_[2].value, operands_[2].layout);
      if (is_bool(node_.inputs[2]->dtype)) v = "select(0u, 1u, " + v + ")";
      s += "fn value_at(r: u32) -> " + std::string(info(node_.dtype).compute) + " {\n" +
           from_.take_body() + "  return " + v + ";\n}\n";
      v = "value_at(r)";
    }
    s += store();
    if (!compact_)
      return s + "fn keep(block: u32, sum: u32) {\n  store(block + " + first_block +
             ", bitcast<i32>(sum));\n}\n";
    int64_t blocks = node_.inputs[1]->shape[0];
    return s + "fn keep(place: u32, r: u32) {\n  store(place, " + v +
           ");\n}\nfn rank_of(block: u32) -> u32 {\n  return bitcast<u32>(" +
           element_at(k_, operands_[1], blocks, "(block + " + first_block + ")") + ");\n}\n";
  }

  std::string store() {
    std::string body = output_body(k_, out_, id_);
    std::string head = "(place: u32, v: " + std::string(info(node_.dtype).compute) + ") {\n";
    if (part_.empty()) return "fn store" + head + "  let r = place;\n" + body + "}\n";
    auto number = [&](const char* name, int64_t n) {
      return k_.params.add(name, static_cast<uint32_t>(n));
    };
    return "fn store" + head + "  let r = place - " + number("first_place", first_place()) +
           ";\n  if (r < " + number("places", part_[1].size()) + ") {\n" + body + "  }\n}\n";
  }

  // Four elements from a multiple of four on, as bits; none beyond the end.
  std::string truth() {
    in_.begin();
    std::string v = in_.emit(operands_[0].value, operands_[0].layout);
    std::string s = "fn load(r: u32) -> " + std::string(four_ ? "vec4<bool>" : "bool") + " {\n" +
                    in_.take_body() + "  return " + v + ";\n}\n" +
                    "fn truth(r: u32) -> u32 {\n  var t = 0u;\n";
    if (four_) {
      s += "  if (r < " + count_ + ") {\n    let v = load(r);\n" +
           "    let bits = select(vec4<u32>(0u), vec4<u32>(1u, 2u, 4u, 8u), v);\n" +
           "    t = (bits.x | bits.y | bits.z | bits.w) & " + "((1u << min(" + count_ +
           " - r, 4u)) - 1u);\n  }\n";
    } else {
      for (int j = 0; j < 4; ++j) {
        std::string at = "r + " + std::to_string(j) + "u";
        s += "  if (" + at + " < " + count_ + ") { t |= select(0u, " + std::to_string(1 << j) +
             "u, load(" + at + ")); }\n";
      }
    }
    s += "  return t;\n}\n";
    if (!four_)
      s += "fn truth_of_one(r: u32) -> u32 {\n  var t = 0u;\n  if (r < " + count_ +
           ") { t = select(0u, 1u, load(r)); }\n  return t;\n}\n";
    return s;
  }

  LowerContext& c_;
  KernelCode k_;
  int id_;
  const Node& node_;
  const std::vector<Operand>& operands_;
  bool compact_, four_ = false;
  Part part_;
  SpaceCode in_, from_, out_;  // the mask, values, the result
  std::string count_;
};

}  // namespace

void lower_compact(LowerContext& c, int group) {
  if (!c.windowed(group)) return CompactLowering(c, group, {}).run();
  for (const Part& part : CompactLowering(c, group, {}).parts())
    CompactLowering(c, group, part).run();
}

}  // namespace wgt::graph
