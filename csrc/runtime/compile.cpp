// Kernels: pipelines from sources, one at a time or several on threads of their own.
#include <algorithm>
#include <atomic>
#include <system_error>

#include "base/settings.h"
#include "runtime/bigstack.h"
#include "runtime/errors.h"
#include "runtime/kernels.h"
#include "runtime/native.h"
#include "runtime/threads.h"

namespace wgt::rt {

void Kernels::compile(Kernel& kernel) {
  core_.check();
  kernel.last_use = ++core_.tick;
  if (kernel.pipeline) return;
  evict(capacity() - 1);
  // A deep nest in a user's source needs a deep stack in naga.
  if (kernel.desc.trusted)
    make_pipeline(kernel);
  else
    run_on_big_stack([&] { make_pipeline(kernel); });
  count(kernel);
}

void Kernels::count(Kernel& kernel) {
  kernel.serial = next_serial_++;
  ++core_.stats.pipelines;
  ++core_.stats.live_pipelines;
}

WGPUShaderModule Kernels::make_module(const KernelDesc& d) {
  WGPUShaderSourceWGSL wgsl{};
  wgsl.chain.sType = WGPUSType_ShaderSourceWGSL;
  wgsl.code = view(d.source);
  WGPUShaderModuleDescriptor desc{};
  desc.nextInChain = &wgsl.chain;
  desc.label = view(d.label);
  WGPUShaderModule module = nullptr;
  bool trusted = d.trusted && !core_.options.debug;
  core_.call("wgpuDeviceCreateShaderModule", [&] {
    module = trusted ? native::trusted_shader_module(core_.device, &desc)
                     : wgpuDeviceCreateShaderModule(core_.device, &desc);
  });
  return module;
}

WGPUComputePipeline Kernels::make_pipeline(const Kernel& kernel, WGPUShaderModule module) {
  WGPUComputePipelineDescriptor desc{};
  desc.label = view(kernel.desc.label);
  desc.layout = kernel.pipeline_layout;
  desc.compute.module = module;
  desc.compute.entryPoint = {"main", 4};
  WGPUComputePipeline pipeline = nullptr;
  core_.call("wgpuDeviceCreateComputePipeline",
             [&] { pipeline = wgpuDeviceCreateComputePipeline(core_.device, &desc); });
  return pipeline;
}

void Kernels::make_pipeline(Kernel& kernel) {
  ErrorScope scope(core_);
  WGPUShaderModule module = make_module(kernel.desc);
  WgpuError error = scope.pop();
  if (!error) {
    ErrorScope pipeline_scope(core_);
    kernel.pipeline = make_pipeline(kernel, module);
    error = pipeline_scope.pop();
  }
  if (module) wgpuShaderModuleRelease(module);
  if (!error && kernel.pipeline) return;
  if (kernel.pipeline) wgpuComputePipelineRelease(std::exchange(kernel.pipeline, nullptr));
  raise_shader(core_, error, kernel.desc.label);
}

// One scope for all, as scopes belong to the device. What failed is told by the dispatch that needs
// it.
void Kernels::compile(std::vector<Kernel*> kernels) {
  std::sort(kernels.begin(), kernels.end());
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  std::erase_if(kernels, [](Kernel* k) { return k->pipeline || !k->desc.trusted; });
  int limit = settings().compile_threads;
  if (limit <= 0) limit = std::min(static_cast<int>(std::thread::hardware_concurrency()), 8);
  size_t threads = std::min(kernels.size(), static_cast<size_t>(limit));
  if (threads < 2 || kernels.size() >= capacity() || core_.lost()) return;
  evict(capacity() - kernels.size());
  std::atomic<size_t> next{0};
  auto work = [&] {
    try {
      for (size_t i = next++; i < kernels.size(); i = next++) {
        WGPUShaderModule module = make_module(kernels[i]->desc);
        kernels[i]->pipeline = make_pipeline(*kernels[i], module);
        if (module) wgpuShaderModuleRelease(module);
      }
    } catch (const Error&) {
      // The device is lost; who goes on finds out by check().
    }
  };
  ErrorScope scope(core_);
  std::vector<std::thread> helpers;
  try {
    for (size_t i = 1; i < threads; ++i) helpers.push_back(quiet_thread(work));
  } catch (const std::system_error&) {
    // The system has no thread left: those that are there do the work.
  }
  work();
  for (std::thread& t : helpers) t.join();
  bool failed = static_cast<bool>(scope.pop());
  for (Kernel* k : kernels) {
    if (!k->pipeline) continue;
    if (failed || core_.lost()) {
      WGPUComputePipeline pipeline = std::exchange(k->pipeline, nullptr);
      core_.release("wgpuComputePipelineRelease", [&] { wgpuComputePipelineRelease(pipeline); });
      continue;
    }
    k->last_use = ++core_.tick;
    count(*k);
  }
}

}  // namespace wgt::rt
