// Sorts of rows: short ones by counting, tiles in workgroup memory, longer ones by radix passes.
#include <algorithm>

#include "graph/sort_code.h"
#include "kernels/template.h"

namespace wgt::graph {

namespace {

constexpr int64_t kDigits = 256;  // a pass sorts by 8 bits
constexpr int64_t kShort = 256;   // elements of rows that are sorted by counting, one to a lane
constexpr int64_t kMergedFrom = 9, kMergedTo = 1024;  // such rows, and so many of them,
constexpr int64_t kMergedRows = 16;                   // have a lane each on software adapters
constexpr int64_t kSerialChunk = 32768;               // llvmpipe ends loops after 65,535 turns
constexpr int64_t kSerialParts = 128;                 // of all rows, if they have kDigits elements
constexpr int64_t kSerialLines = 64;                  // parts of a row that one lane sums
constexpr int64_t kTile = 16, kFew = 8;               // elements of a lane; where memory is short;
constexpr int64_t kRanked = 20;                       // of one that ranks by ballots and has room
constexpr int64_t kSubgroups = 8;                     // of a workgroup that ranks by ballots
constexpr int64_t kLeastSubgroup = 16;                // lanes of theirs

class SortLowering {
 public:
  SortLowering(LowerContext& c, int gi)
      : c_(c),
        gi_(gi),
        id_(c.fusion.groups[static_cast<size_t>(gi)].anchor),
        node_(c.g.node_of(id_)),
        keys_(node_->inputs[0]->dtype, node_->sort),
        software_(c.device.software_kernels()) {
    rt::SubgroupSizes sizes = c.device.subgroup_sizes();
    const bool small = c.device.options().kernels == "gpu:ballots" && c.device.is_software();
    if (!software_ && (sizes.least >= kLeastSubgroup || (small && sizes.least))) {
      lanes_ = small ? 64 : std::min(kSubgroups * sizes.least, kDigits);
      subgroups_ = lanes_ / sizes.least;
      ballot_words_ = sizes.most <= 32 ? 1 : sizes.most <= 64 ? 2 : 4;
      // More would not stay in registers: that takes longer than small tiles do.
      const bool more = keys_.wide() || (node_->sort.places && is_float(node_->inputs[0]->dtype));
      if (!more) per_lane_ = kRanked;
    }
    if (workgroup_bytes() > c.device.limits().max_workgroup_memory) per_lane_ = kFew;
    // Small tiles are for tests: software adapters compile large kernels for long.
    if (!software_ && c.device.is_software()) per_lane_ = 4;
  }

  void run() {
    for (const Part& part : plan()) {
      part_ = part;
      rows_ = part[0].size();
      if (merges_)
        sort_by_merging();
      else if (count_ <= kShort)
        sort_short();
      else if (!software_ && count_ <= tile_)
        sort_tiles();
      else
        sort_by_passes();
    }
  }

 private:
  // One kernel: its code and, where it reads the source or writes results, their index spaces.
  struct Code {
    Code(SortLowering& s)
        : k(s.c_, s.gi_), in(k, 0, k.group.space[0]), out(k, 1, k.group.space[1]) {
      int rank = k.group.space[0].size();
      Operand source = s.c_.g.nodes[static_cast<size_t>(s.id_)].operands[0];
      in.collect(source.value, source.layout);
      in.collapse({"o", "r"}, {0, rank - 1, rank});
      collect_outputs(k, out, s.id_);
      out.collapse({"o", "r"}, {0, rank - 1, rank});
      if (s.part_.empty() || s.whole_) return;
      in.restrict_to(s.part_);
      out.restrict_to(s.part_);
    }
    KernelCode k;
    SpaceCode in, out;
    std::string functions;
  };

  // Items on the way from one pass to the next: a buffer for each of their words.
  struct Items {
    int low = -1, high = -1, places = -1;
  };

  // Sizes, and the parts of large buffers: rows stay whole.
  std::vector<Part> plan() {
    Code code(*this);
    int64_t rows = code.out.extent(0);
    count_ = code.out.extent(1);
    tile_ = chunk_ = lanes() * per_lane_;
    if (software_)
      chunk_ = std::clamp(rows * count_ / kSerialParts, kDigits,
                          std::clamp(count_, kDigits, kSerialChunk));
    parts_ = (count_ + chunk_ - 1) / chunk_;
    merges_ = software_ && count_ >= kMergedFrom && count_ <= kMergedTo && rows >= kMergedRows;
    bool passes = count_ > (software_ ? kShort : tile_);
    auto bytes = [&](const Part& p) {
      int64_t most = std::max(code.in.widest(p), code.out.widest(p));
      if (merges_) return std::max(most, p[0].size() * count_ * 8);
      return passes ? std::max(most, p[0].size() * std::max(count_, parts_ * kDigits) * 4) : most;
    };
    Part all{{0, rows}, {0, count_}};
    int64_t limit = KernelCode::window_limit(c_.device);
    whole_ = !c_.windowed(gi_) && bytes(all) <= limit;
    if (whole_) return {all};
    return parts_of(cut({{code.out.sizes(0), 1}, {code.out.sizes(1), 0}}, limit, bytes));
  }

