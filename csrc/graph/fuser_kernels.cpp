// What the kernels of a fusion can take, and what they become by it.
#include "graph/fuser.h"

namespace wgt::graph {

std::vector<int> Fuser::externals_with(const Group& g, int id) const {
  std::vector<int> ext;
  for (int v : g.externals)
    if (v != id) ext.push_back(v);
  const auto& operands = flush_node(id).operands;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Operand& o = operands[k];
    if (!g_.is_leaf(o.value) && is_generator(node(o.value)) &&
        !reads_memory(node(id), static_cast<int>(k)))
      continue;
    if (std::find(ext.begin(), ext.end(), o.value) == ext.end()) ext.push_back(o.value);
  }
  return ext;
}

size_t Fuser::private_bindings(int gi, int id) const {
  const std::vector<int>& members = members_[static_cast<size_t>(gi)];
  int anchor = out_.groups[static_cast<size_t>(gi)].anchor;
  if (anchor < 0) anchor = id;
  if (node(anchor).kind == NodeKind::sort) return 5;
  if (node(anchor).kind == NodeKind::segments) return 3;  // what its kernels hand on
  if (node(anchor).kind != NodeKind::matmul) return 0;
  const auto& operands = flush_node(anchor).operands;
  int a = operands[0].value, b = operands[1].value;
  auto also_read = [&](int v) {
    auto reads = [&](int m) {
      const auto& o = flush_node(m).operands;
      return m != anchor &&
             std::any_of(o.begin(), o.end(), [&](const Operand& x) { return x.value == v; });
    };
    return reads(id) || std::any_of(members.begin(), members.end(), reads);
  };
  if (a == b) return also_read(a) ? 2 : 1;
  return size_t{also_read(a)} + size_t{also_read(b)};
}

bool Fuser::composes(const Placement& p, int id) {
  const Dims& space = group(p.group).space[p.space];
  const auto& operands = flush_node(id).operands;
  return std::all_of(operands.begin(), operands.end(), [&](const Operand& o) {
    return compose(space, p.layout, node(id).shape, o.layout).has_value();
  });
}

bool Fuser::can_join(int gi, int id, bool as_output) {
  const Group& g = group(gi);
  if (g.ops + 1 > limits_.max_ops) return false;
  size_t buffers = externals_with(g, id).size() + g.outputs.size() + (as_output ? 1 : 0) +
                   private_bindings(gi, id);
  return buffers <= static_cast<size_t>(limits_.max_buffers) &&
         words_with(gi, id) <= limits_.max_words;
}

int Fuser::words_with(int gi, int id) const {
  const Group& g = out_.groups[static_cast<size_t>(gi)];
  int access = std::max({g.space[0].size(), g.space[1].size(), node(id).shape.size()}) + 1;
  int accesses = static_cast<int>(g.outputs.size()) + 1;
  auto count = [&](int m) {
    for (const Operand& o : flush_node(m).operands) accesses += !inside(gi, o.value);
  };
  for (int m : members_[static_cast<size_t>(gi)]) count(m);
  count(id);
  return accesses * access;
}

bool Fuser::inside(int gi, int value) const {
  if (g_.is_leaf(value) || node(value).kind != NodeKind::map) return false;
  const auto& list = out_.placements[static_cast<size_t>(value)];
  return std::any_of(list.begin(), list.end(), [&](const Placement& p) { return p.group == gi; });
}

void Fuser::join(int gi, int id) {
  Group& g = group(gi);
  g.externals = externals_with(g, id);
  g.ops += 1;
  members_[static_cast<size_t>(gi)].push_back(id);
}

bool Fuser::can_be_output(const Placement& p, int id) {
  Group& g = group(p.group);
  bool output_side = g.anchor < 0 ? p.space == 0 : p.space == 1;
  if (!output_side || (g.anchor >= 0 && !writes(node(g.anchor), node(id).dtype))) return false;
  if (g.anchor >= 0 && is_assignment(node(g.anchor))) return false;
  return covers(p, node(id)) && can_join(p.group, id, true);
}

