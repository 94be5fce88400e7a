// Engine: making nodes.
#include <algorithm>
#include <cstdlib>

#include "base/called.h"
#include "base/settings.h"
#include "graph/engine.h"

namespace wgt::graph {

namespace {
void check_count(const char* op, const Dims& shape) {
  if (numel(shape) >= (int64_t{1} << 32))
    raise(ErrorKind::unsupported, std::string("[") + op + "] a result of shape " +
                                      to_string(shape) + " has 2^32 elements or more: split it");
}
}  // namespace

NodeRef Engine::make(NodeKind kind, DType dtype, const Dims& shape, const char* op) {
  check_count(op, shape);
  if (is_wide(dtype)) check_wide(dtype, op);
  return make(kind, dtype, shape);
}

NodeRef Engine::make(NodeKind kind, DType dtype, const Dims& shape) {
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
  n->traced = tracing();
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
  n.deferred = n.deferred || n.traced;  // no flush of another thread computes it
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

// The device gets its first work early. Then it has some, and what waits longer fuses better.
int64_t Engine::flush_limit() const {
  constexpr int kMostDoublings = 3;
  return int64_t{settings().flush_nodes} << std::min(own_flushes_, kMostDoublings);
}

void Engine::flush_if_due() {
  if (tracing() || ++since_flush_ < flush_limit()) return;
  int flushes = own_flushes_ + 1;
  flush({});
  own_flushes_ = flushes;
}

NodeRef Engine::leaf(DType dtype, const Dims& shape, rt::BufferRef buffer) {
  NodeRef n = make(NodeKind::leaf, dtype, shape, "asarray");
  n->layout = {contiguous_strides(shape), 0};
  n->buffer = std::move(buffer);
  return n;
}

NodeRef Engine::empty(DType dtype, const Dims& shape, const char* op) {
  check_count(op, shape);
  uint64_t bytes = static_cast<uint64_t>(numel(shape)) * static_cast<uint64_t>(info(dtype).size);
  return leaf(dtype, shape,
              naming(op, [&] { return device().allocate(std::max<uint64_t>(bytes, 4)); }));
}

NodeRef Engine::fill(DType dtype, const Dims& shape, uint64_t bits) {
  NodeRef n = make(NodeKind::fill, dtype, shape, "full");
  n->bits = bits;
  n->deferred = true;
  enqueue(*n);
  return n;
}

NodeRef Engine::iota(DType dtype, int64_t count, uint64_t start, uint64_t step) {
  NodeRef n = make(NodeKind::iota, dtype, Dims{count}, "arange");
  n->bits = start;
  n->step = step;
  n->deferred = true;
  enqueue(*n);
  return n;
}

NodeRef Engine::random(const Dims& shape, uint64_t seed, uint64_t offset, uint32_t stream) {
  NodeRef n = make(NodeKind::random, DType::uint32, shape, "random");
  n->bits = seed;
  n->step = offset;
  n->stream = stream;
  n->deferred = true;
  enqueue(*n);
  if (n->traced) traced_random_.push_back(n);
  return n;
}

// Four neighbours of a packed result are one thread's. Where a kernel could not bind what they read
// of a view, it is copied first, in whole words; the planner keeps that a kernel of its own.
NodeRef Engine::near(const NodeRef& n) {
  if (n->kind != NodeKind::leaf && n->kind != NodeKind::view) return n;
  const Layout& l = n->layout;
  int64_t longest = 0, row = 0;  // steps between neighbours; from a row's first element to its last
  for (int d = n->shape.size() - 1; d >= 0; --d) {
    if (n->shape[d] == 1) continue;
    longest = std::max(longest, std::abs(l.strides[d] - row));
    row += l.strides[d] * (n->shape[d] - 1);
  }
  if (3 * longest < window_limit() / info(n->dtype).size) return n;
  if (!is_packed(n->dtype)) return make_map(OpId::copy, n->dtype, n->shape, &n, 1);
  NodeRef wide = make_map(OpId::cast, unpacked(n->dtype), n->shape, &n, 1);
  return make_map(OpId::cast, n->dtype, n->shape, &wide, 1);
}

NodeRef Engine::map(OpId op, DType dtype, const Dims& shape, const NodeRef* inputs, int arity) {
  flush_if_due();
  return make_map(op, dtype, shape, inputs, arity);
}

NodeRef Engine::make_map(OpId op, DType dtype, const Dims& shape, const NodeRef* inputs,
                         int arity) {
  NodeRef n = make(NodeKind::map, dtype, shape, op_info(op).name);
  n->op = op;
  for (int i = 0; i < arity; ++i) {
    settle(*inputs[i]);
    set_input(*n, i, is_packed(dtype) ? near(inputs[i]) : inputs[i]);
  }
  enqueue(*n);
  return n;
}

Layout Engine::layout_of(Node& n) {
  if (n.kind == NodeKind::leaf || n.kind == NodeKind::view) return n.layout;
  return {contiguous_strides(n.shape), 0};
}

NodeRef Engine::view(const NodeRef& base, const Dims& shape, const Layout& layout) {
  check_count("view", shape);
  return overlapping_view(base, shape, layout);
}

NodeRef Engine::overlapping_view(const NodeRef& base, const Dims& shape, const Layout& layout) {
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

NodeRef Engine::computed(const NodeRef& n) {
  settle(*n);
  if (n->kind != NodeKind::leaf) {
    flush({n.get()});
    settle(*n);
  }
  if (n->kind != NodeKind::leaf) internal_error("a value that stays lazy");
  return n;
}

NodeRef Engine::reinterpret(const NodeRef& of, DType dtype, const Dims& shape,
                            const Layout& layout) {
  NodeRef n = make(NodeKind::leaf, dtype, shape, "bitcast");
  n->layout = layout;
  n->buffer = of->buffer;
  return n;
}

NodeRef Engine::checked_index(const NodeRef& index, std::shared_ptr<IndexSite> site, bool writes) {
  NodeRef in[2] = {index, faults_.leaf(*this)};
  NodeRef n = map(writes ? OpId::checked_write : OpId::checked, DType::uint32, index->shape, in, 2);
  n->bits = static_cast<uint64_t>(site->size);
  n->site = std::move(site);
  return n;
}

NodeRef Engine::gather(const NodeRef& source, const NodeRef& position, const Dims& shape,
                       const Dims& strides, const Reach& span, bool quads) {
  settle(*source);
  NodeRef base = source->kind == NodeKind::view ? source->inputs[0] : source;
  // What readers make for themselves is nowhere in memory.
  if (base->kind == NodeKind::fill || base->kind == NodeKind::iota ||
      base->kind == NodeKind::random)
    base = map(OpId::copy, base->dtype, base->shape, &base, 1);
  NodeRef in[2] = {base, position};
  NodeRef n = map(OpId::gather, source->dtype, shape, in, 2);
  // A leaf's own offset is added when the plan runs.
  n->layout = {strides, source->kind == NodeKind::leaf ? 0 : layout_of(*source).offset};
  n->bits = static_cast<uint64_t>(span.first);
  n->step = static_cast<uint64_t>(span.last);
  n->quads = quads;
  return n;
}

NodeRef Engine::reduce(ReduceOp op, const NodeRef& input, uint32_t axes, const NodeRef& second) {
  check_count(reduce_name(op), input->shape);
  flush_if_due();
  settle(*input);
  if (second) settle(*second);
  Dims shape;
  for (int d = 0; d < input->shape.size(); ++d)
    if (!((axes >> d) & 1u)) shape.push_back(input->shape[d]);
  if (result_words(op) > 1) shape.push_back(result_words(op));
  NodeRef n = make(NodeKind::reduce, reduced_dtype(op, input->dtype), shape, reduce_name(op));
  n->reduce = op;
  n->axes = axes;
  set_input(*n, 0, input);
  if (second) set_input(*n, 1, second);
  enqueue(*n);
  return n;
}

NodeRef Engine::softmax(const NodeRef& input, bool logarithm) {
  flush_if_due();
  settle(*input);
  NodeRef n = make(NodeKind::softmax, input->dtype, input->shape, "softmax");
  n->logarithm = logarithm;
  set_input(*n, 0, input);
  enqueue(*n);
  return n;
}

NodeRef Engine::normalize(const NodeRef& input, const NodeRef& gradient, bool centred,
                          uint64_t eps) {
  flush_if_due();
  settle(*input);
  if (gradient) settle(*gradient);
  NodeRef n = make(NodeKind::normalize, input->dtype, input->shape, "normalize");
  n->centred = centred;
  n->bits = eps;
  set_input(*n, 0, input);
  if (gradient) set_input(*n, 1, gradient);
  enqueue(*n);
  return n;
}

NodeRef Engine::scan(ReduceOp op, const NodeRef& input, const Dims& shape) {
  flush_if_due();
  settle(*input);
  NodeRef n = make(NodeKind::scan, input->dtype, shape, "scan");
  n->reduce = op;
  set_input(*n, 0, input);
  enqueue(*n);
  return n;
}

NodeRef Engine::sort(const NodeRef& input, SortForm form) {
  const char* op = form.places ? "argsort" : "sort";
  check_count(op, input->shape);
  flush_if_due();
  settle(*input);
  DType dtype = form.places ? DType::int32 : unpacked(input->dtype);
  NodeRef n = make(NodeKind::sort, dtype, input->shape, op);
  n->sort = form;
  set_input(*n, 0, input);
  enqueue(*n);
  return n;
}

NodeRef Engine::tally(const NodeRef& mask) {
  flush_if_due();
  settle(*mask);
  int64_t blocks = (mask->shape[0] + kTallyBlock - 1) / kTallyBlock;
  NodeRef n = make(NodeKind::tally, DType::int32, Dims{blocks}, "nonzero");
  set_input(*n, 0, mask);
  enqueue(*n);
  return n;
}

NodeRef Engine::compact(const NodeRef& mask, const NodeRef& before, const NodeRef& values,
                        int64_t count) {
  flush_if_due();
  settle(*mask);
  settle(*before);
  if (values) settle(*values);
  DType dtype = values ? unpacked(values->dtype) : DType::int32;
  NodeRef n = make(NodeKind::compact, dtype, Dims{count}, "nonzero");
  set_input(*n, 0, mask);
  set_input(*n, 1, before);
  if (values) set_input(*n, 2, values);
  enqueue(*n);
  return n;
}

NodeRef Engine::search(const NodeRef& values, const NodeRef& sorted, SearchSide side) {
  flush_if_due();
  settle(*values);
  settle(*sorted);
  NodeRef n = make(NodeKind::search, DType::int32, values->shape, "searchsorted");
  n->side = side;
  set_input(*n, 0, values);
  set_input(*n, 1, sorted);
  enqueue(*n);
  return n;
}

NodeRef Engine::matmul(const NodeRef& a, const NodeRef& b, const Dims& shape, ProductRanks ranks) {
  flush_if_due();
  settle(*a);
  settle(*b);
  NodeRef n = make(NodeKind::matmul, unpacked(a->dtype), shape, "matmul");
  n->ranks = ranks;
  set_input(*n, 0, a);
  set_input(*n, 1, b);
  enqueue(*n);
  return n;
}

NodeRef Engine::assign(const NodeRef& base, const NodeRef& value, const Layout& layout) {
  flush_if_due();
  settle(*value);
  NodeRef dense = written_over(base);
  NodeRef n = make(NodeKind::assign, base->dtype, base->shape, "setitem");
  n->layout = layout;
  set_input(*n, 0, dense);
  set_input(*n, 1, value);
  enqueue(*n);
  return n;
}

NodeRef Engine::scatter(ScatterOp op, const NodeRef& base, const NodeRef& value,
                        const NodeRef& position, const Dims& strides, int64_t last) {
  flush_if_due();
  settle(*value);
  settle(*position);
  NodeRef dense = written_over(base);
  NodeRef n = make(NodeKind::scatter, base->dtype, base->shape, "scatter");
  n->scatter = op;
  n->layout = {strides, 0};
  n->step = static_cast<uint64_t>(last);
  set_input(*n, 0, dense);
  set_input(*n, 1, value);
  set_input(*n, 2, position);
  enqueue(*n);
  return n;
}

NodeRef Engine::segments(ReduceOp op, const NodeRef& base, const NodeRef& values,
                         const NodeRef& rows, bool any_order) {
  flush_if_due();
  settle(*values);
  settle(*rows);
  settle(*base);
  // A view of one number everywhere is one, unless a program sets that number later.
  const Node* source = base->kind == NodeKind::view ? base->inputs[0].get() : nullptr;
  const bool constant = source && source->kind == NodeKind::fill && !source->traced;
  NodeRef dense =
      any_order && constant ? fill(base->dtype, base->shape, source->bits) : written_over(base);
  NodeRef n = make(NodeKind::segments, base->dtype, base->shape, "segments");
  n->reduce = op;
  n->any_order = any_order;
  set_input(*n, 0, dense);
  set_input(*n, 1, values);
  set_input(*n, 2, rows);
  enqueue(*n);
  return n;
}

// The kernel writes into a dense buffer from its start.
NodeRef Engine::written_over(const NodeRef& base) {
  settle(*base);
  bool plain = base->kind != NodeKind::view &&
               (base->kind != NodeKind::leaf ||
                (base->layout.offset == 0 && is_contiguous(base->shape, base->layout.strides)));
  return plain ? base : map(OpId::copy, base->dtype, base->shape, &base, 1);
}

}  // namespace wgt::graph
