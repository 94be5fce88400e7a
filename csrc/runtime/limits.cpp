#include "runtime/limits.h"

#include <algorithm>

namespace wgt::rt {

WGPULimits adapter_limits(WGPUAdapter adapter) {
  WGPULimits out{};
  wgpuAdapterGetLimits(adapter, &out);
  return out;
}

WGPULimits device_limits(WGPUDevice device) {
  WGPULimits out{};
  wgpuDeviceGetLimits(device, &out);
  return out;
}

// LIMIT(field, default of the WebGPU specification); alignments are worse where they are larger.
#define WGT_DEFAULT_LIMITS(LIMIT, ALIGNMENT)          \
  LIMIT(maxTextureDimension1D, 8192)                  \
  LIMIT(maxTextureDimension2D, 8192)                  \
  LIMIT(maxTextureDimension3D, 2048)                  \
  LIMIT(maxTextureArrayLayers, 256)                   \
  LIMIT(maxBindGroups, 4)                             \
  LIMIT(maxBindGroupsPlusVertexBuffers, 24)           \
  LIMIT(maxBindingsPerBindGroup, 1000)                \
  LIMIT(maxDynamicUniformBuffersPerPipelineLayout, 8) \
  LIMIT(maxDynamicStorageBuffersPerPipelineLayout, 4) \
  LIMIT(maxSampledTexturesPerShaderStage, 16)         \
  LIMIT(maxSamplersPerShaderStage, 16)                \
  LIMIT(maxStorageBuffersPerShaderStage, 8)           \
  LIMIT(maxStorageTexturesPerShaderStage, 4)          \
  LIMIT(maxUniformBuffersPerShaderStage, 12)          \
  LIMIT(maxUniformBufferBindingSize, 65536)           \
  LIMIT(maxStorageBufferBindingSize, 134217728)       \
  ALIGNMENT(minUniformBufferOffsetAlignment, 256)     \
  ALIGNMENT(minStorageBufferOffsetAlignment, 256)     \
  LIMIT(maxVertexBuffers, 8)                          \
  LIMIT(maxBufferSize, 268435456)                     \
  LIMIT(maxVertexAttributes, 16)                      \
  LIMIT(maxVertexBufferArrayStride, 2048)             \
  LIMIT(maxInterStageShaderVariables, 16)             \
  LIMIT(maxColorAttachments, 8)                       \
  LIMIT(maxColorAttachmentBytesPerSample, 32)         \
  LIMIT(maxComputeWorkgroupStorageSize, 16384)        \
  LIMIT(maxComputeInvocationsPerWorkgroup, 256)       \
  LIMIT(maxComputeWorkgroupSizeX, 256)                \
  LIMIT(maxComputeWorkgroupSizeY, 256)                \
  LIMIT(maxComputeWorkgroupSizeZ, 64)                 \
  LIMIT(maxComputeWorkgroupsPerDimension, 65535)      \
  LIMIT(maxImmediateSize, 0)

static WGPULimits specified() {
  WGPULimits d{};
#define FIELD(name, value) d.name = value;
  WGT_DEFAULT_LIMITS(FIELD, FIELD)
#undef FIELD
  return d;
}

WGPULimits default_limits(const WGPULimits& adapter) {
  WGPULimits d = specified();
#define AT_MOST(name, value) d.name = std::min(d.name, adapter.name);
#define AT_LEAST(name, value) d.name = std::max(d.name, adapter.name);
  WGT_DEFAULT_LIMITS(AT_MOST, AT_LEAST)
#undef AT_MOST
#undef AT_LEAST
  return d;
}

Limits to_limits(const WGPULimits& l, bool immediates) {
  Limits out;
  out.max_buffer = l.maxBufferSize;
  out.max_binding = l.maxStorageBufferBindingSize;
  out.max_storage_buffers = l.maxStorageBuffersPerShaderStage;
  out.max_workgroup_memory = l.maxComputeWorkgroupStorageSize;
  out.max_invocations = l.maxComputeInvocationsPerWorkgroup;
  out.max_workgroup_x = l.maxComputeWorkgroupSizeX;
  out.max_workgroup_y = l.maxComputeWorkgroupSizeY;
  out.max_workgroup_z = l.maxComputeWorkgroupSizeZ;
  out.max_groups = l.maxComputeWorkgroupsPerDimension;
  out.max_immediates = immediates ? l.maxImmediateSize : 0;
  out.storage_alignment = l.minStorageBufferOffsetAlignment;
  out.uniform_alignment = l.minUniformBufferOffsetAlignment;
  return out;
}

Limits at_most_default(Limits l) {
  Limits d = to_limits(specified(), false);
  l.max_buffer = std::min(l.max_buffer, d.max_buffer);
  l.max_binding = std::min(l.max_binding, d.max_binding);
  l.max_storage_buffers = std::min(l.max_storage_buffers, d.max_storage_buffers);
  l.max_workgroup_memory = std::min(l.max_workgroup_memory, d.max_workgroup_memory);
  l.max_invocations = std::min(l.max_invocations, d.max_invocations);
  l.max_workgroup_x = std::min(l.max_workgroup_x, d.max_workgroup_x);
  l.max_workgroup_y = std::min(l.max_workgroup_y, d.max_workgroup_y);
  l.max_workgroup_z = std::min(l.max_workgroup_z, d.max_workgroup_z);
  l.max_groups = std::min(l.max_groups, d.max_groups);
  l.max_immediates = 0;
  l.storage_alignment = std::max(l.storage_alignment, d.storage_alignment);
  l.uniform_alignment = std::max(l.uniform_alignment, d.uniform_alignment);
  return l;
}

}  // namespace wgt::rt
