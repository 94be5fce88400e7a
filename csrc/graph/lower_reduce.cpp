// Reductions, with the elementwise work before and after them in the same kernel.
#include <algorithm>
#include <utility>

#include "graph/accumulator.h"
#include "graph/meeting.h"
#include "graph/reduce_shape.h"
#include "graph/storage.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

using Shape = ReduceShape;

class ReduceLowering {
 public:
  ReduceLowering(LowerContext& c, int gi)
      : c_(c),
        gi_(gi),
        id_(c.fusion.groups[static_cast<size_t>(gi)].anchor),
        node_(c.g.node_of(id_)),
        sources_(c.g.nodes[static_cast<size_t>(id_)].operands),
        type_(c.g.node_of(sources_[0].value)->dtype),
        words_(result_words(node_->reduce)) {
    for (int o : c.fusion.groups[static_cast<size_t>(gi)].outputs)
      packed_ += is_packed(c.g.node_of(o)->dtype);
  }

  void run() {
    if (c_.windowed(gi_)) return run_parts();
    Kernel kernel(*this);
    Shape s = choose(kernel.in, kernel.out);
    if (s.splits == 1) return first_stage(kernel, s, {});
    // A software driver takes each lane of an atomic by itself: a second kernel costs it less.
    const bool meet = !c_.device.software_kernels() && has_room_to_meet(kernel.k, 0) &&
                      can_meet(kernel.k, meeting(s));
    const int scratch = c_.scratch();
    first_stage(kernel, s, {meet ? Staging::meeting : Staging::planes, scratch, s.splits});
    if (!meet) second_stage(s, scratch, {});
  }

 private:
  /// One kernel's code: the input's space over outputs and reduced elements, the output's space.
  struct Kernel {
    explicit Kernel(const ReduceLowering& r)
        : k(r.c_, r.gi_), in(k, 0, k.group.space[0]), out(k, 1, k.group.space[1]) {
      k.numbers = true;
      std::vector<int> order;
      input_space(*r.node_, &order);
      for (const Operand& source : r.sources_) {
        Layout layout{{}, source.layout.offset};
        for (int d : order) layout.strides.push_back(source.layout.strides[d]);
        in.collect(source.value, layout);
        layouts.push_back(layout);
      }
      in.collapse({"o", "r"}, {0, r.node_->shape.size() - (r.words_ > 1), k.group.space[0].size()});
      collect_outputs(k, out, r.id_);
      out.collapse({"o"}, {0, k.group.space[1].size()});
    }
    KernelCode k;
    SpaceCode in, out;
    std::vector<Layout> layouts;  // of the sources
    Part part;                    // ranges of outputs and of reduced elements; empty: all
  };

  /// Where what splits give goes: there is one; planes of [splits, outputs] words in scratch, for a
  /// second kernel; or a workspace, in which the workgroups of this kernel meet.
  struct Staging {
    enum Kind { none, planes, meeting } kind = none;
    int value = -1;
    int64_t splits = 1, first_split = 0;
  };

  // Large buffers: for each range of outputs one kernel for each range of reduced elements, and,
  // where there are several, one that folds what they give.
  void run_parts() {
    Grid grid;
    {
      Kernel whole(*this);
      Shape s = choose(whole.in, whole.out);
      grid = cut_parts(whole, s);
    }
    for (const Range& outputs : grid[0]) {
      std::vector<Shape> shapes;
      int64_t splits = 0;
      for (const Range& reduced : grid[1]) {
        Kernel kernel(*this);
        restrict(kernel, {outputs, reduced});
        shapes.push_back(choose(kernel.in, kernel.out));
        splits += shapes.back().splits;
      }
      int scratch = splits > 1 ? c_.scratch() : -1;
      int64_t done = 0;
      for (size_t i = 0; i < shapes.size(); ++i) {
        Kernel kernel(*this);
        restrict(kernel, {outputs, grid[1][i]});
        const Staging::Kind kind = scratch < 0 ? Staging::none : Staging::planes;
        first_stage(kernel, shapes[i], {kind, scratch, splits, done});
        done += shapes[i].splits;
      }
      if (scratch < 0) continue;
      Shape all = shapes[0];
      all.splits = splits;
      second_stage(all, scratch, outputs);
    }
  }

