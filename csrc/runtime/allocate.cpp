// The members of Device that find memory, or say why there is none.
#include <algorithm>

#include "runtime/device.h"
#include "runtime/errors.h"
#include "runtime/impl.h"
#include "runtime/native.h"
#include "runtime/wait.h"

namespace wgt::rt {

BufferRef Device::allocate(uint64_t bytes) {
  impl_->core.check();
  impl_->collect();
  Block* block = impl_->allocate(bytes);
  impl_->pool.used(block);
  BufferRef ref(block);
  if (impl_->core.options.debug) impl_->fill_with_poison(*block);
  return ref;
}

BufferRef Device::workspace(uint64_t bytes) {
  impl_->core.check();
  impl_->collect();
  Block* block = impl_->allocate(bytes, true);
  block->recording = impl_->core.submitted;
  impl_->pool.used(block);
  return BufferRef(block);
}

uint64_t Device::size_class(uint64_t bytes) const {
  return rt::size_class(bytes, impl_->core.limits.max_buffer);
}

// Those that are there already are held as well, for others might be made at their expense.
void Device::reserve(const std::vector<Need>& needs) {
  impl_->core.check();
  impl_->collect();
  if (std::all_of(needs.begin(), needs.end(), [&](const Need& n) {
        return impl_->pool.count_free(n.bytes, n.workspace) >= n.count;
      }))
    return;
  std::vector<BufferRef> held;
  Stats& stats = impl_->core.stats;
  uint64_t peak = stats.peak_bytes;
  try {
    for (const Need& n : needs)
      for (size_t i = 0; i < n.count; ++i) {
        Block* block = impl_->allocate(n.bytes, n.workspace);
        impl_->pool.used(block);
        held.emplace_back(block);
      }
  } catch (...) {
    stats.peak_bytes = peak;
    throw;
  }
  stats.peak_bytes = peak;
}

void Device::Impl::refuse(uint64_t bytes, const std::string& why) {
  Error e(ErrorKind::out_of_memory,
          "no " + std::to_string(bytes) + " bytes on " + core.title() + ": " + why);
  e.requested = bytes;
  e.available = pool.available();
  throw e;
}

// All that is ours and free goes back to the driver. What runs still needs its part.
void Device::Impl::give_all_back() {
  if (reclaim) reclaim();
  take_dead();
  Interrupts asked;
  wait_until(core, [&] { return stream.idle() || asked(); });
  pool.trim(0);
  uploads.empty();
  reads.collect();
  reads.trim(0);
  core.call("wgpuDevicePoll", [&] { native::poll(core.device); });
}

Block* Device::Impl::allocate(uint64_t bytes, bool workspace) {
  if (bytes > core.limits.max_buffer)
    refuse(bytes, "its largest buffer has " + std::to_string(core.limits.max_buffer) + " bytes");
  uint64_t size = rt::size_class(bytes, core.limits.max_buffer);
  auto reuse = [&](bool used) {
    return workspace ? pool.take_workspace(size, used) : pool.take(size);
  };
  if (Block* block = reuse(false)) return block;
  if (!pool.make_room(size)) {
    if (reclaim) reclaim();
    take_dead();
    if (Block* block = reuse(true)) return block;
    if (!pool.make_room(size))
      refuse(size, "the limit of " + std::to_string(pool.limit()) + " bytes leaves " +
                       std::to_string(*pool.available()) +
                       "; let tensors go, or raise it by set_memory_limit()");
  }
  WgpuError error;
  if (Block* block = pool.create(size, workspace, error)) return block;
  if (!error.out_of_memory()) raise_wgpu(core, error, "allocating a buffer");
  if (Block* block = reuse(true)) return block;
  stream.submit();  // what is recorded needs its memory until it ran
  give_all_back();
  if (Block* block = pool.create(size, workspace, error)) return block;
  if (!error.out_of_memory()) raise_wgpu(core, error, "allocating a buffer");
  refuse(size, "out of memory, with " + std::to_string(core.stats.live_bytes) +
                   " bytes in use; let tensors go, or work on smaller parts");
}

}  // namespace wgt::rt
