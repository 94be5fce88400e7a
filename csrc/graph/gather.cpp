// Places that are data: the code of checked indices, of gathered and of scattered elements.
#include <algorithm>

#include "graph/codegen.h"
#include "graph/storage.h"

namespace wgt::graph {

// The same elements read with the same strides are one access, with the widest span.
void SpaceCode::collect_gathered(const Node& gather, int source, const Layout& layout) {
  Reach span{static_cast<int64_t>(gather.bits), static_cast<int64_t>(gather.step)};
  for (size_t i = 0; i < accesses_.size(); ++i) {
    Access& a = accesses_[i];
    if (a.value != source || !a.span || !(originals_[i] == layout)) continue;
    a.span = Reach{std::min(a.span->first, span.first), std::max(a.span->last, span.last)};
    return;
  }
  accesses_.push_back({source, layout, false, -1, span});
  originals_.push_back(layout);
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
  auto lane = [&](const std::string& i) {
    return function + "(" + i + ", " + size + ", " + slot + ")";
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
  a.binding = k_.windowed ? k_.bind_window(source, rt::Access::read, reach(a, part_))
                          : k_.bind(source, rt::Access::read);
  std::string name = KernelCode::name_of(a.binding), start = let(index(a));
  bool vec4 = k_.vec4(source);
  auto load = [&](const std::string& at) { return load_element(k_, name, n.dtype, vec4, let(at)); };
  if (width_ == 1) return let(load(start + " + " + position));
  int dim = lane_dim(lane_axis_);
  int64_t stride = dim < 0 ? 0 : a.layout.strides[dim];
  std::string step = stride ? k_.params.add("stride", static_cast<uint32_t>(stride)) : "";
  std::string lanes;
  for (int j = 0; j < 4; ++j) {
    std::string at = start + " + " + position + "[" + std::to_string(j) + "]";
    if (stride && j) at += " + " + std::to_string(j) + "u * " + step;
    lanes += (j ? ", " : "") + load(at);
  }
  return let(type(n.dtype) + "(" + lanes + ")");
}

void SpaceCode::emit_scatter(int value, const std::string& name, const std::string& position) {
  constexpr const char* functions[] = {"", "atomicAdd", "atomicMax", "atomicMin"};
  const Node& n = *k_.g.node_of(value);
  size_t i = 0;
  while (accesses_[i].value != value || !accesses_[i].write) ++i;
  Access& a = accesses_[i];
  std::string out = write_binding(a), at = let(index(a) + " + " + position);
  std::string last = k_.params.add("last", static_cast<uint32_t>(n.step));
  std::string place = out + "[" + at + "]";
  body_ += "  if (" + position + " <= " + last + ") { ";
  if (n.scatter == ScatterOp::store) {
    body_ += place + " = " + name + "; }\n";
  } else {
    k_.set_atomic(a.binding);
    body_ +=
        std::string(functions[static_cast<int>(n.scatter)]) + "(&" + place + ", " + name + "); }\n";
  }
}

}  // namespace wgt::graph
