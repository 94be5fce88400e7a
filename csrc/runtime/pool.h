// Free buffers by size class. Reuse needs no waiting: later commands of the stream run later.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "runtime/bindgroups.h"
#include "runtime/core.h"
#include "runtime/errors.h"
#include "runtime/memory.h"

namespace wgt::rt {

/// The size of the buffer that serves a request: at most 12.5 % more, beyond 256 bytes.
uint64_t size_class(uint64_t bytes, uint64_t max_buffer);

/// Free blocks of one size. The oldest is taken first, whatever order they came back in: a loop
/// that asks for the same again gets the same again, and finds its bind groups.
class FreeBlocks {
 public:
  Block* take();  // of what is not empty
  void give(Block* block);
  void remove(Block* block);
  bool empty() const { return blocks_.empty(); }
  auto begin() const { return blocks_.begin(); }
  auto end() const { return blocks_.end(); }

 private:
  static bool younger(const Block* a, const Block* b) { return a->serial > b->serial; }
  std::vector<Block*> blocks_;  // a heap
};

class Pool {
 public:
  Pool(Core& core, BindGroups& groups, Device* owner)
      : core_(core), groups_(groups), owner_(owner) {}
  /// A free block of exactly this class, or nothing.
  Block* take(uint64_t bytes);
  /// The same of the workspaces: they take turns, as a buffer that one command buffer uses twice
  /// has a barrier before its second use. Nothing where one more is worth its memory, unless `used`
  /// ones will do, as under a limit.
  Block* take_workspace(uint64_t bytes, bool used);
  /// Free blocks of exactly this class.
  size_t count_free(uint64_t bytes, bool workspaces) const;
  /// A new one, all zero; nothing and the error where wgpu refuses.
  Block* create(uint64_t bytes, bool workspace, WgpuError& error);
  /// Takes back what nobody refers to.
  void give(Block* block);
  /// Drops the blocks unused for longest until `keep` bytes are left. wgpu keeps what recorded
  /// commands refer to until they are done.
  void trim(uint64_t keep);
  /// The configured cap.
  void trim_to_limit();
  void used(Block* block);  // counts it as live

  /// Bytes that all blocks, used and free, may have; 0: no limit.
  void set_limit(uint64_t bytes);
  uint64_t limit() const { return limit_; }
  /// Whether a new block of so many bytes stays within the limit, when free ones go for it.
  bool make_room(uint64_t bytes);
  /// Bytes that the limit leaves; nothing without a limit.
  std::optional<uint64_t> available() const;
  void report(MemoryReport& out) const;
  std::vector<BufferReport> buffers() const;

  /// Gives all memory back, that of live blocks too: for a device that is lost.
  void retire();
  size_t live() const { return live_; }  // blocks that someone refers to

 private:
  void take_out(Block* block);  // of the free ones
  void drop(Block* block);
  void release(Block* block);

  Core& core_;
  BindGroups& groups_;
  Device* owner_;
  std::map<uint64_t, FreeBlocks> free_;
  std::map<uint64_t, std::vector<Block*>> workspaces_;  // free, too
  uint64_t workspace_bytes_ = 0;                        // of these
  Block* first_ = nullptr;                              // of all blocks
  uint64_t limit_ = 0;
  uint64_t most_live_ = 0;  // bytes ever in use at once
  size_t live_ = 0;
};

}  // namespace wgt::rt
