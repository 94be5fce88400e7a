#include "graph/engine.h"

#include <algorithm>
#include <mutex>

#include "base/settings.h"
#include "graph/codegen.h"

namespace wgt::graph {

void Node::on_zero() {
  engine->dead_.push(this);
}

namespace {
std::mutex& engines_mutex() {
  static std::mutex m;
  return m;
}
std::vector<Engine*>& engine_list() {
  static auto* list = new std::vector<Engine*>();  // lives until the process ends, as engines do
  return *list;
}
}  // namespace

std::vector<Engine*> engines() {
  std::lock_guard<std::mutex> l(engines_mutex());
  return engine_list();
}

Engine* Engine::create(const rt::AdapterInfo& adapter, const rt::DeviceOptions& options,
                       Tuning tuning, bool shared) {
  auto* e = new Engine();
  try {
    e->adopt(rt::Device::create(adapter, options));
  } catch (...) {
    delete e;
    throw;
  }
  e->adapter_ = adapter;
  e->options_ = options;
  e->tuning_ = tuning;
  std::lock_guard<std::mutex> l(engines_mutex());
  int own = 1;
  for (Engine* other : engine_list())
    own += other->adapter_.index == adapter.index && other->name_.find('#') != std::string::npos;
  e->name_ = "gpu:" + std::to_string(adapter.index) + (shared ? "" : "#" + std::to_string(own));
  e->device().set_name(e->name_);
  engine_list().push_back(e);
  return e;
}

rt::Lock Engine::lock() {
  if (rt::forked()) [[unlikely]]
    device().check();  // raises; the lock may be held for ever by a thread that was not forked
  for (;;) {
    rt::Device* d = device_.load(std::memory_order_acquire);
    rt::Lock l(d->mutex());
    if (rt::must_stop()) [[unlikely]]
      rt::stop(l);
    if (d == device_.load(std::memory_order_acquire)) return l;
  }
}

// An operation and the casts of its operands.
constexpr int kNodesOfAnOperation = 4;

rt::Lock Engine::try_lock_for_node() {
  rt::Device* d = device_.load(std::memory_order_acquire);
  rt::Lock l(d->mutex(), std::try_to_lock);
  if (l && (d != device_.load(std::memory_order_acquire) || rt::must_stop() ||
            since_flush_ + kNodesOfAnOperation >= flush_limit()))
    l.unlock();
  return l;
}

// ---- nodes ----------------------------------------------------------------------------------

bool Engine::has(DType dtype) {
  const rt::Features& f = device().features();
  return !is_wide(dtype) || (is_float(dtype) ? f.float64 : f.int64);
}

void Engine::check_wide(DType dtype, const char* op) {
  if (!has(dtype))
    raise(ErrorKind::dtype, std::string("[") + op + "] the adapter of " + name_ + ", '" +
                                adapter_.name + "', has no " + info(dtype).name + ": ask for " +
                                (is_float(dtype)          ? "float32"
                                 : dtype == DType::uint64 ? "uint32"
                                                          : "int32") +
                                ", by dtype= or astype()");
}

int64_t Engine::window_limit() {
  return KernelCode::window_limit(device());
}

void Engine::collect() {
  since_collect_ = 0;
  device().collect();
  if (!mourned_.empty()) [[unlikely]]
    std::erase_if(mourned_, [](rt::Device* d) {
      d->collect();
      return d->live_buffers() == 0;
    });
  while (Node* n = dead_.take_all()) {
    while (n) {
      Node* next = n->next_dead;
      forget_small(*n);
      bool was_pending = n->pending;
      unlink(*n);
      if (was_pending) release_inputs(*n);
      n->~Node();
      spare_.push_back(n);
      n = next;
    }
  }
}

void Engine::resolve(Node& n) {
  if (n.kind != NodeKind::view) return;
  Node& base = *n.inputs[0];
  if (base.kind != NodeKind::leaf && base.kind != NodeKind::failed) return;
  n.kind = base.kind;
  n.buffer = base.buffer;
  n.error = base.error;
  unlink(n);
  release_inputs(n);
  if (n.kind == NodeKind::leaf) note_small(n);
}

void Engine::settle(Node& n) {
  resolve(n);
  if (n.kind == NodeKind::failed) throw Error(*n.error);
  if (n.traced && n.pending && !tracing()) [[unlikely]]
    raise(ErrorKind::runtime,
          "[jit] this tensor is in use by a jitted function that is being recorded");
  if (n.kind == NodeKind::leaf && n.buffer && n.buffer->device != &device())
    raise(ErrorKind::device_lost, "this tensor of shape " + to_string(n.shape) +
                                      " was lost with its device " + name_ + ": " +
                                      n.buffer->device->lost_reason());
}

void Engine::synchronize(rt::Lock& lock) {
  auto error = flush({});
  auto faults = faults_.take(device());
  device().synchronize(lock);
  if (faults) faults->check(device(), lock);
  if (error) throw Error(*error);
}

// ---- the device ------------------------------------------------------------------------------

void Engine::destroy() {
  device().destroy();
}

void Engine::begin_exit() {
  rt::begin_exit();
}

void Engine::close() {
  for (auto& d : devices_) d->close();
}

void Engine::recover() {
  std::lock_guard<std::mutex> one(recovery_);
  if (!device().lost()) return;
  auto fresh = rt::Device::create(adapter_, options_);
  rt::Lock l = lock();
  rt::Device& old = device();
  collect();
  FlushGraph none;
  fail(none, {},
       Error(ErrorKind::device_lost, "this tensor was not computed before its device " + name_ +
                                         " was lost: " + old.lost_reason()));
  plans_.clear();
  faults_ = {};
  since_flush_ = own_flushes_ = 0;
  old.retire();
  if (old.live_buffers()) mourned_.push_back(&old);
  adopt(std::move(fresh));  // last: from now on other threads have the engine by its lock
}

rt::Stats Engine::stats() {
  rt::Lock l = lock();
  collect();
  return device().stats();
}

}  // namespace wgt::graph
