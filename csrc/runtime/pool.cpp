#include "runtime/pool.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "base/settings.h"

namespace wgt::rt {

namespace {
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kInTurns = 128 * kMiB;  // of workspaces that take turns
std::atomic<uint64_t> next_serial{1};
}  // namespace

Block* FreeBlocks::take() {
  std::pop_heap(blocks_.begin(), blocks_.end(), younger);
  Block* first = blocks_.back();
  blocks_.pop_back();
  return first;
}

void FreeBlocks::give(Block* block) {
  blocks_.push_back(block);
  std::push_heap(blocks_.begin(), blocks_.end(), younger);
}

void FreeBlocks::remove(Block* block) {
  std::erase(blocks_, block);
  std::make_heap(blocks_.begin(), blocks_.end(), younger);
}

uint64_t size_class(uint64_t bytes, uint64_t max_buffer) {
  auto up = [](uint64_t v, uint64_t step) { return (v + step - 1) / step * step; };
  uint64_t size = std::max<uint64_t>(bytes, 256);
  if (size > 64 * kMiB)
    size = up(size, 2 * kMiB);
  else  // eight steps to each power of two
    size = up(size, std::max<uint64_t>(std::bit_floor(size - 1) / 8, 16));
  if (size > max_buffer) size = std::max(up(bytes, 16), max_buffer / 16 * 16);
  return size;
}

Block* Pool::take(uint64_t bytes) {
  auto found = free_.find(bytes);
  if (found == free_.end() || found->second.empty()) return nullptr;
  Block* block = found->second.take();
  core_.stats.pooled_bytes -= block->bytes;
  ++core_.stats.buffer_hits;
  return block;
}

Block* Pool::take_workspace(uint64_t bytes, bool used) {
  auto found = workspaces_.find(bytes);
  if (found == workspaces_.end()) return nullptr;
  // Of those that this command buffer has not used the oldest, so that a loop gets the same again,
  // and finds its bind groups; of the others the one used for longest.
  auto order = [&](const Block* b) {
    const bool now = b->recording == core_.submitted;
    return std::tuple(now, now ? b->last_use : b->serial);
  };
  Block* block =
      *std::min_element(found->second.begin(), found->second.end(),
                        [&](const Block* x, const Block* y) { return order(x) < order(y); });
  if (block->recording == core_.submitted && !used && !limit_ &&
      workspace_bytes_ + bytes <= kInTurns)
    return nullptr;
  take_out(block);
  ++core_.stats.buffer_hits;
  return block;
}

size_t Pool::count_free(uint64_t bytes, bool workspaces) const {
  if (workspaces) {
    auto found = workspaces_.find(bytes);
    return found == workspaces_.end() ? 0 : found->second.size();
  }
  auto found = free_.find(bytes);
  return found == free_.end() ? 0
                              : static_cast<size_t>(found->second.end() - found->second.begin());
}

Block* Pool::create(uint64_t bytes, bool workspace, WgpuError& error) {
  WGPUBufferDescriptor desc{};
  desc.usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
  desc.size = bytes;
  ErrorScope scope(core_);
  WGPUBuffer handle = nullptr;
  core_.call("wgpuDeviceCreateBuffer",
             [&] { handle = wgpuDeviceCreateBuffer(core_.device, &desc); });
  error = scope.pop();
  if (error || !handle) {
    if (handle) wgpuBufferRelease(handle);
    if (!error) error = {WGPUErrorType_OutOfMemory, "out of memory"};
    return nullptr;
  }
  auto* block = new Block;
  block->device = owner_;
  block->handle = handle;
  block->bytes = bytes;
  block->workspace = workspace;
  block->serial = next_serial.fetch_add(1, std::memory_order_relaxed);
  block->next_block = first_;
  if (first_) first_->prev_block = block;
  first_ = block;
  ++core_.stats.buffers;
  ++core_.stats.live_buffers;
  return block;
}

void Pool::used(Block* block) {
  block->last_use = ++core_.tick;
  block->in_use = true;
  ++live_;
  core_.stats.live_bytes += block->bytes;
  most_live_ = std::max(most_live_, core_.stats.live_bytes);
  core_.stats.peak_bytes = std::max(core_.stats.peak_bytes, core_.stats.live_bytes);
}

void Pool::give(Block* block) {
  --live_;
  block->in_use = false;
  block->note.reset();
  core_.stats.live_bytes -= block->bytes;
  if (core_.retired) return drop(block);
  core_.stats.pooled_bytes += block->bytes;
  block->last_use = ++core_.tick;
  if (block->workspace) {
    workspaces_[block->bytes].push_back(block);
    workspace_bytes_ += block->bytes;
  } else {
    free_[block->bytes].give(block);
  }
}

void Pool::take_out(Block* block) {
  core_.stats.pooled_bytes -= block->bytes;
  if (block->workspace) {
    workspace_bytes_ -= block->bytes;
    auto found = workspaces_.find(block->bytes);
    std::erase(found->second, block);
    if (found->second.empty()) workspaces_.erase(found);
    return;
  }
  auto found = free_.find(block->bytes);
  found->second.remove(block);
  if (found->second.empty()) free_.erase(found);
}

void Pool::trim(uint64_t keep) {
  if (core_.stats.pooled_bytes <= keep) return;
  std::vector<Block*> all;
  for (auto& [bytes, blocks] : free_) all.insert(all.end(), blocks.begin(), blocks.end());
  for (auto& [bytes, blocks] : workspaces_) all.insert(all.end(), blocks.begin(), blocks.end());
  std::sort(all.begin(), all.end(), [](Block* a, Block* b) { return a->last_use < b->last_use; });
  for (Block* block : all) {
    if (core_.stats.pooled_bytes <= keep) return;
    take_out(block);
    drop(block);
  }
}

void Pool::trim_to_limit() {
  uint64_t limit = static_cast<uint64_t>(settings().pool_limit_mb) * kMiB;
  if (!limit) {
    // Live and free together stay near what was ever live at once: a steady loop never goes back to
    // the driver, and nothing much beyond its need is held.
    uint64_t most = most_live_ + most_live_ / 8;
    limit = std::max(most - std::min(most, core_.stats.live_bytes), 256 * kMiB);
  }
  if (core_.stats.pooled_bytes > limit) trim(limit);
}

void Pool::set_limit(uint64_t bytes) {
  limit_ = bytes;
  if (bytes) make_room(0);
}

bool Pool::make_room(uint64_t bytes) {
  if (!limit_) return true;
  uint64_t live = core_.stats.live_bytes;
  uint64_t left = limit_ - std::min(limit_, live);
  trim(left - std::min(left, bytes));
  return bytes <= left;
}

std::optional<uint64_t> Pool::available() const {
  if (!limit_) return std::nullopt;
  return limit_ - std::min(limit_, core_.stats.live_bytes);
}

void Pool::report(MemoryReport& out) const {
  out.live = core_.stats.live_bytes;
  out.pooled = core_.stats.pooled_bytes;
  out.peak = core_.stats.peak_bytes;
  if (limit_) out.limit = limit_;
  for (const Block* b = first_; b; b = b->next_block) {
    MemoryReport::Class& c = out.classes[b->bytes];
    ++(b->in_use ? c.live : c.pooled);
    ++(b->in_use ? out.live_buffers : out.pooled_buffers);
  }
}

std::vector<BufferReport> Pool::buffers() const {
  std::vector<BufferReport> out;
  for (const Block* b = first_; b; b = b->next_block)
    if (b->in_use) out.push_back({b->bytes, b->refs.load(std::memory_order_relaxed), b->note});
  return out;
}

// Released, not destroyed: recorded commands may still refer to it.
void Pool::drop(Block* block) {
  release(block);
  (block->prev_block ? block->prev_block->next_block : first_) = block->next_block;
  if (block->next_block) block->next_block->prev_block = block->prev_block;
  delete block;
}

void Pool::release(Block* block) {
  groups_.forget(*block);
  auto handle = static_cast<WGPUBuffer>(std::exchange(block->handle, nullptr));
  if (!handle) return;
  --core_.stats.live_buffers;
  core_.release_buffer(handle);
}

void Pool::retire() {
  trim(0);
  for (Block* b = first_; b; b = b->next_block) release(b);
}

}  // namespace wgt::rt
