// Indices that are data and out of range: kernels record them in a buffer of the device's, which
// the host sees with its next read.
#pragma once
#include <memory>
#include <vector>

#include "graph/node.h"
#include "runtime/device.h"

namespace wgt::graph {

class Engine;

/// What the kernels of some submissions recorded, on its way to the host.
class FaultReport {
 public:
  FaultReport(rt::ReadbackRef words, std::vector<IndexSite> sites)
      : words_(std::move(words)), sites_(std::move(sites)) {}
  /// Waits for the words; raises IndexError where there is one. [lock]
  void check(rt::Device& device, rt::Lock& lock);

 private:
  rt::ReadbackRef words_;
  std::vector<IndexSite> sites_;
};

/// A slot has two words: the largest index that was too large, and of negative ones the largest
/// magnitude. Which one is told does not depend on timing; 0 is none, as 0 is never out of range of
/// an axis that has elements.
class Faults {
 public:
  /// The operand that stands for the buffer. [lock]
  NodeRef leaf(Engine& e);
  /// The slot of a site, for a kernel that is about to run. [lock]
  uint32_t slot(const IndexSite& site);
  /// Records the copy of what may have been recorded to the host, and its removal from the buffer;
  /// nothing where no index was checked since. [lock]
  std::shared_ptr<FaultReport> take(rt::Device& device);

 private:
  static constexpr size_t kSlots = 512;
  NodeRef words_, zeros_;
  std::vector<IndexSite> sites_;  // by slot
};

}  // namespace wgt::graph
