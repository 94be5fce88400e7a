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

// Two to a word: sizes and strides stay below 2^32.
void push_dims(std::vector<uint64_t>& key, const Dims& d) {
  for (int i = 0; i < d.size(); i += 2) {
    uint64_t second = i + 1 < d.size() ? static_cast<uint32_t>(d[i + 1]) : 0;
    key.push_back(static_cast<uint32_t>(d[i]) | second << 32);
  }
}

uint64_t word(auto v) {
  return static_cast<uint64_t>(v);
}

class Collector {
 public:
  Collector(Engine& e, FlushGraph& g, uint64_t epoch) : e_(e), g_(g), epoch_(epoch) {}

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
    ++n->edges;  // the one that `keep` holds
    g_.keep.push_back(std::move(keep));
    Node* computed = n->kind == NodeKind::view ? n->inputs[0].get() : n;
    want(computed);
    g_.roots.push_back(computed);
  }

  // Youngest first: no node is older than what it reads, so one pass marks all ancestors.
  void mark(Node* last) {
    for (Node *n = last, *prev = nullptr; n; n = prev) {
      prev = n->prev;
      if (n->epoch != epoch_ || !n->wanted) continue;
      e_.resolve(*n);  // its base may have been computed when nobody wanted this view
      if (!n->pending) continue;
      for (int i = 0; i < n->arity; ++i) {
        Node* in = n->inputs[i].get();
        want(in);
        ++in->edges;
      }
      (n->kind == NodeKind::view ? g_.views : g_.order).push_back(n);
    }
    std::reverse(g_.order.begin(), g_.order.end());
    int number = 0;
    for (Node* n : g_.order) n->mark = number++;
  }

  void number() {
    g_.nodes.resize(g_.order.size());
    for (size_t i = 0; i < g_.order.size(); ++i) {
      Node* n = g_.order[i];
      g_.nodes[i].node = n;
      g_.nodes[i].held = held(*n);
      for (int k = 0; k < n->arity; ++k) number_leaf(source_of(*n->inputs[k]));
    }
    for (Node* r : g_.roots) g_.nodes[static_cast<size_t>(r->mark)].root = true;
    for (Node* v : g_.views)
      if (held(*v)) g_.nodes[static_cast<size_t>(v->inputs[0]->mark)].held = true;
  }

  // The nodes of a program, and the leaves that they read.
  void adopt(const Program& p, const std::vector<bool>& taken) {
    taken_ = true;
    for (size_t i = 0; i < p.inputs.size(); ++i) {
      if (!p.inputs[i]) continue;
      touch(*p.inputs[i]);
      p.inputs[i]->wanted = taken[i];
    }
    for (const NodeRef& n : p.nodes) {
      touch(*n);
      n->mark = static_cast<int>(g_.order.size());
      g_.order.push_back(n.get());
    }
    g_.nodes.resize(g_.order.size());
    for (size_t i = 0; i < g_.order.size(); ++i) {
      Node* n = g_.order[i];
      g_.nodes[i].node = n;
      for (int k = 0; k < n->arity; ++k) {
        Node* source = source_of(*n->inputs[k]);
        touch(*source);
        number_leaf(source);
      }
    }
    for (const NodeRef& r : p.results) {
      Node* n = source_of(*r);
      if (n->kind == NodeKind::leaf) continue;
      FlushNode& f = g_.nodes[static_cast<size_t>(n->mark)];
      f.root = f.held = true;
    }
  }

  // Views of one buffer, which none of them may overwrite.
  void find_freed() {
    g_.leaf_frees.assign(g_.leaves.size(), false);
    if (taken_) return;
    std::vector<uint32_t> sharing(g_.leaves.size(), 0);
    for (size_t i = 0; i < g_.leaves.size(); ++i)
      if (!held(*g_.leaves[i])) ++sharing[static_cast<size_t>(g_.leaf_buffer[i])];
    for (size_t i = 0; i < g_.leaves.size(); ++i) {
      const Node& n = *g_.leaves[i];
      uint32_t all = n.buffer->refs.load(std::memory_order_relaxed);
      g_.leaf_frees[i] =
          all > 1 && !held(n) && sharing[static_cast<size_t>(g_.leaf_buffer[i])] == all;
    }
  }

  void write_key() {
    find_freed();
    auto& key = g_.key;
    key.push_back(word(settings().max_fusion) << 32 | g_.nodes.size());
    key.push_back(word(settings().dispatch_ms));
    for (const FlushNode& f : g_.nodes) {
      const Node& n = *f.node;
      key.push_back(word(n.kind) | word(n.op) << 8 | word(n.reduce) << 24 | word(n.dtype) << 28 |
                    word(n.shape.size()) << 36 | word(n.arity) << 44 | word(f.root) << 48 |
                    word(f.held) << 49 | word(n.logarithm | n.centred | n.any_order) << 50 |
                    word(n.scatter) << 51);
      push_dims(key, n.shape);
      if (n.kind == NodeKind::reduce) key.push_back(n.axes);
      if (n.kind == NodeKind::random) key.push_back(n.stream);
      if (n.kind == NodeKind::matmul)
        key.insert(key.end(), {word(n.ranks.rows) | word(n.ranks.columns) << 8 |
                                   word(n.ranks.shared) << 16 | word(n.bits) << 24,
                               n.step});
      if (n.kind == NodeKind::search) key.push_back(word(n.side));
      if (n.kind == NodeKind::sort)
        key.push_back(word(n.sort.descending) | word(n.sort.places) << 1 |
                      word(n.sort.key_bits) << 8);
      bool gather = n.kind == NodeKind::map && n.op == OpId::gather;
      bool scatter = n.kind == NodeKind::scatter;
      if (n.kind == NodeKind::assign || scatter || gather) push_layout(n.layout);
      if (scatter || gather) key.insert(key.end(), {n.bits, n.step, word(n.quads)});
      for (int k = 0; k < n.arity; ++k) {
        const Node& in = *n.inputs[k];
        bool view = in.kind == NodeKind::view;
        key.push_back(word(source_of(in)->mark) | word(view) << 32 | word(in.shape.size()) << 33);
        if (!view) continue;
        push_dims(key, in.shape);
        push_layout(in.layout);
      }
    }
    for (size_t i = 0; i < g_.leaves.size(); ++i) {
      const Node& n = *g_.leaves[i];
      uint64_t place = word(n.layout.offset % 4) | (n.layout.offset == 0 ? 4u : 0u);
      key.push_back(word(n.dtype) | place << 8 | word(g_.leaf_dies[i]) << 12 |
                    word(g_.leaf_frees[i]) << 13 | word(g_.leaf_buffer[i]) << 16 |
                    word(n.shape.size()) << 48);
      key.push_back(n.buffer->bytes);
      push_dims(key, n.shape);
      push_dims(key, n.layout.strides);
    }
  }

 private:
  static Node* source_of(const Node& in) {
    return in.kind == NodeKind::view ? in.inputs[0].get() : const_cast<Node*>(&in);
  }

  // By a tensor, or by a lazy node outside this flush.
  static bool held(const Node& n) {
    return n.handles.load(std::memory_order_relaxed) > 0 ||
           n.refs.load(std::memory_order_relaxed) > n.edges;
  }

  void number_leaf(Node* l) {
    if (l->kind != NodeKind::leaf || l->mark >= 0) return;
    l->mark = static_cast<int>(g_.order.size() + g_.leaves.size());
    g_.leaves.push_back(l);
    g_.leaf_dies.push_back(
        taken_ ? l->wanted : !held(*l) && l->buffer->refs.load(std::memory_order_relaxed) == 1);
    if (l->buffer->scratch_epoch != epoch_) {
      l->buffer->scratch_epoch = epoch_;
      l->buffer->scratch = static_cast<int>(g_.leaf_buffer.size());
    }
    g_.leaf_buffer.push_back(l->buffer->scratch);
  }

  void push_layout(const Layout& l) {
    push_dims(g_.key, l.strides);
    g_.key.push_back(word(l.offset));
  }

  Engine& e_;
  FlushGraph& g_;
  uint64_t epoch_;
  bool taken_ = false;  // a program's inputs are marked that may be overwritten
};

