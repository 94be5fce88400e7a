#include "graph/meeting.h"

#include <algorithm>

namespace wgt::graph {

uint64_t Meeting::bytes() const {
  return 4 * (rt::kWorkspaceZeros + static_cast<uint64_t>(words));
}

bool has_room_to_meet(const KernelCode& k, size_t more) {
  const size_t most = std::min<size_t>(k.device.limits().max_storage_buffers, kMaxBuffers);
  return k.group.externals.size() + k.group.outputs.size() + more + 1 <= most;
}

bool can_meet(const KernelCode& k, const Meeting& meeting) {
  return k.device.workgroups_meet() && meeting.counters <= rt::kWorkspaceZeros &&
         meeting.bytes() <= k.device.limits().max_binding;
}

std::string bind_workspace(KernelCode& k, int scratch) {
  k.scratch_types.push_back({scratch, DType::uint32});
  k.want_vec4(scratch, false);
  k.set_atomic(k.bind(scratch, rt::Access::read_write));
  return k.binding_name(scratch);
}

void use_workspace(Step& step, int scratch, const Meeting& meeting) {
  step.outputs.push_back({scratch, meeting.bytes(), -1, true});
  step.dies.push_back(scratch);
}

}  // namespace wgt::graph
