// Reductions, with the elementwise work before and after them in the same kernel.
#include <algorithm>

#include "graph/accumulator.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

struct Shape {
  bool row = true;
  int tr = 256, to = 1;  // lanes along the reduced elements, outputs, per workgroup
  int ow = 1, rw = 1;    // elements of a step along outputs, along reduced elements
  int64_t outs = 0, count = 0, splits = 1, chunk = 0;
};

int power_of_two(int64_t least, int64_t most) {
  int64_t n = 1;
  while (n < least && n < most) n *= 2;
  return static_cast<int>(n);
}

// Few distinct numbers of lanes, as each is a kernel of its own. A software driver runs eight lanes
// at a time, and those to the next barrier before others: what they read should be side by side.
void choose_threads(Shape& s, bool words, bool software) {
  int64_t units = s.outs / s.ow;
  if (s.row) {
    int64_t steps = s.count / s.rw / 2;  // two or more for each lane
    s.tr = steps >= 256 ? 256 : steps >= 64 ? 64 : steps >= 16 ? 16 : steps >= 4 ? 4 : 1;
    if (software) s.tr = std::min(s.tr, 8);
    s.to = software ? power_of_two(s.outs, 256 / s.tr) : 256 / s.tr;
  } else {
    s.to = units >= 32768 || s.count < 16 ? 256 : power_of_two(units, software ? 256 : 32);
    s.tr = software ? std::max(8 / s.to, 1) : 256 / s.to;
  }
  // Four bools share a word.
  if (words && s.outs > 1 && s.to < 4) {
    s.to = 4;
    s.tr = std::min(s.tr, 64);
  }
}

// At most so many steps does a lane take: 64 blocks of 64 turns of 4 keep sums exact as a tree's
// are. (llvmpipe ends every loop of an invocation after 65,535 turns in all.)
constexpr int64_t kMostSteps = 64 * 64 * 4;
// Columns: as many elements, but 64 rows or more, does a software driver's processor keep at hand.
constexpr int64_t kAtHand = 16384;

// Enough workgroups to fill the device, each with work worth its start.
void choose_splits(Shape& s, bool software) {
  int64_t groups = (s.outs / s.ow + s.to - 1) / s.to;
  int64_t target = software ? 8 : 2048, least = software ? 65536 : 8192;
  int64_t work = s.count * s.to * s.ow;
  s.splits =
      std::clamp<int64_t>(std::min(target / std::max<int64_t>(groups, 1), work / least), 1, 1024);
  int64_t most = kMostSteps * s.tr * s.rw;
  if (software && !s.row)
    most = std::min(most, std::max({kAtHand / s.outs, int64_t{64}, s.count / 4096}));
  s.splits = std::max(s.splits, (s.count + most - 1) / most);
  int64_t unit = s.rw;
  s.chunk = ((s.count + s.splits - 1) / s.splits + unit - 1) / unit * unit;
  s.splits = (s.count + s.chunk - 1) / s.chunk;
}

class ReduceLowering {
 public:
  ReduceLowering(LowerContext& c, int gi)
      : c_(c),
        gi_(gi),
        id_(c.fusion.groups[static_cast<size_t>(gi)].anchor),
        node_(c.g.node_of(id_)),
        source_(c.g.nodes[static_cast<size_t>(id_)].operands[0]),
        type_(c.g.node_of(source_.value)->dtype) {
    for (int o : c.fusion.groups[static_cast<size_t>(gi)].outputs)
      bools_ += is_bool(c.g.node_of(o)->dtype);
  }

