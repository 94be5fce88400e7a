#include "runtime/params.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/errors.h"

namespace wgt::rt {

void ParamArena::retire() {
  if (buffer_) core_.release_buffer(std::exchange(buffer_, nullptr));
}

WGPUBuffer ParamArena::buffer() {
  if (buffer_) return buffer_;
  WGPUBufferDescriptor desc{};
  desc.usage = WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst;
  desc.size = kArenaBytes;
  ErrorScope scope(core_);
  WGPUBuffer made = wgpuDeviceCreateBuffer(core_.device, &desc);
  if (WgpuError error = scope.pop()) {
    if (made) wgpuBufferRelease(made);
    raise_wgpu(core_, error, "making the buffer for parameters");
  }
  host_.resize(kArenaBytes);
  return buffer_ = made;
}

uint32_t ParamArena::push(const void* params, uint32_t bytes) {
  uint32_t offset = used_, step = core_.limits.uniform_alignment;
  std::memcpy(host_.data() + offset, params, bytes);
  used_ += (bytes + step - 1) / step * step;
  return offset;
}

void ParamArena::record(WGPUCommandEncoder encoder, UploadRing& ring) {
  uint32_t bytes = (std::min(used_, kArenaBytes) + 3) / 4 * 4;
  UploadRing::Slot slot = ring.take(bytes);
  std::memcpy(slot.memory, host_.data(), bytes);
  wgpuCommandEncoderCopyBufferToBuffer(encoder, slot.buffer, slot.offset, buffer_, 0, bytes);
  used_ = 0;
}

}  // namespace wgt::rt
