#include "graph/fusion.h"

#include <algorithm>
#include <cstdlib>
#include <queue>

#include "graph/engine.h"
#include "graph/fuser.h"

namespace wgt::graph {

const char* name_of(const Node& n) {
  switch (n.kind) {
    case NodeKind::map:
      return op_info(n.op).name;
    case NodeKind::reduce:
      return reduce_name(n.reduce);
    case NodeKind::matmul:
      return "matmul";
    case NodeKind::scan:
      return "scan";
    case NodeKind::sort:
      return "sort";
    case NodeKind::search:
      return "search";
    case NodeKind::tally:
    case NodeKind::compact:
      return "nonzero";
    case NodeKind::normalize:
      return "normalize";
    case NodeKind::segments:
      return "segments";
    case NodeKind::assign:
    case NodeKind::scatter:
      return "setitem";
    case NodeKind::softmax:
      return n.logarithm ? "log_softmax" : "softmax";
    default:
      return "copy";
  }
}

namespace {

constexpr int kAnchorCost = 1000;  // of a node that is never computed twice
constexpr int kRandomCost = 4;     // of random bits, in operations
constexpr int kRecomputeCost = 8;  // operations that several kernels may each compute anew
constexpr int kDeferCost = 16;     // operations that a held node may wait with
constexpr int kExpand = 4;         // a broadcast that multiplies work by more is written first

int own_cost(const Node& n) {
  if (n.kind == NodeKind::random) return kRandomCost;
  return is_generator(n) ? 0 : n.kind == NodeKind::map ? 1 : kAnchorCost;
}

}  // namespace

void Fuser::measure() {
  for (int id = 0; id < static_cast<int>(g_.nodes.size()); ++id) {
    const FlushNode& f = flush_node(id);
    int cost = own_cost(*f.node);
    uint64_t pinned = 0;
    for (size_t k = 0; k < f.operands.size(); ++k) {
      int v = f.operands[k].value;
      if (g_.is_leaf(v)) {
        pinned += g_.leaf(v)->buffer->bytes;
      } else {
        readers_[static_cast<size_t>(v)].push_back({id, static_cast<int>(k)});
        cost += cost_[static_cast<size_t>(v)];
        pinned += pinned_[static_cast<size_t>(v)];
      }
    }
    cost_[static_cast<size_t>(id)] = std::min(cost, kAnchorCost);
    pinned_[static_cast<size_t>(id)] = std::min<uint64_t>(pinned, uint64_t{1} << 60);
  }
}

void Fuser::want(Demand& d, const Placement& p) {
  for (const Placement& q : d.at) {
    if (q == p) return;
    if (q.group == p.group) d.conflict = true;
  }
  d.at.push_back(p);
}

Fuser::Demand Fuser::demand_of(int id) {
  Demand d;
  for (auto [r, k] : readers_[static_cast<size_t>(id)]) {
    const Node& reader = node(r);
    const Operand& o = flush_node(r).operands[static_cast<size_t>(k)];
    if (reader.kind == NodeKind::map) {
      for (const Placement& p : placements(r)) {
        add_group(d.reader_groups, p.group);
        if (reads_memory(reader, k)) {
          add_group(d.memory_groups, p.group);
          continue;
        }
        auto l = compose(group(p.group).space[p.space], p.layout, reader.shape, o.layout);
        if (l)
          want(d, {p.group, p.space, *l});
        else
          add_group(d.memory_groups, p.group);
      }
    } else {
      int home = out_.home[static_cast<size_t>(r)];
      if (home < 0) home = placements(r).at(0).group;
      add_group(d.reader_groups, home);
      if (reads_memory(reader, k)) {
        add_group(d.memory_groups, home);
      } else {
        want(d, {home, 0, input_layout(reader, o.layout)});
      }
    }
  }
  return d;
}

Layout Fuser::input_layout(const Node& reader, const Layout& l) {
  if (reader.kind != NodeKind::reduce) return l;
  std::vector<int> order;
  input_space(reader, &order);
  Layout out{Dims(), l.offset};
  for (int d : order) out.strides.push_back(l.strides[d]);
  return out;
}

void Fuser::place(int id) {
  const FlushNode& f = flush_node(id);
  Node& n = *f.node;
  Demand d = demand_of(id);
  bool required = f.root || !d.memory_groups.empty();
  if (is_generator(n)) {
    placements(id) = d.at;
    if (required) materialize_alone(id, d);
    return;
  }
  if (f.held && !f.root && !deferrable(id)) required = true;
  if (n.kind == NodeKind::map)
    place_map(id, d, required);
  else
    place_anchor(id, d, required);
}

bool Fuser::deferrable(int id) const {
  return node(id).kind == NodeKind::map && cost_[static_cast<size_t>(id)] <= kDeferCost &&
         pinned_[static_cast<size_t>(id)] <= std::max<uint64_t>(node(id).bytes() * 2, 512);
}

void Fuser::place_map(int id, Demand& d, bool required) {
  bool cheap = cost_[static_cast<size_t>(id)] <= kRecomputeCost;
  bool inline_all = !required && !d.conflict && !d.at.empty() && (d.at.size() == 1 || cheap);
  for (const Placement& p : d.at) {
    if (!inline_all) break;
    bool expands = numel(group(p.group).space[p.space]) > kExpand * numel(node(id).shape);
    if (!can_join(p.group, id, false) || !composes(p, id) || (expands && !cheap))
      inline_all = false;
  }
  if (inline_all) {
    placements(id) = d.at;
    for (const Placement& p : d.at) join(p.group, id);
    return;
  }
  if (!d.conflict)
    for (const Placement& p : d.at)
      if (can_be_output(p, id) && composes(p, id) && !cyclic(p.group, d)) {
        placements(id) = {p};
        join(p.group, id);
        add_output(p.group, id, d);
        return;
      }
  note(id, d, required);
  materialize_alone(id, d);
}

void Fuser::place_anchor(int id, Demand& d, bool required) {
  if (!is_assignment(node(id)) && !d.conflict)
    for (const Placement& p : d.at) {
      bool sole = d.reader_groups.size() == 1 && !required;
      if (!can_absorb(p, id, !sole) || (!sole && cyclic(p.group, d))) continue;
      absorb(p.group, id);
      placements(id) = {{p.group, 1, identity(group(p.group).space[1])}};
      if (!sole) add_output(p.group, id, d);
      out_.home[static_cast<size_t>(id)] = p.group;
      return;
    }
  note(id, d, required);
  materialize_alone(id, d);
}

void Fuser::note(int id, const Demand& d, bool required) {
  const Node& n = node(id);
  if (d.at.empty() && d.memory_groups.empty()) return;
  if (is_assignment(n)) return;
  bool map = n.kind == NodeKind::map;
  std::string why = !d.memory_groups.empty() ? "a reader needs it in memory"
                    : required               ? "it is held and costly, or asked for"
                    : d.conflict             ? "one kernel reads it through two different views"
                    : map && !composes(d.at[0], id)
                        ? "its operands cannot be read through a view of it"
                    : !map            ? "no kernel of its readers can compute it"
                    : d.at.size() > 1 ? "several kernels read it and it is costly"
                                      : "the kernel is at its limit of operations or buffers";
  out_.notes.push_back(std::string(name_of(n)) + " " + to_string(n.shape) + " is written: " + why);
}

void Fuser::sort_groups() {
  size_t n = out_.groups.size();
  std::vector<int> waits(n, 0), rank(n), where(n);
  for (const Group& g : out_.groups)
    for (int s : g.successors) ++waits[static_cast<size_t>(s)];
  using Item = std::pair<int, int>;  // oldest output, group
  std::priority_queue<Item, std::vector<Item>, std::greater<>> ready;
  auto push = [&](size_t i) {
    const auto& o = out_.groups[i].outputs;
    ready.push({*std::min_element(o.begin(), o.end()), static_cast<int>(i)});
  };
  for (size_t i = 0; i < n; ++i)
    if (!waits[i]) push(i);
  std::vector<int> order;
  while (!ready.empty()) {
    int g = ready.top().second;
    ready.pop();
    order.push_back(g);
    for (int s : group(g).successors)
      if (--waits[static_cast<size_t>(s)] == 0) push(static_cast<size_t>(s));
  }
  if (order.size() != n) internal_error("fusion made a circle");
  std::vector<Group> sorted;
  for (size_t i = 0; i < n; ++i) {
    where[static_cast<size_t>(order[i])] = static_cast<int>(i);
    sorted.push_back(std::move(group(order[i])));
  }
  out_.groups = std::move(sorted);
  for (auto& list : out_.placements)
    for (Placement& p : list) p.group = where[static_cast<size_t>(p.group)];
  for (int& h : out_.home)
    if (h >= 0) h = where[static_cast<size_t>(h)];
}

Dims input_space(const Node& anchor, std::vector<int>* order) {
  if (is_assignment(anchor)) return anchor.inputs[1]->shape;
  const Dims& in = anchor.inputs[0]->shape;
  if (anchor.kind != NodeKind::reduce) return in;
  std::vector<int> dims;
  for (int pass = 0; pass < 2; ++pass)
    for (int d = 0; d < in.size(); ++d)
      if (((anchor.axes >> d) & 1u) == static_cast<uint32_t>(pass)) dims.push_back(d);
  if (anchor.reduce != ReduceOp::argmax && anchor.reduce != ReduceOp::argmin) {
    // Reduced elements in the order of memory, where they are read from it.
    Layout l = Engine::layout_of(*anchor.inputs[0]);
    std::stable_sort(dims.begin() + anchor.shape.size(), dims.end(),
                     [&](int a, int b) { return std::abs(l.strides[a]) > std::abs(l.strides[b]); });
  }
  Dims space;
  for (int d : dims) space.push_back(in[d]);
  if (order) *order = dims;
  return space;
}

Fusion fuse(const FlushGraph& g, const FusionLimits& limits) {
  return Fuser(g, limits).run();
}

}  // namespace wgt::graph