  void restrict(Kernel& kernel, const Part& part) const {
    kernel.part = part;
    kernel.in.restrict_to(part);
    kernel.out.restrict_to({written(part[0])});
  }

  // What the output's space has for a range of outputs.
  Range written(const Range& outputs) const {
    return {outputs.begin * words_, outputs.end * words_};
  }

  Grid cut_parts(const Kernel& whole, const Shape& s) {
    std::vector<CutAxis> axes{{whole.in.sizes(0), s.ow, packed_ > 0 ? 4 : 1},
                              {whole.in.sizes(1), s.rw, 1}};
    int64_t limit = KernelCode::window_limit(c_.device), staging = 0;
    auto bytes = [&](const Part& p) {
      return std::max(
          {whole.in.widest(p), whole.out.widest({written(p[0])}), staging * p[0].size()});
    };
    double share = c_.share(gi_);
    Grid grid = cut(axes, limit, bytes, share);
    if (grid[1].size() == 1) return grid;
    // Two words for each output and range; many outputs have one split in a range.
    staging = Accumulator::bytes(node_->reduce, type_) * static_cast<int64_t>(grid[1].size() + 1);
    return cut(axes, limit, bytes, share);
  }

  void first_stage(Kernel& kernel, const Shape& s, const Staging& staging) {
    KernelCode& k = kernel.k;
    SpaceCode &in = kernel.in, &out = kernel.out;
    Accumulator acc(k, node_->reduce, type_);
    const bool staged = staging.kind == Staging::planes;
    // Both sides state their wishes before either writes code: they may read the same binding.
    int width = std::max(s.ow, s.rw);
    in.set_width(width, s.ow == 4 ? 0 : 1);
    if (!staged) out.set_width(s.ow, 0);
    in.begin();
    std::string place = "r";
    if (!kernel.part.empty())
      place = "(r + " + k.params.add("begin", static_cast<uint32_t>(kernel.part[1].begin)) + ")";
    std::vector<std::string> elements;
    for (size_t i = 0; i < sources_.size(); ++i)
      elements.push_back(in.emit(sources_[i].value, kernel.layouts[i]));
    std::string value = acc.lift(elements, place, width, s.rw == 4);
    std::string load = load_header(acc, width) + in.take_body() + "  return " + value + ";\n}\n";
    Step step;
    std::string finish;
    if (staged) {
      k.want_vec4(staging.value, s.ow == 4);
      uint64_t bytes = bind_scratch(k, acc, s, staging);
      if (staging.first_split == 0) step.outputs = {{staging.value, bytes, -1}};
      finish = store_parts(k, acc, s, staging);
    } else {
      finish = finish_outputs(k, acc, out, s.ow);
      make_results(k, step);
    }
    if (staging.kind == Staging::meeting) use_workspace(step, staging.value, meeting(s));
    emit_kernel(k, acc, step, s, load + finish, staging);
  }

  // Words of 32 bits that a workgroup leaves.
  int64_t leaves(const Shape& s) const {
    return Accumulator::bytes(node_->reduce, type_) / 4 * s.ow * s.to;
  }

  Meeting meeting(const Shape& s) const { return {s.groups(), s.groups() * s.splits * leaves(s)}; }

  // What the template wants for it, and functions.
  std::string meet(kernels::Vars& vars, KernelCode& k, Accumulator& acc, const Shape& s,
                   int scratch) const {
    const std::string workspace = bind_workspace(k, scratch);
    vars.set("WORKSPACE", workspace);
    vars.set("ZEROS", int64_t{rt::kWorkspaceZeros});
    vars.set("LEAVES", leaves(s));
    vars.set("FOLD_IDENTITY", acc.identity(s.ow));
    vars.set("SPLITS", k.params.add("splits", static_cast<uint32_t>(s.splits)));
    return acc.declare_meeting(workspace, s.ow, s.to);
  }

  // The step that writes outputs first makes them.
  void make_results(const KernelCode& k, Step& step) {
    if (!std::exchange(made_, true))
      for (int o : k.group.outputs) step.outputs.push_back(step_output(c_.g, o));
  }

  static uint64_t bind_scratch(KernelCode& k, const Accumulator& acc, const Shape& s,
                               const Staging& staging) {
    int64_t words = s.outs * staging.splits * acc.parts();
    k.scratch_types.push_back({staging.value, acc.part()});
    rt::Access access = staging.first_split < 0 ? rt::Access::read : rt::Access::read_write;
    if (k.windowed)
      k.bind_window(staging.value, access, {0, words - 1});
    else
      k.bind(staging.value, access);
    return static_cast<uint64_t>(words * info(acc.part()).size);
  }

