// Engine: what its memory is used for, and how much there may be.
#include "base/settings.h"
#include "graph/engine.h"

namespace wgt::graph {

// From now on the engine's device.
void Engine::adopt(std::unique_ptr<rt::Device> fresh) {
  fresh->set_name(name_);
  fresh->set_reclaim([this] { collect(); });  // dead nodes keep buffers until then
  devices_.push_back(std::move(fresh));
  device_.store(devices_.back().get(), std::memory_order_release);
}

void Engine::set_memory_limit(uint64_t bytes) {
  std::lock_guard<std::mutex> one(recovery_);
  rt::Lock l = lock();
  collect();
  device().set_memory_limit(bytes);
  options_.memory_limit = bytes;
}

void Engine::reset_peak() {
  rt::Lock l = lock();
  collect();
  device().reset_peak();
}

void Engine::empty_cache() {
  rt::Lock l = lock();
  collect();
  plans_.trim(static_cast<size_t>(settings().max_plans));
  device().stats().live_plans = plans_.size();
  device().empty_cache();
}

rt::MemoryReport Engine::memory() {
  rt::Lock l = lock();
  collect();
  return device().memory();
}

std::vector<rt::BufferReport> Engine::buffers() {
  rt::Lock l = lock();
  collect();
  return device().buffers();
}

void Engine::set_origin(Node& n, std::string line) {
  n.origin = std::make_shared<std::string>(std::move(line));
  note_memory(n);
}

// A view's buffer keeps the note of what it was made for.
void Engine::note_memory(Node& n) {
  if (!n.origin || n.kind != NodeKind::leaf || !n.buffer || n.buffer->note) return;
  n.buffer->note = std::make_shared<rt::BufferNote>(
      rt::BufferNote{std::string(info(n.dtype).name) + " " + to_string(n.shape), *n.origin});
}

}  // namespace wgt::graph
