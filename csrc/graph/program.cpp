// Recording programs, and running them: as a flush, but of nodes that stay for the next run.
#include "graph/program.h"

#include <algorithm>
#include <unordered_map>

#include "base/called.h"
#include "graph/engine.h"

namespace wgt::graph {

void Engine::begin_trace() {
  if (tracer_ != std::thread::id())
    raise(ErrorKind::runtime, tracing() ? "[jit] a jitted function is recorded already"
                                        : "[jit] another thread records a jitted function");
  tracer_ = std::this_thread::get_id();
}

void Engine::check_not_traced(const char* what) {
  if (tracing())
    raise(ErrorKind::runtime, std::string("[jit] ") + what +
                                  " inside a jitted function: it is recorded once and replayed, "
                                  "so its values are not there yet; return the tensor");
}

NodeRef Engine::trace_input(const NodeRef& of) {
  trace_pauses_ = true;
  std::unique_ptr<bool, void (*)(bool*)> ends(&trace_pauses_,
                                              [](bool* pauses) { *pauses = false; });
  computed(of);
  ends.reset();
  NodeRef n = make(NodeKind::input, of->dtype, of->shape);
  enqueue(*n);
  return n;
}

void Engine::end_trace() {
  tracer_ = {};
  traced_random_.clear();
  auto error = std::make_shared<Error>(
      ErrorKind::runtime,
      "[jit] this tensor was made inside a jitted function and is no result of it: return it");
  for (Node *n = first_, *next = nullptr; n; n = next) {
    next = n->next;
    if (n->traced) set_failed(*n, error);
  }
}

namespace {

// Copies what results need, so that tensors which still hold recorded nodes change nothing.
class Recorder {
 public:
  Recorder(Engine& e, NodeRef (Engine::*fresh)(const Node&), Program& p)
      : e_(e), fresh_(fresh), program_(p) {}

  // Iterative, as graphs are deep: a node comes after what it reads.
  NodeRef of(Node* last) {
    std::vector<Node*> open{last};
    while (!open.empty()) {
      Node* n = open.back();
      if (made_.count(n)) {
        open.pop_back();
        continue;
      }
      bool ready = true;
      for (int i = 0; i < n->arity; ++i)
        if (!made_.count(n->inputs[i].get())) {
          open.push_back(n->inputs[i].get());
          ready = false;
        }
      if (!ready) continue;
      made_[n] = made(*n);
      open.pop_back();
    }
    return made_[last];
  }

  NodeRef find(Node* n) const {
    auto it = made_.find(n);
    return it == made_.end() ? NodeRef() : it->second;
  }

 private:
  NodeRef made(Node& n) {
    if (n.kind == NodeKind::failed) throw Error(*n.error);
    if (!n.traced)
      raise(ErrorKind::runtime, "[jit] the function uses a tensor of shape " + to_string(n.shape) +
                                    " that no Python object showed it, such as a gradient of an "
                                    "earlier call: clear gradients first");
    if (n.kind == NodeKind::leaf) return NodeRef(&n);
    NodeRef copy = (e_.*fresh_)(n);
    for (int i = 0; i < n.arity; ++i) copy->inputs[i] = made_[n.inputs[i].get()];
    if (n.kind != NodeKind::view && n.kind != NodeKind::input) program_.nodes.push_back(copy);
    return copy;
  }

