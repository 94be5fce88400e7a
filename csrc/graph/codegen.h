// Writes the parts of a kernel that depend on the graph: parameters, bindings, loads, expressions,
// stores.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/fusion.h"
#include "graph/plan.h"
#include "graph/tuning_mode.h"

namespace wgt::graph {

/// A value read in an index space, and how.
struct Access {
  int value = -1;
  Layout layout;  // over the space's dimensions
  bool write = false;
  int binding = -1;           // once code was written for it
  std::optional<Reach> span;  // gathered: elements by which data moves it
  bool quads = false;         // all of them are multiples of four
  Dims moved;                 // 0 for dimensions along which they stay the same
  bool is_plain_read() const { return !write && !span; }
};

/// A group of dimensions that one WGSL variable walks in row-major order.
struct Axis {
  std::string var;
  int first = 0, count = 0;  // dimensions of the collapsed space
};

/// The parameters: one description gives the bytes and the WGSL struct.
class Params {
 public:
  /// Returns the WGSL expression of the word.
  std::string add(const std::string& name, uint32_t value);
  /// A word that templates know by its plain name.
  void add_named(const std::string& name, uint32_t value);
  std::string add_patched(const std::string& name, Patch::Source source, int value, uint32_t add);
  std::string declaration() const;
  std::vector<uint32_t> words;
  std::vector<Patch> patches;

 private:
  std::vector<std::string> names_;
};

class KernelCode;
struct LowerContext;

/// One index space of a kernel: its accesses, collapsed dimensions and the code of its functions.
class SpaceCode {
 public:
  SpaceCode(KernelCode& kernel, int space, const Dims& shape)
      : k_(kernel), space_(space), shape_(shape) {}

  /// Finds every read that computing `value` through `layout` takes.
  void collect(int value, const Layout& layout);
  void add_write(int value, const Layout& layout);
  /// The same, moved by data.
  void add_scatter(int value, const Layout& layout, int64_t last);
  /// Merges dimensions inside [bounds[i], bounds[i+1]) where every access allows; one axis per
  /// range.
  void collapse(const std::vector<std::string>& vars, const std::vector<int>& bounds);
  /// Splits the only axis into an outer one and an inner one that holds the last dimension.
  void split_inner(const std::string& outer, const std::string& inner);

  const Dims& shape() const { return shape_; }
  const std::vector<Axis>& axes() const { return axes_; }
  /// Elements of the axis: of all of it, or of the part that restrict_to() gave.
  int64_t extent(int axis) const;
  /// The kernel walks this part alone: one range for each axis. Its variables count from the part's
  /// beginning. Call before code is written.
  void restrict_to(Part part) { part_ = std::move(part); }
  /// Bytes that the access that reaches farthest in `part` spans.
  int64_t widest(const Part& part) const;
  Dims sizes(int axis) const;
  /// Whether steps of 4 along the axis can use vec4 loads and stores. `overrun`: the last step may
  /// pass the end (one dense dimension; buffers are padded). `gather`: strided reads are allowed,
  /// element by element.
  bool can_vectorize(int axis, bool overrun, bool gather) const;
  void set_width(int width, int lane_axis);
  /// Whether `value` is read exactly once, at the elements where `output` is written.
  bool same_place(int value, int output) const;
  bool reads(int value) const;
  /// Whether indices are checked: a step past the end would find garbage out of range.
  bool checks() const { return checks_; }
  /// The reads, each a value and its layout, if all that is read or written is dense numbers of 32
  /// bits from the beginning of a buffer on, or one number for all; else none.
  std::optional<std::vector<std::pair<int, Layout>>> dense_reads() const;
  /// Elements that the reads which step by one along the axis's last dimension fetch: an operand
  /// that is broadcast counts for what it has.
  int64_t unit_strides(int axis) const;
  int width() const { return width_; }

  /// Starts a function body: declares the coordinates of the axes' variables.
  void begin();
  std::string emit(int value, const Layout& layout);
  /// A value that the function was handed.
  void define(int value, const Layout& layout, const std::string& name);
  void emit_store(int value, const std::string& name);
  /// Puts `name` where the scatter node `value` has it at `position`.
  void emit_scatter(int value, const std::string& name, const std::string& position);
  /// Statements that store four packed elements, the bits in the lanes of `raw`, from `first` on:
  /// of a dense result, by its row-major index in the space or in the part of it.
  std::string emit_word_store(int value, const std::string& first, const std::string& raw);
  std::string take_body();
  std::string type(DType t) const;

