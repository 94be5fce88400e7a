// Steps of optimizers: parameters and states move to their next values, and the work starts.
#include "tensor/updates.h"

#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

Tensor& tensor_of(py::handle o) {
  Tensor* t = as_tensor(o);
  if (!t)
    raise(ErrorKind::type, "[step] a parameter, its gradient and its state are tensors, not " +
                               py::cast<std::string>(py::type::of(o).attr("__name__")));
  return *t;
}

/// What Python hands over: (formula, numbers by name, maximize, parameters, state of each).
struct Batch {
  Update update;
  std::vector<py::handle> params;
  std::vector<std::vector<py::handle>> states;
};

Batch batch_of(const py::tuple& t) {
  Batch b;
  b.update.formula = py::cast<std::string>(t[0]);
  for (auto [name, number] : py::cast<py::dict>(t[1])) {
    auto o = to_operand("step", number, nullptr);
    if (!o) raise(ErrorKind::type, "[step] an option of the optimizer is no number");
    b.update.numbers.emplace_back(py::cast<std::string>(name), std::move(*o));
  }
  b.update.maximize = py::cast<bool>(t[2]);
  for (py::handle p : py::cast<py::list>(t[3])) {
    b.params.push_back(p);
    b.update.params.push_back(tensor_of(p));
    b.update.gradients.push_back(tensor_of(gradient_of(b.update.params.back())));
  }
  for (py::handle state : py::cast<py::list>(t[4])) {
    auto& handles = b.states.emplace_back();
    auto& values = b.update.states.emplace_back();
    for (py::handle v : py::cast<py::list>(state)) {
      handles.push_back(v);
      values.push_back(tensor_of(v));
    }
  }
  return b;
}

/// What moved, with the Python objects that hold it.
struct Moved : Moves {
  std::vector<py::handle> objects;

  void add(py::handle object, const Tensor& value) {
    Tensor& t = *as_tensor(object);
    objects.push_back(object);
    before.push_back(t.node().get());
    t = autograd::moved("step", t, value);
    next.push_back(t);
  }

  void go_back(std::vector<graph::NodeRef> back) {
    for (size_t i = 0; i < objects.size(); ++i) {
      Tensor& t = *as_tensor(objects[i]);
      if (back[i] && t.node() == next[i].node()) t.move_to(std::move(back[i]));
    }
  }
};

/// The error where there is no memory for the step: then all is as it was.
std::optional<Error> try_update(const py::list& batches, std::vector<Tensor>& gradients) {
  std::vector<Batch> all;
  for (py::handle b : batches) all.push_back(batch_of(py::cast<py::tuple>(b)));
  unlocked([&] {
    for (Batch& b : all) apply(b.update);
  });
  autograd::ModeGuard off(false);
  Moved moved;
  for (const Batch& b : all)
    for (size_t i = 0; i < b.params.size(); ++i) {
      moved.add(b.params[i], b.update.params[i]);
      for (size_t k = 0; k < b.states[i].size(); ++k)
        moved.add(b.states[i][k], b.update.states[i][k]);
    }
  gradients.clear();
  for (Batch& b : all)
    gradients.insert(gradients.end(), b.update.gradients.begin(), b.update.gradients.end());
  all.clear();
  if (recording) return std::nullopt;
  std::vector<graph::NodeRef> back;
  std::optional<Error> error = unlocked([&] { return start(moved, back); });
  if (error) moved.go_back(std::move(back));
  return error;
}

void update(const py::list& batches) {
  std::vector<Tensor> gradients;
  if (!try_update(batches, gradients)) return;
  // The gradients first, which may take their time and the memory that others leave; the step
  // itself needs little then.
  unlocked([&] { eval(gradients); });
  if (auto error = try_update(batches, gradients)) throw Error(*error);
}

void forget_gradients(const py::list& params) {
  for (py::handle p : params)
    if (Ref<autograd::Slot> slot = gradient_slot(tensor_of(p), false)) slot->grad.reset();
}

}  // namespace

void init_updates(py::module_& m) {
  m.def("update", &update, py::arg("batches"),
        "Moves parameters and their state by (formula, numbers, maximize, parameters, states); "
        "starts the work.");
  m.def("forget_gradients", &forget_gradients, py::arg("params"), ".grad = None for each.");
}

}  // namespace wgt::bind
