#include "graph/fusion.h"

#include <algorithm>
#include <cstdlib>
#include <queue>

#include "graph/engine.h"

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

bool is_generator(const Node& n) {
  return n.kind == NodeKind::fill || n.kind == NodeKind::iota || n.kind == NodeKind::random;
}

int own_cost(const Node& n) {
  if (n.kind == NodeKind::random) return kRandomCost;
  return is_generator(n) ? 0 : n.kind == NodeKind::map ? 1 : kAnchorCost;
}

// Writes into a buffer by its nature.
bool is_assignment(const Node& n) {
  return n.kind == NodeKind::assign || n.kind == NodeKind::scatter || n.kind == NodeKind::segments;
}

// Whether operand k must be in memory, whole.
bool reads_memory(const Node& reader, int k) {
  if (reader.kind == NodeKind::map) return reader.op == OpId::gather && k == 0;
  if (reader.kind == NodeKind::compact || reader.kind == NodeKind::search) return k == 1;
  return reader.kind == NodeKind::matmul || (is_assignment(reader) && k == 0);
}

Layout identity(const Dims& shape) {
  return Layout{contiguous_strides(shape), 0};
}

class Fuser {
 public:
  Fuser(const FlushGraph& g, const FusionLimits& limits) : g_(g), limits_(limits) {
    size_t n = g.nodes.size();
    out_.placements.resize(n);
    out_.materialized.assign(n, false);
    out_.home.assign(n, -1);
    readers_.resize(n);
    cost_.assign(n, 0);
    pinned_.assign(n, 0);
  }

  Fusion run() {
    measure();
    for (int id = static_cast<int>(g_.nodes.size()) - 1; id >= 0; --id) place(id);
    sort_groups();
    return std::move(out_);
  }

 private:
  Node& node(int id) const { return *g_.nodes[static_cast<size_t>(id)].node; }
  const FlushNode& flush_node(int id) const { return g_.nodes[static_cast<size_t>(id)]; }
  std::vector<Placement>& placements(int id) { return out_.placements[static_cast<size_t>(id)]; }

