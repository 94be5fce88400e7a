#include <pybind11/numpy.h>

#include <chrono>
#include <thread>

#include "base/settings.h"
#include "bindings/bindings.h"
#include "tensor/products.h"

namespace wgt::bind {

// Before Python 3.14 the interpreter ends daemon threads here, by unwinding their stacks: through
// destructors that must not throw and that need the GIL. They sleep instead.
void WithoutGil::take_gil(PyThreadState* state) noexcept {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

Hooks& hooks() {
  static auto* h = new Hooks();  // outlives the interpreter on purpose
  return *h;
}

namespace {

// Tensors come from functions only; one made by __new__ would hold nothing.
PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "tensors are made by wgtensor.asarray and other functions");
  return nullptr;
}

// Called now and then during waits, without the GIL and without locks: Ctrl-C ends a wait.
void check_signals() {
  py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

unsigned long main_thread = 0;

// Asked under a device's lock. Handlers could wait for that, so they run when the call returns: an
// interrupt is only looked at, by taking it and putting it back. Nobody waits for a device's lock
// with the GIL, so that waiting for the GIL is no deadlock.
bool interrupt_pending() {
  if (PyThread_get_thread_ident() != main_thread) return false;  // others are not interrupted
  py::gil_scoped_acquire gil;
  if (!PyOS_InterruptOccurred()) return false;
  PyErr_SetInterrupt();
  return true;
}

py::list setting_rows() {
  py::list rows;
  for (const SettingInfo& s : setting_list())
    rows.append(py::make_tuple(s.name, s.type, s.default_value, s.env, s.values, s.help));
  return rows;
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "The C++ core of wgtensor. Use the wgtensor package.";
  m.attr("__version__") = WGTENSOR_VERSION;
  init_errors(m);
  m.attr("__module__") = "wgtensor";  // where Python's own messages find its types
  py::class_<Tensor> tensor(m, "Tensor", "A tensor on a GPU: a handle on a lazily computed array.");
  auto* type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
  newfunc usual_new = type->tp_new;
  type->tp_new = refuse_new;
  init_objects(tensor);
  py::object main = py::module_::import("threading").attr("main_thread")();
  main_thread = py::cast<unsigned long>(main.attr("ident"));
  rt::set_interrupt_checks(check_signals, interrupt_pending);
  init_device(m);
  init_memory(m);
  init_event(m);
  init_tensor(m, tensor);
  init_manipulation(m);
  init_random(m);
  init_losses(m);
  init_normalize(m);
  init_sorting(m);
  init_gather(m);
  init_operators(m, tensor);
  init_parameter(m, usual_new);  // inherits the slots
  init_indexing(tensor);
  init_autograd(m, tensor);
  init_host(m, tensor);
  init_dlpack(m);
  init_jit(m);
  init_updates(m);
  init_tuning(m);
  py::delattr(m, "__module__");
  m.def("settings", &setting_rows,
        "Every setting: (name, type, default, environment variable, accepted values in words, "
        "help).");
  m.def("get_setting", &get_setting, py::arg("name"));
  m.def(
      "set_setting",
      [](const std::string& name, const std::string& value) {
        if (name == "kernels") check_kernels(value, "kernels");
        set_setting(name, value);
      },
      py::arg("name"), py::arg("value"));
  m.def(
      "_close",
      [] {
        unlocked([] {
          graph::Engine::begin_exit();
          for (graph::Engine* e : graph::engines()) e->close();
        });
      },
      "Ends the core's threads and stops all others but this one; called at exit.");
  m.def(
      "_register",
      [](py::object dtypes, py::object as_operand, py::object as_values) {
        hooks() = {std::move(dtypes), std::move(as_operand), std::move(as_values)};
      },
      py::arg("dtypes"), py::arg("as_operand"), py::arg("as_values"));
  init_arguments(m);
  // What reads and operands look up in NumPy when they first need it: destructors may be the first,
  // at the end of the process, where nothing can be imported any more.
  py::detail::npy_api::get();
  to_scalar(py::none());
}

}  // namespace wgt::bind
