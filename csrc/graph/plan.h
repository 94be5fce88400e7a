// A plan: the kernels that compute one shape of graph, with everything but buffers and scalars
// decided.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/node.h"
#include "graph/tuning_mode.h"
#include "graph/windows.h"
#include "runtime/device.h"

namespace wgt::graph {

/// What a flush works on, with values numbered: nodes first (in order of creation), then leaves.
struct Operand {
  int value = -1;  // of the source, views removed
  Layout layout;   // over the reader's operand index space (broadcast), to the source's row-major
                   // index; for leaves to elements of the buffer
};

struct FlushNode {
  Node* node = nullptr;
  bool root = false, held = false;
  std::vector<Operand> operands;  // by resolve_operands(): only a new plan needs them
};

struct FlushGraph {
  std::vector<NodeRef> keep;     // keeps the nodes below alive during the flush
  std::vector<FlushNode> nodes;  // pending, views left out, oldest first
  std::vector<Node*> leaves;
  std::vector<bool> leaf_dies;   // nothing but this flush's nodes refers to the leaf
  std::vector<bool> leaf_frees;  // so it is of all leaves that share its buffer: the last frees it
  std::vector<int> leaf_buffer;  // first leaf with the same buffer
  std::vector<Node*> views;      // pending views met on the way
  std::vector<uint64_t> key;
  std::vector<Node*> order, roots;  // scratch
  /// Empty, with its memory kept for the next flush.
  void clear() {
    keep.clear();
    nodes.clear();
    leaves.clear();
    leaf_dies.clear();
    leaf_frees.clear();
    leaf_buffer.clear();
    views.clear();
    key.clear();
    order.clear();
    roots.clear();
  }
  bool is_leaf(int value) const { return value >= static_cast<int>(nodes.size()); }
  Node* leaf(int value) const { return leaves[static_cast<size_t>(value) - nodes.size()]; }
  Node* node_of(int value) const {
    return is_leaf(value) ? leaf(value) : nodes[static_cast<size_t>(value)].node;
  }
};

/// A parameter word filled at execution.
struct Patch {
  enum Source : uint8_t { offset, bits, bits_high, step, step_high, window, fault_slot } source;
  uint16_t word;  // in Step::params
  int value;      // whose leaf offset (added to the word) or scalar bits; window: the binding whose
                  // first element counts
};

/// What a patch takes from its node: an offset, or a scalar's bits.
uint32_t patched(const Node& n, Patch::Source source);

/// The part of a buffer that a step binds: elements on top of the leaf's offset.
struct StepWindow {
  Reach reach;
  int item;  // bytes of an element
};

struct StepOutput {
  int value;  // node, or scratch (numbered after the leaves)
  uint64_t bytes;
  int in_place = -1;       // value whose buffer this output takes over
  bool workspace = false;  // see Device::workspace()
};

constexpr int kMaxBuffers = 32;  // that one kernel binds; adapters may allow many more

struct Step {
  rt::KernelRef kernel;             // null: copy the buffer of inputs[0] to outputs[0]
  std::vector<int> buffers;         // values in binding order
  std::vector<StepWindow> windows;  // of the same; empty: whole buffers
  std::vector<uint32_t> params;
  std::vector<Patch> patches;
  std::vector<StepOutput> outputs;
  std::vector<int> dies;  // values not needed after this step
  uint32_t x = 0, y = 0, z = 0;
  int group = -1;      // that it is a part of
  double seconds = 0;  // estimated
  std::string what;    // for explain and for errors
};

struct Plan {
  std::vector<Step> steps;
  std::vector<bool> computed;                          // per node: has a buffer at the end
  int values = 0;                                      // nodes, leaves and scratch
  std::vector<std::vector<int>> results;               // per group: the nodes that it writes
  std::vector<std::string> notes;                      // why something did not fuse
  std::optional<std::vector<rt::Device::Need>> needs;  // once somebody asked: see needs_of()
};

/// The buffers that running a plan takes at once, in addition to those that its leaves have.
const std::vector<rt::Device::Need>& needs_of(const FlushGraph& g, Plan& plan,
                                              const rt::Device& device);

/// What one group's lowering raised, and the nodes that it would have written.
struct PlanError : Error {
  PlanError(const Error& error, std::vector<int> nodes) : Error(error), results(std::move(nodes)) {}
  std::vector<int> results;
};

/// Decides kernels for a graph. Raises PlanError, such as UnsupportedError where a tensor is above
/// the adapter's limits.
std::shared_ptr<Plan> make_plan(const FlushGraph& g, rt::Device& device, Tuning tuning = {});

/// What a plan must be, checked in debug mode: every buffer is written before it is read, and never
/// after it died. Raises an internal error.
void verify_plan(const FlushGraph& g, const Plan& plan);

/// LRU of plans by their whole key: equal keys, equal plans; a hash is only the way there.
class PlanCache {
 public:
  std::shared_ptr<Plan> find(const std::vector<uint64_t>& key);
  void insert(std::vector<uint64_t> key, std::shared_ptr<Plan> plan, size_t capacity);
  void trim(size_t capacity);
  void clear();
  size_t size() const { return index_.size(); }

 private:
  struct Entry {
    std::vector<uint64_t> key;
    uint64_t hash;
    std::shared_ptr<Plan> plan;
  };
  std::list<Entry> order_;  // most recently used first
  std::unordered_multimap<uint64_t, std::list<Entry>::iterator> index_;
};

}  // namespace wgt::graph
