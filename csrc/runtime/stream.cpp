#include "runtime/stream.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/settings.h"
#include "runtime/errors.h"
#include "runtime/native.h"
#include "runtime/wait.h"

namespace wgt::rt {

namespace {
constexpr uint64_t kMaxInFlight = 8;
// From one submission to the next a GPU pauses for some 9 µs (NVIDIA H200): while it has two to do,
// a short one grows up to so many times the usual length.
constexpr int kGrowth = 4;
constexpr uint64_t kEnough = 2;
constexpr double kShort = 1e-3;         // seconds: of more the pause is no part worth saving
constexpr double kLong = 0.05;          // seconds; shorter submissions only count
constexpr double kMostSubmissions = 3;  // of the longest kind, in flight at once
}  // namespace

void Stream::retire() {
  sender_.close();
  WGPUComputePassEncoder pass = std::exchange(pass_, nullptr);
  WGPUCommandEncoder encoder = std::exchange(encoder_, nullptr);
  if (pass || encoder)
    core_.release("release of the encoder", [=] {
      if (pass) wgpuComputePassEncoderRelease(pass);
      if (encoder) wgpuCommandEncoderRelease(encoder);
    });
  params_.retire();
}

void Stream::open_encoder() {
  if (!encoder_) encoder_ = wgpuDeviceCreateCommandEncoder(core_.device, nullptr);
}

void Stream::open_pass(const WGPUComputePassDescriptor* desc) {
  open_encoder();
  pass_ = wgpuCommandEncoderBeginComputePass(encoder_, desc);
  pipeline_ = 0;
  group_ = nullptr;
}

void Stream::close_pass() {
  if (!pass_) return;
  wgpuComputePassEncoderEnd(pass_);
  wgpuComputePassEncoderRelease(std::exchange(pass_, nullptr));
}

template <class Binding>
void Stream::dispatch(Kernel& kernel, Binding* bindings, const void* params, uint32_t x, uint32_t y,
                      uint32_t z) {
  core_.check();
  if (!x || !y || !z) return;
  uint32_t most = core_.limits.max_groups;
  if (x > most || y > most || z > most) [[unlikely]]
    internal_error(kernel.desc.label + ": too many workgroups");
  if (!kernel.pipeline) [[unlikely]]
    kernels_.compile(kernel);
  kernel.last_use = ++core_.tick;
  uint32_t offset = 0;
  bool uniforms = kernel.layout->uniform_bytes != 0;
  if (uniforms) {
    params_.buffer();
    if (params_.full()) submit();
    offset = params_.push(params, kernel.desc.param_bytes);
  }
  if (!pass_) open_pass();
  if (pipeline_ != kernel.serial) {
    wgpuComputePassEncoderSetPipeline(pass_, kernel.pipeline);
    pipeline_ = kernel.serial;
    immediates_.clear();
  }
  bind(kernel, bindings, offset);
  if (kernel.desc.immediates && kernel.desc.param_bytes) {
    std::string_view bytes(static_cast<const char*>(params), kernel.desc.param_bytes);
    if (immediates_ != bytes) {  // else the pass still has them
      wgpuComputePassEncoderSetImmediates(pass_, 0, params, bytes.size());
      immediates_.assign(bytes);
    }
  }
  wgpuComputePassEncoderDispatchWorkgroups(pass_, x, y, z);
  ++core_.stats.dispatches;
  if (++dispatches_ >= settings().submit_dispatches && !whole_ && is_long_enough()) submit();
}

template void Stream::dispatch(Kernel&, Buffer* const*, const void*, uint32_t, uint32_t, uint32_t);
template void Stream::dispatch(Kernel&, const Window*, const void*, uint32_t, uint32_t, uint32_t);

bool Stream::is_long_enough() {
  const int usual = settings().submit_dispatches;
  if (usual == 1 || dispatches_ / kGrowth >= usual || seconds_ > kShort) return true;
  if (dispatches_ % usual) return false;  // looked at a moment ago
  auto has_enough = [&] { return core_.submitted - core_.signals->completed.load() >= kEnough; };
  if (!has_enough()) return true;
  // Where the driver computes in the call that submits, polling would wait for it.
  if (core_.adapter.type == "cpu") return false;
  core_.call("wgpuDevicePoll", [this] { native::poll(core_.device); });
  return !has_enough();
}

template <class Binding>
void Stream::bind(Kernel& kernel, Binding* bindings, uint32_t offset) {
  const BindLayout& layout = *kernel.layout;
  bool dynamic = layout.uniform_bytes != 0;
  BindEntry* group = nullptr;
  if (group_ && group_deletions_ == groups_.deletions() &&
      group_->matches(layout.id, bindings, layout.accesses.size())) {
    group = group_;
    group->last_use = core_.tick;
    ++core_.stats.bind_group_hits;
    if (!dynamic || offset == offset_) return;
  } else {
    group = groups_.get(layout, bindings, dynamic ? params_.buffer() : nullptr);
  }
  wgpuComputePassEncoderSetBindGroup(pass_, 0, group->handle, dynamic ? 1 : 0,
                                     dynamic ? &offset : nullptr);
  group_ = group;
  group_deletions_ = groups_.deletions();
  offset_ = offset;
}

void Stream::copy(WGPUBuffer dst, uint64_t dst_offset, WGPUBuffer src, uint64_t src_offset,
                  uint64_t bytes) {
  close_pass();
  open_encoder();
  wgpuCommandEncoderCopyBufferToBuffer(encoder_, src, src_offset, dst, dst_offset, bytes);
}

void Stream::add_work(double seconds) {
  seconds_ += seconds;
  int most = settings().dispatch_ms;
  if (most && seconds_ >= most * 0.5e-3) submit();  // the next one may be as long
}

void Stream::begin_timed(WGPUQuerySet set, uint32_t first) {
  close_pass();
  WGPUPassTimestampWrites writes{};
  writes.querySet = set;
  writes.beginningOfPassWriteIndex = first;
  writes.endOfPassWriteIndex = first + 1;
  WGPUComputePassDescriptor desc{};
  desc.timestampWrites = &writes;
  open_pass(&desc);
}

void Stream::resolve(WGPUQuerySet set, uint32_t count, WGPUBuffer to) {
  close_pass();
  open_encoder();
  wgpuCommandEncoderResolveQuerySet(encoder_, set, 0, count, to, 0);
}

void Stream::clear(WGPUBuffer dst, uint64_t bytes) {
  close_pass();
  open_encoder();
  wgpuCommandEncoderClearBuffer(encoder_, dst, 0, bytes);
}

void Stream::submit() {
  core_.check();
  sender_.raise_refused();
  if (!encoder_) return;
  // Uploads, reads and uniform parameters need steps before and after the submit on this thread.
  if (!exiting() && sender_.open() && params_.empty() && !uploads_.recorded_bytes() &&
      !reads_.any_recorded())
    return hand_over();
  sender_.drain();
  WGPUCommandBuffer buffers[2] = {};
  size_t count = 0;
  WgpuError error;
  {
    ErrorScope scope(core_);
    finish(buffers, count);
    error = scope.pop();
  }
  if (core_.signals->has_uncaptured.load(std::memory_order_acquire)) {
    std::string text = core_.signals->take_uncaptured();
    if (!error) error = {WGPUErrorType_Validation, text};
  }
  dispatches_ = 0;
  if (error || core_.lost()) {
    seconds_ = 0;
    release_commands(core_, buffers, count);
    uploads_.discard();
    reads_.discard();
    raise_wgpu(core_, error, "the recorded work was refused and dropped");
  }
  send(buffers, count);
  if (exiting()) settle();  // a destructor computes
}

void Stream::settle() {
  if (core_.adapter.type != "cpu" || core_.lost() || core_.retired) return;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  try {
    wait_until(core_, [&] { return idle() || std::chrono::steady_clock::now() > end; });
  } catch (const Error&) {
    // Lost meanwhile.
  }
}

// Parameters go in a command buffer of their own, before the rest.
void Stream::finish(WGPUCommandBuffer out[2], size_t& count) {
  close_pass();
  auto end = [&](WGPUCommandEncoder encoder) {
    out[count++] = wgpuCommandEncoderFinish(encoder, nullptr);
    wgpuCommandEncoderRelease(encoder);
  };
  if (!params_.empty()) {
    WGPUCommandEncoder head = wgpuDeviceCreateCommandEncoder(core_.device, nullptr);
    params_.record(head, uploads_);
    end(head);
  }
  end(std::exchange(encoder_, nullptr));
}

void Stream::send(const WGPUCommandBuffer* buffers, size_t count) {
  uploads_.before_submit();
  send_commands(core_, buffers, count, ++core_.submitted);
  ++core_.stats.submits;
  uploads_.after_submit();
  reads_.after_submit();
  limit_in_flight();
}

void Stream::hand_over() {
  sender_.push(
      {std::exchange(encoder_, nullptr), std::exchange(pass_, nullptr), ++core_.submitted});
  ++core_.stats.submits;
  dispatches_ = 0;
  limit_in_flight();
}

// By number, and by time: who waits here holds the device's lock. After Ctrl-C all that is left is
// handed over at once.
void Stream::limit_in_flight() {
  if (seconds_ >= kLong) in_flight_.push_back({core_.submitted, seconds_});
  seconds_ = 0;
  if (has_room()) return;
  Interrupts asked;
  wait_until(core_, [&] { return has_room() || asked(); });
}

bool Stream::has_room() {
  int bound = settings().dispatch_ms;  // 0: none
  double most = bound ? kMostSubmissions * std::max(bound * 1e-3, kLong) : 1e300;
  uint64_t done = core_.signals->completed.load();
  while (!in_flight_.empty() && in_flight_.front().number <= done) in_flight_.pop_front();
  double seconds = 0;
  for (const Submission& s : in_flight_) seconds += s.seconds;
  return core_.submitted - done <= kMaxInFlight && (seconds <= most || in_flight_.size() < 2);
}

}  // namespace wgt::rt
