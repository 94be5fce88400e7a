// The doors to wgpu-native's own extensions (wgpu.h). Everything else in this folder is webgpu.h.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/adapter.h"
#include "webgpu.h"

namespace wgt::rt::native {

/// The process's instance, made at the first call. Never released: teardown at exit crashes.
WGPUInstance instance();
std::vector<WGPUAdapter> enumerate_adapters();

/// A feature of ours, and what has to be asked for to get it.
struct FeatureRow {
  bool Features::*member;
  const char* name;
  std::vector<WGPUFeatureName> ids;
};
const std::vector<FeatureRow>& feature_rows();

/// A module without bounds checks and loop guards.
WGPUShaderModule trusted_shader_module(WGPUDevice device, const WGPUShaderModuleDescriptor* desc);
/// Of a timestamp.
double seconds_of_tick(WGPUQueue queue);
void submit(WGPUQueue queue, size_t count, const WGPUCommandBuffer* buffers);
/// Lets callbacks fire; whether the queue is empty. Does not wait.
bool poll(WGPUDevice device);

/// How many objects wgpu keeps, by kind.
struct ObjectCount {
  const char* kind;
  size_t count;
};
std::vector<ObjectCount> object_counts();

/// Puts a message of our own in the queue that take_log() drains.
void log(int level, const char* text);

}  // namespace wgt::rt::native