Dims operand_shape(const Node& n, int k) {
  const Node& in = *n.inputs[k];
  if (n.kind == NodeKind::map) return n.shape;
  if ((n.kind == NodeKind::scatter || n.kind == NodeKind::segments) && k == 2)
    return n.inputs[1]->shape;
  if (n.kind != NodeKind::matmul) return in.shape;
  Dims s;  // broadcast batches
  int own = n.ranks.shared + (k == 0 ? n.ranks.rows : n.ranks.columns);
  for (int d = 0; d < n.shape.size() - n.ranks.rows - n.ranks.columns; ++d) s.push_back(n.shape[d]);
  for (int d = in.shape.size() - own; d < in.shape.size(); ++d) s.push_back(in.shape[d]);
  return s;
}

// Strides of what is read, at the reader's operand shape.
Operand operand(const Node& n, int k) {
  Node* in = n.inputs[k].get();
  Layout from = Engine::layout_of(*in);
  if (in->kind == NodeKind::leaf) from.offset = 0;  // added when the plan runs
  Operand o;
  if (n.kind == NodeKind::map && k == 0 && n.op == OpId::gather) return {in->mark, n.layout};
  if (n.kind == NodeKind::map && k == 1 && is_check(n.op))  // the faults: no element of them
    return {in->mark, {Dims(n.shape.size(), 0), 0}};
  o.layout = {broadcast_strides("plan", in->shape, from.strides, operand_shape(n, k)), from.offset};
  const Node* source = in->kind == NodeKind::view ? in->inputs[0].get() : in;
  o.value = source->mark;
  // Where in a constant a map reads does not matter: no view of it is an obstacle.
  if (source->kind == NodeKind::fill && n.kind == NodeKind::map)
    o.layout = {Dims(o.layout.strides.size(), 0), 0};
  return o;
}

}  // namespace

void collect_graph(Engine& e, FlushGraph& g, const std::vector<Node*>& targets) {
  Collector c(e, g, ++e.epoch_);
  for (Node* t : targets) {
    e.resolve(*t);
    if (t->pending) c.add_root(t, NodeRef(t));
  }
  for (Node *n = e.first_, *next = nullptr; n; n = next) {
    next = n->next;
    if (n->readers > 0 || n->deferred || n->handles.load(std::memory_order_relaxed) == 0) continue;
    if (n->epoch == e.epoch_ && n->wanted) continue;
    NodeRef keep = try_acquire(n);
    if (!keep) continue;
    e.resolve(*n);
    if (n->pending) c.add_root(n, std::move(keep));
  }
  c.mark(e.last_);
  c.number();
  if (!g.nodes.empty()) c.write_key();
}

void collect_program(Engine& e, FlushGraph& g, const Program& p, const std::vector<bool>& taken) {
  Collector c(e, g, ++e.epoch_);
  c.adopt(p, taken);
  if (!g.nodes.empty()) c.write_key();
}

void resolve_operands(FlushGraph& g) {
  for (FlushNode& f : g.nodes)
    for (int k = 0; k < f.node->arity; ++k) f.operands.push_back(operand(*f.node, k));
}

}  // namespace wgt::graph
