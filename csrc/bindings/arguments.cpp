// Arguments that a function does not take: what pybind11 says of them, with the values of all
// arguments, which it computes and prints for that, becomes one line with their types.
#include <string>

#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

// The text between two others, or nothing.
std::string between(const std::string& s, const std::string& from, const std::string& to) {
  size_t begin = s.find(from);
  if (begin == s.npos) return "";
  begin += from.size();
  size_t end = s.find(to, begin);
  return end == s.npos ? "" : s.substr(begin, end - begin);
}

std::string type_of(PyObject* o) {
  return py::cast<std::string>(py::type::of(py::handle(o)).attr("__name__"));
}

// What a call passes: `kwnames` are those of its last values.
std::string types_of(PyObject* const* values, Py_ssize_t positional, PyObject* kwnames) {
  std::string s;
  Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t i = 0; i < positional + named; ++i) {
    s += s.empty() ? "" : ", ";
    if (i >= positional)
      s += py::cast<std::string>(py::handle(PyTuple_GET_ITEM(kwnames, i - positional))) + "=";
    s += type_of(values[i]);
  }
  return "(" + s + ")";
}

template <class Types>
void reword(Types&& types) {
  static const std::string mark = "(): incompatible function arguments";
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return;
  py::error_already_set error;
  std::string text = py::cast<std::string>(py::str(error.value()));
  size_t end = text.find(mark);
  if (end == text.npos) {
    error.restore();
    return;
  }
  std::string name = text.substr(0, end);
  name.erase(0, name.find_first_not_of('_'));
  std::string taken = between(text, "\n    1. ", " -> ");
  for (size_t at; (at = taken.find("wgtensor.")) != taken.npos;) taken.erase(at, 9);
  PyErr_SetString(
      PyExc_TypeError,
      ((name.empty() ? "" : "[" + name + "] ") + "takes " + taken + ", not " + types()).c_str());
}

// pybind11's dispatcher, which all functions have.
using FastCall = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
FastCall pybind_call = nullptr;

PyObject* call(PyObject* self, PyObject* const* values, Py_ssize_t count, PyObject* kwnames) {
  PyObject* result = pybind_call(self, values, count, kwnames);
  if (!result) [[unlikely]] {
    try {
      reword([&] {
        return types_of(values, PyVectorcall_NARGS(static_cast<size_t>(count)), kwnames);
      });
    } catch (py::error_already_set& error) {
      error.restore();
    }
  }
  return result;
}

// Python calls a function of one type by a pointer of another, as its flags say.
template <class To, class From>
To converted(From f) {
  return reinterpret_cast<To>(reinterpret_cast<void (*)()>(f));
}

void watch(py::handle o) {
  if (!o) return;
  if (PyInstanceMethod_Check(o.ptr())) return watch(PyInstanceMethod_Function(o.ptr()));
  if (Py_IS_TYPE(o.ptr(), &PyStaticMethod_Type)) return watch(py::object(o.attr("__func__")));
  if (py::isinstance(o, reinterpret_cast<PyObject*>(&PyProperty_Type))) {
    for (const char* part : {"fget", "fset"}) watch(py::object(o.attr(part)));
    return;
  }
  if (!PyCFunction_Check(o.ptr())) return;
  PyMethodDef* definition = reinterpret_cast<PyCFunctionObject*>(o.ptr())->m_ml;
  // Another pybind11 may call in another way: its text then stays as it is.
  if (definition->ml_flags != (METH_FASTCALL | METH_KEYWORDS)) return;
  auto own = converted<FastCall>(definition->ml_meth);
  if (!pybind_call) pybind_call = own;
  if (own == pybind_call) definition->ml_meth = converted<PyCFunction>(&call);
}

}  // namespace

void init_arguments(py::module_& m) {
  for (auto [name, value] : py::dict(m.attr("__dict__"))) {
    watch(value);
    if (!PyType_Check(value.ptr())) continue;
    for (auto item : py::dict(value.attr("__dict__"))) watch(item.second);
  }
}

}  // namespace wgt::bind