  bool first_part() const { return part_[0].begin == 0; }

  void sort_short() {
    Code code(*this);
    read_source(code);
    write_result(code);
    int64_t together = kShort / count_;
    kernels::Vars vars = common(code.k);
    vars.set("LANES", kShort);
    vars.set("TO", code.k.params.add("together", static_cast<uint32_t>(together)));
    Step step;
    emit(code, step, "sort short", "sort_short.wgsl", vars, (rows_ + together - 1) / together,
         true);
  }

  // Two halves of items, from one to the other and back.
  void sort_by_merging() {
    Code code(*this);
    Step step;
    read_source(code);
    write_result(code);
    Items items = scratch_items();
    std::string body, place = "r";
    auto half = [&](int v, const char* word) {
      std::string name = bind(code.k, v, 2 * rows_ * count_, true);
      body += "  " + name + "[at] = " + word + ";\n";
      step.outputs.push_back({v, static_cast<uint64_t>(rows_ * count_ * 8), -1});
      step.dies.push_back(v);
      return name + "[at]";
    };
    std::string low = half(items.low, "w.x"), high = "0u";
    if (items.high >= 0) high = half(items.high, "w.y");
    if (items.places >= 0) place = half(items.places, "place");
    code.functions += "fn keep(at: u32, w: vec2<u32>, place: u32) {\n" + body +
                      "}\nfn kept(at: u32) -> vec2<u32> {\n  return vec2<u32>(" + low + ", " +
                      high + ");\n}\nfn kept_place(at: u32, r: u32) -> u32 {\n  return " + place +
                      ";\n}\n";
    kernels::Vars vars = common(code.k);
    vars.set("LANES", int64_t{8});
    emit(code, step, "sort merge", "sort_merge.wgsl", vars, (rows_ + 7) / 8, true);
  }

  void sort_tiles() {
    Code code(*this);
    read_source(code);
    write_result(code);
    kernels::Vars vars = tile_vars(code.k, count_ <= tile_ / 4 ? tile_ / 4 : tile_);
    vars.set("SCATTER", int64_t{0});
    set_bits(vars, code.k, 0, keys_.bits);
    vars.set("TILES", code.k.params.add("tiles", 1));
    Step step;
    emit(code, step, "sort tile", tile_shader(), vars, rows_, true);
  }

  void sort_by_passes() {
    Items from;
    for (int shift = 0; shift < keys_.bits; shift += 8) {
      bool last = shift + 8 >= keys_.bits;
      int table = c_.scratch(), totals = c_.scratch();
      count_digits(from, table, shift);
      sum_counts(table, totals);
      if (software_) sum_totals(totals);
      Items to = last ? Items{} : scratch_items();
      move(from, to, table, totals, shift, last);
      std::vector<int>& dies = c_.plan.steps.back().dies;
      for (int v : {from.low, from.high, from.places, table, totals})
        if (v >= 0) dies.push_back(v);
      from = to;
    }
  }

  Items scratch_items() {
    Items items;
    items.low = c_.scratch();
    if (keys_.wide()) items.high = c_.scratch();
    if (node_->sort.places) items.places = c_.scratch();
    return items;
  }

  void count_digits(const Items& from, int table, int shift) {
    Code code(*this);
    read(code, from, false);
    kernels::Vars vars = software_ ? serial_vars(code.k) : common(code.k);
    if (!software_) {
      vars.set("K", tile_ / kDigits);
      vars.set("TILES", tiles(code.k));
    }
    set_bits(vars, code.k, shift, shift + 8);
    vars.set("STAGE", int64_t{0});
    std::string name = bind(code.k, table, rows_ * kDigits * parts_, true);
    vars.set("TABLE", name);
    code.functions += "fn keep_count(o: u32, digit: u32, tile: u32, count: u32) {\n  " + name +
                      "[(o * 256u + digit) * " + text(vars, "TILES") + " + tile] = count;\n}\n";
    Step step;
    step.outputs = {{table, static_cast<uint64_t>(rows_ * kDigits * parts_ * 4), -1}};
    emit(code, step, "sort count", software_ ? "sort_serial.wgsl" : "sort_count.wgsl", vars,
         groups());
  }