  // Readers of each node; cost and pinned bytes of its elementwise tree.
  void measure() {
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

  struct Demand {
    std::vector<Placement> at;       // where readers would compute it
    std::vector<int> reader_groups;  // all groups that need it
    std::vector<int> memory_groups;  // groups that can only read it from memory
    bool conflict = false;           // two different placements in one group
  };

  void want(Demand& d, const Placement& p) {
    for (const Placement& q : d.at) {
      if (q == p) return;
      if (q.group == p.group) d.conflict = true;
    }
    d.at.push_back(p);
  }

  Demand demand_of(int id) {
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

  // The operand's layout over the anchor's input-side space.
  static Layout input_layout(const Node& reader, const Layout& l) {
    if (reader.kind != NodeKind::reduce) return l;
    std::vector<int> order;
    input_space(reader, &order);
    Layout out{Dims(), l.offset};
    for (int d : order) out.strides.push_back(l.strides[d]);
    return out;
  }

  Group& group(int i) { return out_.groups[static_cast<size_t>(i)]; }
  static void add_group(std::vector<int>& set, int g) {
    if (std::find(set.begin(), set.end(), g) == set.end()) set.push_back(g);
  }

  void place(int id) {
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

  bool deferrable(int id) const {
    return node(id).kind == NodeKind::map && cost_[static_cast<size_t>(id)] <= kDeferCost &&
           pinned_[static_cast<size_t>(id)] <= std::max<uint64_t>(node(id).bytes() * 2, 512);
  }

  void place_map(int id, Demand& d, bool required) {
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

  void place_anchor(int id, Demand& d, bool required) {
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

  // Values that group g reads from memory once `id` is computed inside it.
  std::vector<int> externals_with(const Group& g, int id) const {
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

  // Bindings on top of the group's externals, once `id` is in it. A matrix product binds both
  // operands for itself, a sort what its kernels hand on: items of up to three words, two tables.
  size_t private_bindings(int gi, int id) const {
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

  // Whether every operand of an elementwise node can be indexed where the node would be computed.
  bool composes(const Placement& p, int id) {
    const Dims& space = group(p.group).space[p.space];
    const auto& operands = flush_node(id).operands;
    return std::all_of(operands.begin(), operands.end(), [&](const Operand& o) {
      return compose(space, p.layout, node(id).shape, o.layout).has_value();
    });
  }

  bool can_join(int gi, int id, bool as_output) {
    const Group& g = group(gi);
    if (g.ops + 1 > limits_.max_ops) return false;
    size_t buffers = externals_with(g, id).size() + g.outputs.size() + (as_output ? 1 : 0) +
                     private_bindings(gi, id);
    return buffers <= static_cast<size_t>(limits_.max_buffers) &&
           words_with(gi, id) <= limits_.max_words;
  }

  // At most so many parameters does group gi need once `id` is in it: strides and an offset for
  // each operand that no member computes, and for each result.
  int words_with(int gi, int id) const {
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

  bool inside(int gi, int value) const {
    if (g_.is_leaf(value) || node(value).kind != NodeKind::map) return false;
    const auto& list = out_.placements[static_cast<size_t>(value)];
    return std::any_of(list.begin(), list.end(), [&](const Placement& p) { return p.group == gi; });
  }

  void join(int gi, int id) {
    Group& g = group(gi);
    g.externals = externals_with(g, id);
    g.ops += 1;
    members_[static_cast<size_t>(gi)].push_back(id);
  }

  bool can_be_output(const Placement& p, int id) {
    Group& g = group(p.group);
    bool output_side = g.anchor < 0 ? p.space == 0 : p.space == 1;
    if (!output_side || (g.anchor >= 0 && !writes(node(g.anchor), node(id).dtype))) return false;
    if (g.anchor >= 0 && is_assignment(node(g.anchor))) return false;
    return covers(p, node(id)) && can_join(p.group, id, true);
  }

  // Whether the kernel of this anchor writes this dtype: items that share words are not for all.
  static bool writes(const Node& anchor, DType t) {
    return !is_packed(t) || (is_bool(t) && anchor.kind == NodeKind::reduce);
  }

  // Whether the placement computes every element of n once, in order.
  bool covers(const Placement& p, const Node& n) {
    const Dims& space = group(p.group).space[p.space];
    return numel(space) == numel(n.shape) && p.layout == identity(space);
  }

  bool can_absorb(const Placement& p, int id, bool as_output) {
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

  // A placement's layout over the same elements in another shape. As layouts are compared, dense
  // ones stay exactly dense, also where a size is 1.
  static std::optional<Layout> reshaped(const Dims& space, const Layout& l, const Dims& shape) {
    if (l.strides == contiguous_strides(space)) return Layout{contiguous_strides(shape), l.offset};
    auto strides = reshape_strides(space, l.strides, shape);
    if (!strides) return std::nullopt;
    return Layout{*strides, l.offset};
  }

  // Whether everything in an elementwise group can be computed over the same elements in another
  // shape.
  bool reshapes(int gi, const Dims& shape) const {
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

  void absorb(int gi, int id) {
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

  void add_output(int gi, int id, const Demand& d) {
    group(gi).outputs.push_back(id);
    out_.materialized[static_cast<size_t>(id)] = true;
    out_.home[static_cast<size_t>(id)] = gi;
    for (int r : d.reader_groups)
      if (r != gi) add_group(group(gi).successors, r);
  }

  void materialize_alone(int id, const Demand& d) {
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

  // Would writing a value in group gi, while the other readers wait for it, close a circle?
  bool cyclic(int gi, const Demand& d) {
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

  void note(int id, const Demand& d, bool required) {
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
    out_.notes.push_back(std::string(name_of(n)) + " " + to_string(n.shape) +
                         " is written: " + why);
  }

  void sort_groups() {
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

  const FlushGraph& g_;
  FusionLimits limits_;
  Fusion out_;
  std::vector<std::vector<int>> members_;
  std::vector<std::vector<std::pair<int, int>>> readers_;
  std::vector<int> cost_;
  std::vector<uint64_t> pinned_;
};

}  // namespace

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
