// The elementwise table as methods, operators and functions.
#include <array>
#include <sstream>

#include "bindings/bindings.h"

namespace wgt::bind {

using graph::OpId;
using graph::OpInfo;

namespace {

Tensor run(OpId op, std::span<const Operand> args) {
  for (const Operand& a : args)
    if (std::holds_alternative<Tensor>(a)) {
      // Making a node is shorter than giving up the GIL and taking it back.
      if (Tensor t = try_elementwise(op, args); t.node()) return made(std::move(t));
      return made(unlocked([&] { return elementwise(op, args); }));
    }
  graph::Engine& device = to_device(py::none())->engine();
  return made(unlocked([&] { return elementwise(op, args, &device); }));
}

/// What an operation is given, without memory of its own.
struct Operands {
  std::array<Operand, 3> items;
  size_t count = 0;
  std::span<const Operand> span() const { return {items.data(), count}; }
};

// Puts named arguments and defaults behind the positional ones.
std::vector<py::object> arguments(const OpInfo& info, const py::args& args,
                                  const py::kwargs& named) {
  std::vector<py::object> out;
  for (py::handle a : args) out.push_back(py::reinterpret_borrow<py::object>(a));
  size_t used = 0;
  std::istringstream parameters(info.parameters);
  std::string text;
  for (size_t i = 0; std::getline(parameters >> std::ws, text, ','); ++i) {
    if (i < args.size()) continue;
    size_t sign = text.find('=');
    std::string name = text.substr(0, sign);
    if (named.contains(name)) {
      out.push_back(named[name.c_str()]);
      ++used;
    } else if (sign != std::string::npos) {
      out.push_back(py::float_(std::stod(text.substr(sign + 1))));
    } else {
      break;
    }
  }
  if (static_cast<int>(out.size()) != info.arity || used != named.size())
    raise(ErrorKind::type, std::string("[") + info.name + "] takes (" + info.parameters +
                               "), got " + std::to_string(args.size()) + " operands" +
                               (named.empty() ? "" : " and " + std::string(py::str(named))));
  return out;
}

// Operands of a function; objects that are none raise TypeError.
template <class Objects>
Operands operands(OpId op, const Objects& args) {
  const OpInfo& info = graph::op_info(op);
  // Numbers in lists keep 64 bits beside a tensor that has them.
  const Tensor* beside = nullptr;
  for (py::handle a : args)
    if (const Tensor* t = as_tensor(a); t && (!beside || is_wide(t->dtype()))) beside = t;
  Operands out;
  for (py::handle a : args) {
    auto o = to_operand(info.name, a, beside);
    if (!o)
      raise(ErrorKind::type, std::string("[") + info.name + "] cannot use an operand of type " +
                                 py::cast<std::string>(py::type::of(a).attr("__name__")));
    out.items[out.count++] = std::move(*o);
  }
  return out;
}

Tensor call(OpId op, const py::args& args, const py::kwargs& named) {
  const OpInfo& info = graph::op_info(op);
  bool plain = named.empty() && static_cast<int>(args.size()) == info.arity;
  Operands o = plain ? operands(op, args) : operands(op, arguments(info, args, named));
  return run(op, o.span());
}

// a op b for an operator: NotImplemented where b is no operand.
py::object binary(OpId op, const Tensor& self, py::handle other, bool reflected) {
  auto o = to_operand(graph::op_info(op).name, other, &self);
  if (!o) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  Operand args[2] = {self, std::move(*o)};
  if (reflected) std::swap(args[0], args[1]);
  return py::cast(run(op, args));
}

// Kinds that NumPy casts in place: no float into integers, no sign into unsigned ones.
bool fits_in_place(Kind result, Kind target) {
  return result == Kind::u ? target != Kind::b
                           : result <= target && !(result == Kind::i && target == Kind::u);
}

// self op= other: the handle moves to the result; shape and kind stay.
py::object in_place(OpId op, py::object self, py::handle other) {
  Tensor& t = py::cast<Tensor&>(self);
  const char* name = graph::op_info(op).name;
  auto o = to_operand(name, other, &t);
  if (!o) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  move_handle(name, t, [&](const Tensor& before) {
    Operand args[2] = {before, *o};
    Tensor r = run(op, args);
    if (!(r.shape() == before.shape()))
      raise(ErrorKind::shape, std::string("[") + name + "] result of shape " +
                                  to_string(r.shape()) + " does not fit in place into " +
                                  to_string(before.shape()));
    if (!fits_in_place(info(r.dtype()).kind, info(before.dtype()).kind))
      raise(ErrorKind::dtype, std::string("[") + name + "] result of dtype " +
                                  info(r.dtype()).name + " does not fit in place into " +
                                  info(before.dtype()).name);
    return unlocked([&] { return astype(r, before.dtype()); });
  });
  return self;
}

void define_method(py::class_<Tensor>& t, OpId op) {
  const OpInfo& info = graph::op_info(op);
  if (info.arity == 1)
    t.def(
        info.name, [op](const Tensor& self) { return run(op, std::array<Operand, 1>{self}); },
        info.doc);
  else if (info.rule != graph::Rule::select)
    t.def(
        info.name,
        [op](const Tensor& self, py::args rest, py::kwargs named) {
          return call(op, py::make_tuple(self) + rest, named);
        },
        info.doc);
}

void define_operator(py::class_<Tensor>& t, OpId op) {
  const OpInfo& info = graph::op_info(op);
  std::string stem = info.dunder;
  if (stem.empty()) return;
  if (info.arity == 1) {
    t.def(("__" + stem + "__").c_str(),
          [op](const Tensor& self) { return run(op, std::array<Operand, 1>{self}); });
    return;
  }
  t.def(("__" + stem + "__").c_str(),
        [op](const Tensor& self, py::handle other) { return binary(op, self, other, false); },
        py::is_operator());
  if (info.rule == graph::Rule::compare) return;
  t.def(("__r" + stem + "__").c_str(),
        [op](const Tensor& self, py::handle other) { return binary(op, self, other, true); },
        py::is_operator());
  t.def(("__i" + stem + "__").c_str(),
        [op](py::object self, py::handle other) { return in_place(op, self, other); },
        py::is_operator());
}

// The operators as slots of the type: the interpreter calls them without a look at its methods.
// Objects on the left that are no tensors come to the reflected ones.
template <class F>
PyObject* slot_result(F&& f) noexcept {
  try {
    return py::object(f()).release().ptr();
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
  return nullptr;
}

template <OpId op>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  return slot_result([&] {
    if (const Tensor* self = as_tensor(a)) return binary(op, *self, b, false);
    return binary(op, *as_tensor(b), a, true);
  });
}

template <OpId op>
PyObject* in_place_slot(PyObject* a, PyObject* b) {
  return slot_result([&] { return in_place(op, py::reinterpret_borrow<py::object>(a), b); });
}

py::object matmul_operator(Tensor self, py::handle other, bool reflected) {
  auto o = to_operand("matmul", other, &self);
  if (!o || !std::holds_alternative<Tensor>(*o))
    return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  const Tensor& b = std::get<Tensor>(*o);
  return py::cast(made(unlocked([&] { return reflected ? matmul(b, self) : matmul(self, b); })));
}

PyObject* matmul_slot(PyObject* a, PyObject* b) {
  return slot_result([&] {
    if (const Tensor* self = as_tensor(a)) return matmul_operator(*self, b, false);
    return matmul_operator(*as_tensor(b), a, true);
  });
}

PyObject* negative_slot(PyObject* a) {
  return slot_result(
      [&] { return py::cast(run(OpId::negative, std::array<Operand, 1>{*as_tensor(a)})); });
}

// Those of the arithmetic that steps are made of; the methods of the same names stay.
void set_slots(py::class_<Tensor>& t) {
  PyNumberMethods& n = *reinterpret_cast<PyTypeObject*>(t.ptr())->tp_as_number;
  n.nb_add = binary_slot<OpId::add>;
  n.nb_subtract = binary_slot<OpId::subtract>;
  n.nb_multiply = binary_slot<OpId::multiply>;
  n.nb_true_divide = binary_slot<OpId::divide>;
  n.nb_negative = negative_slot;
  n.nb_matrix_multiply = matmul_slot;
  n.nb_inplace_add = in_place_slot<OpId::add>;
  n.nb_inplace_subtract = in_place_slot<OpId::subtract>;
  n.nb_inplace_multiply = in_place_slot<OpId::multiply>;
  n.nb_inplace_true_divide = in_place_slot<OpId::divide>;
}

}  // namespace

void init_operators(py::module_& m, py::class_<Tensor>& t) {
  for (int i = 0; i < graph::kTableRows; ++i) {
    define_method(t, static_cast<OpId>(i));
    define_operator(t, static_cast<OpId>(i));
  }
  t.def(
      "__matmul__", [](Tensor s, py::handle o) { return matmul_operator(s, o, false); },
      py::is_operator());
  t.def(
      "__rmatmul__", [](Tensor s, py::handle o) { return matmul_operator(s, o, true); },
      py::is_operator());
  t.def(
      "__imatmul__",
      [](py::object self, py::handle o) -> py::object {
        py::object r;
        move_handle("matmul", py::cast<Tensor&>(self), [&](const Tensor& before) {
          r = matmul_operator(before, o, false);
          return py::isinstance<Tensor>(r) ? py::cast<Tensor&>(r) : before;
        });
        return py::isinstance<Tensor>(r) ? self : r;
      },
      py::is_operator());
  m.def(
      "elementwise",
      [](int row, py::args args) {
        if (row < 0 || row >= graph::kTableRows)
          raise(ErrorKind::value, "no such row of the elementwise table");
        return call(static_cast<OpId>(row), args, {});
      },
      py::arg("row"), "One row of the elementwise table, by number.");
  set_slots(t);
}

}  // namespace wgt::bind
