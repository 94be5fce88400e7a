// The tape as Python sees it: .grad, hooks, backward, and functions with a backward of their own.
#include "tensor/autograd.h"

#include <pybind11/stl.h>

#include <mutex>
#include <unordered_set>

#include "bindings/pyref.h"

namespace wgt::bind {

using autograd::Gradients;
using autograd::GradNode;
using autograd::Slot;
using autograd::Variable;

namespace {

std::mutex& buried_mutex() {
  static auto* m = new std::mutex();
  return *m;
}
std::vector<PyObject*>& buried() {
  static auto* list = new std::vector<PyObject*>();
  return *list;
}

int free_buried(void*) {
  std::vector<PyObject*> list;
  {
    std::lock_guard<std::mutex> lock(buried_mutex());
    list.swap(buried());
  }
  for (PyObject* p : list) Py_DECREF(p);
  return 0;
}

}  // namespace

// Never takes the GIL: who holds a lock may get here.
PyRef::~PyRef() {
  if (!Py_IsInitialized()) return;
  if (PyGILState_Check()) {
    Py_DECREF(p_);
    return;
  }
  std::lock_guard<std::mutex> lock(buried_mutex());
  buried().push_back(p_);
  if (buried().size() == 1) Py_AddPendingCall(free_buried, nullptr);
}

namespace {

/// .grad: the same Python object at each look. [GIL]
struct PyBox final : autograd::GradBox {
  explicit PyBox(py::object tensor) : object(std::move(tensor)) {}
  Tensor get() const override { return *as_tensor(object.get()); }
  void set(const Tensor& value) override { *as_tensor(object.get()) = value; }
  PyRef object;
};

/// The variable of a Python tensor; made, as of one that requires no gradient, where there is none.
Variable& variable_of(Tensor& t) {
  if (!t.variable()) {
    Ref<Variable> v(new Variable());
    v->requires_grad = false;
    t = t.with_variable(std::move(v));
  }
  return *t.variable();
}

}  // namespace

Ref<Slot> gradient_slot(const Tensor& t, bool reads) {
  if (!t.variable()) return {};
  bool leaf = recording && t.variable()->is_leaf();
  Ref<Slot> slot = autograd::slot_of(*t.variable(), leaf);
  if (leaf) meet_gradient(slot, reads);
  return slot;
}

py::object gradient_in(const Slot& slot) {
  if (!slot.grad) return py::none();
  return py::reinterpret_borrow<py::object>(static_cast<PyBox&>(*slot.grad).object.get());
}

void put_gradient(Slot& slot, py::object value) {
  if (value.is_none())
    slot.grad.reset();
  else
    slot.grad = std::make_unique<PyBox>(std::move(value));
}

py::object gradient_of(const Tensor& t) {
  Ref<Slot> slot = gradient_slot(t, true);
  return slot ? gradient_in(*slot) : py::object(py::none());
}

namespace {

void set_grad(Tensor& t, py::object value) {
  if (value.is_none()) {
    if (Ref<Slot> slot = gradient_slot(t, false)) slot->grad.reset();
    return;
  }
  Tensor* g = as_tensor(value);
  if (!g)
    raise(ErrorKind::type, "[grad] a gradient is a Tensor or None, not " +
                               py::cast<std::string>(py::type::of(value).attr("__name__")));
  if (g == &t) raise(ErrorKind::runtime, "[grad] a tensor cannot be its own gradient");
  if (!(g->shape() == t.shape()) || g->dtype() != t.dtype() || &g->engine() != &t.engine())
    raise(ErrorKind::runtime, std::string("[grad] a gradient of shape ") + to_string(g->shape()) +
                                  ", " + info(g->dtype()).name + " on " + g->engine().name() +
                                  " for a tensor of shape " + to_string(t.shape()) + ", " +
                                  info(t.dtype()).name + " on " + t.engine().name());
  variable_of(t);
  gradient_slot(t, false);
  put_gradient(*autograd::slot_of(*t.variable(), true), std::move(value));
}

void set_requires_grad(Tensor& t, py::handle flag) {
  bool value = to_flag("requires_grad", "it", flag);
  Variable* v = t.variable();
  if (v && !v->is_leaf()) {
    if (!value)
      raise(ErrorKind::runtime,
            "[requires_grad] only of leaf tensors it can be changed: detach() gives one without");
    return;
  }
  if (value) autograd::leaf(t, true);  // checks the dtype
  if (v)
    v->requires_grad = value;
  else if (value)
    t = autograd::leaf(t, true);
}

void retain_grad(const Tensor& t) {
  if (!t.requires_grad())
    raise(ErrorKind::runtime, "[retain_grad] the tensor does not require grad");
  if (!t.variable()->is_leaf()) autograd::slot_of(*t.variable(), true)->retains = true;
}

/// Adds to .grad: as one step, also where other threads add too.
void accumulate(const Ref<Slot>& slot, const Tensor& grad, bool create_graph) {
  if (recording) meet_gradient(slot, true);
  for (;;) {
    if (!slot->grad) return put_gradient(*slot, py::cast(grad));
    Tensor before = slot->grad->get();
    Tensor sum = unlocked([&] {
      autograd::ModeGuard mode(create_graph);
      return elementwise(graph::OpId::add, {before, grad});
    });
    if (!slot->grad || slot->grad->get().node() != before.node()) continue;
    slot->grad->set(sum);
    return;
  }
}

py::object optional_tensor(const Tensor& t) {
  return t.node() ? py::cast(t) : py::object(py::none());
}

Tensor tensor_or_none(const char* what, py::handle o) {
  if (o.is_none()) return {};
  Tensor* t = as_tensor(o);
  if (!t)
    raise(ErrorKind::type, std::string(what) + " gave a " +
                               py::cast<std::string>(py::type::of(o).attr("__name__")) +
                               ": it gives a Tensor or None");
  return *t;
}

py::list run_backward(const std::vector<Tensor>& outputs, const py::list& grads,
                      const std::vector<Tensor>& inputs, bool retain_graph, bool create_graph,
                      bool add) {
  autograd::Request request{outputs, {}, inputs, retain_graph, create_graph};
  for (py::handle g : grads) request.grads.push_back(tensor_or_none("[backward] grad_outputs", g));
  for (const Tensor& t : inputs)
    if (!t.requires_grad())
      raise(ErrorKind::runtime,
            "[backward] an input of shape " + to_string(t.shape()) + " does not require grad");
  autograd::Reply reply = unlocked([&] { return autograd::backward(request); });
  for (const auto& [slot, grad] : reply.accumulate) accumulate(slot, grad, create_graph);
  py::list result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (add && reply.grads[i].node())
      accumulate(autograd::slot_of(*inputs[i].variable(), true), reply.grads[i], create_graph);
    result.append(optional_tensor(reply.grads[i]));
  }
  return result;
}

autograd::Rule python_rule(std::string name, py::object callback, size_t operands) {
  auto held = std::make_shared<PyRef>(std::move(callback));
  return [held, name, operands](const autograd::Context& c) {
    py::gil_scoped_acquire gil;
    py::list grads, needs;
    for (const Tensor& g : c.grads()) grads.append(optional_tensor(g));
    for (size_t i = 0; i < operands; ++i) needs.append(c.needs(i));
    py::cpp_function as_output(
        [&c](const Tensor& value, uint32_t output) { return c.as_output(value, output); });
    py::object made = py::reinterpret_borrow<py::object>(held->get())(grads, needs, as_output);
    Gradients out;
    for (py::handle g : made) out.push_back(tensor_or_none(("[" + name + "] backward").c_str(), g));
    if (out.size() != operands)
      raise(ErrorKind::runtime, "[" + name + "] backward gave " + std::to_string(out.size()) +
                                    " gradients for " + std::to_string(operands) + " tensors");
    return out;
  };
}

/// Outputs with a node whose rule is `callback(gradients, needed, as_output)`.
std::vector<Tensor> attach(const std::string& name, const std::vector<Tensor>& inputs,
                           const std::vector<Tensor>& outputs, py::object callback, bool keeps) {
  Ref<GradNode> n = autograd::make_node(
      name.c_str(), inputs, keeps ? autograd::Keeps::operands : autograd::Keeps::nothing,
      python_rule(name, std::move(callback), inputs.size()));
  n->outputs = static_cast<uint32_t>(outputs.size());
  std::vector<Tensor> made_;
  for (uint32_t i = 0; i < outputs.size(); ++i)
    made_.push_back(made(is_float(outputs[i].dtype())
                             ? outputs[i].with_variable(Ref<Variable>(new Variable(n, i)))
                             : outputs[i].detached()));
  return made_;
}

/// Stand-ins for the variables that the graph of `outputs` made since `sequence` begins at.
std::vector<Tensor> graph_inputs(const std::vector<Tensor>& outputs, uint64_t sequence) {
  std::vector<Tensor> found;
  std::vector<Ref<GradNode>> stack;
  std::unordered_set<const void*> seen;
  auto visit = [&](const void* p) { return seen.insert(p).second; };
  for (const Tensor& t : outputs)
    if (t.variable() && t.variable()->fn && t.variable()->fn->sequence >= sequence &&
        visit(t.variable()->fn.get()))
      stack.push_back(t.variable()->fn);
  graph::Engine* e = outputs.empty() ? nullptr : &outputs.front().engine();
  while (!stack.empty()) {
    Ref<GradNode> n = std::move(stack.back());
    stack.pop_back();
    for (const autograd::Edge& edge : n->operands) {
      Variable* v = edge.variable.get();
      if (!v) continue;
      if (v->fn && v->fn->sequence >= sequence) {
        if (visit(v->fn.get())) stack.push_back(v->fn);
      } else if (visit(v)) {
        found.push_back(
            autograd::filled(*e, edge.shape, edge.dtype, 0).with_variable(edge.variable));
      }
    }
  }
  return found;
}

struct PyGradFn {
  Ref<GradNode> node;
};

py::object grad_fn(const Tensor& t) {
  if (!t.variable() || !t.variable()->fn) return py::none();
  return py::cast(PyGradFn{t.variable()->fn});
}

void init_node(py::module_& m) {
  py::class_<PyGradFn> c(m, "GradFn", "An operation on the tape.");
  c.def_property_readonly("name", [](const PyGradFn& n) { return n.node->name; });
  c.def_property_readonly(
      "next_functions",
      [](const PyGradFn& n) {
        py::list list;
        for (const autograd::Edge& e : n.node->operands)
          if (e.variable && e.variable->fn)
            list.append(py::cast(PyGradFn{e.variable->fn}));
          else
            list.append(py::none());
        return py::tuple(list);
      },
      "Of each operand; None for leaves and for what requires no gradient.");
  c.def("__repr__", [](const PyGradFn& n) { return "<GradFn " + n.node->name + ">"; });
  c.def("__eq__", [](const PyGradFn& n, py::object o) {
    return py::isinstance<PyGradFn>(o) && py::cast<PyGradFn&>(o).node == n.node;
  });
  c.def("__hash__", [](const PyGradFn& n) { return std::hash<const void*>()(n.node.get()); });
}

void init_members(py::class_<Tensor>& t) {
  t.def_property("requires_grad", &Tensor::requires_grad, &set_requires_grad,
                 "Whether gradients are computed for it; of leaves it can be set.");
  t.def_property_readonly(
      "is_leaf", [](const Tensor& s) { return !s.variable() || s.variable()->is_leaf(); },
      "Whether no recorded operation made it.");
  t.def_property("grad", &gradient_of, &set_grad, "What backward() has summed up for it, or None.");
  t.def_property_readonly("grad_fn", &grad_fn, "The recorded operation that made it, or None.");
  t.def_property_readonly("retains_grad", [](const Tensor& s) {
    if (!s.variable() || s.variable()->is_leaf()) return false;
    Ref<Slot> slot = autograd::slot_of(*s.variable(), false);
    return slot && slot->retains;
  });
  t.def("retain_grad", &retain_grad, "Makes backward() fill in .grad, though it is no leaf.");
  t.def(
      "detach", [](const Tensor& s) { return s.detached(); },
      "The same value, for which no gradients are recorded.");
  t.def(
      "_add_hook",
      [](const Tensor& s, py::object hook) {
        if (!s.requires_grad())
          raise(ErrorKind::runtime, "[register_hook] the tensor does not require grad");
        auto held = std::make_shared<PyRef>(std::move(hook));
        return autograd::add_hook(*s.variable(), [held](const Tensor& grad) {
          py::gil_scoped_acquire gil;
          py::object r = py::reinterpret_borrow<py::object>(held->get())(grad);
          return tensor_or_none("[backward] a hook", r);
        });
      },
      py::arg("hook"));
  t.def(
      "_remove_hook",
      [](const Tensor& s, uint64_t id) {
        if (Ref<Slot> slot = s.variable() ? autograd::slot_of(*s.variable(), false) : Ref<Slot>())
          autograd::remove_hook(*slot, id);
      },
      py::arg("id"));
}

}  // namespace

