// Scans along the last axis, with the elementwise work before and after them in the same kernel.
#include <algorithm>

#include "graph/accumulator.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

struct Form {
  int tr = 128, to = 1, rw = 1;  // lanes to a row, rows to a workgroup, elements to a step
  int64_t chunk = 0, splits = 1;
  int64_t tile() const { return int64_t{4} * tr * rw; }
};

constexpr int64_t kMostTiles = 64 * 64;  // of a chunk: two levels of 64, as exact as a tree

// Columns: so many elements does a software driver's processor keep at hand.
constexpr int64_t kAtHand = 16384;

Form choose_form(int64_t rows, int64_t count, int rw, bool columns, bool software) {
  Form f;
  f.rw = rw;
  int64_t steps = count / (4 * rw);
  f.tr = columns || steps < 2 ? 1 : steps < 8 ? 2 : steps < 32 ? 8 : steps < 128 ? 32 : 128;
  if (software) {
    // It runs eight lanes at a time, and barriers cost it more than anything.
    f.tr = rows >= 64 && count <= 512 ? 1 : std::min(f.tr, 8);
  }
  f.to = 128 / f.tr;
  while (software && f.to > 1 && f.to / 2 >= rows) f.to /= 2;
  // Enough workgroups to fill the device, each with work worth reading everything twice.
  int64_t groups = (rows + f.to - 1) / f.to;
  int64_t wanted = (software ? 8 : 1024) / groups;
  int64_t least = std::max<int64_t>(f.tile() * 4, software ? 65536 : 8192);
  f.splits = std::clamp<int64_t>(std::min(wanted, count / least), 1, 1024);
  int64_t most = kMostTiles * f.tile();
  if (software && columns && rows < 1024)
    most = std::min(most, std::max(kAtHand / rows, count / 4096));
  f.splits = std::max(f.splits, (count + most - 1) / most);
  f.chunk = ((count + f.splits - 1) / f.splits + f.tile() - 1) / f.tile() * f.tile();
  f.splits = (count + f.chunk - 1) / f.chunk;
  return f;
}

class ScanLowering {
 public:
  ScanLowering(LowerContext& c, int gi)
      : c_(c),
        gi_(gi),
        id_(c.fusion.groups[static_cast<size_t>(gi)].anchor),
        node_(c.g.node_of(id_)),
        source_(c.g.nodes[static_cast<size_t>(id_)].operands[0]),
        initial_(node_->shape.back() - node_->inputs[0]->shape.back()) {}

  void run() {
    std::vector<Part> parts = plan();
    if (form_.splits > 1) {
      totals_ = c_.scratch();
      for (const Part& p : parts) lower(p, 1);
      scan_totals();
    }
    for (const Part& p : parts) lower(p, form_.splits > 1 ? 2 : 0);
    if (totals_ >= 0) c_.plan.steps.back().dies.push_back(totals_);
  }

 private:
  // One kernel's code, and its two index spaces over rows "o" and their elements "r".
  struct Code {
    Code(ScanLowering& s)
        : k(s.c_, s.gi_), in(k, 0, k.group.space[0]), out(k, 1, k.group.space[1]) {
      int rank = k.group.space[0].size();
      std::vector<int> bounds{0, rank - 1, rank};
      in.collect(s.source_.value, s.source_.layout);
      in.collapse({"o", "r"}, bounds);
      collect_outputs(k, out, s.id_);
      out.collapse({"o", "r"}, bounds);
    }
    KernelCode k;
    SpaceCode in, out;
  };

  // The form of all kernels, and the parts of large buffers: chunks stay whole.
  std::vector<Part> plan() {
    Code code(*this);
    rows_ = code.out.extent(0);
    int64_t count = code.out.extent(1);
    bool columns = rows_ >= 16 && code.in.unit_strides(0) > code.in.unit_strides(1);
    bool vector = !initial_ && !columns && code.in.can_vectorize(1, false, false) &&
                  code.out.can_vectorize(1, false, false);
    form_ = choose_form(rows_, count, vector ? 4 : 1, columns, c_.device.software_kernels());
    if (!c_.windowed(gi_)) return {{{0, rows_}, {0, count}}};
    auto bytes = [&](const Part& p) {
      return std::max(code.in.widest(elements(p)), code.out.widest(p));
    };
    int64_t limit = KernelCode::window_limit(c_.device), tile = form_.tile();
    while (form_.chunk > tile && bytes({{0, 1}, {0, std::min(form_.chunk, count)}}) > limit)
      form_.chunk = (form_.chunk / 2 + tile - 1) / tile * tile;
    form_.splits = (count + form_.chunk - 1) / form_.chunk;
    int64_t unit = form_.splits > 1 ? form_.chunk : 0;
    return parts_of(cut({{code.out.sizes(0), 1}, {code.out.sizes(1), unit}}, limit, bytes));
  }

  // What results of a part read: one place to the left behind the initial value.
  Part elements(Part p) const {
    if (!initial_) return p;
    p[1].begin = std::max<int64_t>(p[1].begin - 1, 0);
    p[1].end -= 1;
    return p;
  }

