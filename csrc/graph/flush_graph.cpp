// Finds what a flush computes, numbers it, and writes the key under which its plan is kept.
#include <algorithm>

#include "base/settings.h"
#include "graph/engine.h"

namespace wgt::graph {

namespace {

// A reference to a node that may be dying on another thread; empty if it is dead already.
NodeRef try_acquire(Node* n) {
  uint32_t refs = n->refs.load(std::memory_order_relaxed);
  while (refs != 0)
    if (n->refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acq_rel)) {
      NodeRef r(n);
      n->refs.fetch_sub(1, std::memory_order_relaxed);  // the one taken above; r has its own
      return r;
    }
  return {};
}

class Collector {
 public:
  Collector(FlushGraph& g, uint64_t epoch) : g_(g), epoch_(epoch) {}

  // First touch in this flush resets the scratch members.
  void touch(Node& n) {
    if (n.epoch == epoch_) return;
    n.epoch = epoch_;
    n.mark = -1;
    n.edges = 0;
    n.wanted = false;
  }

  void want(Node* n) {
    touch(*n);
    n->wanted = true;
  }

  void add_root(Node* n, NodeRef keep) {
    want(n);
    if (n->kind == NodeKind::view) {
      Node* base = n->inputs[0].get();
      want(base);
      roots_.push_back(base);
    } else {
      roots_.push_back(n);
    }
    g_.keep.push_back(std::move(keep));
  }

  // Youngest first: readers are older than nothing they read, so one pass marks all ancestors.
  void mark(Node* last) {
    for (Node* n = last; n; n = n->prev) {
      if (n->epoch != epoch_ || !n->wanted) continue;
      for (int i = 0; i < n->arity; ++i) {
        Node* in = n->inputs[i].get();
        want(in);
        ++in->edges;
      }
      if (n->kind == NodeKind::view)
        g_.views.push_back(n);
      else
        order_.push_back(n);
    }
    std::reverse(order_.begin(), order_.end());
    for (size_t i = 0; i < order_.size(); ++i) order_[i]->mark = static_cast<int>(i);
  }

  void number() {
    g_.nodes.resize(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) {
      FlushNode& f = g_.nodes[i];
      f.node = order_[i];
      // Held: by a tensor, or by a lazy node outside this flush.
      f.held = f.node->handles.load(std::memory_order_relaxed) > 0 || outside(*f.node) > kept(f.node);
      for (int k = 0; k < f.node->arity; ++k) f.operands.push_back(operand(*f.node, k));
    }
    for (Node* r : roots_) g_.nodes[static_cast<size_t>(r->mark)].root = true;
    for (Node* v : g_.views)
      if (v->handles.load(std::memory_order_relaxed) > 0 || outside(*v) > kept(v))
        g_.nodes[static_cast<size_t>(v->inputs[0]->mark)].held = true;
    for (Node* l : g_.leaves) {
      g_.leaf_dies.push_back(l->handles.load(std::memory_order_relaxed) == 0 && outside(*l) == 0 &&
                             l->buffer->refs.load(std::memory_order_relaxed) == 1);
      auto same = std::find_if(g_.leaves.begin(), g_.leaves.end(), [&](Node* o) { return o->buffer == l->buffer; });
      g_.leaf_buffer.push_back(static_cast<int>(same - g_.leaves.begin()));
    }
  }

 private:
  uint32_t outside(const Node& n) const { return n.refs.load(std::memory_order_relaxed) - n.edges; }
  uint32_t kept(const Node* n) const {
    return static_cast<uint32_t>(std::count_if(g_.keep.begin(), g_.keep.end(), [&](const NodeRef& r) { return r.get() == n; }));
  }

