#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>

#include "base/settings.h"
#include "graph/codegen.h"
#include "graph/storage.h"
#include "graph/work.h"
#include "kernels/embedded.h"
#include "kernels/template.h"

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

// Functions of 64-bit numbers are sections whose names end in 64.
static bool is_wide_name(const std::string& name) {
  return name.size() > 2 && name.compare(name.size() - 2, 2, "64") == 0;
}

static std::string function_suffix(const std::string& name, int width) {
  return (is_wide_name(name) ? "64_" : "") + std::to_string(width);
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
  std::string base = is_wide_name(name) ? name.substr(0, name.size() - 2) : name;
  return base + "_" + function_suffix(name, width);
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

namespace {

struct Section {
  std::vector<std::string> needs;
  std::string text;
  bool any_width = false;  // of numbers: 64 bits too
};

void add_sections(const char* text, std::map<std::string, Section>& sections) {
  std::istringstream in(text);
  std::string line;
  Section* current = nullptr;
  while (std::getline(in, line)) {
    if (line.rfind("//@ ", 0) == 0) {
      size_t colon = line.find(':');
      std::string name = line.substr(4, colon - 4);
      bool any_width = name.back() == '*';
      if (any_width) name.pop_back();
      if (sections.count(name)) internal_error("shaders/lib has two sections " + name);
      current = &sections[name];
      current->any_width = any_width;
      std::istringstream needs(line.substr(colon + 1));
      std::string need;
      while (needs >> need) current->needs.push_back(need);
    } else if (current) {
      current->text += line + "\n";
    }
  }
}

const std::map<std::string, Section>& sections() {
  static const std::map<std::string, Section> all = [] {
    std::map<std::string, Section> m;
    for (const kernels::EmbeddedShader* s = kernels::embedded_shaders(); s->name; ++s)
      if (std::string_view(s->name).substr(0, 4) == "lib/") add_sections(s->text, m);
    return m;
  }();
  return all;
}

std::string replace_all(std::string s, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = s.find(what, at)) != std::string::npos; at += by.size())
    s.replace(at, what.size(), by);
  return s;
}

// The section of that name: for "name64" also the one of `name`, if it is for any width of numbers.
const Section* find_section(const std::string& name) {
  auto it = sections().find(name);
  if (it != sections().end()) return &it->second;
  if (!is_wide_name(name)) return nullptr;
  it = sections().find(name.substr(0, name.size() - 2));
  return it != sections().end() && it->second.any_width ? &it->second : nullptr;
}

std::string expanded(std::string text, bool wide, int width, const std::string& suffix) {
  auto set = [&](const char* name, const std::string& value) {
    text = replace_all(std::move(text), std::string("{{") + name + "}}", value);
  };
  set("W", suffix);
  set("F", wgsl_type(wide ? "f64" : "f32", width));
  set("I", wgsl_type(wide ? "i64" : "i32", width));
  set("U", wgsl_type(wide ? "u64" : "u32", width));
  set("F32", wgsl_type("f32", width));
  set("I32", wgsl_type("i32", width));
  set("U32", wgsl_type("u32", width));
  set("F64", wgsl_type("f64", width));
  set("WIDTH", std::to_string(width));
  set("B", wgsl_type("bool", width));
  set("BITS", wide ? "64" : "32");
  set("LAST", wide ? "63" : "31");
  set("SIGN", wide ? "0x8000000000000000lu" : "0x80000000u");
  set("MAGNITUDE", wide ? "0x7ffffffffffffffflu" : "0x7fffffffu");
  set("INF", wide ? "0x7ff0000000000000lu" : "0x7f800000u");
  set("NAN", wide ? "0x7ff8000000000000lu" : "0x7fc00000u");
  set("FRACTION", wide ? "52" : "23");
  set("EXPONENT", wide ? "11" : "8");
  set("BIAS", wide ? "1023" : "127");
  set("ONE", wide ? "0x3ff0000000000000lu" : "0x3f800000u");
  set("ANY", width == 1 ? "" : "any");
  set("ALL", width == 1 ? "" : "all");
  set("UNPACKED", width == 1 ? "unpack2x16float(h).x"
                             : "vec4<f32>(unpack2x16float(h.x).x, unpack2x16float(h.y).x, "
                               "unpack2x16float(h.z).x, unpack2x16float(h.w).x)");
  set("MAXSTART", width == 1 ? "start" : "max(max(start.x, start.y), max(start.z, start.w))");
  return text;
}

void append_section(const std::string& name, int width, bool exact,
                    std::vector<std::pair<std::string, int>>& done, std::string& out) {
  std::pair<std::string, int> key{name, width};
  if (std::find(done.begin(), done.end(), key) != done.end()) return;
  done.push_back(key);
  const Section* section = exact ? find_section(name + "!") : nullptr;
  if (!section) section = find_section(name);
  if (!section) internal_error("shaders/lib has no section " + name);
  bool derived = !sections().count(name);
  for (const std::string& need : section->needs)
    append_section(derived ? need + "64" : need, width, exact, done, out);
  out += expanded(section->text, is_wide_name(name), width, function_suffix(name, width));
}

}  // namespace

bool library_has(const std::string& section) {
  return find_section(section) != nullptr;
}

std::string library(const std::vector<std::pair<std::string, int>>& functions, bool exact) {
  std::string out;
  std::vector<std::pair<std::string, int>> done;
  for (const auto& f : functions) append_section(f.first, f.second, exact, done, out);
  return out;
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
