#include "graph/engine.h"

#include <algorithm>
#include <mutex>

#include "base/settings.h"

namespace wgt::graph {

const char* reduce_name(ReduceOp op) {
  constexpr const char* names[] = {"sum", "max", "min"};
  return names[static_cast<int>(op)];
}

void Node::on_zero() { engine->dead_.push(this); }

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

const std::vector<Engine*>& engines() { return engine_list(); }

Engine* Engine::create(const rt::AdapterInfo& adapter, const rt::DeviceOptions& options) {
  auto* e = new Engine();
  try {
    e->devices_.push_back(rt::Device::create(adapter, options));
  } catch (...) {
    delete e;
    throw;
  }
  e->adapter_ = adapter;
  e->options_ = options;
  e->device_ = e->devices_.back().get();
  std::lock_guard<std::mutex> l(engines_mutex());
  int same = 0;
  for (Engine* other : engine_list()) same += other->adapter_.index == adapter.index;
  e->name_ = "gpu:" + std::to_string(adapter.index) + (same ? "#" + std::to_string(same) : "");
  engine_list().push_back(e);
  return e;
}

rt::Lock Engine::lock() {
  for (;;) {
    rt::Device* d = device_.load(std::memory_order_acquire);
    rt::Lock l(d->mutex());
    if (d == device_.load(std::memory_order_acquire)) return l;
  }
}

// An operation and the casts of its operands.
constexpr int kNodesOfAnOperation = 4;

rt::Lock Engine::try_lock_for_node() {
  rt::Device* d = device_.load(std::memory_order_acquire);
  rt::Lock l(d->mutex(), std::try_to_lock);
  if (l && (d != device_.load(std::memory_order_acquire) || since_flush_ + kNodesOfAnOperation >= settings().flush_nodes)) l.unlock();
  return l;
}

// ---- nodes ----------------------------------------------------------------------------------

namespace {
void check_count(const Dims& shape) {
  if (numel(shape) >= (int64_t{1} << 32))
    raise(ErrorKind::unsupported, "a tensor of shape " + to_string(shape) + " has 2^32 elements or more: split it");
}
}  // namespace

NodeRef Engine::make(NodeKind kind, DType dtype, const Dims& shape) {
  check_count(shape);
  if (++since_collect_ >= kCollectEvery) collect();  // also where nothing is ever flushed
  Node* n;
  if (spare_.empty()) {
    n = new Node();
  } else {
    n = new (spare_.back()) Node();
    spare_.pop_back();
  }
  n->kind = kind;
  n->dtype = dtype;
  n->shape = shape;
  n->engine = this;
  return NodeRef(n);
}

void Engine::set_input(Node& n, int i, const NodeRef& input) {
  n.inputs[i] = input;
  n.arity = static_cast<uint8_t>(i + 1);
}

void Engine::enqueue(Node& n) {
  for (int i = 0; i < n.arity; ++i)
    if (n.inputs[i]->pending) ++n.inputs[i]->readers;
  n.pending = true;
  n.prev = last_;
  (last_ ? last_->next : first_) = &n;
  last_ = &n;
}

void Engine::unlink(Node& n) {
  if (!n.pending) return;
  (n.prev ? n.prev->next : first_) = n.next;
  (n.next ? n.next->prev : last_) = n.prev;
  n.prev = n.next = nullptr;
  n.pending = false;
}

void Engine::release_inputs(Node& n) {
  for (int i = 0; i < n.arity; ++i) {
    if (n.inputs[i]->pending && n.inputs[i]->readers > 0) --n.inputs[i]->readers;
    n.inputs[i].reset();
  }
  n.arity = 0;
}

void Engine::collect() {
  since_collect_ = 0;
  device().collect();
  while (Node* n = dead_.take_all()) {
    while (n) {
      Node* next = n->next_dead;
      bool was_pending = n->pending;
      unlink(*n);
      if (was_pending) release_inputs(*n);
      n->~Node();
      spare_.push_back(n);
      n = next;
    }
  }
}

void Engine::flush_if_due() {
  if (++since_flush_ >= settings().flush_nodes) {
    since_flush_ = 0;
    flush({});
  }
}

NodeRef Engine::leaf(DType dtype, const Dims& shape, rt::BufferRef buffer) {
  NodeRef n = make(NodeKind::leaf, dtype, shape);
  n->layout = {contiguous_strides(shape), 0};
  n->buffer = std::move(buffer);
  return n;
}

NodeRef Engine::empty(DType dtype, const Dims& shape) {
  check_count(shape);
  uint64_t bytes = static_cast<uint64_t>(numel(shape)) * static_cast<uint64_t>(info(dtype).size);
  return leaf(dtype, shape, device().allocate(std::max<uint64_t>(bytes, 4)));
}

NodeRef Engine::fill(DType dtype, const Dims& shape, uint32_t bits) {
  NodeRef n = make(NodeKind::fill, dtype, shape);
  n->bits = bits;
  n->deferred = true;
  enqueue(*n);
  return n;
}

NodeRef Engine::iota(DType dtype, int64_t count, uint32_t start, uint32_t step) {
  NodeRef n = make(NodeKind::iota, dtype, Dims{count});
  n->bits = start;
  n->step = step;
  n->deferred = true;
  enqueue(*n);
  return n;
}

NodeRef Engine::map(OpId op, DType dtype, const Dims& shape, const NodeRef* inputs, int arity) {
  flush_if_due();
  NodeRef n = make(NodeKind::map, dtype, shape);
  n->op = op;
  for (int i = 0; i < arity; ++i) {
    settle(*inputs[i]);
    set_input(*n, i, inputs[i]);
  }
  enqueue(*n);
  return n;
}

Layout Engine::layout_of(Node& n) {
  if (n.kind == NodeKind::leaf || n.kind == NodeKind::view) return n.layout;
  return {contiguous_strides(n.shape), 0};
}

NodeRef Engine::view(const NodeRef& base, const Dims& shape, const Layout& layout) {
  settle(*base);
  NodeRef source = base->kind == NodeKind::view ? base->inputs[0] : base;
  bool leaf = source->kind == NodeKind::leaf;
  NodeRef n = make(leaf ? NodeKind::leaf : NodeKind::view, base->dtype, shape);
  n->layout = layout;
  if (leaf) {
    n->buffer = source->buffer;
  } else {
    set_input(*n, 0, source);
    enqueue(*n);
  }
  return n;
}

NodeRef Engine::reduce(ReduceOp op, const NodeRef& input, uint32_t axes) {
  flush_if_due();
  settle(*input);
  Dims shape;
  for (int d = 0; d < input->shape.size(); ++d)
    if (!((axes >> d) & 1u)) shape.push_back(input->shape[d]);
  NodeRef n = make(NodeKind::reduce, input->dtype, shape);
  n->reduce = op;
  n->axes = axes;
  set_input(*n, 0, input);
  enqueue(*n);
  return n;
}

NodeRef Engine::softmax(const NodeRef& input) {
  flush_if_due();
  settle(*input);
  NodeRef n = make(NodeKind::softmax, input->dtype, input->shape);
  set_input(*n, 0, input);
  enqueue(*n);
  return n;
}

NodeRef Engine::matmul(const NodeRef& a, const NodeRef& b, const Dims& shape) {
  flush_if_due();
  settle(*a);
  settle(*b);
  NodeRef n = make(NodeKind::matmul, a->dtype, shape);
  set_input(*n, 0, a);
  set_input(*n, 1, b);
  enqueue(*n);
  return n;
}

NodeRef Engine::assign(const NodeRef& base, const NodeRef& value, const Layout& layout) {
  flush_if_due();
  settle(*base);
  settle(*value);
  // The kernel writes into a dense buffer from its start.
  bool plain = base->kind != NodeKind::view &&
               (base->kind != NodeKind::leaf || (base->layout.offset == 0 && is_contiguous(base->shape, base->layout.strides)));
  NodeRef dense = plain ? base : map(OpId::copy, base->dtype, base->shape, &base, 1);
  NodeRef n = make(NodeKind::assign, base->dtype, base->shape);
  n->layout = layout;
  set_input(*n, 0, dense);
  set_input(*n, 1, value);
  enqueue(*n);
  return n;
}

void Engine::settle(Node& n) {
  if (n.kind == NodeKind::view) {
    Node& base = *n.inputs[0];
    if (base.kind == NodeKind::leaf || base.kind == NodeKind::failed) {
      n.kind = base.kind;
      n.buffer = base.buffer;
      n.error = base.error;
      unlink(n);
      release_inputs(n);
    }
  }
  if (n.kind == NodeKind::failed) throw Error(*n.error);
  if (n.kind == NodeKind::leaf && n.buffer && n.buffer->device != &device())
    raise(ErrorKind::device_lost, "this tensor of shape " + to_string(n.shape) + " was lost with its device " + name_ +
                                      ": " + n.buffer->device->lost_reason());
}

// ---- computing -------------------------------------------------------------------------------

std::shared_ptr<Plan> Engine::plan_of(FlushGraph& g) {
  rt::Stats& stats = device().stats();
  if (auto plan = plans_.find(g.key)) {
    ++stats.plan_hits;
    return plan;
  }
  resolve_operands(g);
  auto plan = make_plan(g, device());
  plans_.insert(g.key, plan, static_cast<size_t>(settings().max_plans));
  ++stats.plans;
  stats.live_plans = plans_.size();
  return plan;
}

void Engine::flush(const std::vector<Node*>& targets) {
  collect();
  FlushGraph& g = graph_;
  g.clear();
  // Its references must not outlive the flush, whatever ends it.
  std::unique_ptr<FlushGraph, void (*)(FlushGraph*)> cleared(&g, [](FlushGraph* f) { f->clear(); });
  collect_graph(*this, g, targets);
  if (g.nodes.empty()) return;
  ++device().stats().flushes;
  since_flush_ = 0;
  std::shared_ptr<Plan> plan;
  try {
    device().check();
    plan = plan_of(g);
  } catch (const Error& error) {
    Step all;
    all.what = "plan";
    for (size_t i = 0; i < g.nodes.size(); ++i)
      if (g.nodes[i].root) all.outputs.push_back({static_cast<int>(i), 0, -1});
    fail(g, all, error);
    throw;
  }
  execute(g, *plan);
  cleared.reset();
  collect();
}

namespace {
// In debug mode the message names the Python lines that made the step's results.
Error with_origin(const FlushGraph& g, const Step& step, const Error& error) {
  std::string where;
  for (const StepOutput& o : step.outputs)
    if (static_cast<size_t>(o.value) < g.nodes.size() && g.node_of(o.value)->origin)
      where += " [made at " + *g.node_of(o.value)->origin + "]";
  Error out(error.kind, error.what() + where);
  out.requested = error.requested;
  out.available = error.available;
  out.line = error.line;
  out.column = error.column;
  return out;
}
}  // namespace

void Engine::execute(FlushGraph& g, const Plan& plan) {
  values_.assign(static_cast<size_t>(plan.values), {});
  written_.assign(values_.size(), false);
  for (size_t i = 0; i < g.leaves.size(); ++i) values_[g.nodes.size() + i] = g.leaves[i]->buffer;
  for (const Step& step : plan.steps) {
    try {
      run_step(g, step);
    } catch (Error& error) {
      finish(g);
      Error located = with_origin(g, step, error);
      fail(g, step, located);
      throw located;
    }
  }
  finish(g);
}

void Engine::run_step(FlushGraph& g, const Step& step) {
  rt::Device& device = this->device();
  for (const StepOutput& o : step.outputs) {
    rt::BufferRef b = o.in_place >= 0 ? std::move(values_[static_cast<size_t>(o.in_place)]) : device.allocate(o.bytes);
    values_[static_cast<size_t>(o.value)] = std::move(b);
  }
  if (step.kernel) {
    params_ = step.params;
    for (const Patch& p : step.patches) {
      const Node& n = *g.node_of(p.value);
      params_[p.word] += p.source == Patch::offset ? static_cast<uint32_t>(n.layout.offset)
                         : p.source == Patch::bits ? n.bits
                                                   : n.step;
    }
    rt::Buffer* buffers[kMaxBuffers];
    if (step.buffers.size() > kMaxBuffers) internal_error("[" + step.what + "] binds too many buffers");
    for (size_t i = 0; i < step.buffers.size(); ++i)
      buffers[i] = values_[static_cast<size_t>(step.buffers[i])].get();
    device.dispatch(*step.kernel, buffers, params_.data(), step.x, step.y, step.z);
  } else {
    device.copy(*values_[static_cast<size_t>(step.outputs[0].value)], 0,
                *values_[static_cast<size_t>(step.buffers[0])], 0, (step.outputs[0].bytes + 3) / 4 * 4);
  }
  for (const StepOutput& o : step.outputs) written_[static_cast<size_t>(o.value)] = true;
  for (int v : step.dies) {
    values_[static_cast<size_t>(v)].reset();
    if (g.is_leaf(v) && static_cast<size_t>(v) < g.nodes.size() + g.leaves.size()) g.leaf(v)->buffer.reset();
  }
}

// Values that exist become leaves; what only they needed is let go.
void Engine::finish(FlushGraph& g) {
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    Node& n = *g.nodes[i].node;
    if (!written_[i]) {
      n.deferred = n.deferred || (g.nodes[i].held && !g.nodes[i].root);
      continue;
    }
    n.kind = NodeKind::leaf;
    n.layout = {contiguous_strides(n.shape), 0};
    n.buffer = std::move(values_[i]);
    unlink(n);
    release_inputs(n);
  }
  for (Node* v : g.views) {
    if (v->inputs[0]->kind == NodeKind::leaf)
      settle(*v);
    else
      v->deferred = true;
  }
  values_.clear();
}

