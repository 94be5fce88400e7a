// How fusion.cpp decides, node by node, and what fuser_kernels.cpp knows of kernels in the making.
#pragma once
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/fusion.h"

namespace wgt::graph {

inline bool is_generator(const Node& n) {
  return n.kind == NodeKind::fill || n.kind == NodeKind::iota || n.kind == NodeKind::random;
}

// Writes into a buffer by its nature.
inline bool is_assignment(const Node& n) {
  return n.kind == NodeKind::assign || n.kind == NodeKind::scatter || n.kind == NodeKind::segments;
}

// A base that is the same number everywhere is a parameter of kernels that sum exactly.
inline bool is_constant_base(const Node& reader, int k) {
  return reader.any_order && k == 0 && reader.inputs[0]->kind == NodeKind::fill;
}

// Whether operand k must be in memory, whole.
inline bool reads_memory(const Node& reader, int k) {
  if (is_constant_base(reader, k)) return false;
  if (reader.kind == NodeKind::map) return reader.op == OpId::gather && k == 0;
  if (reader.kind == NodeKind::compact || reader.kind == NodeKind::search) return k == 1;
  return reader.kind == NodeKind::matmul || (is_assignment(reader) && k == 0);
}

inline Layout identity(const Dims& shape) {
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
  void measure();

  struct Demand {
    std::vector<Placement> at;       // where readers would compute it
    std::vector<int> reader_groups;  // all groups that need it
    std::vector<int> memory_groups;  // groups that can only read it from memory
    bool conflict = false;           // two different placements in one group
  };

  void want(Demand& d, const Placement& p);
  Demand demand_of(int id);
  // The operand's layout over the anchor's input-side space.
  static Layout input_layout(const Node& reader, const Layout& l);

  Group& group(int i) { return out_.groups[static_cast<size_t>(i)]; }
  static void add_group(std::vector<int>& set, int g) {
    if (std::find(set.begin(), set.end(), g) == set.end()) set.push_back(g);
  }

  void place(int id);
  bool deferrable(int id) const;
  void place_map(int id, Demand& d, bool required);
  void place_anchor(int id, Demand& d, bool required);

  // Values that group g reads from memory once `id` is computed inside it.
  std::vector<int> externals_with(const Group& g, int id) const;
  // Bindings on top of the group's externals, once `id` is in it. A matrix product binds both
  // operands for itself, a sort what its kernels hand on: items of up to three words, two tables.
  size_t private_bindings(int gi, int id) const;
  // Whether every operand of an elementwise node can be indexed where the node would be computed.
  bool composes(const Placement& p, int id);
  bool can_join(int gi, int id, bool as_output);
  // At most so many parameters does group gi need once `id` is in it: strides and an offset for
  // each operand that no member computes, and for each result.
  int words_with(int gi, int id) const;
  bool inside(int gi, int value) const;
  void join(int gi, int id);
  bool can_be_output(const Placement& p, int id);
  // Whether the kernel of this anchor writes this dtype: items that share words are not for all.
  static bool writes(const Node& anchor, DType t);
  // Whether the placement computes every element of n once, in order.
  bool covers(const Placement& p, const Node& n);
  bool can_absorb(const Placement& p, int id, bool as_output);
  // A placement's layout over the same elements in another shape. As layouts are compared, dense
  // ones stay exactly dense, also where a size is 1.
  static std::optional<Layout> reshaped(const Dims& space, const Layout& l, const Dims& shape);
  // Whether everything in an elementwise group can be computed over the same elements in another
  // shape.
  bool reshapes(int gi, const Dims& shape) const;
  void absorb(int gi, int id);
  void add_output(int gi, int id, const Demand& d);
  void materialize_alone(int id, const Demand& d);
  // Would writing a value in group gi, while the other readers wait for it, close a circle?
  bool cyclic(int gi, const Demand& d);
  void note(int id, const Demand& d, bool required);
  void sort_groups();

  const FlushGraph& g_;
  FusionLimits limits_;
  Fusion out_;
  std::vector<std::vector<int>> members_;
  std::vector<std::vector<std::pair<int, int>>> readers_;
  std::vector<int> cost_;
  std::vector<uint64_t> pinned_;
};

}  // namespace wgt::graph