  void lower(const Part& part, int stage) {
    Code code(*this);
    if (c_.windowed(gi_)) {
      code.in.restrict_to(elements(part));
      code.out.restrict_to(part);
    }
    Accumulator acc(code.k, node_->reduce, node_->dtype);
    code.in.set_width(form_.rw, 1);
    if (stage != 1) code.out.set_width(form_.rw, 1);
    bool initial = initial_ && part[1].begin == 0;
    code.in.begin();
    std::string ty = acc.type(form_.rw);
    std::string value = code.in.emit(source_.value, source_.layout);
    std::string functions =
        std::string("fn load(o: u32, ") + (initial ? "place" : "r") + ": u32) -> " + ty + " {\n";
    if (initial)
      functions +=
          "  if (place == 0u) { return " + acc.identity(1) + "; }\n  let r = place - 1u;\n";
    functions += code.in.take_body() + "  return " + value + ";\n}\n";
    Step step;
    if (stage > 0) functions += totals_access(code.k, acc, part, stage);
    if (stage == 1 && part[0].begin == 0 && part[1].begin == 0)
      step.outputs = {
          {totals_, static_cast<uint64_t>(rows_ * form_.splits * info(node_->dtype).size), -1}};
    if (stage != 1) {
      functions +=
          "fn emit(o: u32, r: u32, v: " + ty + ") {\n" + output_body(code.k, code.out, id_) + "}\n";
      if (part[0].begin == 0 && part[1].begin == 0)
        for (int o : code.k.group.outputs) step.outputs.push_back(step_output(c_.g, o));
    }
    emit_kernel(code.k, acc, step, form_, stage, part[0].size(), part[1].size(), functions);
  }

  // The chunks' totals lie as [splits, rows].
  std::string totals_access(KernelCode& k, Accumulator& acc, const Part& part, int stage) {
    k.scratch_types.push_back({totals_, node_->dtype});
    std::string name = KernelCode::name_of(bind_totals(k, stage == 1));
    std::string rows = k.params.add("all_rows", static_cast<uint32_t>(rows_));
    std::string at = k.params.add(
        "place", static_cast<uint32_t>(part[1].begin / form_.chunk * rows_ + part[0].begin));
    std::string place = at + " + split * " + rows + " + o";
    if (stage == 1)
      return "fn keep_total(o: u32, split: u32, v: " + acc.type(1) + ") {\n  " + name + "[" +
             place + "] = v;\n}\n";
    std::string far = k.params.add("split", static_cast<uint32_t>(part[1].begin / form_.chunk));
    return "fn before_chunk(o: u32, split: u32) -> " + acc.type(1) + " {\n  if (" + far +
           " + split == 0u) { return " + acc.identity(1) + "; }\n  return " + name + "[" + place +
           " - " + rows + "];\n}\n";
  }

  int bind_totals(KernelCode& k, bool write) const {
    rt::Access access = write ? rt::Access::read_write : rt::Access::read;
    if (!k.windowed) return k.bind(totals_, access);
    return k.bind_window(totals_, access, {0, rows_ * form_.splits - 1});
  }

  // In place, along the first dimension.
  void scan_totals() {
    KernelCode k(c_, gi_);
    k.scratch_types.push_back({totals_, node_->dtype});
    Accumulator acc(k, node_->reduce, node_->dtype);
    std::string name = KernelCode::name_of(bind_totals(k, true));
    std::string rows = k.params.add("all_rows", static_cast<uint32_t>(rows_));
    std::string functions = "fn load(o: u32, r: u32) -> " + acc.type(1) + " {\n  return " + name +
                            "[r * " + rows +
                            " + o];\n}\nfn emit(o: u32, r: u32, v: " + acc.type(1) + ") {\n  " +
                            name + "[r * " + rows + " + o] = v;\n}\n";
    Form form = choose_form(rows_, form_.splits, 1, rows_ >= 64, c_.device.software_kernels());
    form.chunk = form_.splits;
    form.splits = 1;
    Step step;
    emit_kernel(k, acc, step, form, 0, rows_, form_.splits, functions);
  }

  void emit_kernel(KernelCode& k, Accumulator& acc, Step& step, const Form& f, int stage,
                   int64_t rows, int64_t count, const std::string& functions) {
    int64_t log = 0;
    while ((1 << log) < f.tr) ++log;
    bool strips = stage != 1 && f.to == 1 && f.rw == 4 && c_.device.features().subgroups &&
                  !c_.device.software_kernels() && !is_wide(node_->dtype);
    std::string types = acc.declare(1);
    if (f.rw == 4) types += acc.declare(4);
    kernels::Vars vars;
    vars.set("STAGE", int64_t{stage});
    vars.set("STRIPS", int64_t{strips});
    vars.set("TR", int64_t{f.tr});
    vars.set("TO", int64_t{f.to});
    vars.set("RW", int64_t{f.rw});
    vars.set("LOG", log);
    vars.set("S", std::string(info(node_->dtype).compute));
    vars.set("COMBINE", acc.combine(1));
    vars.set("IDENTITY", acc.identity(1));
    vars.set("IDENTITYV", acc.identity(f.rw));
    vars.set("ROWS", k.params.add("rows", static_cast<uint32_t>(rows)));
    vars.set("COUNT", k.params.add("count", static_cast<uint32_t>(count)));
    vars.set("CHUNK", k.params.add("chunk", static_cast<uint32_t>(f.chunk)));
    vars.set("FUNCTIONS", types + functions);
    vars.set("DECLARATIONS", k.declarations());
    fold_groups(static_cast<uint64_t>((rows + f.to - 1) / f.to), c_.device.limits().max_groups,
                step.x, step.z);
    step.y = static_cast<uint32_t>((count + f.chunk - 1) / f.chunk);
    k.finish(step, std::string("scan ") + reduce_name(node_->reduce),
             kernels::expand("scan.wgsl", vars));
    c_.plan.steps.push_back(std::move(step));
  }

  LowerContext& c_;
  int gi_, id_;
  Node* node_;
  Operand source_;
  int64_t initial_;  // 1: results begin with the identity
  int64_t rows_ = 0;
  Form form_;
  int totals_ = -1;
};

}  // namespace

void lower_scan(LowerContext& c, int group) {
  ScanLowering(c, group).run();
}

}  // namespace wgt::graph