// The step's results hold the error from now on, and so does what was to be made of them.
void Engine::fail(FlushGraph& g, const Step& step, const Error& error) {
  auto shared = std::make_shared<Error>(error);
  auto set_failed = [&](Node& n) {
    n.kind = NodeKind::failed;
    n.error = shared;
    unlink(n);
    release_inputs(n);
  };
  if (error.kind == ErrorKind::device_lost) {
    while (first_) set_failed(*first_);
    return;
  }
  for (const StepOutput& o : step.outputs)
    if (static_cast<size_t>(o.value) < g.nodes.size()) set_failed(*g.nodes[static_cast<size_t>(o.value)].node);
  for (Node *n = first_, *next = nullptr; n; n = next) {
    next = n->next;
    for (int i = 0; i < n->arity; ++i)
      if (n->inputs[i]->kind == NodeKind::failed) {
        set_failed(*n);
        break;
      }
  }
}

std::string Engine::explain(Node* target) {
  collect();
  settle(*target);
  if (target->kind == NodeKind::leaf) return "already computed: no kernel\n";
  FlushGraph g;
  collect_graph(*this, g, {target});
  resolve_operands(g);
  auto plan = make_plan(g, device());
  std::string s = std::to_string(plan->steps.size()) + (plan->steps.size() == 1 ? " kernel\n" : " kernels\n");
  for (const Step& step : plan->steps) {
    s += "  " + step.what + " ->";
    for (const StepOutput& o : step.outputs)
      s += o.value < static_cast<int>(g.nodes.size()) ? " " + to_string(g.node_of(o.value)->shape) : " scratch";
    s += "\n";
  }
  for (const std::string& n : plan->notes) s += "  not fused: " + n + "\n";
  return s;
}