  // Strides of what is read, at the reader's operand shape.
  Operand operand(Node& n, int k) {
    Node* in = n.inputs[k].get();
    Layout from = Engine::layout_of(*in);
    if (in->kind == NodeKind::leaf) from.offset = 0;  // added when the plan runs
    Dims shape = operand_shape(n, k);
    Operand o;
    o.layout = {broadcast_strides("plan", in->shape, from.strides, shape), from.offset};
    Node* source = in->kind == NodeKind::view ? in->inputs[0].get() : in;
    if (source->kind == NodeKind::leaf) {
      if (source->mark < 0) {
        source->mark = static_cast<int>(order_.size() + g_.leaves.size());
        g_.leaves.push_back(source);
      }
    }
    o.value = source->mark;
    return o;
  }

  static Dims operand_shape(const Node& n, int k) {
    const Node& in = *n.inputs[k];
    if (n.kind == NodeKind::map) return n.shape;
    if (n.kind != NodeKind::matmul) return in.shape;
    Dims s = n.shape;  // broadcast batches
    int rank = s.size(), own = in.shape.size();
    s[rank - 2] = in.shape[own - 2];
    s[rank - 1] = in.shape[own - 1];
    return s;
  }

  FlushGraph& g_;
  uint64_t epoch_;
  std::vector<Node*> order_, roots_;
};

void push_dims(std::vector<uint64_t>& key, const Dims& d) {
  // Two to a word: sizes and strides stay below 2^32.
  for (int i = 0; i < d.size(); i += 2) {
    uint64_t second = i + 1 < d.size() ? static_cast<uint32_t>(d[i + 1]) : 0;
    key.push_back(static_cast<uint32_t>(d[i]) | second << 32);
  }
}

void write_key(FlushGraph& g) {
  auto& key = g.key;
  key.push_back(static_cast<uint64_t>(settings().max_fusion) << 32 | g.nodes.size());
  for (const FlushNode& f : g.nodes) {
    const Node& n = *f.node;
    auto u = [](auto v) { return static_cast<uint64_t>(v); };
    key.push_back(u(n.kind) | u(n.op) << 8 | u(n.reduce) << 24 | u(n.dtype) << 28 | u(n.shape.size()) << 36 |
                  u(f.operands.size()) << 44 | u(f.root) << 48 | u(f.held) << 49);
    key.push_back(n.axes);
    push_dims(key, n.shape);
    if (n.kind == NodeKind::assign) {
      push_dims(key, n.layout.strides);
      key.push_back(u(n.layout.offset));
    }
    for (const Operand& o : f.operands) {
      key.push_back(static_cast<uint32_t>(o.value) | u(o.layout.offset) << 32);
      push_dims(key, o.layout.strides);
    }
  }
  for (size_t i = 0; i < g.leaves.size(); ++i) {
    const Node& n = *g.leaves[i];
    uint64_t place = static_cast<uint64_t>(n.layout.offset % 4) | (n.layout.offset == 0 ? 4u : 0u);
    key.push_back(static_cast<uint64_t>(n.dtype) | place << 8 | uint64_t{g.leaf_dies[i]} << 12 |
                  static_cast<uint64_t>(g.leaf_buffer[i]) << 16 | static_cast<uint64_t>(n.shape.size()) << 48);
    key.push_back(n.buffer->bytes);
    push_dims(key, n.shape);
    push_dims(key, n.layout.strides);
  }
}

}  // namespace

void collect_graph(Engine& e, FlushGraph& g, const std::vector<Node*>& targets) {
  Collector c(g, ++e.epoch_);
  for (Node* t : targets)
    if (t->kind != NodeKind::leaf) c.add_root(t, NodeRef(t));
  for (Node* n = e.first_; n; n = n->next) {
    if (n->readers > 0 || n->deferred || n->handles.load(std::memory_order_relaxed) == 0) continue;
    if (n->epoch == e.epoch_ && n->wanted) continue;
    if (NodeRef keep = try_acquire(n)) c.add_root(n, std::move(keep));
  }
  c.mark(e.last_);
  c.number();
  if (!g.nodes.empty()) write_key(g);
}

}  // namespace wgt::graph
