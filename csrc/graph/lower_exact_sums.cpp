// Sums of float32 in places that are data: numbers enter exact accumulators by atomics, in any
// order, and each sum is rounded once. See shaders/exact_sums.wgsl.
#include <algorithm>

#include "graph/codegen.h"
#include "graph/exact_sums.h"
#include "graph/fuser.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

constexpr int64_t kBytes = 64;             // of an accumulator, at most
constexpr int64_t kMostBytes = 1 << 30;    // of all of them
constexpr int64_t kMostNumbers = 1 << 27;  // that it takes
constexpr int64_t kSpread = 1 << 16;       // places that keep lanes from waiting
constexpr int64_t kMostCopies = 1024;      // of one place
constexpr int64_t kGroup = 32;             // copies that a lane adds up
constexpr int64_t kTurns = 2;              // numbers that a lane enters
constexpr int64_t kRangeGroups = 1024;     // workgroups that look for positions
constexpr int64_t kSoftwareTurns = 16384;  // llvmpipe ends loops after 65,535 turns

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
        constant_(is_constant_base(*node_, 0)),
        limbs_(c.scratch()),
        flags_(c.scratch()),
        range_(c.scratch()),
        choice_(c.scratch()) {
    int64_t numbers = numel(node_->inputs[1]->shape);
    bits_ = numbers < 1 << 24 ? 16 : 8;
    copies_ = copies_of(c.device, places_, numbers);
  }

  void run() {
    std::vector<Part> all = parts();
    for (const Part& part : all) groups_ += groups_of(part);
    int64_t group = 0;
    for (const Part& part : all) {
      find_range(part, group);
      group += groups_of(part);
    }
    choose_limbs();
    for (const Part& part : all) enter(part);
    int64_t spacing = places_, left = copies_;
    while (left > 4) {
      int64_t size = std::min(left, kGroup);
      add_up(left, size, spacing);
      left /= size;
      spacing *= size;
    }
    finish(left, spacing);
  }

 private:
  int64_t accumulators() const { return copies_ * places_; }
  int64_t flag_words() const { return (places_ + 7) / 8; }
  int64_t lanes() const { return software_ ? 8 : 256; }
  int64_t reads() const { return software_ ? 4 : 8; }  // of a lane before it looks at the first
  int64_t numbers_in(const Part& part) const { return part[0].size() * elements_; }

  // Workgroups that find the positions of a part's numbers.
  int64_t groups_of(const Part& part) const {
    int64_t turn = reads() * lanes(), turns = (numbers_in(part) + turn - 1) / turn;
    if (software_) {
      turns += places_ / lanes() + 1;  // the first part's base
      return std::max((turns + kSoftwareTurns - 1) / kSoftwareTurns, std::min<int64_t>(turns, 16));
    }
    return std::clamp<int64_t>(turns / 2, 1, kRangeGroups);
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

  void find_range(const Part& part, int64_t group) {
    Numbers n(*this);
    KernelCode& k = n.k;
    if (k.windowed) n.in.restrict_to(part);
    kernels::Vars vars = staged(0);
    vars.set("LANES", lanes());
    vars.set("READS", reads());
    vars.set("RANGE", range(k, true));
    vars.set("FUNCTIONS", load(n) + base_bits(k));
    vars.set("ALONE", int64_t{elements_ == 1});
    vars.set("ELEMENTS", k.params.add("elements", word(elements_)));
    vars.set("COUNT", k.params.add("count", word(numbers_in(part))));
    vars.set("BASES", k.params.add("bases", word(group > 0 ? 0 : constant_ ? 1 : places_)));
    vars.set("GROUP", k.params.add("group", word(group)));
    Step step;
    if (group == 0) step.outputs = {{range_, static_cast<uint64_t>(8 * groups_), -1}};
    emit(k, step, "exact sums range", "exact_sums.wgsl", vars, groups_of(part), 1);
  }

  void choose_limbs() {
    KernelCode k(c_, gi_);
    kernels::Vars vars = staged(1);
    vars.set("LANES", lanes());
    vars.set("RANGE", range(k, false));
    vars.set("CHOICE", choice(k, true));
    vars.set("LIMBS", limbs(k, DType::uint32, true));
    vars.set("FLAGS", flags(k));
    vars.set("GROUPS", k.params.add("groups", word(groups_)));
    vars.set("ACCUMULATORS", k.params.add("accumulators", word(accumulators())));
    vars.set("FLAG_WORDS", k.params.add("flag_words", word(flag_words())));
    Step step;
    step.outputs = {{limbs_, static_cast<uint64_t>(accumulators() * kBytes), -1},
                    {flags_, static_cast<uint64_t>(flag_words() * 4), -1},
                    {choice_, 8, -1}};
    step.dies = {range_};
    // Few turns where places have few limbs, and never too many.
    int64_t turns = software_ ? kSoftwareTurns : 16, rounds = accumulators() * 4 / lanes();
    int64_t groups = std::max((rounds + turns - 1) / turns, std::min<int64_t>(rounds, 16));
    emit(k, step, "exact sums clear", "exact_sums.wgsl", vars, std::max<int64_t>(groups, 1), 1);
  }

  void enter(const Part& part) {
    Numbers n(*this);
    KernelCode& k = n.k;
    if (k.windowed) n.in.restrict_to(part);
    bool wide = c_.device.features().int64_atomics;
    int64_t turns = software_ ? 1 : kTurns;
    kernels::Vars vars = staged(2);
    vars.set("ALONE", int64_t{elements_ == 1});
    vars.set("WIDE", int64_t{wide});
    vars.set("TURNS", turns);
    vars.set("COPIES", copies_);
    vars.set("LIMBS", limbs(k, wide ? DType::uint64 : DType::uint32, false, true));
    vars.set("FLAGS", flags(k, true));
    vars.set("CHOICE", choice(k, false));
    vars.set("FUNCTIONS", load(n) + segment_of(n) + base_bits(k));
    vars.set("PLACES", k.params.add("places", word(places_)));
    vars.set("ELEMENTS", k.params.add("elements", word(elements_)));
    vars.set("ROWS", k.params.add("rows", word(places_ / elements_)));
    vars.set("COUNT", k.params.add("count", word(numbers_in(part))));
    Step step;
    emit(k, step, "exact sums", "exact_sums.wgsl", vars, numbers_in(part), 256 * turns);
  }

  void add_up(int64_t copies, int64_t group, int64_t spacing) {
    KernelCode k(c_, gi_);
    kernels::Vars vars = staged(3);
    vars.set("COPIES", copies);
    vars.set("GROUP", group);
    vars.set("LIMBS", limbs(k, DType::uint32, false));
    vars.set("CHOICE", choice(k, false));
    vars.set("PLACES", k.params.add("places", word(places_)));
    vars.set("SPACING", k.params.add("spacing", word(spacing)));
    Step step;
    emit(k, step, "exact sums copies", "exact_sums.wgsl", vars, copies / group * places_ * 8, 64);
  }

  // The result may take over the base's buffer: a lane reads its own place alone.
  void finish(int64_t copies, int64_t spacing) {
    KernelCode k(c_, gi_);
    kernels::Vars vars = staged(4);
    k.scratch_types = {{id_, DType::uint32}, {base_, DType::uint32}};
    StepOutput out = step_output(c_.g, id_);
    if (!constant_ && c_.dies(gi_, base_) && fits_buffer(c_.g, base_, id_)) out.in_place = base_;
    Reach all{0, places_ - 1};
    int result = k.bind_window(id_, rt::Access::read_write, all);
    std::string base;
    if (constant_) {
      base = base_bits(k);
    } else {
      int own = out.in_place >= 0 ? result : k.bind_window(base_, rt::Access::read, all);
      base = base_bits_are(KernelCode::name_of(own) + "[place]");
    }
    vars.set("COPIES", copies);
    vars.set("LIMBS", limbs(k, DType::uint32, false));
    vars.set("FLAGS", flags(k));
    vars.set("CHOICE", choice(k, false));
    vars.set("FUNCTIONS", base);
    vars.set("RESULT", KernelCode::name_of(result));
    vars.set("PLACES", k.params.add("places", word(places_)));
    vars.set("SPACING", k.params.add("spacing", word(spacing)));
    Step step;
    step.outputs = {out};
    step.dies = {limbs_, flags_, choice_};
    emit(k, step, "exact sums round", "exact_round.wgsl", vars, places_, 256);
  }

  kernels::Vars staged(int64_t stage) const {
    kernels::Vars vars;
    vars.set("STAGE", stage);
    vars.set("BITS", bits_);
    return vars;
  }

  std::string load(Numbers& n) const {
    n.in.set_width(1, 1);
    n.in.begin();
    std::string value = n.in.emit(values_.value, values_.layout);
    return "fn load(r: u32, o: u32) -> f32 {\n" + n.in.take_body() + "  return " + value + ";\n}\n";
  }

  std::string segment_of(Numbers& n) const {
    n.in.begin();
    std::string row = n.in.emit(rows_.value, rows_.layout);
    return "fn segment_of(r: u32, o: u32) -> u32 {\n" + n.in.take_body() + "  return " + row +
           ";\n}\n";
  }

  // In a binding of its own: the numbers may be made of the base.
  std::string base_bits(KernelCode& k) const {
    if (constant_) return base_bits_are(k.params.add_patched("base", Patch::bits, base_, 0));
    int b = k.bind_slice(base_, rt::Access::read, {0, places_ - 1});
    return base_bits_are("bitcast<u32>(" + KernelCode::name_of(b) + "[place])");
  }

  static std::string base_bits_are(const std::string& bits) {
    return "fn base_bits(place: u32) -> u32 {\n  return " + bits + ";\n}\n";
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

  std::string range(KernelCode& k, bool write) const {
    return words(k, range_, 2 * groups_, write);
  }
  std::string choice(KernelCode& k, bool write) const { return words(k, choice_, 2, write); }

  static std::string words(KernelCode& k, int value, int64_t count, bool write) {
    k.scratch_types.push_back({value, DType::uint32});
    rt::Access access = write ? rt::Access::read_write : rt::Access::read;
    return KernelCode::name_of(k.bind_window(value, access, {0, count - 1}));
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
  int64_t places_, elements_, copies_ = 1, groups_ = 0, bits_ = 16;
  bool software_, constant_;  // constant_: the base is one number
  int limbs_, flags_, range_, choice_;
};

}  // namespace

int64_t copies_of(const rt::Device& device, int64_t places, int64_t numbers) {
  int64_t copies = 1;
  while (!device.software_kernels() && copies < kMostCopies && copies * places < kSpread &&
         copies * places * 8 < numbers)
    copies *= 2;
  return copies;
}

bool sums_exactly(const rt::Device& device, int64_t places, int64_t numbers) {
  int64_t room = std::min(static_cast<int64_t>(device.limits().max_binding), kMostBytes) / kBytes;
  bool one_after_the_other = places == 1 && device.software_kernels();  // has no lanes to wait
  return !one_after_the_other && places <= std::min(numbers, room - 8) && numbers <= kMostNumbers;
}

void lower_exact_sums(LowerContext& c, int group) {
  ExactSumsLowering(c, group).run();
}

}  // namespace wgt::graph
