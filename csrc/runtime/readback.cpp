#include "runtime/readback.h"

#include <algorithm>
#include <bit>

#include "runtime/errors.h"
#include "runtime/native.h"

namespace wgt::rt {

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kKeep = 512 * kMiB;  // fresh memory reads ten times slower

// Only its memory is freed by the poll that follows.
void destroy_now(WGPUDevice device) {
  guarded("wgpuDeviceDestroy", [device] {
    wgpuDeviceDestroy(device);
    native::poll(device);
  });
}

}  // namespace

Readback::Readback() = default;

Readback::~Readback() {
  if (!impl || !impl->chunk) return;
  ReadHeap& heap = *impl->heap;
  ReadChunk* chunk = impl->chunk;
  std::lock_guard<std::mutex> lock(heap.mutex);
  --heap.live;
  if (!heap.closed) {
    heap.dead.push_back(chunk);
    heap.has_dead.store(true, std::memory_order_release);
    if (heap.destroy_later && heap.live == 0 && heap.core->touchable()) {
      heap.destroy_later = false;
      destroy_now(heap.core->device);
    }
    return;
  }
  if (forked()) return;
  bool pending = chunk->state.load() == ReadChunk::mapping;  // the callback still writes to it
  guarded("wgpuBufferRelease", [chunk] { wgpuBufferRelease(chunk->buffer); });
  if (!pending) delete chunk;
}

Reads::Reads(Core& core) : core_(core) {
  heap_->core = &core;
  heap_->signals = core.signals;
}

void Reads::retire() {
  std::lock_guard<std::mutex> lock(heap_->mutex);
  heap_->closed = true;
  heap_->core = nullptr;
  recorded_.clear();
  for (auto* list : {&heap_->dead, &dying_, &free_}) {
    for (ReadChunk* c : *list) release(c);
    list->clear();
  }
}

ReadbackRef Reads::begin(uint64_t bytes, uint64_t shift) {
  uint64_t need = (bytes + shift + 15) / 16 * 16;
  auto out = std::make_shared<Readback>();
  out->impl = std::make_unique<Readback::Impl>();
  // Powers of two while waste is cheap, so that few sizes are kept.
  uint64_t size = need <= 4 * kMiB ? std::max<uint64_t>(std::bit_ceil(need), 4096)
                                   : (need + kMiB - 1) / kMiB * kMiB;
  size = std::max(std::min(size, core_.limits.max_buffer / 16 * 16), need);
  out->impl->chunk = acquire(size);
  out->impl->heap = heap_;
  out->impl->shift = shift;
  out->bytes = bytes;
  std::lock_guard<std::mutex> lock(heap_->mutex);
  ++heap_->live;
  return out;
}

ReadChunk* Reads::acquire(uint64_t size) {
  collect();
  auto it =
      std::find_if(free_.rbegin(), free_.rend(), [size](ReadChunk* c) { return c->size == size; });
  if (it != free_.rend()) {
    ReadChunk* c = *it;
    free_.erase(std::next(it).base());
    return c;
  }
  WGPUBufferDescriptor desc{};
  desc.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;
  desc.size = size;
  ErrorScope scope(core_);
  WGPUBuffer buffer = wgpuDeviceCreateBuffer(core_.device, &desc);
  if (WgpuError error = scope.pop(); error || !buffer) {
    if (buffer) wgpuBufferRelease(buffer);
    core_.check();
    Error e(ErrorKind::out_of_memory,
            "no memory to read " + std::to_string(size) + " bytes: " + error.message);
    e.requested = size;
    throw e;
  }
  auto* c = new ReadChunk;
  c->buffer = buffer;
  c->size = size;
  total_bytes_ += size;
  c->signals = core_.signals;
  return c;
}

void Reads::recorded(Readback& readback) {
  ReadChunk* c = readback.impl->chunk;
  c->state.store(ReadChunk::recorded);
  recorded_.push_back(c);
}

void Reads::after_submit() {
  if (recorded_.empty()) return;
  WGPUBufferMapCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowSpontaneous;
  info.callback = [](WGPUMapAsyncStatus status, WGPUStringView, void* chunk, void*) {
    auto* self = static_cast<ReadChunk*>(chunk);
    self->signals->events.fetch_add(1, std::memory_order_relaxed);
    self->state.store(status == WGPUMapAsyncStatus_Success ? ReadChunk::mapped : ReadChunk::failed);
  };
  core_.call("wgpuBufferMapAsync", [&] {
    for (ReadChunk* c : recorded_) {
      c->state.store(ReadChunk::mapping);
      info.userdata1 = c;
      wgpuBufferMapAsync(c->buffer, WGPUMapMode_Read, 0, c->size, info);
    }
  });
  recorded_.clear();
}

void Reads::discard() {
  for (ReadChunk* c : recorded_) c->state.store(ReadChunk::failed);
  recorded_.clear();
}

void Reads::collect() {
  if (heap_->has_dead.load(std::memory_order_acquire)) {
    std::lock_guard<std::mutex> lock(heap_->mutex);
    heap_->has_dead.store(false, std::memory_order_relaxed);
    dying_.insert(dying_.end(), heap_->dead.begin(), heap_->dead.end());
    heap_->dead.clear();
  }
  if (dying_.empty()) return;
  size_t kept = 0;
  for (ReadChunk* c : dying_) {
    int state = c->state.load(std::memory_order_acquire);
    if (state == ReadChunk::recorded || state == ReadChunk::mapping) {
      dying_[kept++] = c;
    } else if (state == ReadChunk::failed) {
      release(c);
    } else {
      if (state == ReadChunk::mapped)
        core_.call("wgpuBufferUnmap", [c] { wgpuBufferUnmap(c->buffer); });
      c->state.store(ReadChunk::idle);
      free_.push_back(c);
    }
  }
  dying_.resize(kept);
  trim(kKeep);
}

void Reads::trim(uint64_t keep) {
  uint64_t bytes = 0;
  for (ReadChunk* c : free_) bytes += c->size;
  while (bytes > keep && !free_.empty()) {
    ReadChunk* c = free_.front();
    free_.erase(free_.begin());
    bytes -= c->size;
    release(c);
  }
}

bool Reads::pending(const Readback& readback) const {
  int state = readback.impl->chunk->state.load(std::memory_order_acquire);
  return state == ReadChunk::recorded || state == ReadChunk::mapping;
}

bool Reads::finish(Readback& readback) {
  ReadChunk* c = readback.impl->chunk;
  if (c->state.load(std::memory_order_acquire) != ReadChunk::mapped) return false;
  const void* memory = nullptr;
  core_.call("wgpuBufferGetConstMappedRange",
             [&] { memory = wgpuBufferGetConstMappedRange(c->buffer, 0, c->size); });
  if (!memory) return false;
  readback.data = static_cast<char*>(const_cast<void*>(memory)) + readback.impl->shift;
  core_.stats.bytes_read += readback.bytes;
  return true;
}

void Reads::destroy_device() {
  std::lock_guard<std::mutex> lock(heap_->mutex);
  if (heap_->live)
    heap_->destroy_later = true;
  else if (core_.touchable())
    destroy_now(core_.device);
}

void Reads::release(ReadChunk* chunk) {
  bool pending = chunk->state.load() == ReadChunk::mapping;
  total_bytes_ -= chunk->size;
  core_.release_buffer(chunk->buffer);
  if (!pending) delete chunk;
}

}  // namespace wgt::rt
