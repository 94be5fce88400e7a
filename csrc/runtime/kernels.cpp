#include "runtime/kernels.h"

#include <algorithm>
#include <functional>

#include "base/settings.h"
#include "runtime/errors.h"
#include "runtime/heap.h"
#include "runtime/params.h"

namespace wgt::rt {

namespace {

uint64_t hash_of(const KernelDesc& d) {
  uint64_t h = std::hash<std::string>()(d.source);
  auto mix = [&h](uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15ull; };
  for (Access a : d.bindings) mix(static_cast<uint64_t>(a) + 1);
  mix(d.param_bytes);
  mix(d.immediates ? 3 : 5);
  mix(d.trusted ? 7 : 11);
  return h;
}

bool same(const KernelDesc& a, const KernelDesc& b) {
  return a.param_bytes == b.param_bytes && a.immediates == b.immediates && a.trusted == b.trusted &&
         a.bindings == b.bindings && a.source == b.source;
}

}  // namespace

Kernels::Kernels(Core& core) : core_(core) {}

void Kernels::retire() {
  evict(0);
  kernels_.clear();
  core_.release("release of layouts", [this] {
    for (auto& layout : layouts_) {
      for (auto& [bytes, handle] : layout->pipeline_layouts) wgpuPipelineLayoutRelease(handle);
      wgpuBindGroupLayoutRelease(layout->handle);
    }
  });
  layouts_.clear();
}

KernelRef Kernels::get(KernelDesc desc) {
  uint64_t hash = hash_of(desc);
  auto [begin, end] = kernels_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (same(it->second->desc, desc)) {
      ++core_.stats.pipeline_hits;
      return it->second;
    }
  check(desc);
  if (kernels_.size() > 2 * capacity() + 64) sweep();
  auto kernel = std::make_shared<Kernel>();
  kernel->layout = layout_of(desc);
  kernel->pipeline_layout =
      pipeline_layout_of(*kernel->layout, desc.immediates ? desc.param_bytes : 0);
  kernel->desc = std::move(desc);
  kernels_.emplace(hash, kernel);
  return kernel;
}

void Kernels::check(const KernelDesc& d) const {
  if (d.param_bytes % 4) internal_error(d.label + ": parameter bytes not a multiple of 4");
  if (d.immediates ? d.param_bytes > core_.limits.max_immediates : d.param_bytes > kMaxParamBytes)
    internal_error(d.label + ": too many parameters");
  if (d.bindings.size() > core_.limits.max_storage_buffers)
    raise(ErrorKind::unsupported,
          "kernel '" + d.label + "' binds " + std::to_string(d.bindings.size()) +
              " buffers; this device allows " + std::to_string(core_.limits.max_storage_buffers));
}

BindLayout* Kernels::layout_of(const KernelDesc& d) {
  uint32_t uniform = d.param_bytes && !d.immediates ? uniform_bytes(d.param_bytes) : 0;
  for (auto& l : layouts_)
    if (l->uniform_bytes == uniform && l->accesses == d.bindings) return l.get();
  std::vector<WGPUBindGroupLayoutEntry> entries(d.bindings.size() + (uniform ? 1 : 0));
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].binding = static_cast<uint32_t>(i);
    entries[i].visibility = WGPUShaderStage_Compute;
    if (i == d.bindings.size()) {
      entries[i].buffer.type = WGPUBufferBindingType_Uniform;
      entries[i].buffer.hasDynamicOffset = 1;
      entries[i].buffer.minBindingSize = uniform;
    } else {
      entries[i].buffer.type = d.bindings[i] == Access::read ? WGPUBufferBindingType_ReadOnlyStorage
                                                             : WGPUBufferBindingType_Storage;
    }
  }
  WGPUBindGroupLayoutDescriptor desc{};
  desc.entryCount = entries.size();
  desc.entries = entries.data();
  ErrorScope scope(core_);
  WGPUBindGroupLayout handle = wgpuDeviceCreateBindGroupLayout(core_.device, &desc);
  if (WgpuError error = scope.pop()) raise_wgpu(core_, error, "making a bind group layout");
  auto layout = std::make_unique<BindLayout>();
  layout->id = static_cast<uint32_t>(layouts_.size() + 1);
  layout->accesses = d.bindings;
  layout->uniform_bytes = uniform;
  layout->handle = handle;
  layouts_.push_back(std::move(layout));
  return layouts_.back().get();
}

WGPUPipelineLayout Kernels::pipeline_layout_of(BindLayout& layout, uint32_t immediate_bytes) {
  for (auto& [bytes, handle] : layout.pipeline_layouts)
    if (bytes == immediate_bytes) return handle;
  WGPUPipelineLayoutDescriptor desc{};
  desc.bindGroupLayoutCount = 1;
  desc.bindGroupLayouts = &layout.handle;
  desc.immediateSize = immediate_bytes;
  ErrorScope scope(core_);
  WGPUPipelineLayout handle = wgpuDeviceCreatePipelineLayout(core_.device, &desc);
  if (WgpuError error = scope.pop()) raise_wgpu(core_, error, "making a pipeline layout");
  layout.pipeline_layouts.emplace_back(immediate_bytes, handle);
  return handle;
}

void Kernels::set_capacity(size_t n) {
  capacity_ = std::max<size_t>(n, 1);
  evict(capacity_);
}

size_t Kernels::capacity() const {
  return capacity_ ? capacity_ : static_cast<size_t>(std::max(settings().max_pipelines, 1));
}

void Kernels::drop(Kernel& kernel) {
  WGPUComputePipeline pipeline = std::exchange(kernel.pipeline, nullptr);
  if (!pipeline) return;
  --core_.stats.live_pipelines;
  core_.release("wgpuComputePipelineRelease", [&] { wgpuComputePipelineRelease(pipeline); });
  dropped_kernel();
}

void Kernels::evict(size_t keep) {
  while (core_.stats.live_pipelines > keep) {
    Kernel* oldest = nullptr;
    for (auto& [hash, kernel] : kernels_)
      if (kernel->pipeline && (!oldest || kernel->last_use < oldest->last_use))
        oldest = kernel.get();
    if (!oldest) return;
    drop(*oldest);
  }
}

void Kernels::trim() {
  evict(capacity());
  sweep();
}

// Forgets the sources that nobody but this cache knows and that hold no pipeline.
void Kernels::sweep() {
  std::erase_if(kernels_, [](auto& entry) {
    return !entry.second->pipeline && entry.second.use_count() == 1;
  });
}

}  // namespace wgt::rt