void init_autograd(py::module_& m, py::class_<Tensor>& t) {
  init_node(m);
  init_members(t);
  m.def("grad_enabled", [] { return autograd::grad_mode; });
  m.def(
      "set_grad_enabled", [](bool on) { autograd::grad_mode = on; }, py::arg("on"));
  m.def("anomaly_enabled", [] { return autograd::anomaly_mode; });
  m.def(
      "set_anomaly_enabled", [](bool on) { autograd::anomaly_mode = on; }, py::arg("on"));
  m.def("next_sequence", &autograd::next_sequence,
        "A number that no node of the tape is younger than.");
  m.def("graph_inputs", &graph_inputs, py::arg("outputs"), py::arg("sequence"),
        "Stand-ins for the variables that the graph made since then begins at.");
  m.def("attach", &attach, py::arg("name"), py::arg("inputs"), py::arg("outputs"),
        py::arg("callback"), py::arg("keeps"),
        "Outputs with a backward of their own: callback(gradients, needed, as_output).");
  m.def("run_backward", &run_backward, py::arg("outputs"), py::arg("grads"), py::arg("inputs"),
        py::arg("retain_graph"), py::arg("create_graph"), py::arg("add"),
        "Gradients of inputs, or, without inputs, sums into .grad of all leaves.");
}

}  // namespace wgt::bind
