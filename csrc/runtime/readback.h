// Mapped memory for reads. A chunk stays mapped while the host uses it, whatever happens to the
// device.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/core.h"

namespace wgt::rt {

struct ReadChunk {
  enum State : int { idle, recorded, mapping, mapped, failed };
  WGPUBuffer buffer = nullptr;
  uint64_t size = 0;
  std::atomic<int> state{idle};
  Signals* signals = nullptr;
};

/// What outlives the device, for the sake of its readbacks.
struct ReadHeap {
  std::mutex mutex;  // of what follows; taken after the device lock, if both
  std::vector<ReadChunk*> dead;
  std::atomic<bool> has_dead{false};
  size_t live = 0;      // readbacks whose memory the host may hold
  bool closed = false;  // the Device object is gone
  bool destroy_later = false;
  Core* core = nullptr;  // null once closed
  Signals* signals = nullptr;
};

struct Readback::Impl {
  std::shared_ptr<ReadHeap> heap;
  ReadChunk* chunk = nullptr;
  uint64_t shift = 0;  // of the first byte in the chunk
};

class Reads {
 public:
  explicit Reads(Core& core);
  ~Reads() { retire(); }
  /// Lets go of all but what the host still holds.
  void retire();
  /// A chunk for `bytes`, not yet recorded.
  ReadbackRef begin(uint64_t bytes, uint64_t shift);
  void recorded(Readback& readback);
  void after_submit();  // asks for the mapping of what was recorded
  void discard();       // what was recorded will not be submitted
  bool any_recorded() const { return !recorded_.empty(); }
  void collect();
  void trim(uint64_t keep);
  uint64_t total_bytes() const { return total_bytes_; }
  bool pending(const Readback& readback) const;  // recorded or being mapped
  /// Sets the data pointer; false where the copy failed.
  bool finish(Readback& readback);
  /// Destroys the wgpu device: now, or when the last readback dies, as it would unmap their memory.
  void destroy_device();

 private:
  ReadChunk* acquire(uint64_t size);
  void release(ReadChunk* chunk);

  Core& core_;
  std::shared_ptr<ReadHeap> heap_ = std::make_shared<ReadHeap>();
  std::vector<ReadChunk*> recorded_;
  std::vector<ReadChunk*> dying_;  // dead, but still with the GPU
  std::vector<ReadChunk*> free_;   // the one idle for longest first
  uint64_t total_bytes_ = 0;
};

}  // namespace wgt::rt