  void run() {
    KernelCode k(c_, gi_);
    SpaceCode in(k, 0, k.group.space[0]);
    std::vector<int> order;
    input_space(*node_, &order);
    Layout l{Dims(), source_.layout.offset};
    for (int d : order) l.strides.push_back(source_.layout.strides[d]);
    in.collect(source_.value, l);
    int kept = node_->shape.size();
    in.collapse({"o", "r"}, {0, kept, k.group.space[0].size()});
    SpaceCode out(k, 1, k.group.space[1]);
    collect_outputs(k, out, id_);
    out.collapse({"o"}, {0, k.group.space[1].size()});

    Accumulator acc(k, node_->reduce, type_);
    Shape s = choose(in, out);
    total_ = s.count;
    bool staged = s.splits > 1;
    // Both sides state their wishes before either writes code: they may read the same binding.
    int width = std::max(s.ow, s.rw);
    in.set_width(width, s.ow == 4 ? 0 : 1);
    if (!staged) out.set_width(s.ow, 0);
    in.begin();
    std::string value = acc.lift(in.emit(source_.value, l), "r", width, s.rw == 4);
    std::string load = load_header(acc, width) + in.take_body() + "  return " + value + ";\n}\n";
    Step step;
    int part = -1;
    std::string finish;
    if (staged) {
      part = c_.scratch();
      k.scratch_types.push_back({part, acc.part()});
      k.want_vec4(part, s.ow == 4);
      k.bind(part, rt::Access::read_write);
      uint64_t words = static_cast<uint64_t>(s.outs * s.splits * acc.parts());
      step.outputs = {{part, words * 4, -1}};
      finish = store_parts(k, acc, s, part);
    } else {
      finish = finish_outputs(k, acc, out, s.ow);
      for (int o : k.group.outputs) step.outputs.push_back(step_output(c_.g, o));
    }
    emit_kernel(k, acc, step, s, load + finish, staged);
    if (staged) second_stage(s, part);
  }

 private:
  std::string load_header(const Accumulator& acc, int width) const {
    return "fn load(o: u32, r: u32) -> " + acc.type(width) + " {\n";
  }

  std::string finish_header(const Accumulator& acc, int ow, bool flags) const {
    return "fn rd_finish(split: u32, o: u32, acc: " + acc.type(ow) + ")" +
           (flags ? " -> u32 {\n" : " {\n");
  }

  // The accumulators' words lie in planes: [parts, splits, outs].
  std::string store_parts(KernelCode& k, const Accumulator& acc, const Shape& s, int part) const {
    std::string outs = k.params.add("outs", static_cast<uint32_t>(s.outs));
    std::string plane = k.params.add("plane", static_cast<uint32_t>(s.outs * s.splits));
    std::string text = finish_header(acc, s.ow, false) + "  let at = split * " + outs + " + o;\n";
    for (int i = 0; i < acc.parts(); ++i)
      text += "  " + k.binding_name(part) + "[(at" + (i ? " + " + plane : "") + ") / " +
              std::to_string(s.ow) + "u] = " + acc.word("acc", i) + ";\n";
    return text + "}\n";
  }

  // Writes the outputs; bools one by one are returned as bits instead, for they share words.
  std::string finish_outputs(KernelCode& k, Accumulator& acc, SpaceCode& out, int ow) {
    std::string count = k.params.add("count", static_cast<uint32_t>(total_));
    flags_ = ow == 1 && bools_ > 0;
    std::string text =
        finish_header(acc, ow, flags_) + "  let v = " + acc.result("acc", count, ow) + ";\n";
    Layout dense{contiguous_strides(k.group.space[1]), 0};
    out.begin();
    out.define(id_, dense, "v");
    std::string flags;
    words_.clear();
    int bit = 0;
    for (int o : k.group.outputs) {
      std::string name = out.emit(o, dense);
      if (!flags_ || !is_bool(c_.g.node_of(o)->dtype)) {
        out.emit_store(o, name);
        continue;
      }
      k.bind(o, rt::Access::read_write);
      flags += std::string(flags.empty() ? "" : " | ") + "select(0u, " + std::to_string(1u << bit) +
               "u, " + name + ")";
      words_ += "    " + k.binding_name(o) + "[o >> 2u] = ";
      for (int j = 0; j < 4; ++j)
        words_ += std::string(j ? " | " : "") + "(((f" + std::to_string(j) + " >> " +
                  std::to_string(bit) + "u) & 1u) << " + std::to_string(8 * j) + "u)";
      words_ += ";\n";
      ++bit;
    }
    return text + out.take_body() + (flags_ ? "  return " + flags + ";\n}\n" : "}\n");
  }

