// Sums of float32 in places that are data: numbers enter exact accumulators by atomics, in any
// order, and each sum is rounded once. See shaders/exact_sums.wgsl.
#include <algorithm>

#include "graph/codegen.h"
#include "graph/exact_sums.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

constexpr int64_t kBytes = 64;             // of an accumulator
constexpr int64_t kMostNumbers = 1 << 27;  // that it takes
constexpr int64_t kSpread = 1 << 16;       // accumulators that keep lanes from waiting
constexpr int64_t kMostCopies = 1024;      // of one place
constexpr int64_t kGroup = 32;             // copies that a lane adds up
constexpr int64_t kTurns = 4;              // numbers that a lane enters

class ExactSumsLowering {
 public:
  ExactSumsLowering(LowerContext& c, int gi)
      : c_(c),
        gi_(gi),
        id_(c.fusion.groups[static_cast<size_t>(gi)].anchor),
        node_(c.g.node_of(id_)),
        base_(c.g.nodes[static_cast<size_t>(id_)].operands[0].value),
        values_(c.g.nodes[static_cast<size_t>(id_)].operands[1]),
        rows_(c.g.nodes[static_cast<size_t>(id_)].operands[2]),
        places_(numel(node_->shape)),
        elements_(node_->shape[1]),
        software_(c.device.software_kernels()),
        limbs_(c.scratch()),
        flags_(c.scratch()) {
    int64_t numbers = numel(node_->inputs[1]->shape);
    while (!software_ && copies_ < kMostCopies && copies_ * places_ < kSpread &&
           copies_ * places_ * 8 < numbers)
      copies_ *= 2;
  }

  void run() {
    clear();
    for (const Part& part : parts()) enter(part);
    int64_t spacing = places_, left = copies_;
    while (left > 4) {
      int64_t group = std::min(left, kGroup);
      add_up(left, group, spacing);
      left /= group;
      spacing *= group;
    }
    finish(left, spacing);
  }

 private:
  int64_t accumulators() const { return copies_ * places_; }
  int64_t flag_words() const { return (places_ + 7) / 8; }

  void clear() {
    KernelCode k(c_, gi_);
    kernels::Vars vars;
    vars.set("STAGE", int64_t{0});
    vars.set("LIMBS", limbs(k, DType::uint32, true));
    vars.set("FLAGS", flags(k));
    vars.set("QUARTERS", k.params.add("quarters", word(accumulators() * 4)));
    vars.set("FLAG_WORDS", k.params.add("flag_words", word(flag_words())));
    Step step;
    step.outputs = {{limbs_, static_cast<uint64_t>(accumulators() * kBytes), -1},
                    {flags_, static_cast<uint64_t>(flag_words() * 4), -1}};
    emit(k, step, "exact sums clear", "exact_sums.wgsl", vars, accumulators() * 4, 1024);
  }

  // Numbers are computed where they enter.
  struct Numbers {
    Numbers(ExactSumsLowering& s) : k(s.c_, s.gi_), in(k, 0, k.group.space[0]) {
      in.collect(s.values_.value, s.values_.layout);
      in.collect(s.rows_.value, s.rows_.layout);
      in.collapse({"r", "o"}, {0, 1, 2});
    }
    KernelCode k;
    SpaceCode in;
  };

  // Of large operands; rows stay whole.
  std::vector<Part> parts() {
    Numbers n(*this);
    if (!n.k.windowed) return {{{0, n.in.extent(0)}, {0, elements_}}};
    return parts_of(cut({{n.in.sizes(0), 1}, {n.in.sizes(1), 0}},
                        KernelCode::window_limit(c_.device),
                        [&](const Part& p) { return n.in.widest(p); }));
  }

  void enter(const Part& part) {
    Numbers n(*this);
    KernelCode& k = n.k;
    if (k.windowed) n.in.restrict_to(part);
    n.in.set_width(1, 1);
    n.in.begin();
    std::string value = n.in.emit(values_.value, values_.layout);
    std::string functions =
        "fn load(r: u32, o: u32) -> f32 {\n" + n.in.take_body() + "  return " + value + ";\n}\n";
    n.in.begin();
    std::string row = n.in.emit(rows_.value, rows_.layout);
    functions += "fn segment_of(r: u32, o: u32) -> u32 {\n" + n.in.take_body() + "  return " + row +
                 ";\n}\n";
    bool wide = c_.device.features().int64_atomics;
    int64_t lanes = software_ ? 1 : 2, turns = software_ ? 1 : kTurns;
    kernels::Vars vars;
    vars.set("STAGE", int64_t{1});
    vars.set("WIDE", int64_t{wide});
    vars.set("PARTS", lanes);
    vars.set("TURNS", turns);
    vars.set("COPIES", copies_);
    vars.set("LIMBS", limbs(k, wide ? DType::uint64 : DType::uint32, false, true));
    vars.set("FLAGS", flags(k, true));
    int base = k.bind_slice(base_, rt::Access::read, {0, places_ - 1});
    functions += "fn base_bits(place: u32) -> u32 {\n  return bitcast<u32>(" +
                 KernelCode::name_of(base) + "[place]);\n}\n";
    vars.set("FUNCTIONS", functions);
    vars.set("PLACES", k.params.add("places", word(places_)));
    vars.set("ELEMENTS", k.params.add("elements", word(elements_)));
    vars.set("ROWS", k.params.add("rows", word(places_ / elements_)));
    int64_t count = part[0].size() * elements_;
    vars.set("COUNT", k.params.add("count", word(count)));
    Step step;
    emit(k, step, "exact sums", "exact_sums.wgsl", vars, count, 256 / lanes * turns);
  }