  std::string load_header(const Accumulator& acc, int width) const {
    return "fn load(o: u32, r: u32) -> " + acc.type(width) + " {\n";
  }

  std::string finish_header(const Accumulator& acc, int ow, bool flags) const {
    return "fn rd_finish(split: u32, o: u32, acc: " + acc.type(ow) + ")" +
           (flags ? " -> u32 {\n" : " {\n");
  }

  // The accumulators' words lie in planes: [parts, splits, outs].
  std::string store_parts(KernelCode& k, const Accumulator& acc, const Shape& s,
                          const Staging& staging) const {
    std::string outs = k.params.add("outs", static_cast<uint32_t>(s.outs));
    std::string plane = k.params.add("plane", static_cast<uint32_t>(s.outs * staging.splits));
    std::string split = "split";
    if (k.windowed)
      split = "(split + " + k.params.add("first", static_cast<uint32_t>(staging.first_split)) + ")";
    std::string text =
        finish_header(acc, s.ow, false) + "  let at = " + split + " * " + outs + " + o;\n";
    for (int i = 0; i < acc.parts(); ++i)
      text += "  " + k.binding_name(staging.value) + "[(at" + in_plane(plane, i) + ") / " +
              std::to_string(s.ow) + "u] = " + acc.word("acc", i) + ";\n";
    return text + "}\n";
  }

  static std::string in_plane(const std::string& plane, int i) {
    return i ? " + " + std::to_string(i) + "u * " + plane : "";
  }

  // Each word of a result is an element of the output's space.
  std::string finish_words(KernelCode& k, Accumulator& acc, SpaceCode& out,
                           const std::string& count) {
    std::string text = "fn rd_emit(o: u32, v: " + std::string(info(type_).compute) + ") {\n" +
                       output_body(k, out, id_) + "}\n" + finish_header(acc, 1, false);
    std::vector<std::string> results = acc.results("acc", count, 1);
    for (int i = 0; i < words_; ++i)
      text += "  rd_emit(o * " + std::to_string(words_) + "u + " + std::to_string(i) + "u, " +
              results[static_cast<size_t>(i)] + ");\n";
    return text + "}\n";
  }

