// The members of Device that record, move and wait.
#include "runtime/device.h"

#include <algorithm>
#include <cstring>

#include "runtime/errors.h"
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
bool Device::software_kernels() const {
  const std::string& kernels = options().kernels;
  return kernels == "software" || (kernels != "gpu" && is_software());
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
void Device::check() const {
  impl_->core.check();
}

BufferRef Device::allocate(uint64_t bytes) {
  impl_->core.check();
  impl_->collect();
  Block* block = impl_->allocate(bytes);
  impl_->pool.used(block);
  BufferRef ref(block);
  if (impl_->core.options.debug) impl_->fill_with_poison(*block);
  return ref;
}

Block* Device::Impl::allocate(uint64_t bytes) {
  auto refuse = [&](const std::string& why) {
    Error e(ErrorKind::out_of_memory, "cannot allocate " + std::to_string(bytes) + " bytes on '" +
                                          core.adapter.name + "': " + why);
    e.requested = bytes;
    throw e;
  };
  if (bytes > core.limits.max_buffer)
    refuse("its largest buffer has " + std::to_string(core.limits.max_buffer) + " bytes");
  uint64_t size = size_class(bytes, core.limits.max_buffer);
  if (Block* block = pool.take(size)) return block;
  WgpuError error;
  if (Block* block = pool.create(size, error)) return block;
  if (!error.out_of_memory()) raise_wgpu(core, error, "allocating a buffer");
  // All that is ours and free goes back to the driver, then once more.
  stream.submit();
  pool.trim(0);
  uploads.trim(0);
  reads.trim(0);
  wait_until(core, [&] { return stream.idle(); });
  core.call("wgpuDevicePoll", [&] { native::poll(core.device); });
  if (Block* block = pool.create(size, error)) return block;
  if (!error.out_of_memory()) raise_wgpu(core, error, "allocating a buffer");
  refuse("out of memory, with " + std::to_string(core.stats.live_bytes) + " bytes in use");
  return nullptr;
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

void* Device::upload_begin(Buffer& dst, uint64_t offset, uint64_t bytes) {
  Impl& d = *impl_;
  d.core.check();
  check_range("upload", dst, offset, bytes);
  if (!bytes) return nullptr;
  if (d.uploads.recorded_bytes() + bytes > kUploadBytes) submit();
  UploadRing::Slot slot = d.uploads.take(bytes);
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

ReadbackRef Device::read_begin(Buffer& src, uint64_t offset, uint64_t bytes) {
  impl_->core.check();
  uint64_t shift = offset % 4;
  check_range("read", src, offset - shift, bytes + shift);
  if (!bytes) return std::make_shared<Readback>();
  ReadbackRef out = impl_->reads.begin(bytes, shift);
  impl_->stream.copy(out->impl->chunk->buffer, 0, handle(src), offset - shift, up4(bytes + shift));
  impl_->reads.recorded(*out);
  return out;
}

void Device::read_wait(Readback& readback, Lock& lock) {
  Impl& d = *impl_;
  d.core.check();
  if (readback.data || !readback.bytes) return;
  if (readback.impl->chunk->state.load() == ReadChunk::recorded) submit();
  wait_until(
      d.core, [&] { return !d.reads.pending(readback); }, &lock);
  if (d.reads.finish(readback)) return;
  d.core.check();
  raise(ErrorKind::generic, "the work that this read belongs to was refused and dropped");
}

void Device::submit() {
  impl_->stream.submit();
}

void Device::synchronize(Lock& lock) {
  submit();
  Core& core = impl_->core;
  uint64_t target = core.submitted;
  wait_until(
      core, [&] { return core.signals->completed.load() >= target; }, &lock);
  impl_->stream.check_refused();
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
  submit();
  impl_->pool.trim(0);
  impl_->uploads.trim(0);
  impl_->reads.trim(0);
  impl_->core.call("wgpuDevicePoll", [this] { native::poll(impl_->core.device); });
}

}  // namespace wgt::rt
