// Which nodes share a kernel. The result is a list of groups in an order that can run.
#pragma once
#include <string>
#include <vector>

#include "graph/plan.h"

namespace wgt::graph {

/// Where a node is computed inside a group: over which index space, and through which layout of its
/// own row-major index.
struct Placement {
  int group = -1;
  int space = 0;  // 0: the kernel's input side (or its only space); 1: the output side of an anchor
  Layout layout;
  bool operator==(const Placement&) const = default;
};

struct Group {
  int anchor = -1;  // reduce, softmax, scan, sort, tally, compact, search, matmul or assign; -1:
                    // elementwise only
  std::vector<int> outputs;  // nodes written to memory
  Dims space[2];
  int ops = 0;
  std::vector<int> externals;  // values read from memory
  std::vector<int> successors;
  bool alive = true;
};

struct Fusion {
  std::vector<Group> groups;                       // in execution order
  std::vector<std::vector<Placement>> placements;  // per node; empty: not computed in this flush
  std::vector<bool> materialized;                  // per node: written to memory
  std::vector<int> home;                           // per node: group that writes it, or -1
  std::vector<std::string> notes;
};

struct FusionLimits {
  int max_ops;
  int max_buffers;
  int max_words;  // of parameters
};

Fusion fuse(const FlushGraph& g, const FusionLimits& limits);

/// As notes and errors call a node.
const char* name_of(const Node& n);

/// Axes of a reduction's or softmax's input in the order of its input-side space.
Dims input_space(const Node& anchor, std::vector<int>* order);

}  // namespace wgt::graph