bool Fuser::writes(const Node& anchor, DType t) {
  if (!is_packed(t)) return true;
  // A product's results come in fours, which are whole words where rows have no rest.
  if (anchor.kind == NodeKind::matmul) return anchor.shape.back() % 4 == 0;
  return anchor.kind == NodeKind::reduce && (is_bool(t) || result_words(anchor.reduce) == 1);
}

bool Fuser::covers(const Placement& p, const Node& n) {
  const Dims& space = group(p.group).space[p.space];
  return numel(space) == numel(n.shape) && p.layout == identity(space);
}

bool Fuser::can_absorb(const Placement& p, int id, bool as_output) {
  Group& g = group(p.group);
  Node& n = node(id);
  if (g.anchor >= 0 || !covers(p, n)) return false;
  if (n.kind != NodeKind::reduce && !(g.space[0] == n.shape) &&
      (n.kind != NodeKind::matmul || !reshapes(p.group, n.shape)))
    return false;
  for (int o : g.outputs)
    if (!writes(n, node(o).dtype)) return false;
  return can_join(p.group, id, as_output);
}

std::optional<Layout> Fuser::reshaped(const Dims& space, const Layout& l, const Dims& shape) {
  if (l.strides == contiguous_strides(space)) return Layout{contiguous_strides(shape), l.offset};
  auto strides = reshape_strides(space, l.strides, shape);
  if (!strides) return std::nullopt;
  return Layout{*strides, l.offset};
}

bool Fuser::reshapes(int gi, const Dims& shape) const {
  const Dims& space = out_.groups[static_cast<size_t>(gi)].space[0];
  for (size_t v = 0; v < out_.placements.size(); ++v)
    for (const Placement& p : out_.placements[v]) {
      if (p.group != gi) continue;
      auto layout = reshaped(space, p.layout, shape);
      if (!layout) return false;
      for (const Operand& o : flush_node(static_cast<int>(v)).operands)
        if (!compose(shape, *layout, node(static_cast<int>(v)).shape, o.layout)) return false;
    }
  return true;
}

void Fuser::absorb(int gi, int id) {
  join(gi, id);
  Group& g = group(gi);
  g.anchor = id;
  Dims before = g.space[0];
  g.space[1] = node(id).kind == NodeKind::matmul ? node(id).shape : before;
  g.space[0] = input_space(node(id), nullptr);
  // All placements: generators have some but are no members.
  for (auto& list : out_.placements)
    for (Placement& p : list) {
      if (p.group != gi) continue;
      p.space = 1;
      if (!(before == g.space[1])) p.layout = *reshaped(before, p.layout, g.space[1]);
    }
}

void Fuser::add_output(int gi, int id, const Demand& d) {
  group(gi).outputs.push_back(id);
  out_.materialized[static_cast<size_t>(id)] = true;
  out_.home[static_cast<size_t>(id)] = gi;
  for (int r : d.reader_groups)
    if (r != gi) add_group(group(gi).successors, r);
}

void Fuser::materialize_alone(int id, const Demand& d) {
  Node& n = node(id);
  int gi = static_cast<int>(out_.groups.size());
  out_.groups.emplace_back();
  members_.emplace_back();
  Group& g = group(gi);
  bool plain = n.kind == NodeKind::map || is_generator(n);
  g.anchor = plain ? -1 : id;
  g.space[0] = plain ? n.shape : input_space(n, nullptr);
  g.space[1] = n.shape;
  // A generator keeps the places where readers compute it for themselves.
  placements(id).push_back({gi, plain ? 0 : 1, identity(n.shape)});
  join(gi, id);
  add_output(gi, id, d);
}

bool Fuser::cyclic(int gi, const Demand& d) {
  for (int r : d.memory_groups)
    if (r == gi) return true;
  std::vector<int> stack;
  std::vector<bool> seen(out_.groups.size(), false);
  for (int r : d.reader_groups)
    if (r != gi) stack.push_back(r);
  while (!stack.empty()) {
    int g = stack.back();
    stack.pop_back();
    if (g == gi) return true;
    if (seen[static_cast<size_t>(g)]) continue;
    seen[static_cast<size_t>(g)] = true;
    for (int s : group(g).successors) stack.push_back(s);
  }
  return false;
}

}  // namespace wgt::graph
