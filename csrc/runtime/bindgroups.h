// Bind groups by layout and buffers. A live bind group keeps the memory of its buffers, so an entry
// goes when one of its buffers is dropped.
#pragma once
#include <unordered_map>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/core.h"

namespace wgt::rt {

struct BindEntry;

/// What the pool makes: a buffer that knows the bind groups it is in.
struct Block : Buffer {
  Block *prev_block = nullptr, *next_block = nullptr;  // in the pool's list of all
  std::vector<BindEntry*> groups;
  BindEntry* recent = nullptr;  // the last one with this block as its first binding
  bool in_use = false;          // someone refers to it
  bool workspace = false;       // see Device::workspace()
  uint64_t recording = 0;       // as a workspace: the command buffer that used it last
};

/// A bind group layout with the pipeline layouts on top of it; shared by all kernels of one
/// signature.
struct BindLayout {
  uint32_t id = 0;
  std::vector<Access> accesses;
  uint32_t uniform_bytes = 0;  // size of the parameter binding; 0: none
  WGPUBindGroupLayout handle = nullptr;
  std::vector<std::pair<uint32_t, WGPUPipelineLayout>> pipeline_layouts;  // by immediate bytes
};

struct BindEntry {
  uint64_t hash = 0;
  uint32_t layout_id = 0;
  uint64_t last_use = 0;
  WGPUBindGroup handle = nullptr;
  std::vector<Block*> blocks;   // in binding order
  std::vector<Window> windows;  // the same, where parts of buffers are bound
  BindEntry* next = nullptr;    // of the same hash

  bool matches(uint32_t id, Buffer* const* buffers, size_t n) const {
    if (layout_id != id || blocks.size() != n || !windows.empty()) return false;
    for (size_t i = 0; i < n; ++i)
      if (blocks[i] != buffers[i]) return false;
    return true;
  }
  bool matches(uint32_t id, const Window* parts, size_t n) const {
    if (layout_id != id || windows.size() != n) return false;
    for (size_t i = 0; i < n; ++i)
      if (windows[i].buffer != parts[i].buffer || windows[i].offset != parts[i].offset ||
          windows[i].bytes != parts[i].bytes)
        return false;
    return true;
  }
};

class BindGroups {
 public:
  explicit BindGroups(Core& core) : core_(core) {}
  /// `uniforms` holds the parameters, where the layout has them.
  template <class Binding>  // Buffer* const: whole buffers, or const Window
  BindEntry* get(const BindLayout& layout, Binding* bindings, WGPUBuffer uniforms);
  void forget(Block& block);
  void clear();
  /// Counts deletions: a kept BindEntry* is good while this stays.
  uint64_t deletions() const { return deletions_; }

 private:
  template <class Binding>
  BindEntry* find(uint64_t hash, const BindLayout& layout, Binding* bindings) const;
  BindEntry* create(const BindLayout& layout, const Window* windows, WGPUBuffer uniforms);
  Window window(Buffer* whole) const;
  Window window(const Window& part) const { return part; }
  void remove(BindEntry* entry);
  void evict();

  Core& core_;
  std::unordered_map<uint64_t, BindEntry*> table_;
  size_t count_ = 0;
  uint64_t deletions_ = 0;
};

}  // namespace wgt::rt
