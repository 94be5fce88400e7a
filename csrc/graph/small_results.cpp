// Kept scalars: a buffer costs the host some 4 KiB, so thousands of kept losses would cost what a
// model does. Old ones move, many at a time, into buffers that they share.
#include <algorithm>

#include "graph/engine.h"

namespace wgt::graph {

namespace {
constexpr uint64_t kSlot = 16;          // bytes; keeps vec4 alignment as it was
constexpr int kShared = 256;            // slots of a shared buffer
constexpr int kPatience = 2 * kShared;  // small results before the older half moves
}  // namespace

void Engine::note_small(Node& n) {
  uint64_t first = static_cast<uint64_t>(n.layout.offset) * info(n.dtype).size;
  bool whole_words = first % sizeof(uint32_t) == 0 && is_contiguous(n.shape, n.layout.strides);
  if (n.bytes() > kSlot || n.small || !whole_words) return;
  n.small = true;
  n.prev = small_last_;
  (small_last_ ? small_last_->next : small_first_) = &n;
  small_last_ = &n;
  ++small_count_;
}

void Engine::forget_small(Node& n) {
  if (!n.small) return;
  (n.prev ? n.prev->next : small_first_) = n.next;
  (n.next ? n.next->prev : small_last_) = n.prev;
  n.prev = n.next = nullptr;
  n.small = false;
  --small_count_;
}

// Shared buffers are written by copies only, so a kernel never finds one both read and written.
void Engine::gather_small() {
  if (small_count_ < kPatience) return;
  rt::BufferRef shared;
  try {
    shared = device().allocate(kSlot * kShared);
  } catch (const Error& error) {
    if (error.kind != ErrorKind::out_of_memory) throw;
    return;  // another time
  }
  for (int slot = 0; slot < kShared; ++slot) {
    Node& n = *small_first_;
    forget_small(n);
    // Views of it, a lost device's and dead ones stay as they are.
    if (n.kind != NodeKind::leaf || !n.buffer || n.buffer->device != &device() ||
        n.refs.load() == 0 || n.buffer->refs.load() != 1)
      continue;
    uint64_t offset = kSlot * static_cast<uint64_t>(slot);
    uint64_t first = static_cast<uint64_t>(n.layout.offset) * info(n.dtype).size;
    device().copy(*shared, offset, *n.buffer, first, (n.bytes() + 3) / 4 * 4);
    n.buffer = shared;
    n.layout.offset = static_cast<int64_t>(offset) / info(n.dtype).size;
  }
}

}  // namespace wgt::graph
