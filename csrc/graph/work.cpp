#include "graph/work.h"

#include <limits>

#include "base/settings.h"

namespace wgt::graph {

namespace {

// Of llvmpipe on one core, measured: products of 512 x 512 at 9 GFLOP/s; additions at 5 GB/s.
constexpr double kFlop = 0.11e-9, kAccess = 0.8e-9, kOperation = 1e-9, kSorted = 200e-9;

// How much faster than that the slow ones of a kind are.
double speed(const rt::Device& device) {
  const std::string& type = device.adapter().type;
  if (type == "cpu") return 1;
  return type == "discrete" ? 400 : 40;
}

// Rows times columns times the shared axis.
double products(const FlushGraph& g, const Group& group) {
  const Node& n = *g.node_of(group.anchor);
  const Dims& read = n.inputs[0]->shape;
  double shared = 1;
  for (int d = read.size() - n.ranks.shared; d < read.size(); ++d)
    shared *= static_cast<double>(read[d]);
  return static_cast<double>(numel(n.shape)) * shared;
}

}  // namespace

double seconds_of(const FlushGraph& g, const Group& group, const rt::Device& device) {
  double elements = static_cast<double>(numel(group.space[0]));
  double seconds =
      elements * (kAccess * static_cast<double>(group.externals.size() + group.outputs.size()) +
                  kOperation * group.ops);
  NodeKind kind = group.anchor < 0 ? NodeKind::map : g.node_of(group.anchor)->kind;
  if (kind == NodeKind::matmul) seconds += 2 * kFlop * products(g, group);
  if (kind == NodeKind::sort) seconds += elements * kSorted;
  return seconds / speed(device);
}

bool can_be_cut(const FlushGraph& g, const Group& group) {
  if (group.anchor < 0) return true;
  NodeKind kind = g.node_of(group.anchor)->kind;
  return kind == NodeKind::matmul || kind == NodeKind::reduce || kind == NodeKind::softmax ||
         kind == NodeKind::normalize;
}

double most_seconds() {
  int set = settings().dispatch_ms;
  return set ? set * 1e-3 : std::numeric_limits<double>::infinity();
}

}  // namespace wgt::graph
