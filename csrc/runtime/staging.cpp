#include "runtime/staging.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/errors.h"
#include "runtime/native.h"
#include "runtime/wait.h"

namespace wgt::rt {

namespace {
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kSmallChunk = kMiB;
constexpr uint64_t kShared = kSmallChunk / 4;  // larger requests get a chunk of their own
constexpr uint64_t kBudget = 512 * kMiB;       // above it, wait instead of making another chunk
constexpr uint64_t kKeep = 256 * kMiB;         // kept mapped and idle
}  // namespace

void UploadRing::retire() {
  if (current_) ready_.push_back(std::exchange(current_, nullptr));
  for (auto* list : {&recorded_, &busy_, &ready_}) {
    for (Chunk* c : *list) release(c);
    list->clear();
  }
}

UploadRing::Slot UploadRing::take(uint64_t bytes) {
  uint64_t need = (bytes + 15) / 16 * 16;
  if (need > kShared) {
    // Powers of two up to 32 MiB are common and pooled; larger ones come from upload_begin only.
    uint64_t size = need <= 32 * kMiB ? std::bit_ceil(need) : (need + kMiB - 1) / kMiB * kMiB;
    size = std::max(std::min(size, core_.limits.max_buffer / 16 * 16), need);
    Chunk* c = acquire(size);
    c->used = need;
    recorded_bytes_ += need;
    recorded_.push_back(c);
    return {c->buffer, 0, c->memory};
  }
  if (current_ && current_->used + need > current_->size) {
    recorded_.push_back(current_);
    current_ = nullptr;
  }
  if (!current_) current_ = acquire(kSmallChunk);
  uint64_t offset = current_->used;
  current_->used += need;
  recorded_bytes_ += need;
  return {current_->buffer, offset, current_->memory + offset};
}

UploadRing::Chunk* UploadRing::acquire(uint64_t size) {
  auto find = [&]() -> Chunk* {
    collect();
    auto it =
        std::find_if(ready_.rbegin(), ready_.rend(), [&](Chunk* c) { return c->size == size; });
    if (it == ready_.rend()) return nullptr;
    Chunk* c = *it;
    ready_.erase(std::next(it).base());
    return c;
  };
  if (Chunk* c = find()) return c;
  if (!busy_.empty()) {  // a poll is far cheaper than fresh memory, which wgpu fills with zeros
    core_.call("wgpuDevicePoll", [this] { native::poll(core_.device); });
    if (Chunk* c = find()) return c;
  }
  if (total_bytes_ + size > kBudget) trim(0);
  Interrupts asked;
  while (total_bytes_ + size > kBudget && !busy_.empty()) {
    Chunk* oldest = busy_.front();
    wait_until(core_, [&] { return oldest->state.load() != Chunk::mapping || asked(); });
    if (Chunk* c = find()) return c;
    if (asked()) break;
    trim(0);
  }
  return create(size);
}

UploadRing::Chunk* UploadRing::create(uint64_t size) {
  WGPUBufferDescriptor desc{};
  desc.usage = WGPUBufferUsage_MapWrite | WGPUBufferUsage_CopySrc;
  desc.size = size;
  desc.mappedAtCreation = 1;
  ErrorScope scope(core_);
  WGPUBuffer buffer = wgpuDeviceCreateBuffer(core_.device, &desc);
  WgpuError error = scope.pop();
  void* memory = nullptr;
  if (!error && buffer)
    core_.call("wgpuBufferGetMappedRange",
               [&] { memory = wgpuBufferGetMappedRange(buffer, 0, size); });
  if (!memory) {
    if (buffer) wgpuBufferRelease(buffer);
    core_.check();
    Error e(ErrorKind::out_of_memory,
            "no memory for an upload of " + std::to_string(size) + " bytes: " + error.message);
    e.requested = size;
    throw e;
  }
  auto* c = new Chunk;
  c->buffer = buffer;
  c->size = size;
  c->memory = static_cast<char*>(memory);
  c->signals = core_.signals;
  total_bytes_ += size;
  return c;
}

void UploadRing::before_submit() {
  if (current_ && current_->used) recorded_.push_back(std::exchange(current_, nullptr));
  if (recorded_.empty()) return;
  core_.call("wgpuBufferUnmap", [this] {
    for (Chunk* c : recorded_) wgpuBufferUnmap(c->buffer);
  });
  for (Chunk* c : recorded_) {
    c->memory = nullptr;
    c->state.store(Chunk::recorded);
  }
}

void UploadRing::after_submit() {
  if (recorded_.empty()) return;
  WGPUBufferMapCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowSpontaneous;
  info.callback = [](WGPUMapAsyncStatus status, WGPUStringView, void* chunk, void*) {
    auto* self = static_cast<Chunk*>(chunk);
    self->signals->events.fetch_add(1, std::memory_order_relaxed);
    self->state.store(status == WGPUMapAsyncStatus_Success ? Chunk::mapped : Chunk::failed);
  };
  core_.call("wgpuBufferMapAsync", [&] {
    for (Chunk* c : recorded_) {
      c->used = 0;
      c->state.store(Chunk::mapping);
      info.userdata1 = c;
      wgpuBufferMapAsync(c->buffer, WGPUMapMode_Write, 0, c->size, info);
    }
  });
  busy_.insert(busy_.end(), recorded_.begin(), recorded_.end());
  recorded_.clear();
  recorded_bytes_ = 0;
}

void UploadRing::discard() {
  for (Chunk* c : recorded_) {
    c->used = 0;
    ready_.push_back(c);
  }
  if (current_) current_->used = 0;
  recorded_.clear();
  recorded_bytes_ = 0;
}

// Moves what the GPU is done with from busy_ to ready_.
void UploadRing::collect() {
  size_t kept = 0;
  uint64_t ready_bytes = 0;
  for (Chunk* c : busy_) {
    int state = c->state.load(std::memory_order_acquire);
    if (state == Chunk::mapping) {
      busy_[kept++] = c;
    } else if (state == Chunk::failed) {
      release(c);
    } else {
      core_.call("wgpuBufferGetMappedRange", [c] {
        c->memory = static_cast<char*>(wgpuBufferGetMappedRange(c->buffer, 0, c->size));
      });
      ready_.push_back(c);
    }
  }
  busy_.resize(kept);
  for (Chunk* c : ready_) ready_bytes += c->size;
  if (ready_bytes > kKeep) trim(kKeep);
}

void UploadRing::empty() {
  collect();
  trim(0);
}

void UploadRing::trim(uint64_t keep) {
  uint64_t bytes = 0;
  for (Chunk* c : ready_) bytes += c->size;
  while (bytes > keep && !ready_.empty()) {
    Chunk* c = ready_.front();  // the one idle for longest
    ready_.erase(ready_.begin());
    bytes -= c->size;
    release(c);
  }
}

void UploadRing::release(Chunk* chunk) {
  total_bytes_ -= chunk->size;
  // While a mapping is pending the callback still writes to the chunk: leak the few bytes then.
  bool pending = chunk->state.load() == Chunk::mapping;
  core_.release_buffer(chunk->buffer);
  if (!pending) delete chunk;
}

}  // namespace wgt::rt
