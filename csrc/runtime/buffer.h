// A GPU buffer. Reference-counted; the last reference hands it back to its device's pool, where it
// is at once reusable by later commands of the same stream.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/refcount.h"

namespace wgt::rt {

class Device;

/// What a buffer was made for, where that is recorded.
struct BufferNote {
  std::string what;  // "float32 (3, 4)"
  std::string line;  // "file:line" of the caller's code
};

struct Buffer : RefCounted {
  Device* device = nullptr;
  void* handle = nullptr;  // WGPUBuffer
  uint64_t bytes = 0;      // size of the wgpu buffer, a multiple of 16
  uint64_t serial = 0;     // unique in the process; keys bind groups
  uint64_t last_use = 0;   // stream position, for LRU
  Buffer* next_dead = nullptr;
  // The layer above may number the buffers of one piece of work here [lock].
  int scratch = -1;
  uint64_t scratch_epoch = 0;
  std::shared_ptr<const BufferNote> note;  // of its present use [lock]
  void on_zero();                          // any thread, no lock needed
};

using BufferRef = Ref<Buffer>;

}  // namespace wgt::rt
