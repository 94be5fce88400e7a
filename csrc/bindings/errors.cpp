// C++ errors as Python exceptions: each derives from WgtensorError and from the built-in that fits.
#include <map>

#include "base/called.h"
#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

struct Entry {
  ErrorKind kind;
  const char *name, *base, *doc;
};

constexpr Entry kEntries[] = {
    {ErrorKind::shape, "ShapeError", "ValueError", "Shapes that do not fit together."},
    {ErrorKind::dtype, "DTypeError", "TypeError",
     "A dtype that the operation or the device does not have."},
    {ErrorKind::device_not_found, "DeviceNotFoundError", "RuntimeError",
     "No adapter, or none that the selector names."},
    {ErrorKind::device_mismatch, "DeviceMismatchError", "ValueError",
     "Operands on different devices."},
    {ErrorKind::out_of_memory, "OutOfMemoryError", "MemoryError",
     "The device has no room: `requested` bytes, of `available` (or None where unknown)."},
    {ErrorKind::device_lost, "DeviceLostError", "RuntimeError",
     "The device is gone; device.recover() makes it anew. Its tensors are lost."},
    {ErrorKind::shader, "ShaderError", "ValueError",
     "A shader that does not compile, at `line` and `column`."},
    {ErrorKind::workgroup_size, "InvalidWorkgroupSizeError", "ValueError",
     "A workgroup above the device's limits."},
    {ErrorKind::unsupported, "UnsupportedError", "NotImplementedError",
     "Something that wgtensor or the device cannot do."},
};

std::map<ErrorKind, py::handle>& types() {
  static auto* t = new std::map<ErrorKind, py::handle>();
  return *t;
}

py::handle generic;

/// Python's own error of a kind, where it is no class of ours.
PyObject* builtin_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::index:
      return PyExc_IndexError;
    case ErrorKind::value:
      return PyExc_ValueError;
    case ErrorKind::type:
      return PyExc_TypeError;
    case ErrorKind::overflow:
      return PyExc_OverflowError;
    case ErrorKind::runtime:
      return PyExc_RuntimeError;
    default:
      return nullptr;
  }
}

void raise_python(const Error& e) {
  if (PyObject* type = builtin_of(e.kind)) {
    py::object instance = py::handle(type)(e.what());
    if (e.late) instance.attr("_late") = true;
    PyErr_SetObject(type, instance.ptr());
    return;
  }
  auto it = types().find(e.kind);
  py::handle type = it == types().end() ? generic : it->second;
  py::object instance = type(e.what());
  if (e.kind == ErrorKind::out_of_memory) {
    instance.attr("requested") = e.requested;
    instance.attr("available") = e.available ? py::object(py::int_(*e.available)) : py::none();
  }
  if (e.kind == ErrorKind::shader) {
    instance.attr("line") = e.line;
    instance.attr("column") = e.column;
  }
  PyErr_SetObject(type.ptr(), instance.ptr());
}

}  // namespace

void init_errors(py::module_& m) {
  m.def(
      "_called",
      [](const char* name) {
        if (!called.empty()) return false;
        called = name;
        return true;
      },
      py::arg("name"),
      "Names errors in this thread, unless an outer function does. Whether it does.");
  m.def(
      "_returned", [] { called.clear(); }, "Ends what _called began.");
  auto make = [&](const char* name, py::tuple bases, const char* doc) {
    py::dict members;
    members["__doc__"] = doc;
    members["__module__"] = "wgtensor";
    py::object type = py::reinterpret_steal<py::object>(PyObject_CallFunction(
        reinterpret_cast<PyObject*>(&PyType_Type), "sOO", name, bases.ptr(), members.ptr()));
    if (!type) throw py::error_already_set();
    m.attr(name) = type;
    return type.release();  // lives as long as the process
  };
  py::handle builtins = PyEval_GetBuiltins();
  generic = make("WgtensorError", py::make_tuple(py::handle(PyExc_Exception)),
                 "Base of every error that wgtensor defines.");
  for (const Entry& e : kEntries)
    types()[e.kind] = make(e.name, py::make_tuple(generic, builtins[e.base]), e.doc);
  // Also on errors that Python code makes.
  types()[ErrorKind::out_of_memory].attr("requested") = 0;
  types()[ErrorKind::out_of_memory].attr("available") = py::none();
  types()[ErrorKind::shader].attr("line") = 0;
  types()[ErrorKind::shader].attr("column") = 0;
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const Error& e) {
      raise_python(e);
    }
  });
}

}  // namespace wgt::bind
