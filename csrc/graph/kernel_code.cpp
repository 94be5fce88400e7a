#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/settings.h"
#include "graph/codegen.h"
#include "graph/storage.h"
#include "graph/work.h"

namespace wgt::graph {

KernelCode::KernelCode(const LowerContext& c, int gi)
    : g(c.g),
      fusion(c.fusion),
      group_id(gi),
      group(c.fusion.groups[static_cast<size_t>(gi)]),
      device(c.device),
      windowed(c.windowed(gi)) {}

DType KernelCode::dtype_of(int value) const {
  for (const auto& s : scratch_types)
    if (s.first == value) return s.second;
  return g.node_of(value)->dtype;
}

const KernelCode::Binding* KernelCode::binding(int value) const {
  for (const Binding& b : bindings_)
    if (!b.private_operand && (b.value == value || b.alias == value)) return &b;
  return nullptr;
}

int KernelCode::bind(int value, rt::Access access) {
  for (size_t i = 0; i < bindings_.size(); ++i) {
    Binding& b = bindings_[i];
    if (b.private_operand || (b.value != value && b.alias != value)) continue;
    if (access == rt::Access::read_write) b.access = access;
    return static_cast<int>(i);
  }
  bindings_.push_back({value, access, -1, false, false});
  return static_cast<int>(bindings_.size()) - 1;
}

int KernelCode::bind_window(int value, rt::Access access, const Reach& reach) {
  int64_t room = window_limit(device) / info(dtype_of(value)).size;
  for (size_t i = 0; i < bindings_.size(); ++i) {
    Binding& b = bindings_[i];
    if (b.private_operand || (b.value != value && b.alias != value)) continue;
    bool written = access == rt::Access::read_write || b.access == rt::Access::read_write;
    Reach both = reach;
    if (b.reach) {
      both.first = std::min(both.first, b.reach->first);
      both.last = std::max(both.last, b.reach->last);
    }
    // What is written is bound once, as is what lends its buffer to a result.
    if (!written && both.count() > room) continue;
    b.reach = both;
    if (written) b.access = rt::Access::read_write;
    return static_cast<int>(i);
  }
  bindings_.push_back({value, access, -1, false, false, reach});
  return static_cast<int>(bindings_.size()) - 1;
}

// Windows start at aligned offsets and end at whole vectors.
int64_t KernelCode::window_limit(const rt::Device& device) {
  const rt::Limits& l = device.limits();
  return static_cast<int64_t>(l.max_binding) - l.storage_alignment - 32;
}

void KernelCode::bind_in_place(int value, int over) {
  bindings_.push_back({value, rt::Access::read_write, over, false, false});
}

void KernelCode::bind_operand(int value, bool vec4, std::optional<Reach> reach,
                              const char* element) {
  bindings_.push_back({value, rt::Access::read, -1, true, vec4, reach, false, false, element});
}

void KernelCode::bind_result(int value, const char* element) {
  bindings_.push_back({value, rt::Access::read_write, -1, true, true});
  bindings_.back().element = element;
}

int KernelCode::bind_slice(int value, rt::Access access, const Reach& reach) {
  bindings_.push_back({value, access, -1, true, false, reach});
  return static_cast<int>(bindings_.size()) - 1;
}

void KernelCode::bind_faults(int value) {
  if (binding(value)) return;
  Binding b{value, rt::Access::read_write, -1, false, false};
  b.reach = Reach{0, g.leaf(value)->shape[0] - 1};
  b.faults = true;
  bindings_.push_back(b);
}

void KernelCode::want_vec4(int value, bool possible) {
  for (auto& w : wants_)
    if (w.first == value) {
      w.second = w.second && possible;
      return;
    }
  wants_.push_back({value, possible});
}

bool KernelCode::vec4(int value) const {
  const Binding* b = binding(value);
  bool found = false, all = true;
  for (const auto& w : wants_)
    if (w.first == value || (b && (w.first == b->value || w.first == b->alias))) {
      found = true;
      all = all && w.second;
    }
  return found && all && info(dtype_of(value)).per_element < 4;  // of 8 bits four are one word
}

std::string KernelCode::binding_name(int value) const {
  for (size_t i = 0; i < bindings_.size(); ++i)
    if (!bindings_[i].private_operand &&
        (bindings_[i].value == value || bindings_[i].alias == value))
      return "in" + std::to_string(i);
  internal_error("a value without a binding");
}

std::string KernelCode::use_function(const std::string& name, int width) {
  std::pair<std::string, int> f{name, width};
  if (std::find(functions_.begin(), functions_.end(), f) == functions_.end())
    functions_.push_back(f);
  return library_name(name, width);
}

std::string KernelCode::constant(DType t, uint64_t bits) {
  std::string low = params.add("constant", static_cast<uint32_t>(bits)), high;
  if (is_wide(t)) high = params.add("constant", static_cast<uint32_t>(bits >> 32));
  return graph::constant(t, low, high);
}

std::string KernelCode::declarations() const {
  std::string s;
  for (size_t i = 0; i < bindings_.size(); ++i) {
    const Binding& b = bindings_[i];
    if (b.faults) {
      s += "@group(0) @binding(" + std::to_string(i) +
           ") var<storage, read_write> faults: array<atomic<u32>>;\n";
      continue;
    }
    const DTypeInfo& t = info(dtype_of(b.value));
    bool four = b.private_operand ? b.vec4 : vec4(b.value);
    std::string element = b.element ? b.element : t.storage;
    if (four)
      element = "vec" + std::to_string(b.element ? 4 : 4 / t.per_element) + "<" + element + ">";
    s += "@group(0) @binding(" + std::to_string(i) + ") var<storage, " +
         (b.access == rt::Access::read ? "read" : "read_write") + "> in" + std::to_string(i) +
         ": array<" + (b.atomic ? "atomic<" + element + ">" : element) + ">;\n";
  }
  if (!params.words.empty()) {
    s += params.declaration();
    if (device.use_immediates(static_cast<uint32_t>(params.words.size() * 4)))
      s += "var<immediate> p: Params;\n";
    else
      s += "@group(0) @binding(" + std::to_string(bindings_.size()) + ") var<uniform> p: Params;\n";
  }
  return s + library(functions_, device.has_exact_units());
}

namespace {
void dump(const std::string& label, const std::string& source) {
  std::string name = label;
  std::replace(name.begin(), name.end(), ' ', '_');
  std::error_code ignored;
  std::filesystem::create_directories(settings().dump, ignored);
  std::ofstream f(settings().dump + "/" + name + "_" +
                  std::to_string(std::hash<std::string>()(source)) + ".wgsl");
  f << source;
}
}  // namespace

void KernelCode::finish(Step& step, const std::string& label, std::string source) {
  rt::KernelDesc desc;
  desc.label = label;
  desc.source = std::move(source);
  if (!settings().dump.empty()) dump(label, desc.source);
  for (const Binding& b : bindings_) {
    desc.bindings.push_back(b.access);
    step.buffers.push_back(b.value);
    if (windowed) step.windows.push_back({b.reach.value_or(Reach{}), info(dtype_of(b.value)).size});
  }
  if (bindings_.size() > std::min<size_t>(device.limits().max_storage_buffers, kMaxBuffers))
    raise(ErrorKind::unsupported, "[" + label + "] reads too many parts of large buffers");
  desc.param_bytes = static_cast<uint32_t>(params.words.size() * 4);
  desc.immediates = device.use_immediates(desc.param_bytes);
  step.kernel = device.kernel(std::move(desc));
  step.params = params.words;
  step.patches = params.patches;
  step.what = label;
}

bool LowerContext::dies(int group, int value) const {
  const auto& d = dying[static_cast<size_t>(group)];
  return std::find(d.begin(), d.end(), value) != d.end();
}

bool LowerContext::windowed(int gi) const {
  uint64_t limit = device.limits().max_binding;
  const Group& group = fusion.groups[static_cast<size_t>(gi)];
  auto large = [&](int v) {
    uint64_t bytes = g.is_leaf(v) ? g.leaf(v)->buffer->bytes : g.node_of(v)->bytes();
    return bytes > limit;
  };
  auto read = [&](int v) {
    return (g.is_leaf(v) || fusion.materialized[static_cast<size_t>(v)]) && large(v);
  };
  return std::any_of(group.externals.begin(), group.externals.end(), read) ||
         std::any_of(group.outputs.begin(), group.outputs.end(), large) || share(gi) < 1;
}

double LowerContext::share(int gi) const {
  const Group& group = fusion.groups[static_cast<size_t>(gi)];
  double seconds = can_be_cut(g, group) ? seconds_of(g, group, device) : 0;
  return seconds > most_seconds() ? most_seconds() / seconds : 1;
}

int LowerContext::scratch() {
  return plan.values++;
}

void fold_groups(uint64_t groups, uint32_t limit, uint32_t& first, uint32_t& second) {
  uint64_t rows = (groups + limit - 1) / limit;
  first = static_cast<uint32_t>((groups + rows - 1) / std::max<uint64_t>(rows, 1));
  second = static_cast<uint32_t>(rows);
}

StepOutput step_output(const FlushGraph& g, int value) {
  return {value, g.node_of(value)->bytes(), -1};
}

bool fits_buffer(const FlushGraph& g, int value, int output) {
  if (!g.is_leaf(value)) return true;
  uint64_t need = g.node_of(output)->bytes();
  return g.leaf(value)->buffer->bytes <= need + need / 4 + 256;
}

int base_to_write(LowerContext& c, int group, int id, bool read, bool first) {
  int base = c.g.nodes[static_cast<size_t>(id)].operands[0].value;
  if (c.dies(group, base) && !read && fits_buffer(c.g, base, id)) return base;
  if (!first) return -1;
  Step copy;
  copy.what = "copy";
  copy.buffers = {base};
  copy.outputs = {{c.scratch(), c.g.node_of(id)->bytes(), -1}};
  c.plan.steps.push_back(copy);
  return copy.outputs[0].value;
}

void collect_outputs(KernelCode& k, SpaceCode& space, int anchor) {
  Layout dense{contiguous_strides(space.shape()), 0};
  space.define(anchor, dense, "v");
  for (int o : k.group.outputs) {
    if (o != anchor) space.collect(o, dense);
    space.add_write(o, dense);
  }
  space.take_body();
}

std::string output_body(KernelCode& k, SpaceCode& space, int anchor) {
  Layout dense{contiguous_strides(k.group.space[1]), 0};
  space.begin();
  space.define(anchor, dense, "v");
  for (int o : k.group.outputs) space.emit_store(o, space.emit(o, dense));
  return space.take_body();
}

}  // namespace wgt::graph
