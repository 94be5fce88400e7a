// Engine: computing what waits. Plans are found or made, run step by step, and their results become
// leaves.
#include <algorithm>

#include "base/called.h"
#include "base/settings.h"
#include "graph/engine.h"
#include "graph/fusion.h"

namespace wgt::graph {

namespace {
// In debug mode the message names the Python lines that made the results.
Error with_origin(const FlushGraph& g, const std::vector<int>& results, const Error& error) {
  std::string where;
  for (int v : results)
    if (const auto& origin = g.node_of(v)->origin) where += " [made at " + *origin + "]";
  if (results.empty()) return error;
  // What the runtime raises is told as that of the operation whose result it was for.
  return named(error.with_text(error.what() + where), name_of(*g.node_of(results.front())));
}
}  // namespace

namespace {
int64_t leaf_offset(const FlushGraph& g, int value) {
  bool leaf = value >= static_cast<int>(g.nodes.size()) &&
              value < static_cast<int>(g.nodes.size() + g.leaves.size());
  return leaf ? g.leaf(value)->layout.offset : 0;
}

}  // namespace

uint32_t patched(const Node& n, Patch::Source source) {
  switch (source) {
    case Patch::bits:
      return static_cast<uint32_t>(n.bits);
    case Patch::bits_high:
      return static_cast<uint32_t>(n.bits >> 32);
    case Patch::step:
      return static_cast<uint32_t>(n.step);
    case Patch::step_high:
      return static_cast<uint32_t>(n.step >> 32);
    default:
      return static_cast<uint32_t>(n.layout.offset);
  }
}

// From an aligned offset to the end of the last vector.
rt::Window Engine::window_of(const FlushGraph& g, const Step& step, size_t binding) {
  const StepWindow& w = step.windows[binding];
  rt::Buffer* buffer = values_[static_cast<size_t>(step.buffers[binding])].get();
  uint64_t base = static_cast<uint64_t>(leaf_offset(g, step.buffers[binding]));
  uint64_t item = static_cast<uint64_t>(w.item);
  uint64_t alignment = device().limits().storage_alignment;
  uint64_t begin = (base + static_cast<uint64_t>(w.reach.first)) * item / alignment * alignment;
  uint64_t end = ((base + static_cast<uint64_t>(w.reach.last) + 1) * item + 15) / 16 * 16;
  return {buffer, begin, std::min(end, buffer->bytes) - begin};
}

std::shared_ptr<Plan> Engine::plan_of(FlushGraph& g) {
  rt::Stats& stats = device().stats();
  if (auto plan = plans_.find(g.key)) {
    ++stats.plan_hits;
    return plan;
  }
  resolve_operands(g);
  auto plan = make_plan(g, device(), tuning_);
  std::vector<rt::Kernel*> kernels;
  for (const Step& step : plan->steps)
    if (step.kernel) kernels.push_back(step.kernel.get());
  device().compile(std::move(kernels));
  plans_.insert(g.key, plan, static_cast<size_t>(settings().max_plans));
  ++stats.plans;
  stats.live_plans = plans_.size();
  return plan;
}

std::shared_ptr<Error> Engine::flush(const std::vector<Node*>& targets, bool whole) {
  check_not_traced("a value is needed");
  collect();
  since_flush_ = own_flushes_ = 0;
  FlushGraph& g = graph_;
  // Its references must not outlive the flush, whatever ends it.
  auto clear = [this](FlushGraph* f) {
    for (Node* n : refused_)
      if (n->pending) n->error.reset();
    refused_.clear();
    f->clear();
  };
  std::unique_ptr<FlushGraph, decltype(clear)> cleared(&g, clear);
  std::vector<Node*> wanted = targets;
  std::shared_ptr<Error> first, missing;
  for (;;) {  // again without what failed
    g.clear();
    collect_graph(*this, g, wanted);
    if (g.nodes.empty()) break;
    std::shared_ptr<Error> error = flush_once(g, whole);
    if (!error) break;
    if (error->kind == ErrorKind::device_lost) throw Error(*error);
    if (!first) first = error;
    std::erase_if(wanted, [&](Node* t) {
      bool refused = t->pending && t->error;
      if (refused && !missing) missing = t->error;
      return refused;
    });
  }
  gather_small();
  cleared.reset();
  collect();
  for (Node* t : wanted) settle(*t);
  if (missing) throw Error(*missing);
  return first;
}

std::shared_ptr<Error> Engine::flush_whole(const std::vector<Node*>& targets,
                                           const std::vector<Node*>& before,
                                           std::vector<NodeRef>& back) {
  try {
    flush(targets, true);
    return nullptr;
  } catch (const Error& error) {
    // Others may take the memory that was found, and a driver may refuse what its plan told.
    if (error.kind != ErrorKind::out_of_memory) throw;
    // Where some have moved, all have: the rest is computed when it is asked for.
    if (std::any_of(targets.begin(), targets.end(), [](const Node* t) { return !t->pending; }))
      return nullptr;
    for (Node* node : before) back.emplace_back(node);
    return std::make_shared<Error>(error);
  }
}

std::shared_ptr<Error> Engine::flush_once(FlushGraph& g, bool whole) {
  ++device().stats().flushes;
  std::shared_ptr<Plan> plan;
  try {
    device().check();
    plan = plan_of(g);
  } catch (const PlanError& error) {
    return fail(g, error.results, with_origin(g, error.results, error));
  } catch (const Error& error) {
    std::vector<int> all;
    for (size_t i = 0; i < g.nodes.size(); ++i)
      if (g.nodes[i].root) all.push_back(static_cast<int>(i));
    return fail(g, all, with_origin(g, all, error));
  }
  if (whole) device().reserve(needs_of(g, *plan, device()));
  return execute(g, *plan);
}

void Engine::start(const FlushGraph& g, int values) {
  values_.assign(static_cast<size_t>(values), {});
  written_.assign(values_.size(), false);
  for (size_t i = 0; i < g.leaves.size(); ++i) values_[g.nodes.size() + i] = g.leaves[i]->buffer;
}

std::shared_ptr<Error> Engine::execute(FlushGraph& g, const Plan& plan) {
  start(g, plan.values);
  for (const Step& step : plan.steps) {
    try {
      run_step(g, step);
    } catch (const Error& error) {
      const std::vector<int>& results = plan.results[static_cast<size_t>(step.group)];
      bool begun = std::any_of(results.begin(), results.end(),
                               [&](int v) { return written_[static_cast<size_t>(v)]; });
      finish(g);
      return fail(g, results, with_origin(g, results, error), !begun);
    }
  }
  finish(g);
  return nullptr;
}

void Engine::run_step(FlushGraph& g, const Step& step) {
  rt::Device& device = this->device();
  for (const StepOutput& o : step.outputs) {
    if (o.in_place < 0)
      values_[static_cast<size_t>(o.value)] =
          o.workspace ? device.workspace(o.bytes) : device.allocate(o.bytes);
  }
  for (const StepOutput& o : step.outputs)
    if (o.in_place >= 0)
      values_[static_cast<size_t>(o.value)] = std::move(values_[static_cast<size_t>(o.in_place)]);
  if (step.kernel) {
    params_ = step.params;
    if (step.buffers.size() > kMaxBuffers)
      internal_error("[" + step.what + "] binds too many buffers");
    windows_.clear();
    for (size_t i = 0; i < step.windows.size(); ++i) windows_.push_back(window_of(g, step, i));
    for (const Patch& p : step.patches) {
      if (p.source == Patch::window) {
        size_t i = static_cast<size_t>(p.value);
        params_[p.word] +=
            static_cast<uint32_t>(leaf_offset(g, step.buffers[i])) -
            static_cast<uint32_t>(windows_[i].offset / static_cast<uint64_t>(step.windows[i].item));
        continue;
      }
      const Node& n = *g.node_of(p.value);
      params_[p.word] +=
          p.source == Patch::fault_slot ? faults_.slot(*n.site) : patched(n, p.source);
    }
    if (!step.windows.empty()) {
      device.dispatch(*step.kernel, windows_.data(), params_.data(), step.x, step.y, step.z);
    } else {
      rt::Buffer* buffers[kMaxBuffers];
      for (size_t i = 0; i < step.buffers.size(); ++i)
        buffers[i] = values_[static_cast<size_t>(step.buffers[i])].get();
      device.dispatch(*step.kernel, buffers, params_.data(), step.x, step.y, step.z);
    }
  } else {
    device.copy(*values_[static_cast<size_t>(step.outputs[0].value)], 0,
                *values_[static_cast<size_t>(step.buffers[0])], 0,
                (step.outputs[0].bytes + 3) / 4 * 4);
  }
  device.add_work(step.seconds);
  for (const StepOutput& o : step.outputs) written_[static_cast<size_t>(o.value)] = true;
  for (int v : step.dies) {
    values_[static_cast<size_t>(v)].reset();
    if (g.is_leaf(v) && static_cast<size_t>(v) < g.nodes.size() + g.leaves.size())
      g.leaf(v)->buffer.reset();
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
    if (g.nodes[i].held) note_small(n);
    if (n.origin) [[unlikely]]
      note_memory(n);
  }
  for (Node* v : g.views) {
    if (v->inputs[0]->kind == NodeKind::leaf)
      settle(*v);
    else
      v->deferred = true;
  }
  values_.clear();
}

void Engine::set_failed(Node& n, std::shared_ptr<Error> error) {
  n.kind = NodeKind::failed;
  n.error = std::move(error);
  unlink(n);
  release_inputs(n);
}

// There may be memory another time: nothing has been done yet, and nothing is lost.
void Engine::refuse(const std::vector<Node*>& results, const std::shared_ptr<Error>& error) {
  auto mark = [&](Node& n) {
    n.error = error;
    n.deferred = true;  // nobody tries again but who asks for it
    refused_.push_back(&n);
  };
  for (Node* n : results)
    if (n->pending) mark(*n);
  for (Node* n = first_; n; n = n->next) {  // older ones first
    if (n->error) continue;
    for (int i = 0; i < n->arity; ++i)
      if (n->inputs[i]->pending && n->inputs[i]->error) {
        mark(*n);
        break;
      }
  }
}

// The results hold the error from now on, and so does what was to be made of them.
std::shared_ptr<Error> Engine::fail(FlushGraph& g, const std::vector<int>& results,
                                    const Error& error, bool again) {
  auto shared = std::make_shared<Error>(error);
  if (error.kind == ErrorKind::device_lost) {
    while (first_) set_failed(*first_, shared);
    return shared;
  }
  if (again && error.kind == ErrorKind::out_of_memory) {
    std::vector<Node*> nodes;
    for (int v : results) nodes.push_back(g.node_of(v));
    refuse(nodes, shared);
    return shared;
  }
  for (int v : results) set_failed(*g.node_of(v), shared);
  for (Node *n = first_, *next = nullptr; n; n = next) {
    next = n->next;
    for (int i = 0; i < n->arity; ++i)
      if (n->inputs[i]->kind == NodeKind::failed) {
        set_failed(*n, shared);
        break;
      }
  }
  return shared;
}

std::string Engine::explain(Node* target) {
  check_not_traced("a value is explained");
  collect();
  settle(*target);
  if (target->kind == NodeKind::leaf) return "already computed: no kernel\n";
  FlushGraph g;
  collect_graph(*this, g, {target});
  resolve_operands(g);
  auto plan = make_plan(g, device(), {tuning_.table, TuningMode::peek});
  std::string s =
      std::to_string(plan->steps.size()) + (plan->steps.size() == 1 ? " kernel\n" : " kernels\n");
  for (size_t i = 0; i < plan->steps.size();) {
    const Step& step = plan->steps[i];
    s += "  " + step.what + " ->";
    for (const StepOutput& o : step.outputs)
      if (!o.workspace)
        s += o.value < static_cast<int>(g.nodes.size()) ? " " + to_string(g.node_of(o.value)->shape)
                                                        : " scratch";
    if (step.outputs.empty()) s += " the same result";
    size_t first = i++;  // more parts of a step make nothing new
    auto is_part = [&](const Step& other) {
      return other.outputs.empty() && other.what == step.what;
    };
    while (i < plan->steps.size() && is_part(plan->steps[i])) ++i;
    if (i - first > 1) s += ", in " + std::to_string(i - first) + " parts";
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
    uint64_t start =
        static_cast<uint64_t>(n->layout.offset) * static_cast<uint64_t>(info(n->dtype).size);
    if (n->kind == NodeKind::leaf && is_contiguous(n->shape, n->layout.strides) && start % 4 == 0)
      return naming("numpy", [&] { return device().read_begin(*n->buffer, start, n->bytes()); });
    n = map(OpId::copy, n->dtype, n->shape, &n, 1);
  }
  internal_error("a value that stays lazy");
}

}  // namespace wgt::graph