  // Writes the outputs; packed ones are returned as bits instead, side by side: they share words
  // with those of other results.
  std::string finish_outputs(KernelCode& k, Accumulator& acc, SpaceCode& out, int ow) {
    int64_t total = numel(k.group.space[0]) / (numel(node_->shape) / words_);
    std::string count = k.params.add("count", static_cast<uint32_t>(total));
    flags_ = ow == 1 && packed_ > 0;
    if (words_ > 1) return finish_words(k, acc, out, count);
    std::string text =
        finish_header(acc, ow, flags_) + "  let v = " + acc.results("acc", count, ow)[0] + ";\n";
    Layout dense{contiguous_strides(k.group.space[1]), 0};
    out.begin();
    out.define(id_, dense, "v");
    std::string flags;
    stores_.clear();
    int bit = 0;
    for (int o : k.group.outputs) {
      const DType t = c_.g.node_of(o)->dtype;
      std::string name = out.emit(o, dense);
      if (!flags_ || !is_packed(t)) {
        out.emit_store(o, name);
        continue;
      }
      const int bits = is_bool(t) ? 1 : 8 * info(t).size;
      if (bit + bits > 32) raise(ErrorKind::unsupported, "packed results");  // planned again
      const std::string shift = std::to_string(bit) + "u";
      flags += (flags.empty() ? "(" : " | (") + encode(k, t, name, 1) + " << " + shift + ")";
      std::string raw = "raw" + std::to_string(bit);
      stores_ += "    let " + raw + " = (vec4<u32>(f0, f1, f2, f3) >> vec4<u32>(" + shift +
                 ")) & vec4<u32>(" + std::to_string((uint64_t{1} << bits) - 1) + "u);\n" +
                 out.emit_word_store(o, "o", raw);
      bit += bits;
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
    bool narrow =
        !c_.device.software_kernels() || s.outs <= 64;  // what its eight lanes read is one row
    if (!s.row && narrow && words_ == 1 && in.can_vectorize(0, false, false) &&
        out.can_vectorize(0, false, false))
      s.ow = 4;
    choose_shape(c_, gi_, s, packed_ > 0);
    return s;
  }

  // Folds the splits' results: [splits, outs] over its first dimension.
  void second_stage(const Shape& first, int part, std::optional<Range> outputs) {
    KernelCode k(c_, gi_);
    k.numbers = true;
    Accumulator acc(k, node_->reduce, type_);
    SpaceCode out(k, 1, k.group.space[1]);
    collect_outputs(k, out, id_);
    out.collapse({"o"}, {0, k.group.space[1].size()});
    if (outputs) out.restrict_to({written(*outputs)});
    Shape s;
    s.outs = first.outs;
    s.count = first.splits;
    s.row = s.outs < 16;
    choose_threads(s, packed_ > 0, c_.device.software_kernels());
    s.chunk = s.count;
    out.set_width(1, 0);
    bind_scratch(k, acc, s, {Staging::planes, part, first.splits, -1});
    std::string outs = k.params.add("outs", static_cast<uint32_t>(s.outs));
    std::string plane = k.params.add("plane", static_cast<uint32_t>(s.outs * s.count));
    std::string from = k.binding_name(part) + "[r * " + outs + " + o";
    std::vector<std::string> parts;
    for (int i = 0; i < acc.parts(); ++i) parts.push_back(from + in_plane(plane, i) + "]");
    std::string load = load_header(acc, 1) + "  return " + acc.make(parts, 1) + ";\n}\n";
    Step step;
    make_results(k, step);
    step.dies.push_back(part);
    emit_kernel(k, acc, step, s, load + finish_outputs(k, acc, out, 1), {});
  }

  void emit_kernel(KernelCode& k, Accumulator& acc, Step& step, const Shape& s,
                   const std::string& functions, const Staging& staging) {
    int width = std::max(s.ow, s.rw);
    std::string types = acc.declare(width);
    if (s.rw == 4) types += acc.declare(1) + acc.declare_fold();
    // All lanes of a workgroup fold one output: how they lie in subgroups does not matter.
    bool subgroups = c_.device.features().subgroups && s.to == 1 && s.tr > 1;
    if (subgroups) types += acc.declare_shuffle(s.ow);
    kernels::Vars vars;
    vars.set("SUBGROUPS", int64_t{subgroups});
    vars.set("COMBINE", acc.combine(width));
    vars.set("FOLD", acc.combine(s.ow));
    vars.set("TREE", acc.type(s.ow));
    vars.set("IDENTITY", acc.identity(width));
    vars.set("TR", int64_t{s.tr});
    vars.set("TO", int64_t{s.to});
    vars.set("OW", int64_t{s.ow});
    vars.set("RW", int64_t{s.rw});
    vars.set("ROW", int64_t{s.row});
    vars.set("BOOLS", int64_t{flags_ && staging.kind != Staging::planes});
    const bool meets = staging.kind == Staging::meeting;
    vars.set("MEET", int64_t{meets});
    if (meets) types += meet(vars, k, acc, s, staging.value);
    vars.set("WORDS", stores_);
    vars.set("OUTS", k.params.add("outs", static_cast<uint32_t>(s.outs)));
    vars.set("COUNT", k.params.add("count", static_cast<uint32_t>(s.count)));
    vars.set("CHUNK", k.params.add("chunk", static_cast<uint32_t>(s.chunk)));
    vars.set("FUNCTIONS", types + functions);
    vars.set("DECLARATIONS", k.declarations());
    fold_groups(static_cast<uint64_t>(s.groups()), c_.device.limits().max_groups, step.x, step.z);
    step.y = static_cast<uint32_t>(s.splits);
    k.finish(step, std::string("reduce ") + reduce_name(node_->reduce),
             kernels::expand("reduce.wgsl", vars));
    c_.plan.steps.push_back(std::move(step));
  }

  LowerContext& c_;
  int gi_, id_;
  Node* node_;
  std::vector<Operand> sources_;
  DType type_;  // of the elements
  int words_;   // of a result
  int packed_ = 0;
  bool flags_ = false, made_ = false;
  std::string stores_;  // of packed outputs
};

}  // namespace

void lower_reduce(LowerContext& c, int group) {
  ReduceLowering(c, group).run();
}

}  // namespace wgt::graph
