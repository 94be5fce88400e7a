// Python objects to and from the core's types.
#include "base/settings.h"
#include "bindings/bindings.h"

namespace wgt::bind {

py::object dtype_object(DType t) {
  return hooks().dtypes[py::int_(static_cast<int>(t))];
}

DType to_dtype(py::handle o) {
  py::object code = py::getattr(o, "_code", py::none());
  if (code.is_none())
    raise(ErrorKind::type, "expected a wgtensor dtype, not " + py::cast<std::string>(py::repr(o)));
  return static_cast<DType>(py::cast<int>(code));
}

int64_t to_int64(const std::string& op, py::handle o, ErrorKind kind) {
  py::int_ i(py::reinterpret_borrow<py::object>(o));
  int overflow = 0;
  int64_t v = PyLong_AsLongLongAndOverflow(i.ptr(), &overflow);
  if (overflow)
    raise(kind, "[" + op + "] " + py::cast<std::string>(py::str(i)) + " is out of bounds");
  return v;
}

namespace {
[[noreturn]] void raise_parameter(const std::string& op, const char* parameter, const char* wanted,
                                  py::handle o) {
  raise(ErrorKind::type, "[" + op + "] " + parameter + " must be " + wanted + ", not " +
                             py::cast<std::string>(py::repr(o)));
}
}  // namespace

bool to_flag(const std::string& op, const char* parameter, py::handle o) {
  auto flag = to_scalar(o);
  if (!flag || flag->kind == Kind::f) raise_parameter(op, parameter, "True or False", o);
  return flag->f != 0;
}

double to_real(const std::string& op, const char* parameter, py::handle o) {
  auto number = to_scalar(o);
  if (!number) raise_parameter(op, parameter, "a number", o);
  return number->f;
}

bool is_integer(py::handle o) {
  if (PyLong_CheckExact(o.ptr())) return true;
  if (!PyIndex_Check(o.ptr()) || PyBool_Check(o.ptr())) return false;
  if (!PySequence_Check(o.ptr()) || PyObject_Length(o.ptr()) < 0) {
    PyErr_Clear();  // 0-d
    return true;
  }
  return false;
}

Dims to_dims(const char* op, py::handle o) {
  Dims d;
  auto add = [&](py::handle item) {
    if (!is_integer(item))
      raise(ErrorKind::type, std::string("[") + op +
                                 "] a shape is an int or a sequence of ints, not " +
                                 py::cast<std::string>(py::repr(o)));
    if (d.size() == kMaxRank)
      raise(ErrorKind::shape, std::string("[") + op + "] tensors have at most " +
                                  std::to_string(kMaxRank) +
                                  " dimensions: " + py::cast<std::string>(py::repr(o)));
    d.push_back(to_int64(op, item, ErrorKind::overflow));
  };
  if (is_integer(o)) {
    add(o);
  } else if (PySequence_Check(o.ptr()) && !PyUnicode_Check(o.ptr())) {
    for (py::object item : py::reinterpret_borrow<py::sequence>(o)) add(item);
  } else {
    add(o);
  }
  return d;
}

std::optional<std::vector<int64_t>> to_axes(const char* op, py::handle o) {
  if (o.is_none()) return std::nullopt;
  std::vector<int64_t> axes;
  auto add = [&](py::handle item) {
    if (!is_integer(item))
      raise(ErrorKind::type, std::string("[") + op +
                                 "] axis is an int, a tuple of ints or None, not " +
                                 py::cast<std::string>(py::repr(o)));
    axes.push_back(to_int64(op, item, ErrorKind::index));
  };
  if (PyTuple_Check(o.ptr()) || PyList_Check(o.ptr()))
    for (py::object item : py::reinterpret_borrow<py::sequence>(o)) add(item);
  else
    add(o);
  return axes;
}

py::tuple to_tuple(const Dims& d) {
  py::tuple t(d.size());
  for (int i = 0; i < d.size(); ++i) t[static_cast<size_t>(i)] = py::int_(d[i]);
  return t;
}

std::optional<Scalar> to_scalar(py::handle o) {
  PyObject* p = o.ptr();
  if (PyBool_Check(p)) return Scalar{Kind::b, p == Py_True ? 1.0 : 0.0, p == Py_True};
  if (PyFloat_Check(p)) return Scalar{Kind::f, PyFloat_AS_DOUBLE(p), 0};
  if (PyLong_Check(p)) {
    int overflow = 0;
    int64_t v = PyLong_AsLongLongAndOverflow(p, &overflow);
    if (overflow == 0) return Scalar{Kind::i, static_cast<double>(v), v};
    double f = PyLong_AsDouble(p);
    if (PyErr_Occurred()) throw py::error_already_set();
    uint64_t bits = overflow > 0 ? PyLong_AsUnsignedLongLong(p) : 0;
    if (PyErr_Occurred()) {
      PyErr_Clear();
      bits = 0;
    }
    return Scalar{Kind::u, f, static_cast<int64_t>(bits)};
  }
  // NumPy's scalars are as weak as Python's.
  // No initialiser that Python runs in: C++ would lock out other threads, and they hold the GIL.
  static PyObject* generic = nullptr;
  if (!generic) generic = py::object(py::module_::import("numpy").attr("generic")).release().ptr();
  if (PyObject_IsInstance(p, generic) == 1) {
    py::object item = o.attr("item")();
    if (PyBool_Check(item.ptr()) || PyFloat_Check(item.ptr()) || PyLong_Check(item.ptr()))
      return to_scalar(item);
  }
  return std::nullopt;
}

std::optional<Operand> to_operand(const char* op, py::handle o, const Tensor* beside) {
  if (Tensor* t = as_tensor(o)) return *t;
  if (auto s = to_scalar(o)) return *s;
  py::object converted =
      beside ? hooks().as_operand(op, o, device_of(beside->engine()), dtype_object(beside->dtype()))
             : hooks().as_operand(op, o, py::none(), py::none());
  if (py::isinstance<Tensor>(converted)) return py::cast<Tensor&>(converted);
  return std::nullopt;
}

// The innermost Python line outside of the package, but for its demo: "file:line", or "".
static std::string python_line() {
  static const std::string* package = nullptr;
  if (!package)
    package =
        new std::string(py::cast<std::string>(py::module_::import("wgtensor")
                                                  .attr("__file__")
                                                  .attr("rpartition")("__init__")[py::int_(0)]));
  std::string innermost;
  auto frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.ptr());
    auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    std::string file = py::cast<std::string>(code.attr("co_filename"));
    std::string line = file + ":" + std::to_string(PyFrame_GetLineNumber(f));
    bool ours = file.rfind(*package, 0) == 0 && file.compare(package->size(), 4, "demo") != 0;
    if (!ours) return line;
    if (innermost.empty()) innermost = line;
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  return innermost;
}

Tensor made(Tensor t) {
  if (autograd::anomaly_mode && t.variable() && t.variable()->fn && !t.variable()->fn->origin)
    t.variable()->fn->origin = std::make_shared<std::string>(python_line());
  if ((settings().debug || settings().record_lines) && t.node()) {
    if (std::string line = python_line(); !line.empty()) {
      unlocked([&] {
        rt::Lock l = t.engine().lock();
        t.engine().set_origin(*t.node(), std::move(line));
      });
    }
  }
  return t;
}

}  // namespace wgt::bind
