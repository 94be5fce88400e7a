// Making and ending a device.
#include <chrono>
#include <thread>
#include <utility>

#include "runtime/impl.h"
#include "runtime/limits.h"
#include "runtime/native.h"
#include "runtime/wait.h"

namespace wgt::rt {

namespace {

void on_lost(WGPUDevice const*, WGPUDeviceLostReason reason, WGPUStringView message, void* p,
             void*) {
  if (reason == WGPUDeviceLostReason_FailedCreation) return;
  auto* signals = static_cast<Signals*>(p);
  signals->lose(message.length ? text(message) : "the driver has lost it");
}

void on_error(WGPUDevice const*, WGPUErrorType, WGPUStringView message, void* p, void*) {
  auto* signals = static_cast<Signals*>(p);
  if (!signals->lost.load()) signals->record_uncaptured(text(message));
}

struct Wish {
  std::vector<WGPUFeatureName> features;
  const WGPULimits* limits = nullptr;  // null: WebGPU's defaults
};

Wish wish_for(const Features& features, const WGPULimits* limits) {
  Wish wish;
  for (const native::FeatureRow& row : native::feature_rows())
    if (features.*row.member)
      wish.features.insert(wish.features.end(), row.ids.begin(), row.ids.end());
  wish.limits = limits;
  return wish;
}

/// Null, and the message, where the adapter refuses.
WGPUDevice request(WGPUAdapter adapter, const Wish& wish, Signals* signals, std::string& why) {
  WGPUDeviceDescriptor desc{};
  desc.requiredFeatureCount = wish.features.size();
  desc.requiredFeatures = wish.features.data();
  desc.requiredLimits = wish.limits;
  desc.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowSpontaneous;
  desc.deviceLostCallbackInfo.callback = on_lost;
  desc.deviceLostCallbackInfo.userdata1 = signals;
  desc.uncapturedErrorCallbackInfo.callback = on_error;
  desc.uncapturedErrorCallbackInfo.userdata1 = signals;
  struct Answer {
    WGPUDevice device = nullptr;
    std::string message;
  } answer;
  WGPURequestDeviceCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowSpontaneous;
  info.userdata1 = &answer;
  info.callback = [](WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message,
                     void* p, void*) {
    auto* out = static_cast<Answer*>(p);
    if (status == WGPURequestDeviceStatus_Success) out->device = device;
    out->message = text(message);
  };
  if (!guarded("wgpuAdapterRequestDevice", [&] { wgpuAdapterRequestDevice(adapter, &desc, info); }))
    answer.message = "wgpu aborted";
  why = answer.message;
  return answer.device;
}

void open(Core& core) {
  auto adapter = static_cast<WGPUAdapter>(core.adapter.handle);
  WGPULimits offered = adapter_limits(adapter);
  std::string why;
  if (core.options.default_limits) {
    core.device = request(adapter, wish_for({}, nullptr), core.signals, why);
    WGPULimits lowered = default_limits(offered);
    if (!core.device)  // an adapter below WebGPU's defaults, such as Mesa's GL
      core.device = request(adapter, wish_for({}, &lowered), core.signals, why);
  } else {
    core.features = core.adapter.features;
    core.device = request(adapter, wish_for(core.features, &offered), core.signals, why);
    if (!core.device && core.features.coop_matrix) {
      // wgpu-native reports this one but refuses it, for it wants a token of consent.
      core.features.coop_matrix = false;
      core.device = request(adapter, wish_for(core.features, &offered), core.signals, why);
    }
  }
  if (!core.device)
    raise(ErrorKind::device_not_found,
          "adapter '" + core.adapter.name + "' gives no device: " + why);
  core.queue = wgpuDeviceGetQueue(core.device);
  core.limits = to_limits(device_limits(core.device), core.features.immediates);
  if (core.options.default_limits) core.limits = at_most_default(core.limits);
  if (core.options.max_binding)
    core.limits.max_binding = std::min(core.limits.max_binding, core.options.max_binding);
}

}  // namespace

Device::Device() = default;

std::unique_ptr<Device> Device::create(const AdapterInfo& adapter, const DeviceOptions& options) {
  if (forked()) raise_forked();
  std::unique_ptr<Device> device(new Device);
  device->impl_ = std::make_unique<Impl>(device.get());
  Core& core = device->impl_->core;
  core.adapter = adapter;
  core.units = rt::compute_units(adapter);
  core.options = options;
  open(core);
  device->impl_->pool.set_limit(options.memory_limit);
  return device;
}

// The work in flight must end first, for wgpu would wait for it in its destructor and panic at a
// limit.
Device::~Device() {
  if (!impl_) return;
  Impl& d = *impl_;
  Lock lock(d.core.mutex);
  if (d.core.device && !d.core.lost()) {
    try {
      d.poison.reset();
      d.stream.submit();
      wait_until(d.core, [&] { return d.stream.idle(); });
      d.collect();
    } catch (const std::exception& e) {
      native::log(2, e.what());
    }
  }
  d.retire();
  lock.unlock();
  if (d.core.signals->stuck.load()) impl_.release();  // the sending thread may still come back
}

void Device::retire() {
  impl_->retire();
}

void Device::Impl::retire() {
  if (core.retired) return;
  poison.reset();
  take_dead();
  core.retired = true;
  stream.retire();
  groups.clear();
  kernels.retire();
  uploads.retire();
  reads.retire();
  pool.retire();
  WGPUDevice device = std::exchange(core.device, nullptr);
  WGPUQueue queue = std::exchange(core.queue, nullptr);
  // wgpu waits here for work in flight: not for a GPU that has stopped answering.
  if (!device || core.signals->stuck.load() || forked()) return;
  // The release of a device that the driver has lost aborts. The queue is to outlive that, for what
  // was in flight goes with it.
  guarded("wgpuDeviceRelease", [&] { wgpuDeviceRelease(device); });
  guarded("wgpuQueueRelease", [&] { wgpuQueueRelease(queue); });
}

void Device::close() {
  if (forked()) return;
  Lock lock(impl_->core.mutex, std::defer_lock);
  for (int i = 0; i < 2000 && !lock.try_lock(); ++i)  // somebody may be at a long submit
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!lock) return;
  impl_->stream.close();
  impl_->stream.settle();
}

void Device::destroy() {
  Lock lock(impl_->core.mutex);
  Core& core = impl_->core;
  if (core.lost()) return;
  core.signals->lose("destroyed on request");
  impl_->stream.drain();
  impl_->reads.destroy_device();
}

}  // namespace wgt::rt
