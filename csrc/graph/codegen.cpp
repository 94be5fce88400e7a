#include "graph/codegen.h"

#include <algorithm>

#include "graph/engine.h"
#include "graph/storage.h"

namespace wgt::graph {

std::string wgsl_type(const char* scalar, int width) {
  return width == 1 ? scalar : "vec4<" + std::string(scalar) + ">";
}

std::string Params::add(const std::string& name, uint32_t value) {
  names_.push_back(name + "_" + std::to_string(words.size()));
  words.push_back(value);
  return "p." + names_.back();
}

void Params::add_named(const std::string& name, uint32_t value) {
  names_.push_back(name);
  words.push_back(value);
}

std::string Params::add_patched(const std::string& name, Patch::Source source, int value,
                                uint32_t add_to) {
  patches.push_back({source, static_cast<uint16_t>(words.size()), value});
  return add(name, add_to);
}

std::string Params::declaration() const {
  std::string s = "struct Params {\n";
  for (const std::string& n : names_) s += "  " + n + ": u32,\n";
  return s + "}\n";
}

// ---- SpaceCode: finding accesses -------------------------------------------------------------

const Placement* SpaceCode::inline_placement(int value, const Layout& layout) const {
  if (k_.g.is_leaf(value)) return nullptr;
  for (const Placement& p : k_.fusion.placements[static_cast<size_t>(value)])
    if (p.group == k_.group_id && p.space == space_ && p.layout == layout) return &p;
  return nullptr;
}

void SpaceCode::collect(int value, const Layout& layout) {
  if (!collected_) {
    full_ = shape_;
    collected_ = true;
  }
  for (const auto& d : defined_)
    if (d.first.first == value && d.first.second == layout) return;
  const bool leaf = k_.g.is_leaf(value);
  const Node& n = *k_.g.node_of(value);
  if (!leaf && n.kind == NodeKind::map && inline_placement(value, layout)) {
    for (const auto& v : visited_)
      if (v.first == value && v.second == layout) return;
    visited_.push_back({value, layout});
    const FlushNode& f = k_.g.nodes[static_cast<size_t>(value)];
    for (const Operand& o : f.operands) {
      auto l = compose(full_, layout, n.shape, o.layout);
      if (!l) internal_error("fused through a view that does not compose");
      collect(o.value, *l);
    }
    return;
  }
  if (n.kind == NodeKind::fill && !leaf) return;
  for (size_t i = 0; i < accesses_.size(); ++i)
    if (accesses_[i].value == value && !accesses_[i].write && originals_[i] == layout) return;
  accesses_.push_back({value, layout, false});
  originals_.push_back(layout);
}

void SpaceCode::add_write(int value, const Layout& layout) {
  if (!collected_) {
    full_ = shape_;
    collected_ = true;
  }
  accesses_.push_back({value, layout, true});
  originals_.push_back(layout);
}

void SpaceCode::collapse(const std::vector<std::string>& vars, const std::vector<int>& bounds) {
  Dims shape;
  std::vector<Dims> strides(accesses_.size());
  axes_.clear();
  for (size_t a = 0; a < vars.size(); ++a) {
    Axis axis{vars[a], shape.size(), 0};
    for (int d = bounds[a]; d < bounds[a + 1]; ++d) {
      if (full_[d] == 1) continue;
      bool merge = axis.count > 0;
      for (size_t i = 0; merge && i < accesses_.size(); ++i)
        merge = strides[i].back() == originals_[i].strides[d] * full_[d];
      if (merge) {
        shape.back() *= full_[d];
        for (size_t i = 0; i < accesses_.size(); ++i) strides[i].back() = originals_[i].strides[d];
      } else {
        shape.push_back(full_[d]);
        for (size_t i = 0; i < accesses_.size(); ++i)
          strides[i].push_back(originals_[i].strides[d]);
        ++axis.count;
      }
    }
    axes_.push_back(axis);
  }
  shape_ = shape;
  for (size_t i = 0; i < accesses_.size(); ++i) accesses_[i].layout.strides = strides[i];
}

void SpaceCode::split_inner(const std::string& outer, const std::string& inner) {
  int n = axes_.at(0).count;
  axes_ = {{outer, 0, n - 1}, {inner, n - 1, 1}};
}

bool SpaceCode::is_iota(const Access& a) const {
  return k_.g.node_of(a.value)->kind == NodeKind::iota && !k_.g.is_leaf(a.value) && !a.write;
}

Dims SpaceCode::sizes(int axis) const {
  const Axis& a = axes_[static_cast<size_t>(axis)];
  Dims out;
  for (int d = a.first; d < a.first + a.count; ++d) out.push_back(shape_[d]);
  return out;
}

Reach SpaceCode::reach(const Access& a, const Part& part) const {
  Reach out{a.layout.offset, a.layout.offset};
  for (size_t i = 0; i < axes_.size(); ++i) {
    Dims strides;
    for (int d = axes_[i].first; d < axes_[i].first + axes_[i].count; ++d)
      strides.push_back(a.layout.strides[d]);
    out.add(reach_of(sizes(static_cast<int>(i)), strides, part[i]));
  }
  return out;
}

int64_t SpaceCode::widest(const Part& part) const {
  int64_t most = 0;
  for (const Access& a : accesses_)
    if (!is_iota(a))
      most = std::max(most, reach(a, part).count() * info(k_.dtype_of(a.value)).size);
  return most;
}

int64_t SpaceCode::extent(int axis) const {
  if (!part_.empty()) return part_[static_cast<size_t>(axis)].size();
  int64_t n = 1;
  const Axis& a = axes_[static_cast<size_t>(axis)];
  for (int d = a.first; d < a.first + a.count; ++d) n *= shape_[d];
  return n;
}

int SpaceCode::lane_dim(int axis) const {
  const Axis& a = axes_[static_cast<size_t>(axis)];
  return a.count ? a.first + a.count - 1 : -1;
}

// Whether every position of a step of 4 along `lane` starts on a multiple of 4 elements.
bool SpaceCode::aligned(const Access& a, int lane) const {
  int64_t offset = a.layout.offset;
  if (k_.g.is_leaf(a.value)) offset += k_.g.leaf(a.value)->layout.offset;
  if (offset % 4 != 0) return false;
  for (int d = 0; d < shape_.size(); ++d)
    if (d != lane && a.layout.strides[d] % 4 != 0) return false;
  return true;
}

bool SpaceCode::can_vectorize(int axis, bool overrun, bool gather) const {
  int lane = lane_dim(axis);
  if (lane < 0) return false;
  bool whole = shape_[lane] % 4 == 0;
  if (!whole && !(overrun && shape_.size() == 1)) return false;
  for (const Access& a : accesses_) {
    if (is_iota(a)) continue;
    int64_t s = a.layout.strides[lane];
    if (s == 0 && !a.write) continue;
    if (s == 1 && aligned(a, lane)) continue;
    if (a.write || !gather || !whole) return false;
  }
  return true;
}

void SpaceCode::set_width(int width, int lane_axis) {
  width_ = width;
  lane_axis_ = lane_axis;
  for (const Access& a : accesses_) {
    if (is_iota(a)) continue;
    int lane = lane_dim(lane_axis_);
    bool vec = width == 4 && lane >= 0 && a.layout.strides[lane] == 1 && aligned(a, lane);
    k_.want_vec4(a.value, vec);
  }
}

bool SpaceCode::same_place(int value, int output) const {
  const Access *read = nullptr, *write = nullptr;
  for (const Access& a : accesses_) {
    if (a.write && a.value == output) write = &a;
    if (a.write) continue;
    bool alias = a.value == value;
    if (k_.g.is_leaf(value) && k_.g.is_leaf(a.value)) {
      size_t first = k_.g.nodes.size();
      alias = k_.g.leaf_buffer[static_cast<size_t>(value) - first] ==
              k_.g.leaf_buffer[static_cast<size_t>(a.value) - first];
    }
    if (!alias) continue;
    if (read) return false;
    read = &a;
  }
  if (!read || !write || read->value != value || !(read->layout == write->layout)) return false;
  return !k_.g.is_leaf(value) || k_.g.leaf(value)->layout.offset == 0;
}

bool SpaceCode::reads(int value) const {
  return std::any_of(accesses_.begin(), accesses_.end(),
                     [&](const Access& a) { return !a.write && a.value == value; });
}

int64_t SpaceCode::unit_strides(int axis) const {
  int lane = lane_dim(axis);
  if (lane < 0) return 0;
  int64_t total = 0;
  for (const Access& a : accesses_) {
    if (a.write || a.layout.strides[lane] != 1) continue;
    int64_t elements = 1;
    for (int d = 0; d < shape_.size(); ++d)
      if (a.layout.strides[d] != 0) elements *= shape_[d];
    total += elements;
  }
  return total;
}

// ---- SpaceCode: writing code ------------------------------------------------------------------

std::string SpaceCode::type(DType t) const {
  return wgsl_type(info(t).compute, width_);
}

std::string SpaceCode::let(const std::string& expression) {
  std::string name = "v" + std::to_string(k_.next_name++);
  body_ += "  let " + name + " = " + expression + ";\n";
  return name;
}

void SpaceCode::begin() {
  body_.clear();
  coords_.assign(static_cast<size_t>(shape_.size()), "");
  for (size_t i = 0; i < axes_.size(); ++i) {
    const Axis& a = axes_[i];
    std::string rest = a.var;
    if (!part_.empty() && a.count > 0)
      rest = let(rest + " + " + k_.params.add("begin", static_cast<uint32_t>(part_[i].begin)));
    for (int d = a.first + a.count - 1; d >= a.first; --d) {
      if (d == a.first) {
        coords_[static_cast<size_t>(d)] = rest;
        break;
      }
      std::string size = k_.params.add("size", static_cast<uint32_t>(shape_[d]));
      std::string quotient = let(rest + " / " + size);
      coords_[static_cast<size_t>(d)] = let(rest + " - " + quotient + " * " + size);
      rest = quotient;
    }
  }
}

void SpaceCode::define(int value, const Layout& layout, const std::string& name) {
  defined_.push_back({{value, layout}, name});
}

std::string SpaceCode::index(const Access& a, const std::string& lane) {
  std::string s;
  for (int d = 0; d < shape_.size(); ++d) {
    int64_t stride = a.layout.strides[d];
    if (stride == 0) continue;
    std::string c = coordinate(d);
    if (!lane.empty() && d == lane_dim(lane_axis_)) c = "(" + c + " + " + lane + ")";
    if (stride != 1) c += " * " + k_.params.add("stride", static_cast<uint32_t>(stride));
    s += (s.empty() ? "" : " + ") + c;
  }
  if (k_.windowed && a.binding >= 0) {
    s += (s.empty() ? "" : " + ") + k_.params.add_patched("offset", Patch::window, a.binding,
                                                          static_cast<uint32_t>(a.layout.offset));
  } else if (k_.g.is_leaf(a.value)) {
    std::string offset = k_.params.add_patched("offset", Patch::offset, a.value,
                                               static_cast<uint32_t>(a.layout.offset));
    s += (s.empty() ? "" : " + ") + offset;
  } else if (a.layout.offset != 0) {
    s += (s.empty() ? "" : " + ") + k_.params.add("offset", static_cast<uint32_t>(a.layout.offset));
  }
  return s.empty() ? "0u" : s;
}

std::string SpaceCode::emit_iota(Access& a) {
  DType t = k_.dtype_of(a.value);
  std::string i = let(index(a)), c = info(t).compute;
  auto constant_of = [&](const char* name, Patch::Source low, Patch::Source high) {
    std::string first = k_.params.add_patched(name, low, a.value, 0);
    return constant(t, first, is_wide(t) ? k_.params.add_patched(name, high, a.value, 0) : "");
  };
  std::string start = let(constant_of("start", Patch::bits, Patch::bits_high));
  std::string step = let(constant_of("step", Patch::step, Patch::step_high));
  auto at = [&](const std::string& j) {
    return "(" + start + " + " + c + "(" + j + ") * " + step + ")";
  };
  if (width_ == 1) return let(at(i));
  int lane = lane_dim(lane_axis_);
  std::string s =
      std::to_string(static_cast<uint32_t>(lane < 0 ? 0 : a.layout.strides[lane])) + "u";
  return let(type(t) + "(" + at(i) + ", " + at(i + " + " + s) + ", " + at(i + " + 2u * " + s) +
             ", " + at(i + " + 3u * " + s) + ")");
}

std::string SpaceCode::emit_load(Access& a) {
  const Node& n = *k_.g.node_of(a.value);
  DType t = n.dtype;
  std::string ty = type(t);
  if (is_iota(a)) return emit_iota(a);
  a.binding = k_.windowed ? k_.bind_window(a.value, rt::Access::read, reach(a, part_))
                          : k_.bind(a.value, rt::Access::read);
  std::string name = KernelCode::name_of(a.binding);
  bool v4 = k_.vec4(a.value);
  if (width_ == 1) return let(load_element(k_, name, t, v4, let(index(a))));
  int lane = lane_dim(lane_axis_);
  int64_t stride = lane < 0 ? 0 : a.layout.strides[lane];
  if (stride == 0) return let(ty + "(" + load_element(k_, name, t, v4, let(index(a))) + ")");
  if (stride == 1 && aligned(a, lane)) {
    std::string i = let(index(a));
    if (is_packed(t)) {
      bool bytes = info(t).per_element == 4;
      std::string first = let(name + "[" + i + (bytes ? " >> 2u]" : " >> 1u]"));
      std::string second = bytes ? "" : let(name + "[(" + i + " >> 1u) + 1u]");
      return let(decode(k_, t, let(unpacked_words(t, first, second)), 4));
    }
    if (v4) return let(name + "[" + i + " >> 2u]");
    return let(ty + "(" + name + "[" + i + "], " + name + "[" + i + " + 1u], " + name + "[" + i +
               " + 2u], " + name + "[" + i + " + 3u])");
  }
  std::string lanes;
  for (int j = 0; j < 4; ++j) {
    std::string i = let(index(a, std::to_string(j) + "u"));
    lanes += (j ? ", " : "") + load_element(k_, name, t, v4, i);
  }
  return let(ty + "(" + lanes + ")");
}

Access* SpaceCode::find(int value, const Layout& original) {
  for (size_t i = 0; i < accesses_.size(); ++i)
    if (accesses_[i].value == value && !accesses_[i].write && originals_[i] == original)
      return &accesses_[i];
  return nullptr;
}

std::string SpaceCode::emit(int value, const Layout& layout) {
  for (const auto& d : defined_)
    if (d.first.first == value && d.first.second == layout) return d.second;
  const Node& n = *k_.g.node_of(value);
  std::string name;
  if (!k_.g.is_leaf(value) && n.kind == NodeKind::fill) {
    std::string low = k_.params.add_patched("scalar", Patch::bits, value, 0), high;
    if (is_wide(n.dtype)) high = k_.params.add_patched("scalar", Patch::bits_high, value, 0);
    std::string scalar = constant(n.dtype, low, high);
    name = let(width_ == 1 ? scalar : type(n.dtype) + "(" + scalar + ")");
  } else if (!k_.g.is_leaf(value) && n.kind == NodeKind::map && inline_placement(value, layout)) {
    name = emit_map(value, layout);
  } else {
    Access* a = find(value, layout);
    if (!a) internal_error("a read that was not collected");
    name = emit_load(*a);
  }
  defined_.push_back({{value, layout}, name});
  return name;
}

std::string SpaceCode::emit_map(int value, const Layout& layout) {
  const Node& n = *k_.g.node_of(value);
  const FlushNode& f = k_.g.nodes[static_cast<size_t>(value)];
  std::vector<std::string> args;
  DType compute = DType::bool_;
  for (const Operand& o : f.operands) {
    auto l = compose(full_, layout, n.shape, o.layout);
    args.push_back(emit(o.value, *l));
    compute = k_.g.node_of(o.value)->dtype;  // where: the last operand decides
  }
  if (n.op == OpId::cast) return let(converted(k_, compute, n.dtype, args[0], width_));
  std::string_view text = op_info(n.op).wgsl[static_cast<int>(info(compute).kind)];
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 < text.size()) {
      char c = text[++i];
      if (c >= '0' && c <= '2') out += args.at(static_cast<size_t>(c - '0'));
      if (c == 'T') out += type(compute);
      if (c == 'F') out += wgsl_type(is_wide(compute) ? "f64" : "f32", width_);
      if (c == 'I') out += wgsl_type(is_wide(compute) ? "i64" : "i32", width_);
      if (c == 'U') out += wgsl_type(is_wide(compute) ? "u64" : "u32", width_);
      if (c == 'B') out += wgsl_type("bool", width_);
    } else if (text[i] == '@') {
      size_t end = text.find('(', i);
      std::string name(text.substr(i + 1, end - i - 1));
      out += k_.use_function(is_wide(compute) ? name + "64" : name, width_);
      i = end - 1;
    } else {
      out += text[i];
    }
  }
  bool narrow = n.op != OpId::copy && n.dtype == compute;
  return let(narrow ? wrapped(n.dtype, out, width_) : out);
}

