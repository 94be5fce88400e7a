#include "runtime/stopwatch.h"

#include <chrono>
#include <cstring>

#include "runtime/errors.h"
#include "runtime/impl.h"
#include "runtime/native.h"
#include "runtime/wait.h"

namespace wgt::rt {

namespace {

/// A set of timestamps and the buffer that they are written out to.
class Stamps {
 public:
  Stamps(Core& core, uint32_t count) : core_(core) {
    WGPUQuerySetDescriptor set{};
    set.type = WGPUQueryType_Timestamp;
    set.count = count;
    WGPUBufferDescriptor buffer{};
    buffer.usage = WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc;
    buffer.size = sizeof(uint64_t) * count;
    ErrorScope scope(core);
    set_ = wgpuDeviceCreateQuerySet(core.device, &set);
    buffer_ = wgpuDeviceCreateBuffer(core.device, &buffer);
    WgpuError error = scope.pop();
    if (!error && set_ && buffer_) return;
    release();
    raise_wgpu(core, error, "making timestamps");
  }
  ~Stamps() { release(); }
  Stamps(const Stamps&) = delete;
  Stamps& operator=(const Stamps&) = delete;

  WGPUQuerySet set() const { return set_; }
  WGPUBuffer buffer() const { return buffer_; }

 private:
  void release() {
    core_.release("release of timestamps", [this] {
      if (set_) wgpuQuerySetRelease(set_);
      if (buffer_) wgpuBufferRelease(buffer_);
    });
  }

  Core& core_;
  WGPUQuerySet set_ = nullptr;
  WGPUBuffer buffer_ = nullptr;
};

}  // namespace

void Stopwatch::settle() {
  Device::Impl& d = device_.impl();
  device_.submit();
  wait_until(d.core, [&] { return d.stream.idle(); });
  d.stream.check_refused();
}

void Stopwatch::read(Buffer& src, uint64_t offset, uint64_t bytes, void* out) {
  Device::Impl& d = device_.impl();
  ReadbackRef readback = device_.read_begin(src, offset, bytes);
  device_.submit();
  wait_until(d.core, [&] { return !d.reads.pending(*readback); });
  if (!d.reads.finish(*readback)) {
    d.core.check();
    raise(ErrorKind::generic, "a measured result could not be read");
  }
  std::memcpy(out, readback->data, bytes);
}

std::vector<double> Stopwatch::time(int count, const std::function<void()>& work) {
  settle();
  if (!stamps_fail_ && device_.features().timestamps) {
    std::vector<double> out = by_timestamps(count, work);
    if (!out.empty()) return out;
    stamps_fail_ = true;
  }
  return by_clock(count, work);
}

// Empty where what the driver wrote cannot be times.
std::vector<double> Stopwatch::by_timestamps(int count, const std::function<void()>& work) {
  Device::Impl& d = device_.impl();
  auto stamps = static_cast<uint32_t>(2 * count);
  uint64_t bytes = sizeof(uint64_t) * stamps;
  Stamps made(d.core, stamps);
  ReadbackRef readback = d.reads.begin(bytes, 0);
  {
    Stream::Whole whole(d.stream);
    for (uint32_t i = 0; i < stamps; i += 2) {
      d.stream.begin_timed(made.set(), i);
      work();
      d.stream.end_timed();
    }
    d.stream.resolve(made.set(), stamps, made.buffer());
    d.stream.copy(readback->impl->chunk->buffer, 0, made.buffer(), 0, bytes);
    d.reads.recorded(*readback);
  }
  device_.submit();
  wait_until(d.core, [&] { return !d.reads.pending(*readback); });
  if (!d.reads.finish(*readback)) return {};
  std::vector<uint64_t> ticks(stamps);
  std::memcpy(ticks.data(), readback->data, bytes);
  double tick = native::seconds_of_tick(d.core.queue);
  std::vector<double> out;
  for (uint32_t i = 0; i < stamps; i += 2) {
    if (ticks[i + 1] <= ticks[i]) return {};
    out.push_back(static_cast<double>(ticks[i + 1] - ticks[i]) * tick);
  }
  return out;
}

std::vector<double> Stopwatch::by_clock(int count, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  Device::Impl& d = device_.impl();
  std::vector<double> out;
  for (int i = 0; i < count; ++i) {
    Clock::time_point start = Clock::now();
    {
      Stream::Whole whole(d.stream);
      work();
    }
    settle();
    out.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  return out;
}

}  // namespace wgt::rt
