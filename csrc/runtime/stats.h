// Counters of one device. Plain integers: written under the device lock.
#pragma once
#include <cstdint>

namespace wgt::rt {

// clang-format off
// STAT(name): one list for the struct, wt.stats() and the docs.
#define WGT_STATS(STAT)                                                                           \
  STAT(dispatches) STAT(submits) STAT(pipelines) STAT(pipeline_hits) STAT(plans) STAT(plan_hits)  \
  STAT(bind_groups) STAT(bind_group_hits) STAT(buffers) STAT(buffer_hits) STAT(bytes_uploaded)    \
  STAT(bytes_read) STAT(live_bytes) STAT(pooled_bytes) STAT(peak_bytes) STAT(live_buffers)        \
  STAT(live_bind_groups) STAT(live_pipelines) STAT(live_plans) STAT(flushes)
// clang-format on

struct Stats {
#define STAT(name) uint64_t name = 0;
  WGT_STATS(STAT)
#undef STAT
};

}  // namespace wgt::rt