 private:
  friend class KernelCode;
  const Placement* inline_placement(int value, const Layout& layout) const;
  void collect_gathered(const Node& gather, int source, const Layout& layout, const Layout& place);
  bool moves_fours(const Access& a, int lane) const;
  std::string emit_map(int value, const Layout& layout);
  std::string emit_checked(int value, const Layout& layout);
  std::string emit_gather(int value, const Layout& layout);
  std::string emit_load(Access& a);
  /// Elements i to i + 3 of a binding, i a multiple of four.
  std::string load_four(const std::string& name, DType t, bool vec4, const std::string& i);
  std::string emit_iota(Access& a);
  std::string emit_random(Access& a);
  std::string walk(const Access& a, const std::string& lane);
  std::string index(const Access& a, const std::string& lane = "");
  /// A range of a buffer that is too large to be bound whole, for places that are data: element i
  /// of the access is in it if i - begin is below count, and then at i - begin + shift of the
  /// binding.
  struct Slice {
    int binding;
    std::string begin, count, shift;
  };
  /// None where one binding holds all that the access reaches.
  std::vector<Slice> slices(const Access& a, rt::Access how);
  std::string start_of(const Access& a, const std::vector<Slice>& slices);
  std::string load_gathered(const Access& a, const std::vector<Slice>& slices,
                            const std::string& place);
  Reach reach(const Access& a, const Part& part) const;
  /// Whether it is made of its index: no memory is read.
  bool is_computed(const Access& a) const;
  std::string write_binding(Access& a);
  bool aligned(const Access& a, int lane_dim) const;
  int lane_dim(int axis) const;
  Access* find(int value, const Layout& original);
  std::string let(const std::string& expression);
  std::string coordinate(int dim) const { return coords_[static_cast<size_t>(dim)]; }

  KernelCode& k_;
  int space_;
  Dims shape_;                     // collapsed once collapse() ran
  Dims full_;                      // as collected
  std::vector<Access> accesses_;   // layouts over shape_
  std::vector<Layout> originals_;  // the same over full_, the key of find()
  std::vector<Axis> axes_;
  Part part_;  // empty: all of it
  std::vector<std::string> coords_;
  std::vector<std::pair<std::pair<int, Layout>, std::string>> defined_;
  std::vector<std::pair<int, Layout>>
      visited_;  // by collect(): a tree of shared operands has exponential paths
  std::string body_;
  int width_ = 1, lane_axis_ = 0;
  bool collected_ = false, checks_ = false;
};

/// One kernel: spaces share its parameters, bindings and library functions.
class KernelCode {
 public:
  KernelCode(const LowerContext& c, int group);

  const FlushGraph& g;
  const Fusion& fusion;
  int group_id;
  const Group& group;
  rt::Device& device;
  Params params;

  /// The binding that holds a value; `in_place` takes over another value's.
  int bind(int value, rt::Access access);
  /// The binding of a part of a value: one that is there and has room for it, or a new one.
  int bind_window(int value, rt::Access access, const Reach& reach);
  /// A new output that shares the binding, and so the buffer, of a value that dies here.
  void bind_in_place(int value, int over);
  /// An operand that a template reads by its binding's name alone; always a binding of its own.
  /// As `element` where given, instead of its dtype's storage form.
  void bind_operand(int value, bool vec4, std::optional<Reach> reach = std::nullopt,
                    const char* element = nullptr);
  /// A result that a template writes by its binding's name alone, in fours of `element`.
  void bind_result(int value, const char* element);
  /// What indices out of range are recorded in, as `faults`.
  void bind_faults(int value);
  /// A binding of its own for a part of a value, found by its number alone.
  int bind_slice(int value, rt::Access access, const Reach& reach);
  /// From now on the binding's elements are atomic.
  void set_atomic(int binding) { bindings_[static_cast<size_t>(binding)].atomic = true; }
  void want_vec4(int value, bool possible);
  bool vec4(int value) const;
  std::string binding_name(int value) const;
  static std::string name_of(int binding) { return "in" + std::to_string(binding); }
  /// Bytes that a binding can span whatever the offset of its leaf is.
  static int64_t window_limit(const rt::Device& device);
  std::string use_function(const std::string& name, int width);
  /// A constant as parameters, so that the source does not depend on it.
  std::string constant(DType t, uint64_t bits);
  /// Bindings, parameters, library functions.
  std::string declarations() const;
  /// Fills a step: kernel, buffers, parameters. `functions` come before `main`.
  void finish(Step& step, const std::string& label, std::string source);
  DType dtype_of(int value) const;
  int next_name = 0;
  const bool windowed;   // some buffer is above the largest binding: parts of buffers are bound
  bool numbers = false;  // what is read is computed with: payloads of NaN do not matter
  std::vector<std::pair<int, DType>> scratch_types;

