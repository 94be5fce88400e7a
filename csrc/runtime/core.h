// What every part of a device shares: handles, limits, counters, and whether it is lost.
#pragma once
#include <atomic>
#include <mutex>
#include <string>

#include "base/errors.h"
#include "runtime/adapter.h"
#include "runtime/device.h"
#include "runtime/guard.h"
#include "runtime/stats.h"
#include "webgpu.h"

namespace wgt::rt {

/// What wgpu's callbacks write. Leaked with its device, as they may come late; they take no device
/// lock.
struct Signals {
  std::atomic<bool> lost{false};
  std::atomic<bool> poisoned{false};   // a call aborted: use no object of this device again
  std::atomic<bool> stuck{false};      // the GPU may still be at work
  std::atomic<uint64_t> completed{0};  // newest submission known to be done
  std::atomic<uint64_t> events{0};     // callbacks seen: progress
  std::atomic<bool> has_uncaptured{false};

  void lose(const std::string& why);  // the first reason stays
  void complete(uint64_t submission);
  std::string reason() const;
  void record_uncaptured(const std::string& text);
  std::string take_uncaptured();

 private:
  mutable std::mutex mutex_;  // of the strings only
  std::string reason_, uncaptured_;
};

/// Set in the child of a fork of a process that had made a device.
extern std::atomic<bool> fork_flag;
void watch_forks();
[[noreturn]] void raise_forked();

struct Core {
  std::mutex mutex;  // Device::mutex()
  std::recursive_mutex
      scope_mutex;  // from an error scope's push to its pop: scopes belong to the device
  WGPUDevice device = nullptr;
  WGPUQueue queue = nullptr;
  AdapterInfo adapter;
  std::string name;  // as Python has it: "gpu:0#1"; written before others know of the device
  int units = 0;     // compute_units(adapter)
  DeviceOptions options;
  Limits limits;
  Features features;
  Stats stats;
  Signals* signals = new Signals;
  uint64_t tick = 0;       // one per allocation or dispatch; orders last uses
  uint64_t submitted = 0;  // submissions so far
  bool retired = false;    // all that it had has been released

  bool lost() const {
    return signals->lost.load(std::memory_order_acquire) ||
           fork_flag.load(std::memory_order_relaxed);
  }
  void check() const {
    if (lost()) [[unlikely]]
      raise_lost();
  }
  [[noreturn]] void raise_lost() const;
  /// As messages name it.
  std::string title() const;

  /// Whether wgpu objects may still be released.
  bool touchable() const {
    return !signals->poisoned.load(std::memory_order_acquire) &&
           !fork_flag.load(std::memory_order_relaxed);
  }

  /// A call of wgpu that may abort: false if it did, and then the device is lost.
  template <class F>
  bool try_call(const char* what, F&& f) {
    if (!touchable()) return false;
    if (guarded(what, f)) return true;
    poison(what);
    return false;
  }
  /// The same, raising DeviceLostError.
  template <class F>
  void call(const char* what, F&& f) {
    if (!try_call(what, f)) raise_lost();
  }
  void poison(const char* what);

  /// For releases. wgpu may panic at those of a lost device; its locks are free again by then.
  template <class F>
  void release(const char* what, F&& f) {
    if (fork_flag.load(std::memory_order_relaxed)) return;
    if (lost())
      guarded(what, f);
    else
      f();
  }

  /// Lets go of a buffer that the host does not read. What a lost device still refers to is never
  /// done with, so there its memory is given back at once.
  void release_buffer(WGPUBuffer buffer) {
    if (lost()) release("wgpuBufferDestroy", [buffer] { wgpuBufferDestroy(buffer); });
    release("wgpuBufferRelease", [buffer] { wgpuBufferRelease(buffer); });
  }
};

std::string text(WGPUStringView v);
inline WGPUStringView view(const std::string& s) {
  return {s.data(), s.size()};
}

}  // namespace wgt::rt
