// The members of Device that record, move and wait.
#include "runtime/device.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/errors.h"
#include "runtime/heap.h"
#include "runtime/hostcopy.h"
#include "runtime/impl.h"
#include "runtime/native.h"
#include "runtime/wait.h"

namespace wgt::rt {

namespace {
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kUploadPiece = 32 * kMiB;   // of a large upload: filled while others are copied
constexpr uint64_t kUploadBytes = 256 * kMiB;  // recorded before a submit

WGPUBuffer handle(const Buffer& b) {
  return static_cast<WGPUBuffer>(b.handle);
}
uint64_t up4(uint64_t v) {
  return (v + 3) / 4 * 4;
}

void check_range(const char* what, const Buffer& b, uint64_t offset, uint64_t bytes) {
  if (offset % 4 || offset > b.bytes || up4(bytes) > b.bytes - offset)
    internal_error(std::string(what) + " of " + std::to_string(bytes) + " bytes at " +
                   std::to_string(offset) + " of a buffer of " + std::to_string(b.bytes));
}

}  // namespace

void Buffer::on_zero() {
  device->impl_->graveyard.push(this);
}

std::mutex& Device::mutex() {
  return impl_->core.mutex;
}
const AdapterInfo& Device::adapter() const {
  return impl_->core.adapter;
}
const Limits& Device::limits() const {
  return impl_->core.limits;
}
const Features& Device::features() const {
  return impl_->core.features;
}
const DeviceOptions& Device::options() const {
  return impl_->core.options;
}
bool Device::is_software() const {
  return impl_->core.adapter.type == "cpu";
}
int Device::compute_units() const {
  return impl_->core.units;
}
SubgroupSizes Device::subgroup_sizes() const {
  return features().subgroups ? impl_->core.adapter.subgroups : SubgroupSizes{};
}
bool Device::has_exact_units() const {
  return impl_->core.adapter.exact_units;
}
bool Device::software_kernels() const {
  return wants_software_kernels(impl_->core.adapter, options());
}
bool Device::workgroups_meet() const {
  // On top of Metal, whose barriers order a threadgroup's memory alone, it is none.
  const AdapterInfo& adapter = impl_->core.adapter;
  return adapter.backend == "vulkan" && adapter.driver.find("MoltenVK") == std::string::npos;
}
bool wants_software_kernels(const AdapterInfo& adapter, const DeviceOptions& options) {
  const std::string& kernels = options.kernels;
  return kernels == "software" || (!kernels.starts_with("gpu") && adapter.type == "cpu");
}
bool Device::use_immediates(uint32_t param_bytes) const {
  return param_bytes <= impl_->core.limits.max_immediates;
}
Stats& Device::stats() {
  return impl_->core.stats;
}

bool Device::lost() const {
  return impl_->core.lost();
}
std::string Device::lost_reason() const {
  return impl_->core.signals->reason();
}
void Device::set_name(const std::string& name) {
  impl_->core.name = name;
}
void Device::check() const {
  impl_->core.check();
}

// For memory of transfers: once more, after all that is free has gone.
template <class F>
auto Device::Impl::with_retry(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (error.kind != ErrorKind::out_of_memory) throw;
  }
  stream.submit();
  give_all_back();
  return f();
}

// A NaN that names its origin in a debugger.
void Device::Impl::fill_with_poison(Block& block) {
  if (!poison) {
    std::vector<uint32_t> pattern(kMiB / 4, 0x7fc0deadu);
    Block* made = allocate(kMiB);
    pool.used(made);
    poison = BufferRef(made);
    UploadRing::Slot slot = uploads.take(kMiB);
    std::memcpy(slot.memory, pattern.data(), kMiB);
    stream.copy(handle(*poison), 0, slot.buffer, slot.offset, kMiB);
  }
  for (uint64_t at = 0; at < block.bytes; at += kMiB)
    stream.copy(handle(block), at, handle(*poison), 0, std::min(kMiB, block.bytes - at));
}

