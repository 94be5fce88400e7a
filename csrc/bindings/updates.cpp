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

void move(py::handle object, const Tensor& value, std::vector<Tensor>& changed) {
  Tensor& t = *as_tensor(object);
  t = autograd::moved("step", t, value);
  changed.push_back(t);
}

void update(const py::list& batches) {
  std::vector<Batch> all;
  for (py::handle b : batches) all.push_back(batch_of(py::cast<py::tuple>(b)));
  unlocked([&] {
    for (Batch& b : all) apply(b.update);
  });
  autograd::ModeGuard off(false);
  std::vector<Tensor> changed;
  for (const Batch& b : all)
    for (size_t i = 0; i < b.params.size(); ++i) {
      move(b.params[i], b.update.params[i], changed);
      for (size_t k = 0; k < b.states[i].size(); ++k)
        move(b.states[i][k], b.update.states[i][k], changed);
    }
  all.clear();
  if (!recording) unlocked([&] { eval(changed); });
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
