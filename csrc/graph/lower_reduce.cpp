// Reductions, with the elementwise work before and after them in the same kernel.
#include <algorithm>
#include <limits>

#include "graph/codegen.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

struct Shape {
  bool row = true;
  int tr = 256, to = 1;  // lanes along the reduced elements, outputs, per workgroup
  int ow = 1, rw = 1;    // elements of a step along outputs, along reduced elements
  int64_t outs = 0, count = 0, splits = 1, chunk = 0;
};

uint32_t initial_bits(ReduceOp op, DType t) {
  if (op == ReduceOp::sum) return 0;
  bool max = op == ReduceOp::max;
  if (is_float(t)) return max ? 0xff800000u : 0x7f800000u;
  if (t == DType::int32) return max ? 0x80000000u : 0x7fffffffu;
  return max ? 0u : 0xffffffffu;
}

std::string combine(KernelCode& k, ReduceOp op, DType t, int width) {
  if (op == ReduceOp::sum) return "a + b";
  std::string name = op == ReduceOp::max ? "max" : "min";
  if (is_float(t)) name = k.use_function(name + "_nan", width);
  return name + "(a, b)";
}

void choose_threads(Shape& s) {
  if (s.row) {
    // Two steps or more for each lane; few distinct numbers of lanes, as each is a kernel of its
    // own.
    int64_t steps = s.count / s.rw / 2;
    s.tr = steps >= 256 ? 256 : steps >= 64 ? 64 : steps >= 16 ? 16 : steps >= 4 ? 4 : 1;
    s.to = 256 / s.tr;
  } else {
    s.tr = s.outs / s.ow >= 32768 || s.count < 16 ? 1 : 8;
    s.to = 256 / s.tr;
  }
}

// Enough workgroups to fill the device, each with work worth its start.
// llvmpipe ends every loop of an invocation after 65,535 turns in all; a turn takes four steps.
constexpr int64_t kMostSteps = 4 * 60000;

void choose_splits(Shape& s, bool software) {
  int64_t groups = (s.outs / s.ow + s.to - 1) / s.to;
  int64_t target = software ? 8 : 2048, least = software ? 65536 : 8192;
  int64_t work = s.count * s.to * s.ow;
  s.splits =
      std::clamp<int64_t>(std::min(target / std::max<int64_t>(groups, 1), work / least), 1, 1024);
  int64_t most = kMostSteps * s.tr * s.rw;
  s.splits = std::max(s.splits, (s.count + most - 1) / most);
  int64_t unit = s.rw;
  s.chunk = ((s.count + s.splits - 1) / s.splits + unit - 1) / unit * unit;
  s.splits = (s.count + s.chunk - 1) / s.chunk;
}

class ReduceLowering {
 public:
  ReduceLowering(LowerContext& c, int gi) : c_(c), gi_(gi) {
    const Group& g = c.fusion.groups[static_cast<size_t>(gi)];
    id_ = g.anchor;
    node_ = c.g.node_of(id_);
    type_ = node_->dtype;
  }

  void run() {
    KernelCode k(c_, gi_);
    SpaceCode in(k, 0, k.group.space[0]);
    std::vector<int> order;
    input_space(*node_, &order);
    Operand source = c_.g.nodes[static_cast<size_t>(id_)].operands[0];
    Layout l{Dims(), source.layout.offset};
    for (int d : order) l.strides.push_back(source.layout.strides[d]);
    in.collect(source.value, l);
    int kept = node_->shape.size();
    in.collapse({"o", "r"}, {0, kept, k.group.space[0].size()});
    SpaceCode out(k, 1, k.group.space[1]);
    collect_outputs(k, out, id_);
    out.collapse({"o"}, {0, k.group.space[1].size()});

    Shape s = choose(in, out);
    bool staged = s.splits > 1;
    // Both sides state their wishes before either writes code: they may read the same binding.
    in.set_width(std::max(s.ow, s.rw), s.ow == 4 ? 0 : 1);
    if (!staged) out.set_width(s.ow, 0);
    in.begin();
    std::string value = in.emit(source.value, l);
    std::string ty = wgsl_type(info(type_).compute, std::max(s.ow, s.rw));
    std::string functions = "fn load(o: u32, r: u32) -> " + ty + " {\n" + in.take_body() +
                            "  return " + value + ";\n}\n";
    Step step;
    int part = -1;
    if (staged) {
      part = c_.scratch();
      k.scratch_types.push_back({part, type_});
      k.want_vec4(part, s.ow == 4);
      k.bind(part, rt::Access::read_write);
      step.outputs = {{part, static_cast<uint64_t>(s.outs * s.splits * 4), -1}};
      std::string outs = k.params.add("outs", static_cast<uint32_t>(s.outs));
      functions += finish_header(s.ow) + "  " + k.binding_name(part) + "[(split * " + outs +
                   " + o) / " + std::to_string(s.ow) + "u] = v;\n}\n";
    } else {
      functions += finish_outputs(k, out, s.ow);
      for (int o : k.group.outputs) step.outputs.push_back(step_output(c_.g, o));
    }
    emit_kernel(k, step, s, functions);
    if (staged) second_stage(s, part);
  }