void Device::Impl::take_dead() {
  for (Buffer* b = graveyard.take_all(); b;) {
    Buffer* next = b->next_dead;
    pool.give(static_cast<Block*>(b));
    b = next;
  }
}

void Device::Impl::collect() {
  take_dead();
  if (core.lost()) return;  // retire() will see to the rest
  pool.trim_to_limit();
  reads.collect();
}

KernelRef Device::kernel(KernelDesc desc) {
  impl_->core.check();
  return impl_->kernels.get(std::move(desc));
}
void Device::compile(Kernel& kernel) {
  impl_->kernels.compile(kernel);
}
void Device::compile(std::vector<Kernel*> kernels) {
  impl_->kernels.compile(std::move(kernels));
}
void Device::drop(Kernel& kernel) {
  impl_->kernels.drop(kernel);
}
void Device::set_pipeline_capacity(size_t n) {
  impl_->kernels.set_capacity(n);
}

void Device::dispatch(Kernel& kernel, Buffer* const* buffers, const void* params, uint32_t x,
                      uint32_t y, uint32_t z) {
  impl_->stream.dispatch(kernel, buffers, params, x, y, z);
}

void Device::dispatch(Kernel& kernel, const Window* windows, const void* params, uint32_t x,
                      uint32_t y, uint32_t z) {
  impl_->stream.dispatch(kernel, windows, params, x, y, z);
}

void Device::add_work(double seconds) {
  impl_->stream.add_work(seconds);
}

void* Device::upload_begin(Buffer& dst, uint64_t offset, uint64_t bytes) {
  Impl& d = *impl_;
  d.core.check();
  check_range("upload", dst, offset, bytes);
  if (!bytes) return nullptr;
  if (d.uploads.recorded_bytes() + bytes > kUploadBytes) submit();
  UploadRing::Slot slot = d.with_retry([&] { return d.uploads.take(bytes); });
  auto* memory = static_cast<char*>(slot.memory);
  std::memset(memory + (up4(bytes) - 4), 0, 4);  // the padding
  d.stream.copy(handle(dst), offset, slot.buffer, slot.offset, up4(bytes));
  d.core.stats.bytes_uploaded += bytes;
  return memory;
}

void Device::upload(Buffer& dst, uint64_t offset, const void* data, uint64_t bytes) {
  check_range("upload", dst, offset, bytes);
  auto* from = static_cast<const char*>(data);
  while (bytes) {
    uint64_t piece = std::min(bytes, kUploadPiece);
    host_copy(upload_begin(dst, offset, piece), from, piece);
    if (piece == kUploadPiece) submit();  // the GPU copies this piece while we fill the next
    offset += piece;
    from += piece;
    bytes -= piece;
  }
}

void Device::copy(Buffer& dst, uint64_t dst_offset, Buffer& src, uint64_t src_offset,
                  uint64_t bytes) {
  impl_->core.check();
  check_range("copy to", dst, dst_offset, bytes);
  check_range("copy from", src, src_offset, bytes);
  if (bytes % 4) internal_error("copy of " + std::to_string(bytes) + " bytes");
  if (!bytes) return;
  if (&dst != &src)
    return impl_->stream.copy(handle(dst), dst_offset, handle(src), src_offset, bytes);
  BufferRef middle = allocate(bytes);  // wgpu refuses a copy within one buffer
  impl_->stream.copy(handle(*middle), 0, handle(src), src_offset, bytes);
  impl_->stream.copy(handle(dst), dst_offset, handle(*middle), 0, bytes);
}

void Device::blank(Buffer& dst, uint64_t bytes) {
  impl_->core.check();
  check_range("blank", dst, 0, bytes);
  if (impl_->core.options.debug) return;
  uint64_t whole = (bytes + 3) / 4 * 4;  // a buffer's memory ends on a word
  if (whole) impl_->stream.clear(handle(dst), whole);
}

