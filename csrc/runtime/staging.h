// Mapped memory for uploads: chunks that the host fills, an encoder copies from, and that are
// mapped again once the GPU is done with them.
#pragma once
#include <vector>

#include "runtime/core.h"

namespace wgt::rt {

class UploadRing {
 public:
  struct Slot {
    WGPUBuffer buffer = nullptr;
    uint64_t offset = 0;  // a multiple of 16
    void* memory = nullptr;
  };
  explicit UploadRing(Core& core) : core_(core) {}
  ~UploadRing() { retire(); }
  void retire();

  /// Memory that stays writable until before_submit(). May wait for the GPU, never submits.
  Slot take(uint64_t bytes);
  uint64_t recorded_bytes() const { return recorded_bytes_; }
  uint64_t total_bytes() const { return total_bytes_; }

  void before_submit();  // unmaps what was filled
  void after_submit();   // asks for it back
  void discard();        // what was filled will not be submitted
  void trim(uint64_t keep);
  void empty();  // gives back all that the GPU is done with

 private:
  struct Chunk {
    enum State : int { mapped, recorded, mapping, failed };
    WGPUBuffer buffer = nullptr;
    uint64_t size = 0, used = 0;
    char* memory = nullptr;
    std::atomic<int> state{mapped};
    Signals* signals = nullptr;
  };
  Chunk* acquire(uint64_t size);
  Chunk* create(uint64_t size);
  void collect();
  void release(Chunk* chunk);

  Core& core_;
  Chunk* current_ = nullptr;      // the small one being filled
  std::vector<Chunk*> recorded_;  // filled, to be submitted
  std::vector<Chunk*> busy_;      // with the GPU, oldest first
  std::vector<Chunk*> ready_;     // mapped and empty
  uint64_t recorded_bytes_ = 0, total_bytes_ = 0;
};

}  // namespace wgt::rt
