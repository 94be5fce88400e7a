// Buffers in which workgroups of one kernel meet: zeros first, then room for what they leave each
// other.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/core.h"

namespace wgt::rt {

/// They take turns: a buffer that one command buffer uses twice has a barrier before its second
/// use. Their first kWorkspaceZeros words are 0 before and after each kernel.
class Workspaces {
 public:
  explicit Workspaces(Core& core) : core_(core) {}
  /// One of this size; nothing where a new one is wanted.
  BufferRef take(uint64_t bytes);
  /// A fresh buffer, all zero, for take().
  BufferRef add(BufferRef fresh);
  void clear();

 private:
  struct Slot {
    BufferRef buffer;
    uint64_t recording;  // the command buffer that last used it
  };
  BufferRef use(size_t slot);

  Core& core_;
  std::vector<Slot> slots_;  // the one used for longest comes first
  uint64_t bytes_ = 0;
};

}  // namespace wgt::rt
