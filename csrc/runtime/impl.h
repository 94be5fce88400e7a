// The parts of a device. Order matters: what is declared later refers to what is earlier.
#pragma once
#include "runtime/bindgroups.h"
#include "runtime/core.h"
#include "runtime/kernels.h"
#include "runtime/pool.h"
#include "runtime/readback.h"
#include "runtime/staging.h"
#include "runtime/stream.h"

namespace wgt::rt {

struct Device::Impl {
  explicit Impl(Device* owner)
      : groups(core),
        pool(core, groups, owner),
        kernels(core),
        uploads(core),
        reads(core),
        stream(core, groups, kernels, uploads, reads) {}

  Core core;
  BindGroups groups;
  Pool pool;
  Kernels kernels;
  UploadRing uploads;
  Reads reads;
  Stream stream;
  Graveyard<Buffer> graveyard;
  std::function<void()> reclaim;  // of the layer above
  BufferRef poison;               // debug mode: what fresh memory is filled from

  Block* allocate(uint64_t bytes, bool workspace = false);
  [[noreturn]] void refuse(uint64_t bytes, const std::string& why);
  void give_all_back();
  void submit_later(Lock& lock);
  template <class F>
  auto with_retry(F&& f);
  void fill_with_poison(Block& block);
  void collect();
  void take_dead();
  void retire();
};

}  // namespace wgt::rt
