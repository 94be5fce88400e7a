// A piece of the lazy graph that was recorded once and runs again, for other tensors.
#pragma once
#include <vector>

#include "graph/node.h"

namespace wgt::graph {

/// Nodes of its own: nobody else reads them, and they are never pending.
struct Program {
  std::vector<NodeRef> inputs;   // leaves whose value each run sets; null where nothing reads them
  std::vector<NodeRef> nodes;    // what is computed, views left out, each behind what it reads
  std::vector<NodeRef> results;  // nodes, views of them, inputs, or leaves made while recording
  std::vector<int> given;        // of each result: the input that it is, or -1
  std::vector<bool> shown;       // of each input: whether a result is it, or a view of it
  const rt::Device* device = nullptr;  // that its leaves are on
  std::vector<NodeRef> varying;  // fills and random numbers whose parameters may be set; or null
};

}  // namespace wgt::graph