std::string SpaceCode::write_binding(Access& a) {
  a.binding = k_.windowed ? k_.bind_window(a.value, rt::Access::read_write, reach(a, part_))
                          : k_.bind(a.value, rt::Access::read_write);
  return KernelCode::name_of(a.binding);
}

std::string SpaceCode::emit_word_store(int value, const std::string& first,
                                       const std::string& raw) {
  std::string out;
  for (Access& a : accesses_) {
    if (a.value != value || !a.write) continue;
    DType t = k_.dtype_of(value);
    std::string b = write_binding(a), at = first;
    if (k_.windowed)
      at += " + " + k_.params.add_patched("offset", Patch::window, a.binding,
                                          static_cast<uint32_t>(a.layout.offset + part_[0].begin));
    out += packed_store(b, t, at, raw);
  }
  return out;
}

void SpaceCode::emit_store(int value, const std::string& name) {
  for (Access& a : accesses_) {
    if (a.value != value || !a.write) continue;
    std::string b = write_binding(a);
    DType t = k_.dtype_of(value);
    std::string i = let(index(a));
    if (width_ == 4 && is_packed(t)) {
      body_ += packed_store(b, t, i, let(encode(k_, t, name, 4)));
    } else if (width_ == 4 && k_.vec4(value)) {
      body_ += "  " + b + "[" + i + " >> 2u] = " + name + ";\n";
    } else if (width_ == 4) {
      for (int j = 0; j < 4; ++j)
        body_ += "  " + b + "[" + i + " + " + std::to_string(j) + "u] = " + name + "[" +
                 std::to_string(j) + "];\n";
    } else {
      body_ += "  " + b + "[" + i + "] = " + name + ";\n";
    }
  }
}

std::string SpaceCode::take_body() {
  defined_.clear();
  return std::move(body_);
}

}  // namespace wgt::graph
