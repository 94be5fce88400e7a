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

std::string SpaceCode::walk(const Access& a, const std::string& lane) {
  std::string s;
  for (int d = 0; d < shape_.size(); ++d) {
    int64_t stride = a.layout.strides[d];
    if (stride == 0) continue;
    std::string c = coordinate(d);
    if (!lane.empty() && d == lane_dim(lane_axis_)) c = "(" + c + " + " + lane + ")";
    if (stride != 1) c += " * " + k_.params.add("stride", static_cast<uint32_t>(stride));
    s += (s.empty() ? "" : " + ") + c;
  }
  return s;
}

std::string SpaceCode::index(const Access& a, const std::string& lane) {
  std::string s = walk(a, lane);
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

std::string SpaceCode::emit_random(Access& a) {
  auto pair = [&](const char* name, Patch::Source low, Patch::Source high) {
    std::string first = k_.params.add_patched(name, low, a.value, 0);
    return let("vec2<u32>(" + first + ", " + k_.params.add_patched(name, high, a.value, 0) + ")");
  };
  std::string key = pair("key", Patch::bits, Patch::bits_high);
  std::string counter = pair("counter", Patch::step, Patch::step_high);
  std::string stream = std::to_string(k_.g.node_of(a.value)->stream) + "u";
  std::string philox = k_.use_function("philox", 1);
  auto words = [&](const std::string& i) {
    return philox + "(" + i + " >> 2u, " + counter + ", " + stream + ", " + key + ")";
  };
  auto word = [&](const std::string& i) { return words(i) + "[" + i + " & 3u]"; };
  std::string at = index(a);
  // Mesa asks of what moves an access or decides a branch whether it is uniform, path by path: the
  // rounds of one block, uniform all, have millions. This is 0, and is not seen to be uniform.
  if (walk(a, "").empty()) at += " + u32(" + axes_.front().var + " == 0xffffffffu)";
  std::string i = let(at);
  if (width_ == 1) return let(word(i));
  int lane = lane_dim(lane_axis_);
  int64_t stride = lane < 0 ? 0 : a.layout.strides[lane];
  if (stride == 0) return let("vec4<u32>(" + word(i) + ")");
  if (stride == 1 && aligned(a, lane)) return let(words(i));
  std::string lanes;
  for (int j = 0; j < 4; ++j)
    lanes += (j ? ", " : "") + word(let(index(a, std::to_string(j) + "u")));
  return let("vec4<u32>(" + lanes + ")");
}

std::string SpaceCode::emit_load(Access& a) {
  const Node& n = *k_.g.node_of(a.value);
  DType t = n.dtype;
  std::string ty = type(t);
  if (is_computed(a)) return n.kind == NodeKind::random ? emit_random(a) : emit_iota(a);
  a.binding = k_.windowed ? k_.bind_window(a.value, rt::Access::read, reach(a, part_))
                          : k_.bind(a.value, rt::Access::read);
  std::string name = KernelCode::name_of(a.binding);
  bool v4 = k_.vec4(a.value);
  if (width_ == 1) return let(load_element(k_, name, t, v4, let(index(a))));
  int lane = lane_dim(lane_axis_);
  int64_t stride = lane < 0 ? 0 : a.layout.strides[lane];
  if (stride == 0) return let(ty + "(" + load_element(k_, name, t, v4, let(index(a))) + ")");
  if (stride == 1 && aligned(a, lane)) return load_four(name, t, v4, let(index(a)));
  std::string lanes;
  for (int j = 0; j < 4; ++j) {
    std::string i = let(index(a, std::to_string(j) + "u"));
    lanes += (j ? ", " : "") + load_element(k_, name, t, v4, i);
  }
  return let(ty + "(" + lanes + ")");
}

std::string SpaceCode::load_four(const std::string& name, DType t, bool vec4,
                                 const std::string& i) {
  if (is_packed(t)) {
    bool bytes = info(t).per_element == 4;
    std::string first = let(name + "[" + i + (bytes || vec4 ? " >> 2u]" : " >> 1u]")), second;
    if (!bytes && vec4) {
      second = first + ".y";
      first += ".x";
    } else if (!bytes) {
      second = let(name + "[(" + i + " >> 1u) + 1u]");
    }
    return let(decode(k_, t, let(unpacked_words(t, first, second)), 4));
  }
  if (vec4) return let(name + "[" + i + " >> 2u]");
  return let(type(t) + "(" + name + "[" + i + "], " + name + "[" + i + " + 1u], " + name + "[" + i +
             " + 2u], " + name + "[" + i + " + 3u])");
}

Access* SpaceCode::find(int value, const Layout& original) {
  for (size_t i = 0; i < accesses_.size(); ++i)
    if (accesses_[i].value == value && accesses_[i].is_plain_read() && originals_[i] == original)
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
  if (is_check(n.op)) return emit_checked(value, layout);
  if (n.op == OpId::gather) return emit_gather(value, layout);
  std::vector<std::string> args;
  DType compute = DType::bool_;
  // What leaves a 16-bit float's arithmetic is the number that would have been stored.
  Rule rule = op_info(n.op).rule;
  bool leaves = n.op == OpId::cast || rule == Rule::compare || rule == Rule::predicate;
  for (const Operand& o : f.operands) {
    auto l = compose(full_, layout, n.shape, o.layout);
    args.push_back(emit(o.value, *l));
    compute = k_.g.node_of(o.value)->dtype;  // where: the last operand decides
    bool computed = !k_.g.is_leaf(o.value) && k_.g.node_of(o.value)->kind == NodeKind::map &&
                    inline_placement(o.value, *l);
    if (leaves && computed && is_float(compute) && is_packed(compute))
      args.back() = let(rounded(k_, compute, args.back(), width_));
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
    out += packed_store(b, t, k_.vec4(value), at, raw);
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
      body_ += packed_store(b, t, k_.vec4(value), i, let(encode(k_, t, name, 4)));
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