ReadbackRef Device::read_begin(Buffer& src, uint64_t offset, uint64_t bytes) {
  impl_->core.check();
  uint64_t shift = offset % 4;
  check_range("read", src, offset - shift, bytes + shift);
  if (!bytes) return std::make_shared<Readback>();
  ReadbackRef out = impl_->with_retry([&] { return impl_->reads.begin(bytes, shift); });
  impl_->stream.copy(out->impl->chunk->buffer, 0, handle(src), offset - shift, up4(bytes + shift));
  impl_->reads.recorded(*out);
  return out;
}

void Device::read_wait(Readback& readback, Lock& lock) {
  Impl& d = *impl_;
  d.core.check();
  if (readback.data || !readback.bytes) return;
  if (readback.impl->chunk->state.load() == ReadChunk::recorded) d.submit_later(lock);
  wait_until(
      d.core, [&] { return !d.reads.pending(readback); }, &lock);
  if (d.reads.finish(readback)) return;
  d.core.check();
  raise(ErrorKind::generic, "the work that this read belongs to was refused and dropped");
}

void Device::catch_up(Lock& lock) {
  Stream& stream = impl_->stream;
  wait_until(
      impl_->core, [&] { return stream.has_room(); }, &lock);
}

// Drivers may keep a thread that submits waiting; who waits here for it can be interrupted.
void Device::Impl::submit_later(Lock& lock) {
  uint64_t number = core.submitted;
  stream.help();
  wait_until(
      core, [&] { return stream.sent(number); }, &lock);
  stream.submit();
}

void Device::submit() {
  impl_->stream.submit();
}

void Device::synchronize(Lock& lock) {
  impl_->submit_later(lock);
  Core& core = impl_->core;
  uint64_t target = core.submitted;
  wait_until(
      core, [&] { return core.signals->completed.load() >= target; }, &lock);
  impl_->stream.check_refused();
}

uint64_t Device::submitted() const {
  return impl_->core.submitted;
}

bool Device::done(uint64_t submission) {
  Core& core = impl_->core;
  core.check();
  if (core.signals->completed.load() < submission)
    core.call("wgpuDevicePoll", [&] { native::poll(core.device); });
  return core.signals->completed.load() >= submission;
}

bool Device::wait(uint64_t submission, std::optional<double> seconds, Lock& lock) {
  using Clock = std::chrono::steady_clock;
  Core& core = impl_->core;
  auto end = Clock::time_point::max();
  if (seconds && *seconds < 1e9)  // else it is beyond what the clock can say
    end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(std::max(*seconds, 0.0)));
  auto ended = [&] { return core.signals->completed.load() >= submission; };
  wait_until(
      core, [&] { return ended() || Clock::now() >= end; }, &lock);
  core.check();
  return ended();
}

void Device::collect() {
  impl_->collect();
}

size_t Device::live_buffers() const {
  return impl_->pool.live();
}

void Device::empty_cache() {
  impl_->core.check();
  impl_->collect();
  impl_->kernels.trim();
  submit();
  auto poll = [this] {
    impl_->core.call("wgpuDevicePoll", [this] { native::poll(impl_->core.device); });
  };
  poll();
  impl_->pool.trim(0);
  impl_->uploads.empty();
  impl_->reads.collect();
  impl_->reads.trim(0);
  poll();  // frees what was let go
  give_pages_back();
}

void Device::set_memory_limit(uint64_t bytes) {
  impl_->core.check();
  impl_->collect();
  impl_->core.options.memory_limit = bytes;
  impl_->pool.set_limit(bytes);
}

void Device::reset_peak() {
  impl_->take_dead();
  impl_->core.stats.peak_bytes = impl_->core.stats.live_bytes;
}

MemoryReport Device::memory() {
  impl_->take_dead();
  MemoryReport out;
  impl_->pool.report(out);
  out.staging_upload = impl_->uploads.total_bytes();
  out.staging_read = impl_->reads.total_bytes();
  return out;
}

std::vector<BufferReport> Device::buffers() {
  impl_->take_dead();
  return impl_->pool.buffers();
}

void Device::set_reclaim(std::function<void()> reclaim) {
  impl_->reclaim = std::move(reclaim);
}

}  // namespace wgt::rt