  void sum_counts(int table, int totals) {
    Code code(*this);
    bool serial = software_ || parts_ <= kSerialLines;
    int64_t lines = rows_ * kDigits, lanes = software_ ? 8 : 64;
    kernels::Vars vars;
    vars.set("SERIAL", int64_t{serial});
    vars.set("SUBGROUPS", int64_t{c_.device.features().subgroups});
    vars.set("LANES", lanes);
    vars.set("TABLE", bind(code.k, table, lines * parts_, true));
    vars.set("TOTALS", bind(code.k, totals, lines, true));
    vars.set("LINES", code.k.params.add("lines", static_cast<uint32_t>(lines)));
    vars.set("TILES", code.k.params.add("tiles", static_cast<uint32_t>(parts_)));
    Step step;
    step.outputs = {{totals, static_cast<uint64_t>(lines * 4), -1}};
    emit(code, step, "sort offsets", "sort_offsets.wgsl", vars,
         serial ? (lines + lanes - 1) / lanes : lines);
  }

  void sum_totals(int totals) {
    Code code(*this);
    kernels::Vars vars = serial_vars(code.k);
    vars.set("STAGE", int64_t{1});
    vars.set("TOTALS", bind(code.k, totals, rows_ * kDigits, true));
    Step step;
    emit(code, step, "sort totals", "sort_serial.wgsl", vars, (rows_ + 7) / 8);
  }

  // Results are written by the last pass, with the work after the sort in the same kernel.
  void move(const Items& from, const Items& to, int table, int totals, int shift, bool last) {
    Code code(*this);
    read(code, from, true);
    kernels::Vars vars = software_ ? serial_vars(code.k) : tile_vars(code.k, tile_);
    set_bits(vars, code.k, shift, shift + 8);
    vars.set("STAGE", int64_t{2});
    vars.set("SCATTER", int64_t{1});
    std::string counts = bind(code.k, table, rows_ * kDigits * parts_, software_);
    std::string sums = bind(code.k, totals, rows_ * kDigits, false);
    vars.set("TABLE", counts);
    vars.set("TOTALS", sums);
    if (!software_)
      code.functions += "fn digit_total(o: u32, digit: u32) -> u32 {\n  return " + sums +
                        "[o * 256u + digit];\n}\n" +
                        "fn places_before(o: u32, digit: u32, tile: u32) -> u32 {\n  return " +
                        counts + "[(o * 256u + digit) * " + text(vars, "TILES") + " + tile];\n}\n";
    Step step;
    if (last)
      write_result(code);
    else
      write_items(code, step, to);
    emit(code, step, "sort move", software_ ? "sort_serial.wgsl" : tile_shader(), vars, groups(),
         last);
  }

  // ---- what kernels read and write ---------------------------------------------------------

  void read(Code& code, const Items& from, bool places) {
    if (from.low < 0) {
      read_source(code);
      return;
    }
    std::string place = "o * " + count(code.k) + " + r", high = "0u";
    std::string low = bind(code.k, from.low, rows_ * count_, false) + "[" + place + "]";
    if (keys_.wide()) high = bind(code.k, from.high, rows_ * count_, false) + "[" + place + "]";
    code.functions += "fn read_words(o: u32, r: u32) -> vec2<u32> {\n  return vec2<u32>(" + low +
                      ", " + high + ");\n}\n";
    if (places && node_->sort.places)
      code.functions += "fn read_place(o: u32, r: u32) -> u32 {\n  return " +
                        bind(code.k, from.places, rows_ * count_, false) + "[" + place + "];\n}\n";
  }

  void read_source(Code& code) {
    Operand source = c_.g.nodes[static_cast<size_t>(id_)].operands[0];
    code.in.set_width(1, 1);
    code.in.begin();
    std::string value = code.in.emit(source.value, source.layout);
    code.functions += "fn read_words(o: u32, r: u32) -> vec2<u32> {\n" + code.in.take_body() +
                      keys_.to_words(code.k, value) +
                      "}\nfn read_place(o: u32, r: u32) -> u32 {\n  return r;\n}\n";
  }

  void write_result(Code& code) {
    code.out.set_width(1, 1);
    std::string v = node_->sort.places ? "bitcast<i32>(place)" : keys_.from_words(code.k);
    code.functions += "fn write(o: u32, r: u32, w: vec2<u32>, place: u32) {\n  let v = " + v +
                      ";\n" + output_body(code.k, code.out, id_) + "}\n";
  }

