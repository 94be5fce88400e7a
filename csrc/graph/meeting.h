// Kernels whose workgroups meet, where Device::workgroups_meet(): each leaves words in a workspace
// and counts up, and who comes last goes on with what all have left. Nobody waits for another.
#pragma once
#include <string>

#include "graph/codegen.h"

namespace wgt::graph {

/// What a kernel wants of a workspace: counters, and words of 32 bits behind them.
struct Meeting {
  int64_t counters, words;
  uint64_t bytes() const;
};

/// Whether a kernel of the group can bind a workspace: it binds `more` than what the group reads
/// and writes.
bool has_room_to_meet(const KernelCode& k, size_t more);
/// Whether it may then.
bool can_meet(const KernelCode& k, const Meeting& meeting);
/// The name of the workspace's binding, whose elements are atomic.
std::string bind_workspace(KernelCode& k, int scratch);
/// The step takes the workspace and gives it back.
void use_workspace(Step& step, int scratch, const Meeting& meeting);

}  // namespace wgt::graph
