// The floor for tiny operations: a loop written straight on webgpu.h and wgpu.h, with a device of
// its own. It adds to 64 floats in place, each dispatch depending on the one before.
#pragma once
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "webgpu.h"
#include "wgpu.h"

namespace bench {

constexpr int kTinyElements = 64;
constexpr uint64_t kTinyBytes = kTinyElements * sizeof(float);
constexpr int kPerSubmit = 48;  // dispatches, in one pass

/// x += s, where s is 1 or 2 in turns.
inline const char* const kTinySource = R"(
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> s: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  x[id.x] = x[id.x] + s[id.x];
})";

inline WGPUStringView view_of(const char* s) {
  return {s, WGPU_STRLEN};
}

class RawLoop {
 public:
  explicit RawLoop(WGPUAdapter adapter) {
    WGPURequestDeviceCallbackInfo info{};
    info.mode = WGPUCallbackMode_AllowSpontaneous;
    info.userdata1 = &device_;
    info.callback = [](WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView, void* out,
                       void*) {
      if (status == WGPURequestDeviceStatus_Success) *static_cast<WGPUDevice*>(out) = device;
    };
    WGPUDeviceDescriptor desc{};
    wgpuAdapterRequestDevice(adapter, &desc, info);
    if (!device_) throw std::runtime_error("raw loop: the adapter gives no second device");
    queue_ = wgpuDeviceGetQueue(device_);
    make_pipeline();
    x_ = make_buffer(0);
    for (size_t i = 0; i < 2; ++i) {
      steps_[i] = make_buffer(static_cast<float>(i + 1));
      std::array<WGPUBindGroupEntry, 2> entries{};
      entries[0].buffer = x_;
      entries[1].binding = 1;
      entries[1].buffer = steps_[i];
      for (WGPUBindGroupEntry& e : entries) e.size = kTinyBytes;
      WGPUBindGroupDescriptor group{};
      group.layout = layout_;
      group.entryCount = entries.size();
      group.entries = entries.data();
      groups_[i] = wgpuDeviceCreateBindGroup(device_, &group);
    }
  }

  ~RawLoop() {
    for (WGPUBindGroup g : groups_) wgpuBindGroupRelease(g);
    for (WGPUBuffer b : {x_, steps_[0], steps_[1]}) wgpuBufferRelease(b);
    wgpuComputePipelineRelease(pipeline_);
    wgpuBindGroupLayoutRelease(layout_);
    wgpuQueueRelease(queue_);
    wgpuDeviceRelease(device_);
  }
  RawLoop(const RawLoop&) = delete;
  RawLoop& operator=(const RawLoop&) = delete;

  /// So many dispatches, recorded and sent in passes of 48.
  void run(int dispatches) {
    for (int done = 0; done < dispatches;) {
      WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device_, nullptr);
      WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
      wgpuComputePassEncoderSetPipeline(pass, pipeline_);
      for (int i = 0; i < kPerSubmit && done < dispatches; ++i, ++done) {
        wgpuComputePassEncoderSetBindGroup(pass, 0, groups_[static_cast<size_t>(done % 2)], 0,
                                           nullptr);
        wgpuComputePassEncoderDispatchWorkgroups(pass, 1, 1, 1);
      }
      wgpuComputePassEncoderEnd(pass);
      wgpuComputePassEncoderRelease(pass);
      WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
      wgpuCommandEncoderRelease(encoder);
      wgpuQueueSubmitForIndex(queue_, 1, &commands);
      wgpuCommandBufferRelease(commands);
    }
  }

  void wait() { wgpuDevicePoll(device_, true, nullptr); }

  /// x[63], the sum of all steps so far.
  float read() {
    WGPUBufferDescriptor desc{};
    desc.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;
    desc.size = kTinyBytes;
    WGPUBuffer staging = wgpuDeviceCreateBuffer(device_, &desc);
    WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device_, nullptr);
    wgpuCommandEncoderCopyBufferToBuffer(encoder, x_, 0, staging, 0, kTinyBytes);
    WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
    wgpuCommandEncoderRelease(encoder);
    wgpuQueueSubmitForIndex(queue_, 1, &commands);
    wgpuCommandBufferRelease(commands);
    bool mapped = false;
    WGPUBufferMapCallbackInfo info{};
    info.mode = WGPUCallbackMode_AllowSpontaneous;
    info.userdata1 = &mapped;
    info.callback = [](WGPUMapAsyncStatus status, WGPUStringView, void* out, void*) {
      *static_cast<bool*>(out) = status == WGPUMapAsyncStatus_Success;
    };
    wgpuBufferMapAsync(staging, WGPUMapMode_Read, 0, kTinyBytes, info);
    wait();
    if (!mapped) throw std::runtime_error("raw loop: the result cannot be read");
    float value =
        static_cast<const float*>(wgpuBufferGetConstMappedRange(staging, 0, kTinyBytes))[63];
    wgpuBufferRelease(staging);
    return value;
  }

 private:
  WGPUBuffer make_buffer(float value) {
    WGPUBufferDescriptor desc{};
    desc.usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopyDst | WGPUBufferUsage_CopySrc;
    desc.size = kTinyBytes;
    WGPUBuffer buffer = wgpuDeviceCreateBuffer(device_, &desc);
    std::vector<float> values(kTinyElements, value);
    wgpuQueueWriteBuffer(queue_, buffer, 0, values.data(), kTinyBytes);
    return buffer;
  }

  void make_pipeline() {
    WGPUShaderSourceWGSL wgsl{};
    wgsl.chain.sType = WGPUSType_ShaderSourceWGSL;
    wgsl.code = view_of(kTinySource);
    WGPUShaderModuleDescriptor desc{};
    desc.nextInChain = &wgsl.chain;
    WGPUShaderModule module =
        wgpuDeviceCreateShaderModuleTrusted(device_, &desc, WGPUShaderRuntimeChecks_None);
    WGPUComputePipelineDescriptor pipeline{};
    pipeline.compute.module = module;
    pipeline.compute.entryPoint = view_of("main");
    pipeline_ = wgpuDeviceCreateComputePipeline(device_, &pipeline);
    wgpuShaderModuleRelease(module);
    layout_ = wgpuComputePipelineGetBindGroupLayout(pipeline_, 0);
  }

  WGPUDevice device_ = nullptr;
  WGPUQueue queue_ = nullptr;
  WGPUComputePipeline pipeline_ = nullptr;
  WGPUBindGroupLayout layout_ = nullptr;
  WGPUBuffer x_ = nullptr;
  std::array<WGPUBuffer, 2> steps_{};
  std::array<WGPUBindGroup, 2> groups_{};
};

}  // namespace bench
