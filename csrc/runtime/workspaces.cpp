#include "runtime/workspaces.h"

#include <algorithm>
#include <utility>

namespace wgt::rt {

namespace {
constexpr uint64_t kMost = 256 << 20;  // bytes of all, but for a single one
}

BufferRef Workspaces::use(size_t slot) {
  slots_[slot].recording = core_.submitted;
  std::rotate(slots_.begin() + static_cast<std::ptrdiff_t>(slot),
              slots_.begin() + static_cast<std::ptrdiff_t>(slot) + 1, slots_.end());
  return slots_.back().buffer;
}

BufferRef Workspaces::take(uint64_t bytes) {
  size_t busy = slots_.size();
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].buffer->bytes != bytes) continue;
    if (slots_[i].recording != core_.submitted) return use(i);
    busy = std::min(busy, i);
  }
  if (bytes_ + bytes <= kMost) return {};
  if (busy < slots_.size()) return use(busy);
  while (!slots_.empty() && bytes_ + bytes > kMost) {
    bytes_ -= slots_.front().buffer->bytes;
    slots_.erase(slots_.begin());
  }
  return {};
}

BufferRef Workspaces::add(BufferRef fresh) {
  bytes_ += fresh->bytes;
  slots_.push_back({std::move(fresh), 0});
  return use(slots_.size() - 1);
}

void Workspaces::clear() {
  slots_.clear();
  bytes_ = 0;
}

}  // namespace wgt::rt
