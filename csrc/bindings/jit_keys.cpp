// What tells recordings apart, and when one holds no more: asked at each call, so as fast as
// looking can be.
#include "bindings/jit_keys.h"

#include "bindings/jit_recording.h"
#include "tensor/autograd.h"

namespace wgt::bind {

namespace {

// Shapes, dtypes, devices, which of them are the same object; and the defaults.
py::bytes kinds_of(const py::list& tensors) {
  std::vector<int64_t> words;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = *as_tensor(tensors[i]);
    words.push_back(t.rank());
    words.insert(words.end(), t.shape().begin(), t.shape().end());
    words.push_back(static_cast<int64_t>(t.dtype()) * 2 + t.requires_grad());
    words.push_back(static_cast<int64_t>(reinterpret_cast<intptr_t>(&t.engine())));
    words.push_back(place_of(tensors, tensors[i]));
  }
  words.push_back(static_cast<int64_t>(default_float()) * 2 + autograd::grad_mode);
  std::string text(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(int64_t));
  // What a function without tensors makes is on the default device.
  text += tensors.empty() ? to_device(py::none())->name() : chosen_device_name();
  return py::bytes(text);
}

// A plain value among the attributes of a class, which keeps it.
PyObject* found_in_class(PyObject* holder, PyObject* name) {
  PyObject* value = PyObject_GetAttr(holder, name);
  if (!value) PyErr_Clear();
  Py_XDECREF(value);
  return value;
}

// What a dict, a list, a tuple, a cell or a class has at a key; null: nothing.
PyObject* found_at(PyObject* holder, PyObject* key) {
  if (PyDict_Check(holder)) return PyDict_GetItem(holder, key);
  if (PyCell_Check(holder)) return PyCell_GET(holder);
  if (PyType_Check(holder)) return found_in_class(holder, key);
  Py_ssize_t i = PyLong_AsSsize_t(key);
  if (PyList_Check(holder))
    return i < PyList_GET_SIZE(holder) ? PyList_GET_ITEM(holder, i) : nullptr;
  return PyTuple_GET_ITEM(holder, i);
}

constexpr Py_ssize_t kNothing = -2;  // as a size: there is nothing

bool same_items(const py::list& places) {
  for (py::handle p : places) {
    PyObject* t = p.ptr();
    PyObject* value = PyTuple_GET_ITEM(t, 2);
    PyObject* found = found_at(PyTuple_GET_ITEM(t, 0), PyTuple_GET_ITEM(t, 1));
    Py_ssize_t size = PyLong_AsSsize_t(PyTuple_GET_ITEM(t, 3));
    if (size == kNothing) {
      if (found) return false;
      continue;
    }
    if (found != value) return false;
    if (size >= 0 && PyObject_Size(value) != size) return false;
  }
  return true;
}

}  // namespace

void init_jit_keys(py::module_& m) {
  m.def("same_items", &same_items, py::arg("places"),
        "Whether for all (holder, key, value, size) the dict, list, tuple, cell or class has the "
        "very value there, and that, unless size is negative, so many entries; with a size of -2 "
        "nothing.");
  m.def("kinds_of", &kinds_of, py::arg("tensors"),
        "What recordings of functions of these tensors are kept under, beside the defaults of "
        "dtype, device and gradients.");
}

}  // namespace wgt::bind
