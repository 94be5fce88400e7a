#include "runtime/native.h"

#include <cstdlib>
#include <deque>
#include <mutex>
#include <utility>

#include "base/settings.h"
#include "runtime/core.h"
#include "runtime/device.h"
#include "wgpu.h"

namespace wgt::rt {

namespace {

constexpr size_t kLogLimit = 512;

struct Log {
  std::mutex mutex;
  std::deque<std::pair<int, std::string>> entries;
  size_t dropped = 0;
};

// Leaked: messages may come from other threads while the process exits.
Log& log_queue() {
  static Log* log = new Log;
  return *log;
}

void push_log(int level, std::string text) {
  Log& log = log_queue();
  std::lock_guard<std::mutex> guard(log.mutex);
  if (log.entries.size() == kLogLimit) {
    log.entries.pop_front();
    ++log.dropped;
  }
  log.entries.emplace_back(level, std::move(text));
}

void on_log(WGPULogLevel level, WGPUStringView message, void*) {
  push_log(static_cast<int>(level), std::string(message.data, message.length));
}

int level_of(const std::string& name) {
  static const char* names[] = {"off", "error", "warning", "info", "debug", "trace"};
  for (int i = 0; i < 6; ++i)
    if (name == names[i]) return i;
  return WGPULogLevel_Warn;
}

}  // namespace

std::vector<std::pair<int, std::string>> take_log() {
  Log& log = log_queue();
  std::lock_guard<std::mutex> guard(log.mutex);
  std::vector<std::pair<int, std::string>> out(log.entries.begin(), log.entries.end());
  if (log.dropped)
    out.emplace_back(2, std::to_string(log.dropped) + " older messages of wgpu were dropped");
  log.entries.clear();
  log.dropped = 0;
  return out;
}

void set_log_level(int level) {
  wgpuSetLogLevel(static_cast<WGPULogLevel>(level));
}

std::string wgpu_version() {
  uint32_t v = wgpuGetVersion();
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += (out.empty() ? "" : ".") + std::to_string((v >> shift) & 0xff);
  return out;
}

namespace native {

void log(int level, const char* text) {
  push_log(level, text);
}

static WGPUInstance make_instance() {
  watch_forks();  // drivers start threads when adapters are listed
#ifdef __linux__
  // Mesa's device-select layer complains about a missing display on every headless machine.
  setenv("NODEVICE_SELECT", "1", 0);
#endif
  wgpuSetLogCallback(on_log, nullptr);
  set_log_level(level_of(settings().log));
  WGPUInstanceExtras extras{};
  extras.chain.sType = static_cast<WGPUSType>(WGPUSType_InstanceExtras);
  extras.backends = WGPUInstanceBackend_Vulkan | WGPUInstanceBackend_Metal |
                    WGPUInstanceBackend_DX12 | WGPUInstanceBackend_GL;
  // No flags: the default adds a pass that validates indirect dispatches, which we never make.
  extras.flags = WGPUInstanceFlag_Empty;
  WGPUInstanceDescriptor desc{};
  desc.nextInChain = &extras.chain;
  return wgpuCreateInstance(&desc);
}

WGPUInstance instance() {
  static WGPUInstance instance = make_instance();
  return instance;
}

std::vector<WGPUAdapter> enumerate_adapters() {
  WGPUInstance inst = instance();
  if (!inst) return {};
  std::vector<WGPUAdapter> out(wgpuInstanceEnumerateAdapters(inst, nullptr, nullptr));
  if (!out.empty()) out.resize(wgpuInstanceEnumerateAdapters(inst, nullptr, out.data()));
  return out;
}

static WGPUFeatureName id(WGPUNativeFeature f) {
  return static_cast<WGPUFeatureName>(f);
}

const std::vector<FeatureRow>& feature_rows() {
  static const auto* rows = new std::vector<FeatureRow>{
      {&Features::f16, "f16", {WGPUFeatureName_ShaderF16}},
      {&Features::subgroups, "subgroups", {id(WGPUNativeFeature_Subgroup)}},
      {&Features::timestamps,
       "timestamps",
       {WGPUFeatureName_TimestampQuery, id(WGPUNativeFeature_TimestampQueryInsideEncoders),
        id(WGPUNativeFeature_TimestampQueryInsidePasses)}},
      {&Features::int64, "int64", {id(WGPUNativeFeature_ShaderInt64)}},
      {&Features::int64_atomics, "int64_atomics", {id(WGPUNativeFeature_ShaderInt64AtomicAllOps)}},
      {&Features::float64, "float64", {id(WGPUNativeFeature_ShaderF64)}},
      {&Features::immediates, "immediates", {id(WGPUNativeFeature_Immediates)}},
      {&Features::float32_atomics, "float32_atomics", {id(WGPUNativeFeature_ShaderFloat32Atomic)}},
      {&Features::pipeline_cache, "pipeline_cache", {id(WGPUNativeFeature_PipelineCache)}},
      {&Features::coop_matrix, "coop_matrix", {id(WGPUNativeFeature_CooperativeMatrix)}},
  };
  return *rows;
}

WGPUShaderModule trusted_shader_module(WGPUDevice device, const WGPUShaderModuleDescriptor* desc) {
  return wgpuDeviceCreateShaderModuleTrusted(device, desc, WGPUShaderRuntimeChecks_None);
}

double seconds_of_tick(WGPUQueue queue) {
  return static_cast<double>(wgpuQueueGetTimestampPeriod(queue)) * 1e-9;
}

void submit(WGPUQueue queue, size_t count, const WGPUCommandBuffer* buffers) {
  wgpuQueueSubmitForIndex(queue, count, buffers);
}

bool poll(WGPUDevice device) {
  // The upper bits of the result are garbage in 29.0.1.1.
  return (wgpuDevicePoll(device, 0, nullptr) & 0xff) != 0;
}

std::vector<ObjectCount> object_counts() {
  WGPUGlobalReport report{};
  wgpuGenerateReport(instance(), &report);
  const WGPUHubReport& h = report.hub;
  return {{"devices", h.devices.numAllocated},
          {"queues", h.queues.numAllocated},
          {"pipeline layouts", h.pipelineLayouts.numAllocated},
          {"shader modules", h.shaderModules.numAllocated},
          {"bind group layouts", h.bindGroupLayouts.numAllocated},
          {"bind groups", h.bindGroups.numAllocated},
          {"command buffers", h.commandBuffers.numAllocated},
          {"compute pipelines", h.computePipelines.numAllocated},
          {"buffers", h.buffers.numAllocated}};
}

}  // namespace native
}  // namespace wgt::rt