  Engine& e_;
  NodeRef (Engine::*fresh_)(const Node&);
  Program& program_;
  std::unordered_map<Node*, NodeRef> made_;
};

// Which results are inputs as they are given.
void note_given(Program& p) {
  std::unordered_map<const Node*, int> number;
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (p.inputs[i]) number.emplace(p.inputs[i].get(), static_cast<int>(i));
  p.shown.assign(p.inputs.size(), false);
  for (const NodeRef& r : p.results) {
    auto own = number.find(r.get());
    p.given.push_back(own == number.end() ? -1 : own->second);
    auto seen = r->kind == NodeKind::view ? number.find(r->inputs[0].get()) : own;
    if (seen != number.end()) p.shown[static_cast<size_t>(seen->second)] = true;
  }
}

}  // namespace

NodeRef Engine::copy_of(const Node& n) {
  NodeRef copy = make(n.kind, n.dtype, n.shape);
  static_cast<Meaning&>(*copy) = n;
  copy->origin = n.origin;
  copy->traced = false;
  return copy;
}

Program Engine::recorded(const std::vector<NodeRef>& results, const std::vector<NodeRef>& inputs,
                         const std::vector<NodeRef>& varying) {
  Program p;
  p.device = &device();
  Recorder r(*this, &Engine::copy_of, p);
  for (const NodeRef& n : results) {
    resolve(*n);
    p.results.push_back(r.of(n.get()));
  }
  for (const NodeRef& n : inputs) p.inputs.push_back(r.find(n.get()));
  for (const NodeRef& n : varying) p.varying.push_back(r.find(n.get()));
  note_given(p);
  return p;
}

// A leaf without gaps that the program may read; taken from the node where nobody else has it.
bool Engine::give(Node& input, const NodeRef& value, bool take,
                  const std::shared_ptr<Error>& taken) {
  Node& n = *value;
  input.kind = NodeKind::leaf;
  input.layout = {contiguous_strides(n.shape), n.layout.offset};
  // The tensor that will be moved to the result, and `value`.
  bool alone = n.refs.load() <= 2 && n.buffer->refs.load() == 1 && n.layout.offset == 0;
  if (!take || !alone) {
    input.buffer = n.buffer;
    return false;
  }
  input.buffer = std::move(n.buffer);
  forget_small(n);
  set_failed(n, taken);
  return true;
}

// What was taken from a tensor and not yet written over is the tensor's again.
void Engine::give_back(const FlushGraph& g, const Program& p, const std::vector<NodeRef>& given,
                       const std::vector<bool>& taken) {
  for (size_t leaf = 0; leaf < g.leaves.size(); ++leaf) {
    const rt::BufferRef& buffer = values_[g.nodes.size() + leaf];
    if (!buffer || g.leaves[leaf]->buffer != buffer) continue;
    for (size_t i = 0; i < given.size(); ++i) {
      if (!taken[i] || p.inputs[i].get() != g.leaves[leaf]) continue;
      Node& n = *given[i];
      n.kind = NodeKind::leaf;
      n.error.reset();
      n.buffer = buffer;
    }
  }
}

NodeRef Engine::result_of(Node& n) {
  bool view = n.kind == NodeKind::view;
  Node& base = view ? *n.inputs[0] : n;
  NodeRef r = make(NodeKind::leaf, n.dtype, n.shape);
  r->layout = view ? n.layout : Layout{contiguous_strides(n.shape), 0};
  bool leaf = base.kind == NodeKind::leaf;
  r->buffer = leaf ? base.buffer : values_[static_cast<size_t>(base.mark)];
  if (leaf) r->layout.offset += base.layout.offset;
  return r;
}

std::vector<NodeRef> Engine::run(Program& p, std::vector<NodeRef> given, std::vector<bool> take) {
  check_not_traced("another one runs");
  device().check();
  for (NodeRef& n : given) {
    n = computed(n);
    if (is_contiguous(n->shape, n->layout.strides)) continue;
    n = computed(map(OpId::copy, n->dtype, n->shape, &n, 1));
  }
  collect();
  FlushGraph& g = graph_;
  g.clear();
  // Nothing of a run stays in the program, whatever ends it.
  auto done = [&](Program* q) {
    for (NodeRef& n : q->inputs)
      if (n) n->buffer.reset();
    values_.clear();
    g.clear();
  };
  std::unique_ptr<Program, decltype(done)> cleared(&p, done);
  auto taken = std::make_shared<Error>(
      ErrorKind::runtime, "[jit] this tensor was being updated by a jitted function that failed");
  for (size_t i = 0; i < given.size(); ++i)
    if (p.inputs[i]) take[i] = give(*p.inputs[i], given[i], take[i] && !p.shown[i], taken);
  collect_program(*this, g, p, take);
  std::vector<NodeRef> results;
  if (!g.nodes.empty()) {
    ++device().stats().flushes;
    std::shared_ptr<Plan> plan = plan_of(g);
    start(g, plan->values);
    bool overwrites = std::find(take.begin(), take.end(), true) != take.end();
    try {
      if (overwrites) device().reserve(needs_of(g, *plan, device()));
      for (const Step& step : plan->steps) run_step(g, step);
    } catch (const Error& error) {
      give_back(g, p, given, take);
      throw named(error, "jit");
    }
  } else {
    start(g, static_cast<int>(g.leaves.size()));
  }
  results.reserve(p.results.size());
  for (size_t i = 0; i < p.results.size(); ++i) {
    Node& n = *p.results[i];
    if (p.given[i] >= 0)
      results.push_back(given[static_cast<size_t>(p.given[i])]);
    else
      results.push_back(n.kind == NodeKind::leaf ? p.results[i] : result_of(n));
  }
  for (const NodeRef& n : results)
    if (n->kind == NodeKind::leaf && n->buffer && n->buffer->refs.load() <= 2) note_small(*n);
  return results;
}

}  // namespace wgt::graph