rt::ReadbackRef Engine::read(const NodeRef& wanted) {
  NodeRef n = wanted;
  for (int attempt = 0; attempt < 3; ++attempt) {
    settle(*n);
    if (n->kind != NodeKind::leaf) {
      flush({n.get()});
      settle(*n);
    }
    uint64_t start = static_cast<uint64_t>(n->layout.offset) * static_cast<uint64_t>(info(n->dtype).size);
    if (n->kind == NodeKind::leaf && is_contiguous(n->shape, n->layout.strides) && start % 4 == 0)
      return device().read_begin(*n->buffer, start, n->bytes());
    n = map(OpId::copy, n->dtype, n->shape, &n, 1);
  }
  internal_error("a value that stays lazy");
}

void Engine::destroy() { device().destroy(); }

void Engine::close() {
  for (auto& d : devices_) d->close();
}

void Engine::recover() {
  auto fresh = rt::Device::create(adapter_, options_);
  rt::Lock l = lock();
  collect();
  FlushGraph none;
  Error lost(ErrorKind::device_lost, "this tensor was not computed before its device " + name_ + " was lost: " +
                                         (device().lost() ? device().lost_reason() : "recover() made a new one"));
  fail(none, Step{}, lost);
  plans_.clear();
  devices_.push_back(std::move(fresh));
  device_.store(devices_.back().get(), std::memory_order_release);
}

rt::Stats Engine::stats() {
  rt::Lock l = lock();
  collect();
  return device().stats();
}

}  // namespace wgt::graph