  void write_items(Code& code, Step& step, const Items& to) {
    std::string body;
    auto store = [&](int v, const char* word) {
      if (v < 0) return;
      body += "  " + bind(code.k, v, rows_ * count_, true) + "[o * " + count(code.k) +
              " + r] = " + word + ";\n";
      step.outputs.push_back({v, static_cast<uint64_t>(rows_ * count_ * 4), -1});
    };
    store(to.low, "w.x");
    store(to.high, "w.y");
    store(to.places, "place");
    code.functions += "fn write(o: u32, r: u32, w: vec2<u32>, place: u32) {\n" + body + "}\n";
  }

  std::string bind(KernelCode& k, int v, int64_t words, bool write) const {
    k.scratch_types.push_back({v, DType::uint32});
    rt::Access access = write ? rt::Access::read_write : rt::Access::read;
    return KernelCode::name_of(k.windowed ? k.bind_window(v, access, {0, words - 1})
                                          : k.bind(v, access));
  }

  std::string count(KernelCode& k) const {
    return k.params.add("count", static_cast<uint32_t>(count_));
  }

  // ---- templates ---------------------------------------------------------------------------

  int64_t groups() const { return software_ ? (rows_ * parts_ + 7) / 8 : rows_ * parts_; }

  static std::string text(const kernels::Vars& vars, const char* name) {
    return std::get<std::string>(*vars.find(name));
  }

  kernels::Vars common(KernelCode& k) const {
    kernels::Vars vars;
    keys_.describe(vars);
    vars.set("PLACES", int64_t{node_->sort.places});
    vars.set("ROWS", k.params.add("rows", static_cast<uint32_t>(rows_)));
    vars.set("COUNT", count(k));
    return vars;
  }

  bool ranks() const { return lanes_ > 0; }
  int64_t lanes() const { return ranks() ? lanes_ : kDigits; }
  /// Of a tile, with the gaps that only some have, and of sums and places.
  int64_t workgroup_bytes() const { return (lanes() * per_lane_ * 33 / 32 + 4 * kDigits + 1) * 4; }
  const char* tile_shader() const { return ranks() ? "sort_rank.wgsl" : "sort_tile.wgsl"; }
  std::string tiles(KernelCode& k) const {
    return k.params.add("tiles", static_cast<uint32_t>(parts_));
  }

  kernels::Vars tile_vars(KernelCode& k, int64_t tile) const {
    kernels::Vars vars = common(k);
    vars.set("K", tile / (ranks() ? lanes_ : kDigits));
    vars.set("SUBGROUPS", int64_t{ranks()});
    vars.set("TILES", tiles(k));
    if (ranks()) {
      vars.set("LANES", lanes_);
      vars.set("GROUPS", subgroups_);
      vars.set("WORDS", ballot_words_);
    }
    return vars;
  }

  kernels::Vars serial_vars(KernelCode& k) const {
    kernels::Vars vars = common(k);
    vars.set("LANES", int64_t{8});
    vars.set("TILES", k.params.add("parts", static_cast<uint32_t>(parts_)));
    vars.set("CHUNK", k.params.add("chunk", static_cast<uint32_t>(chunk_)));
    return vars;
  }

  static void set_bits(kernels::Vars& vars, KernelCode& k, int first, int last) {
    vars.set("FIRST", k.params.add("first", static_cast<uint32_t>(first)));
    vars.set("LAST", k.params.add("last", static_cast<uint32_t>(last)));
  }

  void emit(Code& code, Step& step, const char* label, const char* shader, kernels::Vars& vars,
            int64_t groups, bool results = false) {
    if (results && first_part())
      for (int o : code.k.group.outputs) step.outputs.push_back(step_output(c_.g, o));
    vars.set("FUNCTIONS", code.functions);
    vars.set("DECLARATIONS", code.k.declarations());
    fold_groups(static_cast<uint64_t>(groups), c_.device.limits().max_groups, step.x, step.z);
    step.y = 1;
    code.k.finish(step, label, kernels::expand(shader, vars));
    c_.plan.steps.push_back(std::move(step));
  }

  LowerContext& c_;
  int gi_, id_;
  Node* node_;
  SortKeys keys_;
  bool software_, whole_ = true, merges_ = false;
  Part part_;
  int64_t lanes_ = 0, subgroups_ = 0;  // of workgroups that rank by ballots
  int64_t per_lane_ = kTile;           // elements of a tile
  int64_t ballot_words_ = 1;
  int64_t rows_ = 0, count_ = 0;
  int64_t tile_ = 0;               // elements that a workgroup sorts
  int64_t chunk_ = 0, parts_ = 1;  // elements of a row that are counted together
};

}  // namespace

void lower_sort(LowerContext& c, int group) {
  SortLowering(c, group).run();
}

}  // namespace wgt::graph
