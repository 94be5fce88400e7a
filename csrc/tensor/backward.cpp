// Running the tape backwards: from the youngest node to the oldest, each when all that uses it has
// run. A node is older than what uses it, so a heap by age is all the order that is needed.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "tensor/autograd.h"
#include "tensor/gradient_sum.h"

namespace wgt::autograd {

namespace {

struct Younger {
  bool operator()(const Ref<GradNode>& a, const Ref<GradNode>& b) const {
    return a->sequence < b->sequence;
  }
};

struct LeafGrad {
  Ref<Variable> leaf;
  GradientSum grad;
};

class Run {
 public:
  explicit Run(const Request& r) : request_(r), wanted_(!r.inputs.empty()) {}
  Reply run();

 private:
  void check_outputs();
  void find_needed();
  bool is_needed(const Variable& v) const;
  void send(Variable& v, const Tensor& grad);
  void send(const Edge& to, const Tensor& grad);
  void run_node(GradNode& n);
  void run_leaves();
  Tensor with_hooks(const Ref<Slot>& slot, Tensor grad);
  void keep(const Ref<Slot>& slot, const Tensor& grad);
  void capture(const GradNode* fn, const Variable* leaf, uint32_t output, const Tensor& grad);
  void check_nan(const GradNode& n, const Gradients& grads) const;

  const Request& request_;
  bool wanted_;  // only inputs get gradients
  Reply reply_;
  std::priority_queue<Ref<GradNode>, std::vector<Ref<GradNode>>, Younger> queue_;
  std::unordered_map<GradNode*, std::vector<GradientSum>> pending_;  // gradients of results, so far
  std::unordered_map<Variable*, LeafGrad> leaves_;
  std::vector<Variable*> leaf_order_;
  std::unordered_set<const void*> needed_;  // nodes and leaves that an input is reached from
};

Tensor ones_of(const Tensor& t) {
  if (t.size() != 1)
    raise(ErrorKind::runtime,
          "[backward] a gradient can be left away for outputs of one element only: this one has "
          "shape " +
              to_string(t.shape()));
  return filled(t.engine(), t.shape(), t.dtype(), 1);
}

Tensor checked_grad(const Tensor& output, const Tensor& grad) {
  if (!(grad.shape() == output.shape()))
    raise(ErrorKind::runtime, "[backward] a gradient of shape " + to_string(grad.shape()) +
                                  " for an output of shape " + to_string(output.shape()));
  if (&grad.engine() != &output.engine())
    raise(ErrorKind::device_mismatch, "[backward] the output is on " + output.engine().name() +
                                          ", its gradient on " + grad.engine().name());
  return astype(grad, output.dtype());
}

void Run::check_outputs() {
  for (size_t i = 0; i < request_.outputs.size(); ++i) {
    const Tensor& t = request_.outputs[i];
    if (!t.requires_grad())
      raise(ErrorKind::runtime, "[backward] output " + std::to_string(i) + " of shape " +
                                    to_string(t.shape()) +
                                    " does not require grad and has no grad_fn");
  }
}

// Marks what an input is reached from, by depth first search with a stack of its own.
void Run::find_needed() {
  std::unordered_set<const void*> inputs, seen;
  for (const Tensor& t : request_.inputs) {
    const Variable* v = t.variable();
    inputs.insert(v->fn ? static_cast<const void*>(v->fn.get()) : v);
  }
  struct Frame {
    GradNode* node;
    size_t next;
    bool needed;
  };
  std::vector<Frame> stack;
  auto enter = [&](GradNode* n) {
    if (seen.insert(n).second) stack.push_back({n, 0, inputs.count(n) != 0});
  };
  for (const void* i : inputs) needed_.insert(i);
  for (const Tensor& t : request_.outputs)
    if (t.variable()->fn) {
      enter(t.variable()->fn.get());
      while (!stack.empty()) {
        Frame& f = stack.back();
        if (f.next == f.node->operands.size()) {
          if (f.needed) needed_.insert(f.node);
          bool needed = f.needed;
          stack.pop_back();
          if (needed && !stack.empty()) stack.back().needed = true;
          continue;
        }
        const Ref<Variable>& v = f.node->operands[f.next++].variable;
        if (!v) continue;
        const void* key = v->fn ? static_cast<const void*>(v->fn.get()) : v.get();
        if (needed_.count(key)) f.needed = true;
        if (v->fn) enter(v->fn.get());
      }
    }
}

bool Run::is_needed(const Variable& v) const {
  if (!v.requires_grad) return false;
  return !wanted_ || needed_.count(v.fn ? static_cast<const void*>(v.fn.get()) : &v) != 0;
}

void Run::send(Variable& v, const Tensor& grad) {
  if (!grad.node() || !is_needed(v)) return;
  if (!v.fn) {
    auto [at, fresh] = leaves_.try_emplace(&v);
    if (fresh) {
      at->second.leaf = Ref<Variable>(&v);
      leaf_order_.push_back(&v);
    }
    at->second.grad.add(grad);
    return;
  }
  auto [at, fresh] = pending_.try_emplace(v.fn.get());
  if (fresh) {
    at->second.resize(v.fn->outputs);
    queue_.push(v.fn);
  }
  at->second[v.output].add(grad);
}

void Run::send(const Edge& to, const Tensor& grad) {
  if (grad.node()) send(*to.variable, astype(sum_to(grad, to.shape), to.dtype));
}

Tensor Run::with_hooks(const Ref<Slot>& slot, Tensor grad) {
  if (!slot) return grad;
  for (const Hook& hook : hooks_of(*slot)) {
    Tensor replaced = hook(grad);
    if (!replaced.node()) continue;
    if (!(replaced.shape() == grad.shape()))
      raise(ErrorKind::runtime, "[backward] a hook changed a gradient of shape " +
                                    to_string(grad.shape()) + " to " + to_string(replaced.shape()));
    grad = replaced;
  }
  return grad;
}

void Run::keep(const Ref<Slot>& slot, const Tensor& grad) {
  reply_.accumulate.emplace_back(slot, grad);
}

void Run::capture(const GradNode* fn, const Variable* leaf, uint32_t output, const Tensor& grad) {
  for (size_t i = 0; i < request_.inputs.size(); ++i) {
    const Variable& v = *request_.inputs[i].variable();
    bool same = fn ? v.fn.get() == fn && v.output == output : &v == leaf;
    if (same) reply_.grads[i] = grad;
  }
}

// The first NaN of a rule whose incoming gradients had none names the operation.
void Run::check_nan(const GradNode& n, const Gradients& grads) const {
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].node() || grads[i].size() == 0) continue;
    ModeGuard off(false);
    Tensor nan = reduce("any", elementwise(graph::OpId::isnan, {grads[i]}), std::nullopt, false);
    uint8_t found = 0;
    std::memcpy(&found, to_host(nan)->data, 1);
    if (!found) continue;
    raise(ErrorKind::runtime, "[backward] the gradient of '" + n.name +
                                  "' with respect to operand " + std::to_string(i) + " has NaN" +
                                  (n.origin ? "; its forward call is at " + *n.origin : ""));
  }
}

