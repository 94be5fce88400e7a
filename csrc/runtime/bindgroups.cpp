#include "runtime/bindgroups.h"

#include <algorithm>

#include "runtime/errors.h"

namespace wgt::rt {

namespace {

constexpr size_t kMaxGroups = 4096;

uint64_t key(const Buffer* b) {
  return b->serial;
}
uint64_t key(const Window& w) {
  return w.buffer->serial * 31 + w.offset * 7 + w.bytes;
}

Block* block_of(Buffer* b) {
  return static_cast<Block*>(b);
}
Block* block_of(const Window& w) {
  return static_cast<Block*>(w.buffer);
}

template <class Binding>
uint64_t hash_of(uint32_t layout, Binding* bindings, size_t n) {
  uint64_t h = layout * 0x9e3779b97f4a7c15ull;
  for (size_t i = 0; i < n; ++i) {
    h = (h ^ key(bindings[i])) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
  }
  return h;
}

}  // namespace

template <class Binding>
BindEntry* BindGroups::find(uint64_t hash, const BindLayout& layout, Binding* bindings) const {
  auto found = table_.find(hash);
  BindEntry* e = found == table_.end() ? nullptr : found->second;
  while (e && !e->matches(layout.id, bindings, layout.accesses.size())) e = e->next;
  return e;
}

template <class Binding>
BindEntry* BindGroups::get(const BindLayout& layout, Binding* bindings, WGPUBuffer uniforms) {
  size_t n = layout.accesses.size();
  Block* first = n ? block_of(bindings[0]) : nullptr;
  if (first && first->recent && first->recent->matches(layout.id, bindings, n)) {
    first->recent->last_use = core_.tick;
    ++core_.stats.bind_group_hits;
    return first->recent;
  }
  uint64_t hash = hash_of(layout.id, bindings, n);
  BindEntry* e = find(hash, layout, bindings);
  if (e) {
    e->last_use = core_.tick;
    ++core_.stats.bind_group_hits;
  } else {
    if (count_ >= kMaxGroups) evict();
    std::vector<Window> windows(n);
    for (size_t i = 0; i < n; ++i) windows[i] = window(bindings[i]);
    e = create(layout, windows.data(), uniforms);
    if constexpr (std::is_same_v<Binding, const Window>) e->windows = windows;
    e->hash = hash;
    BindEntry*& head = table_[hash];
    e->next = head;
    head = e;
    core_.stats.live_bind_groups = ++count_;
  }
  if (first) first->recent = e;
  return e;
}

template BindEntry* BindGroups::get(const BindLayout&, Buffer* const*, WGPUBuffer);
template BindEntry* BindGroups::get(const BindLayout&, const Window*, WGPUBuffer);

// A size class may round a buffer up past the largest binding.
Window BindGroups::window(Buffer* whole) const {
  return {whole, 0, std::min(whole->bytes, core_.limits.max_binding & ~uint64_t{3})};
}

BindEntry* BindGroups::create(const BindLayout& layout, const Window* windows,
                              WGPUBuffer uniforms) {
  size_t n = layout.accesses.size();
  std::vector<WGPUBindGroupEntry> entries(n + (layout.uniform_bytes ? 1 : 0));
  for (size_t i = 0; i < n; ++i) {
    entries[i].binding = static_cast<uint32_t>(i);
    entries[i].buffer = static_cast<WGPUBuffer>(windows[i].buffer->handle);
    entries[i].offset = windows[i].offset;
    entries[i].size = windows[i].bytes;
  }
  if (layout.uniform_bytes) {
    entries[n].binding = static_cast<uint32_t>(n);
    entries[n].buffer = uniforms;
    entries[n].size = layout.uniform_bytes;
  }
  WGPUBindGroupDescriptor desc{};
  desc.layout = layout.handle;
  desc.entryCount = entries.size();
  desc.entries = entries.data();
  ErrorScope scope(core_);
  WGPUBindGroup handle = wgpuDeviceCreateBindGroup(core_.device, &desc);
  if (WgpuError error = scope.pop()) {
    if (handle) wgpuBindGroupRelease(handle);
    raise_wgpu(core_, error, "binding buffers");
  }
  auto* e = new BindEntry;
  e->layout_id = layout.id;
  e->handle = handle;
  e->last_use = core_.tick;
  for (size_t i = 0; i < n; ++i) {
    Block* block = block_of(windows[i]);
    if (std::find(e->blocks.begin(), e->blocks.end(), block) == e->blocks.end())
      block->groups.push_back(e);
    e->blocks.push_back(block);
  }
  ++core_.stats.bind_groups;
  return e;
}

void BindGroups::remove(BindEntry* entry) {
  auto found = table_.find(entry->hash);
  BindEntry** link = &found->second;
  while (*link != entry) link = &(*link)->next;
  *link = entry->next;
  if (!found->second) table_.erase(found);
  for (Block* block : entry->blocks) {
    std::erase(block->groups, entry);
    if (block->recent == entry) block->recent = nullptr;
  }
  core_.release("wgpuBindGroupRelease", [&] { wgpuBindGroupRelease(entry->handle); });
  delete entry;
  core_.stats.live_bind_groups = --count_;
  ++deletions_;
}

void BindGroups::forget(Block& block) {
  while (!block.groups.empty()) remove(block.groups.back());
}

// A quarter at a time, so that hits need no list to keep in order.
void BindGroups::evict() {
  std::vector<BindEntry*> all;
  for (auto& [hash, head] : table_)
    for (BindEntry* e = head; e; e = e->next) all.push_back(e);
  auto quarter = all.begin() + static_cast<ptrdiff_t>(all.size() / 4);
  std::nth_element(all.begin(), quarter, all.end(),
                   [](BindEntry* a, BindEntry* b) { return a->last_use < b->last_use; });
  std::for_each(all.begin(), quarter, [this](BindEntry* e) { remove(e); });
}

void BindGroups::clear() {
  while (!table_.empty()) remove(table_.begin()->second);
}

}  // namespace wgt::rt