 private:
  struct Binding {
    int value;
    rt::Access access;
    int alias;             // value that shares the binding, or -1
    bool private_operand;  // found by position only
    bool vec4;             // of a private operand
    std::optional<Reach> reach = std::nullopt;
    bool faults = false, atomic = false;
    const char* element = nullptr;
  };
  const Binding* binding(int value) const;
  std::vector<Binding> bindings_;
  std::vector<std::pair<int, bool>> wants_;
  std::vector<std::pair<std::string, int>> functions_;
};

/// WGSL type at a vector width.
std::string wgsl_type(const char* scalar, int width);
/// Sections of shaders/lib/*.wgsl that the named functions need, expanded, each once.
/// `exact`: for Device::has_exact_units, sections named with an exclamation mark go first.
std::string library(const std::vector<std::pair<std::string, int>>& functions, bool exact);
/// What a section's function is called at a vector width.
std::string library_name(const std::string& name, int width);
bool library_has(const std::string& section);

/// What lowering one group may know of the whole plan.
struct LowerContext {
  const FlushGraph& g;
  const Fusion& fusion;
  rt::Device& device;
  Plan& plan;
  std::vector<std::vector<int>> dying;  // per group: values that nothing reads after it
  std::vector<std::vector<int>> freed;  // the same, but other views of their buffers may be read
  Tuning tuning{};
  int forced = -1;  // the candidate to take while one is measured

  bool dies(int group, int value) const;
  /// Whether a group runs in parts: it reads or writes a buffer above the largest binding, or takes
  /// too long for one dispatch and can be cut.
  bool windowed(int group) const;
  /// What share of a group one dispatch may do, in time.
  double share(int group) const;
  /// A new scratch value.
  int scratch();
};

/// Plans one group into steps, by the one of the functions below that its kind has (lower_*.cpp).
void lower_group(LowerContext& c, int group);
void lower_map(LowerContext& c, int group);
void lower_reduce(LowerContext& c, int group);
void lower_softmax(LowerContext& c, int group);
void lower_normalize(LowerContext& c, int group);
void lower_scan(LowerContext& c, int group);
void lower_sort(LowerContext& c, int group);
void lower_compact(LowerContext& c, int group);
void lower_search(LowerContext& c, int group);
void lower_matmul(LowerContext& c, int group);
void lower_segments(LowerContext& c, int group);
void lower_exact_sums(LowerContext& c, int group);

/// Whether a result may take a value's buffer: a part of a large one must not keep all of it.
bool fits_buffer(const FlushGraph& g, int value, int output);
/// The value whose buffer the assignment `id` writes over: its base if that dies in the group,
/// which does not read it otherwise (`read`), else a copy of it, which the `first` of its kernels
/// makes; -1 for the others.
int base_to_write(LowerContext& c, int group, int id, bool read, bool first);
/// Workgroups along one dimension, folded into a second one above the limit.
void fold_groups(uint64_t groups, uint32_t limit, uint32_t& first, uint32_t& second);
/// Bodies of functions that write a group's outputs from the anchor's value `v`.
std::string output_body(KernelCode& k, SpaceCode& space, int anchor);
/// Collects the output side of an anchored group.
void collect_outputs(KernelCode& k, SpaceCode& space, int anchor);
StepOutput step_output(const FlushGraph& g, int value);

}  // namespace wgt::graph
