// The tape of reverse-mode differentiation. A primitive function on tensors records a node when
// gradients are on and an operand requires one; the node holds the operation's rule and where the
// gradients of its operands go. Rules are made of the same functions, so gradients are lazy tensors
// that fuse, and have gradients themselves.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace wgt::autograd {

// ---- the mode ---------------------------------------------------------------------------------

/// Whether this thread records.
inline thread_local constinit bool grad_mode = true;
/// Whether backward looks for NaN, and nodes remember their Python line.
inline thread_local constinit bool anomaly_mode = false;

class ModeGuard {
 public:
  explicit ModeGuard(bool on) : before_(grad_mode) { grad_mode = on; }
  ~ModeGuard() { grad_mode = before_; }
  ModeGuard(const ModeGuard&) = delete;
  ModeGuard& operator=(const ModeGuard&) = delete;

 private:
  bool before_;
};

/// What a function gives without a record of what happens inside.
template <class F>
Tensor untracked(F&& f) {
  ModeGuard off(false);
  return f().detached();
}

inline bool recording(const Tensor& t) {
  return t.requires_grad() && grad_mode;
}
inline bool recording(const Tensor& a, const Tensor& b) {
  return (a.requires_grad() || b.requires_grad()) && grad_mode;
}
bool recording(std::span<const Operand> operands);

// ---- nodes ------------------------------------------------------------------------------------

/// Called with the gradients of the node's results (empty where none came), gives those of its
/// operands, in any shape that broadcasting makes of theirs and any float dtype; empty for none.
using Gradients = std::vector<Tensor>;

class Context {
 public:
  Context(GradNode& node, const Tensor& result, const Gradients& grads, std::vector<bool> needed)
      : node_(node), result_(result), grads_(grads), needed_(std::move(needed)) {}
  /// The gradient of the only result.
  const Tensor& grad() const { return grads_[0]; }
  const Gradients& grads() const { return grads_; }
  bool needs(size_t operand) const { return needed_[operand]; }
  const Dims& shape_of(size_t operand) const;
  /// The node's result, on the tape again where gradients are recorded.
  Tensor result() const;
  /// A result that is kept elsewhere, put back on the tape.
  Tensor as_output(const Tensor& value, uint32_t output) const;

 private:
  GradNode& node_;
  const Tensor& result_;
  const Gradients& grads_;
  std::vector<bool> needed_;
};

using Rule = std::function<Gradients(const Context&)>;

/// What a rule keeps until backward has used it.
enum class Keeps : uint8_t { nothing, operands, result };

using Hook = std::function<Tensor(const Tensor&)>;  // an empty result leaves the gradient as it is

/// Where .grad is: of Python's making, so that each look at it gives the same object.
struct GradBox {
  virtual ~GradBox() = default;
  virtual Tensor get() const = 0;
  virtual void set(const Tensor& value) = 0;
};

/// Gradient and hooks of one variable.
struct Slot : RefCounted {
  std::unique_ptr<GradBox> grad;  // [GIL]
  bool retains = false;           // keeps its gradient though it is no leaf
  uint64_t next_id = 1;
  std::vector<std::pair<uint64_t, Hook>> hooks;
  void on_zero() { delete this; }
};

/// Where the gradient of an operand goes, and what it must look like.
struct Edge {
  Ref<Variable> variable;  // null: needs no gradient
  Dims shape;
  DType dtype = DType::float32;
};

/// What a view of windows looks at: a product with it has a gradient of its own.
struct WindowsOf {
  Tensor source;
  Dims sizes, steps, dilations;
};

/// What backward needs of a node and frees when it has used it.
struct Kept {
  Rule rule;
  Tensor result;  // where the rule needs it; off the tape
};

struct GradNode final : Chained {
  std::string name;       // of the operation
  uint64_t sequence = 0;  // above that of all nodes that it builds on
  uint32_t outputs = 1;
  Keeps keeps = Keeps::nothing;
  std::vector<Edge> operands;
  std::shared_ptr<const Kept> kept;          // null: released [nodes' mutex]
  std::vector<Ref<Slot>> slots;              // by output, where there are any [nodes' mutex]
  std::shared_ptr<const WindowsOf> windows;  // of a view of windows
  std::shared_ptr<std::string> origin;       // anomaly mode: the Python line
};

/// A node of `operands`, with a rule that may hold them.
Ref<GradNode> make_node(const char* name, std::span<const Tensor> operands, Keeps keeps, Rule rule,
                        const Tensor& result = {});
/// Safe also where several threads go backward through one graph.
std::shared_ptr<const Kept> kept_by(const GradNode& n);
void release(GradNode& n);
/// `result` with a place on the tape. Integers and bools have none.
Tensor record(const char* name, const Tensor& result, std::span<const Tensor> operands, Keeps keeps,
              Rule rule);
inline Tensor record(const char* name, const Tensor& result, std::initializer_list<Tensor> operands,
                     Keeps keeps, Rule rule) {
  return record(name, result, std::span<const Tensor>(operands.begin(), operands.size()), keeps,
                std::move(rule));
}
/// Raises, naming the operation, where `t` would need a rule that there is none of.
void check_no_rule(const char* op, const Tensor& t);
/// Sequence number that the next node gets at least.
uint64_t next_sequence();

/// The slot of a variable; made where there is none if `make`.
Ref<Slot> slot_of(Variable& v, bool make);
/// That of a node's output, or none.
Ref<Slot> slot_of(const GradNode& n, uint32_t output);
std::vector<Hook> hooks_of(const Slot& slot);
uint64_t add_hook(Variable& v, Hook hook);
void remove_hook(Slot& slot, uint64_t id);

// ---- tensors ----------------------------------------------------------------------------------

/// A leaf with the value of `t`. Raises where the dtype has no gradients.
Tensor leaf(const Tensor& t, bool requires_grad);
/// What a handle becomes that moves to `after`: a leaf that requires a gradient must not move while
/// gradients are recorded, and stays what it was while they are not.
Tensor moved(const char* op, const Tensor& before, const Tensor& after);
/// Raises if `out` or `result` is on the tape while gradients are recorded.
void check_out(const Tensor& out, const Tensor& result);
/// Sums over the axes that broadcasting added or stretched.
Tensor sum_to(const Tensor& t, const Dims& shape);
/// A number everywhere.
Tensor filled(graph::Engine& e, const Dims& shape, DType dtype, double value);

// ---- backward ---------------------------------------------------------------------------------

struct Request {
  std::vector<Tensor> outputs;
  std::vector<Tensor> grads;   // of the outputs; an empty one is 1 for a single element
  std::vector<Tensor> inputs;  // whose gradients are wanted; none: all leaves
  bool retain_graph = false, create_graph = false;
};
struct Reply {
  std::vector<Tensor> grads;  // of the inputs; empty where the outputs do not depend on one
  std::vector<std::pair<Ref<Slot>, Tensor>> accumulate;  // what .grad of leaves and others receives
};
/// Runs the rules of what `outputs` depend on. Takes no lock; hooks may call Python. Raises what
/// PyTorch raises: RuntimeError for outputs without gradients, graphs used twice and NaN in anomaly
/// mode.
Reply backward(const Request& request);

}  // namespace wgt::autograd