  Shape choose(const SpaceCode& in, const SpaceCode& out) {
    Shape s;
    s.outs = in.extent(0);
    s.count = in.extent(1);
    int64_t rows = in.unit_strides(1), columns = in.unit_strides(0);
    s.row = rows >= columns;
    if (s.row && in.can_vectorize(1, false, false)) s.rw = 4;
    bool narrow = !c_.device.is_software() || s.outs <= 64;  // what its eight lanes read is one row
    if (!s.row && narrow && in.can_vectorize(0, false, false) && out.can_vectorize(0, false, false))
      s.ow = 4;
    choose_threads(s, bools_ > 0, c_.device.is_software());
    choose_splits(s, c_.device.is_software());
    return s;
  }

  // Folds the splits' results: [splits, outs] over its first dimension.
  void second_stage(const Shape& first, int part) {
    KernelCode k(c_, gi_);
    Accumulator acc(k, node_->reduce, type_);
    k.scratch_types.push_back({part, acc.part()});
    SpaceCode out(k, 1, k.group.space[1]);
    collect_outputs(k, out, id_);
    out.collapse({"o"}, {0, k.group.space[1].size()});
    Shape s;
    s.outs = first.outs;
    s.count = first.splits;
    s.row = s.outs < 16;
    choose_threads(s, bools_ > 0, c_.device.is_software());
    s.chunk = s.count;
    out.set_width(1, 0);
    k.bind(part, rt::Access::read);
    std::string outs = k.params.add("outs", static_cast<uint32_t>(s.outs));
    std::string plane = k.params.add("plane", static_cast<uint32_t>(s.outs * s.count));
    std::string from = k.binding_name(part) + "[r * " + outs + " + o";
    std::string load = load_header(acc, 1) + "  return " +
                       acc.make(from + "]", from + " + " + plane + "]", 1) + ";\n}\n";
    Step step;
    for (int o : k.group.outputs) step.outputs.push_back(step_output(c_.g, o));
    step.dies.push_back(part);
    emit_kernel(k, acc, step, s, load + finish_outputs(k, acc, out, 1), false);
  }

  void emit_kernel(KernelCode& k, Accumulator& acc, Step& step, const Shape& s,
                   const std::string& functions, bool staged) {
    int width = std::max(s.ow, s.rw);
    std::string types = acc.declare(width);
    if (s.rw == 4) types += acc.declare(1) + acc.declare_fold();
    kernels::Vars vars;
    vars.set("COMBINE", acc.combine(width));
    vars.set("FOLD", acc.combine(s.ow));
    vars.set("TREE", acc.type(s.ow));
    vars.set("IDENTITY", acc.identity(width));
    vars.set("TR", int64_t{s.tr});
    vars.set("TO", int64_t{s.to});
    vars.set("OW", int64_t{s.ow});
    vars.set("RW", int64_t{s.rw});
    vars.set("ROW", int64_t{s.row});
    vars.set("BOOLS", int64_t{flags_ && !staged});
    vars.set("WORDS", words_);
    vars.set("OUTS", k.params.add("outs", static_cast<uint32_t>(s.outs)));
    vars.set("COUNT", k.params.add("count", static_cast<uint32_t>(s.count)));
    vars.set("CHUNK", k.params.add("chunk", static_cast<uint32_t>(s.chunk)));
    vars.set("FUNCTIONS", types + functions);
    vars.set("DECLARATIONS", k.declarations());
    int64_t groups = (s.outs / s.ow + s.to - 1) / s.to;
    fold_groups(static_cast<uint64_t>(groups), c_.device.limits().max_groups, step.x, step.z);
    step.y = static_cast<uint32_t>(s.splits);
    k.finish(step, std::string("reduce ") + reduce_name(node_->reduce),
             kernels::expand("reduce.wgsl", vars));
    c_.plan.steps.push_back(std::move(step));
  }

  LowerContext& c_;
  int gi_, id_;
  Node* node_;
  Operand source_;
  DType type_;  // of the elements
  int bools_ = 0;
  int64_t total_ = 0;
  bool flags_ = false;
  std::string words_;  // stores of packed outputs
};

}  // namespace

void lower_reduce(LowerContext& c, int group) {
  ReduceLowering(c, group).run();
}

}  // namespace wgt::graph