  void add_up(int64_t copies, int64_t group, int64_t spacing) {
    KernelCode k(c_, gi_);
    kernels::Vars vars;
    vars.set("STAGE", int64_t{2});
    vars.set("COPIES", copies);
    vars.set("GROUP", group);
    vars.set("LIMBS", limbs(k, DType::uint32, false));
    vars.set("PLACES", k.params.add("places", word(places_)));
    vars.set("SPACING", k.params.add("spacing", word(spacing)));
    Step step;
    emit(k, step, "exact sums copies", "exact_sums.wgsl", vars, copies / group * places_ * 8, 64);
  }

  // The result may take over the base's buffer: a lane reads its own place alone.
  void finish(int64_t copies, int64_t spacing) {
    KernelCode k(c_, gi_);
    kernels::Vars vars;
    k.scratch_types = {{id_, DType::uint32}, {base_, DType::uint32}};
    StepOutput out = step_output(c_.g, id_);
    if (c_.dies(gi_, base_) && fits_buffer(c_.g, base_, id_)) out.in_place = base_;
    int result, base;
    Reach all{0, places_ - 1};
    if (out.in_place >= 0) {
      result = base = k.bind_window(id_, rt::Access::read_write, all);
    } else {
      result = k.bind_window(id_, rt::Access::read_write, all);
      base = k.bind_window(base_, rt::Access::read, all);
    }
    vars.set("COPIES", copies);
    vars.set("LIMBS", limbs(k, DType::uint32, true));
    vars.set("FLAGS", flags(k));
    vars.set("FUNCTIONS", "fn base_bits(place: u32) -> u32 {\n  return " +
                              KernelCode::name_of(base) + "[place];\n}\n");
    vars.set("RESULT", KernelCode::name_of(result));
    vars.set("PLACES", k.params.add("places", word(places_)));
    vars.set("SPACING", k.params.add("spacing", word(spacing)));
    Step step;
    step.outputs = {out};
    step.dies = {limbs_, flags_};
    emit(k, step, "exact sums round", "exact_round.wgsl", vars, places_, 256);
  }

  static uint32_t word(int64_t n) { return static_cast<uint32_t>(n); }

  std::string limbs(KernelCode& k, DType t, bool vec4, bool atomic = false) const {
    k.scratch_types.push_back({limbs_, t});
    k.want_vec4(limbs_, vec4);
    int b = k.bind_window(limbs_, rt::Access::read_write,
                          {0, accumulators() * kBytes / info(t).size - 1});
    if (atomic) k.set_atomic(b);
    return KernelCode::name_of(b);
  }

  std::string flags(KernelCode& k, bool atomic = false) const {
    k.scratch_types.push_back({flags_, DType::uint32});
    int b = k.bind_window(flags_, rt::Access::read_write, {0, flag_words() - 1});
    if (atomic) k.set_atomic(b);
    return KernelCode::name_of(b);
  }

  void emit(KernelCode& k, Step& step, const char* label, const char* shader, kernels::Vars& vars,
            int64_t lanes, int64_t per_group) {
    if (!vars.find("FUNCTIONS")) vars.set("FUNCTIONS", std::string());
    vars.set("DECLARATIONS", k.declarations());
    fold_groups(static_cast<uint64_t>((lanes + per_group - 1) / per_group),
                c_.device.limits().max_groups, step.x, step.z);
    step.y = 1;
    k.finish(step, label, kernels::expand(shader, vars));
    c_.plan.steps.push_back(std::move(step));
  }

  LowerContext& c_;
  int gi_, id_;
  Node* node_;
  int base_;
  Operand values_, rows_;
  int64_t places_, elements_, copies_ = 1;
  bool software_;
  int limbs_, flags_;
};

}  // namespace

bool sums_exactly(const rt::Device& device, int64_t places, int64_t numbers) {
  int64_t room = static_cast<int64_t>(device.limits().max_binding) / kBytes;
  bool one_after_the_other = places == 1 && device.software_kernels();  // has no lanes to wait
  return !one_after_the_other && places <= std::min(numbers, room - 8) && numbers <= kMostNumbers;
}

void lower_exact_sums(LowerContext& c, int group) {
  ExactSumsLowering(c, group).run();
}

}  // namespace wgt::graph
