// Places that are data: the code of checked indices, of gathered and of scattered elements.
#include <algorithm>

#include "graph/codegen.h"
#include "graph/storage.h"

namespace wgt::graph {

// The same elements read with the same strides are one access, with the widest span.
void SpaceCode::collect_gathered(const Node& gather, int source, const Layout& layout,
                                 const Layout& place) {
  Reach span{static_cast<int64_t>(gather.bits), static_cast<int64_t>(gather.step)};
  for (size_t i = 0; i < accesses_.size(); ++i) {
    Access& a = accesses_[i];
    if (a.value != source || !a.span || !(originals_[i] == layout)) continue;
    a.span = Reach{std::min(a.span->first, span.first), std::max(a.span->last, span.last)};
    a.quads = a.quads && gather.quads;
    for (int d = 0; d < full_.size(); ++d) a.moved[d] |= place.strides[d];
    return;
  }
  accesses_.push_back({source, layout, false, -1, span, gather.quads, place.strides});
  originals_.push_back(layout);
}

// Whether four elements along the last dimension, from a multiple of four on, are moved alike.
bool SpaceCode::moves_fours(const Access& a, int lane) const {
  bool fours = width_ == 4 && !a.write && a.quads && lane == shape_.size() - 1 && lane >= 0 &&
               a.layout.strides[lane] == 1 && aligned(a, lane);
  int64_t covered = 1;
  for (int d = full_.size() - 1; fours && covered < shape_[lane]; --d) {
    if (full_[d] > 1 && a.moved[d] != 0) fours = false;
    covered *= full_[d];
  }
  return fours;
}

std::string SpaceCode::emit_checked(int value, const Layout& layout) {
  const Node& n = *k_.g.node_of(value);
  const auto& operands = k_.g.nodes[static_cast<size_t>(value)].operands;
  auto l = compose(full_, layout, n.shape, operands[0].layout);
  std::string index = emit(operands[0].value, *l);
  DType t = k_.dtype_of(operands[0].value);
  k_.bind_faults(operands[1].value);
  std::string size = k_.params.add_patched("size", Patch::bits, value, 0);
  std::string slot = k_.params.add_patched("slot", Patch::fault_slot, value, 0);
  std::string function = info(t).kind == Kind::i ? "checked_i" : "checked_u";
  function = k_.use_function(is_wide(t) ? function + "64" : function, 1);
  bool writes = n.op == OpId::checked_write;
  auto lane = [&](const std::string& i) {
    return function + "(" + i + ", " + size + ", " + slot + (writes ? ", true)" : ", false)");
  };
  if (width_ == 1) return let(lane(index));
  return let("vec4<u32>(" + lane(index + ".x") + ", " + lane(index + ".y") + ", " +
             lane(index + ".z") + ", " + lane(index + ".w") + ")");
}

std::string SpaceCode::emit_gather(int value, const Layout& layout) {
  const Node& n = *k_.g.node_of(value);
  const auto& operands = k_.g.nodes[static_cast<size_t>(value)].operands;
  auto l = compose(full_, layout, n.shape, operands[1].layout);
  std::string position = emit(operands[1].value, *l);
  int source = operands[0].value;
  Layout base = *compose(full_, layout, n.shape, operands[0].layout);
  size_t i = 0;
  while (accesses_[i].value != source || !accesses_[i].span || !(originals_[i] == base)) ++i;
  Access& a = accesses_[i];
  std::vector<Slice> parts = slices(a, rt::Access::read);
  if (parts.empty())
    a.binding = k_.windowed ? k_.bind_window(source, rt::Access::read, reach(a, part_))
                            : k_.bind(source, rt::Access::read);
  std::string start = let(start_of(a, parts));
  if (width_ == 1) return let(load_gathered(a, parts, start + " + " + position));
  int dim = lane_dim(lane_axis_);
  if (parts.empty() && moves_fours(a, dim))
    return load_four(KernelCode::name_of(a.binding), n.dtype, k_.vec4(source),
                     let(start + " + " + position + ".x"));
  int64_t stride = dim < 0 ? 0 : a.layout.strides[dim];
  std::string step = stride ? k_.params.add("stride", static_cast<uint32_t>(stride)) : "";
  std::string lanes;
  for (int j = 0; j < 4; ++j) {
    std::string at = start + " + " + position + "[" + std::to_string(j) + "]";
    if (stride && j) at += " + " + std::to_string(j) + "u * " + step;
    lanes += (j ? ", " : "") + load_gathered(a, parts, at);
  }
  return let(type(n.dtype) + "(" + lanes + ")");
}

std::vector<SpaceCode::Slice> SpaceCode::slices(const Access& a, rt::Access how) {
  std::vector<Slice> out;
  if (!k_.windowed) return out;
  Reach all = reach(a, part_);
  int64_t room = KernelCode::window_limit(k_.device) / info(k_.dtype_of(a.value)).size / 4 * 4;
  if (all.count() <= room) return out;
  for (int64_t first = all.first; first <= all.last; first += room) {
    Reach part{first, std::min(all.last, first + room - 1)};
    auto begin = static_cast<uint32_t>(first);
    Slice s;
    s.binding = k_.bind_slice(a.value, how, part);
    s.begin = k_.params.add("begin", begin);
    s.count = k_.params.add("count", static_cast<uint32_t>(part.count()));
    s.shift = k_.params.add_patched("shift", Patch::window, s.binding, begin);
    out.push_back(s);
  }
  return out;
}

// Where the access starts, before data moves it: in its binding, or among its slices.
std::string SpaceCode::start_of(const Access& a, const std::vector<Slice>& slices) {
  if (slices.empty()) return index(a);
  std::string s = walk(a, "");
  return (s.empty() ? "" : s + " + ") +
         k_.params.add("offset", static_cast<uint32_t>(a.layout.offset));
}

// One element, scalar.
std::string SpaceCode::load_gathered(const Access& a, const std::vector<Slice>& slices,
                                     const std::string& place) {
  DType t = k_.dtype_of(a.value);
  std::string i = let(place);
  if (slices.empty())
    return load_element(k_, KernelCode::name_of(a.binding), t, k_.vec4(a.value), i);
  std::string v;
  for (const Slice& s : slices) {
    std::string inside = let(i + " - " + s.begin + " < " + s.count);
    std::string at = let("select(0u, " + i + " - " + s.begin + ", " + inside + ") + " + s.shift);
    std::string e = load_element(k_, KernelCode::name_of(s.binding), t, false, at);
    v = let(v.empty() ? e : "select(" + v + ", " + e + ", " + inside + ")");
  }
  return v;
}

void SpaceCode::emit_scatter(int value, const std::string& name, const std::string& position) {
  constexpr const char* functions[] = {"", "atomicAdd", "atomicMax", "atomicMin"};
  const Node& n = *k_.g.node_of(value);
  size_t found = 0;
  while (accesses_[found].value != value || !accesses_[found].write) ++found;
  Access& a = accesses_[found];
  std::vector<Slice> parts = slices(a, rt::Access::read_write);
  if (parts.empty()) write_binding(a);
  std::string i = let(start_of(a, parts) + " + " + position);
  std::string last = k_.params.add("last", static_cast<uint32_t>(n.step));
  std::string known = let(position + " <= " + last);
  auto put = [&](int binding, const std::string& at, const std::string& condition) {
    std::string place = KernelCode::name_of(binding) + "[" + at + "]";
    body_ += "  if (" + condition + ") { ";
    if (n.scatter == ScatterOp::store) {
      body_ += place + " = " + name + "; }\n";
    } else {
      k_.set_atomic(binding);
      body_ += std::string(functions[static_cast<int>(n.scatter)]) + "(&" + place + ", " + name +
               "); }\n";
    }
  };
  if (parts.empty()) put(a.binding, i, known);
  for (const Slice& s : parts)
    put(s.binding, i + " - " + s.begin + " + " + s.shift,
        known + " && " + i + " - " + s.begin + " < " + s.count);
}

}  // namespace wgt::graph