 private:
  std::string finish_header(int ow) const {
    return "fn rd_finish(split: u32, o: u32, v: " + wgsl_type(info(type_).compute, ow) + ") {\n";
  }

  std::string finish_outputs(KernelCode& k, SpaceCode& out, int ow) {
    return finish_header(ow) + output_body(k, out, id_) + "}\n";
  }

  Shape choose(const SpaceCode& in, const SpaceCode& out) {
    Shape s;
    s.outs = in.extent(0);
    s.count = in.extent(1);
    int rows = in.unit_strides(1), columns = in.unit_strides(0);
    s.row = rows >= columns || s.outs < 16;
    if (s.row && rows >= columns && in.can_vectorize(1, false, false)) s.rw = 4;
    if (!s.row && in.can_vectorize(0, false, false) && out.can_vectorize(0, false, false)) s.ow = 4;
    choose_threads(s);
    choose_splits(s, c_.device.is_software());
    return s;
  }

  // Folds the splits' results: [splits, outs] over its first dimension.
  void second_stage(const Shape& first, int part) {
    KernelCode k(c_, gi_);
    k.scratch_types.push_back({part, type_});
    SpaceCode out(k, 1, k.group.space[1]);
    collect_outputs(k, out, id_);
    out.collapse({"o"}, {0, k.group.space[1].size()});
    Shape s;
    s.outs = first.outs;
    s.count = first.splits;
    s.row = s.outs < 16;
    choose_threads(s);
    s.chunk = s.count;
    out.set_width(1, 0);
    k.bind(part, rt::Access::read);
    std::string outs = k.params.add("outs", static_cast<uint32_t>(s.outs));
    std::string functions = "fn load(o: u32, r: u32) -> " + std::string(info(type_).compute) +
                            " {\n  return " + k.binding_name(part) + "[r * " + outs + " + o];\n}\n";
    functions += finish_outputs(k, out, 1);
    Step step;
    for (int o : k.group.outputs) step.outputs.push_back(step_output(c_.g, o));
    step.dies.push_back(part);
    emit_kernel(k, step, s, functions);
  }

  void emit_kernel(KernelCode& k, Step& step, const Shape& s, std::string functions) {
    int width = std::max(s.ow, s.rw);
    std::string scalar = info(type_).compute;
    if (s.rw == 4) {
      std::string one = combine(k, node_->reduce, type_, 1);
      functions += "fn rd_pair(a: " + scalar + ", b: " + scalar + ") -> " + scalar +
                   " {\n  return " + one + ";\n}\nfn rd_fold(v: vec4<" + scalar + ">) -> " +
                   scalar + " {\n  return rd_pair(rd_pair(v.x, v.y), rd_pair(v.z, v.w));\n}\n";
    }
    kernels::Vars vars;
    vars.set("COMBINE", combine(k, node_->reduce, type_, width));
    vars.set("T", wgsl_type(scalar.c_str(), width));
    vars.set("S", scalar);
    vars.set("TR", int64_t{s.tr});
    vars.set("TO", int64_t{s.to});
    vars.set("OW", int64_t{s.ow});
    vars.set("RW", int64_t{s.rw});
    vars.set("ROW", int64_t{s.row});
    vars.set("INIT", k.params.add("init", initial_bits(node_->reduce, type_)));
    vars.set("OUTS", k.params.add("outs", static_cast<uint32_t>(s.outs)));
    vars.set("COUNT", k.params.add("count", static_cast<uint32_t>(s.count)));
    vars.set("CHUNK", k.params.add("chunk", static_cast<uint32_t>(s.chunk)));
    vars.set("FUNCTIONS", functions);
    vars.set("DECLARATIONS", k.declarations());
    int64_t groups = (s.outs / s.ow + s.to - 1) / s.to;
    fold_groups(static_cast<uint64_t>(groups), c_.device.limits().max_groups, step.x, step.z);
    step.y = static_cast<uint32_t>(s.splits);
    k.finish(step, std::string("reduce ") + reduce_name(node_->reduce),
             kernels::expand("reduce.wgsl", vars));
    c_.plan.steps.push_back(std::move(step));
  }

  LowerContext& c_;
  int gi_, id_ = -1;
  Node* node_ = nullptr;
  DType type_ = DType::float32;
};

}  // namespace

void lower_reduce(LowerContext& c, int group) {
  ReduceLowering(c, group).run();
}

}  // namespace wgt::graph
