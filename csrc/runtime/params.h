// Kernel parameters as uniforms, for devices without immediates: one buffer, bound with a dynamic
// offset. The blocks of a submission are gathered here and copied over at its head.
#pragma once
#include <vector>

#include "runtime/core.h"
#include "runtime/staging.h"

namespace wgt::rt {

/// Size of the uniform binding for so many bytes of parameters.
inline uint32_t uniform_bytes(uint32_t param_bytes) {
  return (param_bytes + 255) / 256 * 256;
}

class ParamArena {
 public:
  explicit ParamArena(Core& core) : core_(core) {}
  ~ParamArena() { retire(); }
  void retire();
  WGPUBuffer buffer();  // made at the first use
  bool full() const { return used_ + kMaxParamBytes > kArenaBytes; }
  bool empty() const { return used_ == 0; }
  /// The dynamic offset of a copy of these bytes. Not when full().
  uint32_t push(const void* params, uint32_t bytes);
  /// Records the copy of all blocks; they are forgotten.
  void record(WGPUCommandEncoder encoder, UploadRing& ring);
  void reset() { used_ = 0; }

 private:
  static constexpr uint32_t kArenaBytes = 128 << 10;
  Core& core_;
  WGPUBuffer buffer_ = nullptr;
  std::vector<char> host_;
  uint32_t used_ = 0;
};

}  // namespace wgt::rt
