// What a device's memory is used for.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/buffer.h"

namespace wgt::rt {

/// All in bytes, but for the numbers of buffers.
struct MemoryReport {
  struct Class {
    uint64_t live = 0, pooled = 0;  // buffers
  };
  uint64_t live = 0, pooled = 0, peak = 0;        // of tensors and of work that waits or runs
  uint64_t staging_upload = 0, staging_read = 0;  // mapped memory of transfers
  uint64_t live_buffers = 0, pooled_buffers = 0;
  std::optional<uint64_t> limit;
  std::map<uint64_t, Class> classes;  // by the size of a buffer
};

/// A buffer in use.
struct BufferReport {
  uint64_t bytes = 0;
  uint32_t references = 0;
  std::shared_ptr<const BufferNote> note;
};

}  // namespace wgt::rt