void Run::run_node(GradNode& n) {
  Gradients grads;
  for (const GradientSum& s : pending_[&n]) grads.push_back(s.total());
  pending_.erase(&n);
  for (uint32_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].node()) continue;
    Ref<Slot> slot = slot_of(n, i);
    grads[i] = with_hooks(slot, grads[i]);
    if (slot && slot->retains) keep(slot, grads[i]);
    if (wanted_) capture(&n, nullptr, i, grads[i]);
  }
  std::vector<bool> needed(n.operands.size());
  bool any = false;
  for (size_t i = 0; i < needed.size(); ++i) {
    const Ref<Variable>& v = n.operands[i].variable;
    needed[i] = v && is_needed(*v);
    any = any || needed[i];
  }
  if (!any) return;
  std::shared_ptr<const Kept> kept = kept_by(n);
  if (!kept)
    raise(ErrorKind::runtime,
          "[backward] Trying to backward through the graph a second time, at '" + n.name +
              "': what it kept was freed by the first backward(); say retain_graph=True there");
  Gradients out = kept->rule(Context(n, kept->result, grads, needed));
  if (anomaly_mode) check_nan(n, out);
  for (size_t i = 0; i < needed.size() && i < out.size(); ++i)
    if (needed[i]) send(n.operands[i], out[i]);
  if (!request_.retain_graph && n.keeps != Keeps::nothing) release(n);
}

void Run::run_leaves() {
  for (Variable* v : leaf_order_) {
    Tensor grad = leaves_[v].grad.total();
    Ref<Slot> slot = slot_of(*v, !wanted_);
    grad = with_hooks(slot, grad);
    if (wanted_)
      capture(nullptr, v, 0, grad);
    else
      keep(slot, grad);
  }
}

Reply Run::run() {
  check_outputs();
  reply_.grads.resize(request_.inputs.size());
  if (wanted_) find_needed();
  ModeGuard mode(request_.create_graph);
  for (size_t i = 0; i < request_.outputs.size(); ++i) {
    const Tensor& t = request_.outputs[i];
    const Tensor& g = i < request_.grads.size() ? request_.grads[i] : Tensor();
    send(*t.variable(), g.node() ? checked_grad(t, g) : ones_of(t));
  }
  while (!queue_.empty()) {
    Ref<GradNode> n = queue_.top();
    queue_.pop();
    run_node(*n);
  }
  run_leaves();
  return std::move(reply_);
}

}  // namespace

Reply backward(const Request& request) {
  return Run(request).run();
}

}  // namespace wgt::autograd
