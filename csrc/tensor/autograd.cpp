// Nodes of the tape, and what tensors know of it.
#include "tensor/autograd.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "tensor/hooks.h"

namespace wgt::autograd {

namespace {

// Chains that die on this thread: the outermost call frees what the inner ones list.
thread_local constinit Chained* dying = nullptr;
thread_local constinit bool freeing = false;

std::atomic<uint64_t> sequence_counter{1};

std::mutex& nodes_mutex() {
  static auto* m = new std::mutex();
  return *m;
}

}  // namespace

void Chained::on_zero() {
  next_dead_ = dying;
  dying = this;
  if (freeing) return;
  freeing = true;
  while (dying) {
    Chained* c = dying;
    dying = c->next_dead_;
    delete c;
  }
  freeing = false;
}

Variable::Variable() = default;
Variable::Variable(Ref<GradNode> node, uint32_t out) : fn(std::move(node)), output(out) {}
Variable::~Variable() = default;

bool recording(std::span<const Operand> operands) {
  for (const Operand& o : operands)
    if (auto* t = std::get_if<Tensor>(&o); t && t->requires_grad()) return grad_mode;
  return false;
}

void check_no_rule(const char* op, const Tensor& t) {
  if (recording(t))
    raise(ErrorKind::unsupported, std::string("[") + op +
                                      "] has no gradient: call it on detach()ed tensors, or under "
                                      "no_grad()");
}

uint64_t next_sequence() {
  return sequence_counter.load();
}

Ref<GradNode> make_node(const char* name, std::span<const Tensor> operands, Keeps keeps, Rule rule,
                        const Tensor& result) {
  Ref<GradNode> n(new GradNode());
  n->name = name;
  n->sequence = sequence_counter.fetch_add(1);
  n->keeps = keeps;
  n->operands.reserve(operands.size());
  for (const Tensor& t : operands)
    n->operands.push_back(t.requires_grad() ? Edge{t.variable_ref(), t.shape(), t.dtype()}
                                            : Edge());
  n->kept = std::make_shared<const Kept>(Kept{std::move(rule), result});
  return n;
}

std::shared_ptr<const Kept> kept_by(const GradNode& n) {
  std::lock_guard<std::mutex> lock(nodes_mutex());
  return n.kept;
}

void release(GradNode& n) {
  std::shared_ptr<const Kept> gone;  // dies without the lock
  std::lock_guard<std::mutex> lock(nodes_mutex());
  gone.swap(n.kept);
}

Tensor record(const char* name, const Tensor& result, std::span<const Tensor> operands, Keeps keeps,
              Rule rule) {
  if (!is_float(result.dtype())) return result.detached();
  Tensor kept = keeps == Keeps::result ? result.detached() : Tensor();
  Ref<GradNode> n = make_node(name, operands, keeps, std::move(rule), kept);
  return result.with_variable(Ref<Variable>(new Variable(std::move(n), 0)));
}

Tensor Context::as_output(const Tensor& value, uint32_t output) const {
  if (!grad_mode) return value.detached();
  return value.with_variable(Ref<Variable>(new Variable(Ref<GradNode>(&node_), output)));
}

const Dims& Context::shape_of(size_t operand) const {
  return node_.operands[operand].shape;
}

Tensor Context::result() const {
  return as_output(result_, 0);
}

// ---- slots ------------------------------------------------------------------------------------

Ref<Slot> slot_of(Variable& v, bool make) {
  std::lock_guard<std::mutex> lock(nodes_mutex());
  if (!v.fn) {
    if (!v.slot && make) v.slot = Ref<Slot>(new Slot());
    return v.slot;
  }
  std::vector<Ref<Slot>>& slots = v.fn->slots;
  if (slots.size() <= v.output) {
    if (!make) return {};
    slots.resize(v.output + 1);
  }
  Ref<Slot>& slot = slots[v.output];
  if (!slot && make) slot = Ref<Slot>(new Slot());
  return slot;
}

Ref<Slot> slot_of(const GradNode& n, uint32_t output) {
  std::lock_guard<std::mutex> lock(nodes_mutex());
  return output < n.slots.size() ? n.slots[output] : Ref<Slot>();
}

std::vector<Hook> hooks_of(const Slot& slot) {
  std::lock_guard<std::mutex> lock(nodes_mutex());
  std::vector<Hook> hooks;
  for (const auto& h : slot.hooks) hooks.push_back(h.second);
  return hooks;
}

uint64_t add_hook(Variable& v, Hook hook) {
  Ref<Slot> slot = slot_of(v, true);
  std::lock_guard<std::mutex> lock(nodes_mutex());
  slot->hooks.emplace_back(slot->next_id, std::move(hook));
  return slot->next_id++;
}

uint64_t hooks_version(const Tensor& t) {
  Variable* v = t.variable();
  if (!v || v->fn) return 0;
  std::lock_guard<std::mutex> lock(nodes_mutex());
  return v->slot ? v->slot->next_id - 1 + (static_cast<uint64_t>(v->slot->hooks.size()) << 32) : 0;
}

void remove_hook(Slot& slot, uint64_t id) {
  Hook gone;  // dies without the lock
  std::lock_guard<std::mutex> lock(nodes_mutex());
  auto found = std::find_if(slot.hooks.begin(), slot.hooks.end(),
                            [&](const auto& h) { return h.first == id; });
  if (found == slot.hooks.end()) return;
  gone = std::move(found->second);
  slot.hooks.erase(found);
}

// ---- tensors ----------------------------------------------------------------------------------

Tensor leaf(const Tensor& t, bool requires_grad) {
  if (requires_grad && !is_float(t.dtype()))
    raise(ErrorKind::runtime,
          std::string("[requires_grad] only floating-point tensors have gradients, not ") +
              info(t.dtype()).name);
  if (!requires_grad) return t.detached();
  return t.with_variable(Ref<Variable>(new Variable()));
}

Tensor moved(const char* op, const Tensor& before, const Tensor& after) {
  Variable* v = before.variable();
  if (!v) return grad_mode ? after : after.detached();
  if (grad_mode && v->requires_grad && v->is_leaf())
    raise(ErrorKind::runtime,
          std::string("[") + op +
              "] a leaf tensor that requires grad cannot change in place while gradients are "
              "recorded: do it under no_grad(), or use the function that returns a new tensor");
  if (grad_mode && (v->requires_grad || after.requires_grad())) return after;
  return after.with_variable(before.variable_ref());
}

void check_out(const Tensor& out, const Tensor& result) {
  if (grad_mode && (out.requires_grad() || result.requires_grad()))
    raise(ErrorKind::runtime,
          "[out] functions with out= are not differentiable, but an operand or out itself requires "
          "grad: leave out= away, or call them under no_grad()");
}

Tensor sum_to(const Tensor& t, const Dims& shape) {
  if (t.shape() == shape) return t;
  int lead = t.rank() - shape.size();
  std::vector<int64_t> axes;
  for (int d = 0; d < t.rank(); ++d)
    if (d < lead || (shape[d - lead] == 1 && t.shape()[d] != 1)) axes.push_back(d);
  Tensor sum = axes.empty() ? t : reduce("sum", t, axes, false);
  return reshape(sum, shape);
}

Tensor filled(graph::Engine& e, const Dims& shape, DType dtype, double value) {
  return full(e, shape, Scalar{Kind::f, value}, dtype, "backward");
}

}  // namespace wgt::autograd
