// Properties, views, reductions and creation.
#include <pybind11/stl.h>

#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

std::vector<int64_t> reversed_axes(const Tensor& t) {
  std::vector<int64_t> axes;
  for (int d = t.rank() - 1; d >= 0; --d) axes.push_back(d);
  return axes;
}

std::vector<int64_t> last_two_swapped(const Tensor& t) {
  if (t.rank() < 2)
    raise(ErrorKind::value,
          "[mT] needs 2 dimensions or more: the tensor has shape " + to_string(t.shape()));
  std::vector<int64_t> axes;
  for (int d = 0; d < t.rank(); ++d) axes.push_back(d);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return axes;
}

// reshape(2, 3) and reshape((2, 3)).
Dims shape_args(const char* op, const py::args& args) {
  return to_dims(op, args.size() == 1 ? py::handle(args[0]) : py::handle(args));
}

void init_properties(py::class_<Tensor>& t) {
  t.def_property_readonly("shape", [](const Tensor& s) { return to_tuple(s.shape()); });
  t.def_property_readonly("ndim", &Tensor::rank);
  t.def_property_readonly("size", &Tensor::size, "Number of elements.");
  t.def_property_readonly("dtype", [](const Tensor& s) { return dtype_object(s.dtype()); });
  t.def_property_readonly("device", [](const Tensor& s) { return device_of(s.engine()); });
  t.def_property_readonly("itemsize", [](const Tensor& s) { return info(s.dtype()).size; });
  t.def_property_readonly("nbytes",
                          [](const Tensor& s) { return s.size() * info(s.dtype()).size; });
  t.def_property_readonly(
      "T", [](Tensor s) { return made(unlocked([&] { return permute(s, reversed_axes(s)); })); },
      "The axes in reverse order; a view.");
  t.def_property_readonly(
      "mT",
      [](Tensor s) { return made(unlocked([&] { return permute(s, last_two_swapped(s)); })); },
      "The last two axes swapped; a view.");
}

void init_views(py::class_<Tensor>& t) {
  t.def(
      "_reshape_copies",
      [](Tensor s, py::handle shape) {
        Dims d = to_dims("reshape", shape);
        return unlocked([&] { return reshape_copies(s, d); });
      },
      py::arg("shape"), "Whether strides cannot express the reshape.");
  t.def(
      "reshape",
      [](Tensor s, py::args shape) {
        Dims d = shape_args("reshape", shape);
        return made(unlocked([&] { return reshape(s, d); }));
      },
      "The same elements in another shape; one size may be -1. A view where strides allow.");
  t.def(
      "permute",
      [](Tensor s, py::args axes) {
        auto a = to_axes("permute", axes.size() == 1 ? py::handle(axes[0]) : py::handle(axes));
        return made(unlocked([&] { return permute(s, *a); }));
      },
      "The axes in another order; a view.");
  t.def(
      "broadcast_to",
      [](Tensor s, py::handle shape) {
        Dims d = to_dims("broadcast_to", shape);
        return made(unlocked([&] { return broadcast_to(s, d); }));
      },
      py::arg("shape"), "A view with axes of size 1 repeated.");
  t.def(
      "expand_dims",
      [](Tensor s, py::handle axis) {
        auto a = to_axes("expand_dims", axis);
        return made(unlocked([&] { return expand_dims(s, a.value_or(std::vector<int64_t>{})); }));
      },
      py::arg("axis"), "A view with new axes of size 1.");
  t.def(
      "squeeze",
      [](Tensor s, py::handle axis) {
        auto a = to_axes("squeeze", axis);
        return made(unlocked([&] { return squeeze(s, a); }));
      },
      py::arg("axis") = py::none(),
      "A view without the given axes of size 1, or without all of them.");
  t.def(
      "diagonal",
      [](Tensor s, int64_t offset, int64_t axis1, int64_t axis2) {
        return made(unlocked([&] { return diagonal(s, offset, axis1, axis2); }));
      },
      py::arg("offset") = 0, py::arg("axis1") = 0, py::arg("axis2") = 1,
      "The diagonals of the planes of two axes, as a last axis; a view.");
  t.def(
      "copy", [](Tensor s) { return made(unlocked([&] { return copy(s); })); }, "A dense copy.");
  t.def("__copy__", [](const Tensor& s) {
    bool leaf = s.variable() && s.variable()->is_leaf();
    return leaf ? autograd::leaf(s.detached(), s.requires_grad()) : s;
  });
  t.def(
      "_assign",
      [](Tensor& s, const Tensor& o) {
        autograd::check_out(s, o);
        s = autograd::moved("out", s, o);
      },
      py::arg("other"), "Moves the handle to another value.");
  t.def(
      "_is_lost",
      [](Tensor s) {
        return unlocked([&] {
          rt::Lock l = s.engine().lock();
          return s.engine().is_lost(*s.node());
        });
      },
      "Whether its value went with a device that was lost.");
  t.def(
      "_revive",
      [](Tensor& s, const Tensor& value) {
        bool leaf = !s.variable() || s.variable()->is_leaf();
        if (leaf)
          s.move_to(value.node());
        else
          s = value.detached();
      },
      py::arg("value"), "Another value, whatever the tape says; a result becomes a plain value.");
  t.def(
      "_become",
      [](Tensor& s, const Tensor& value, const std::string& op) {
        move_handle(op.c_str(), s, [&](const Tensor&) { return value; });
      },
      py::arg("value"), py::arg("op"), "Moves the handle to a value made of its own, in place.");
}

void init_reductions(py::class_<Tensor>& t) {
  auto define = [&](const char* name, const char* doc) {
    std::string method =
        std::string("_") + name;  // the facade's methods add NumPy's other arguments
    t.def(
        method.c_str(),
        [name](Tensor s, py::handle axis, py::handle keepdims) {
          auto a = to_axes(name, axis);
          bool keeps = to_flag(name, "keepdims", keepdims);
          return made(unlocked([&] { return reduce(name, s, a, keeps); }));
        },
        py::arg("axis") = py::none(), py::arg("keepdims") = false, doc);
  };
  define("sum", "Sum over axes; integers wrap, bools count.");
  define("mean", "Arithmetic mean over axes, in float32.");
  define("max", "Largest element over axes; NaN wins.");
  define("min", "Smallest element over axes; NaN wins.");
  define("prod", "Product over axes; integers wrap.");
  define("any", "Whether any element is not zero.");
  define("all", "Whether no element is zero.");
  define("count_nonzero", "Number of elements that are not zero.");
  define("argmax", "Place of the largest element.");
  define("argmin", "Place of the smallest element.");
  define("logsumexp", "Logarithm of the sum of exponentials.");
  t.def(
      "_var",
      [](Tensor s, py::handle axis, py::handle correction, py::handle keepdims,
         const std::string& op) {
        auto a = to_axes(op.c_str(), axis);
        double c = to_real(op, "correction", correction);
        bool keeps = to_flag(op, "keepdims", keepdims);
        return made(unlocked([&] { return variance(op.c_str(), s, a, c, keeps); }));
      },
      py::arg("axis"), py::arg("correction"), py::arg("keepdims"), py::arg("op"),
      "`op` is the name that errors give.");
  t.def(
      "_scan",
      [](Tensor s, const std::string& op, py::handle axis, py::handle initial) {
        auto a = to_axes(op.c_str(), axis);
        if (a && a->size() != 1) raise(ErrorKind::type, "[" + op + "] takes one axis");
        std::optional<int64_t> one;
        if (a) one = a->front();
        bool starts = to_flag(op, "include_initial", initial);
        return made(unlocked([&] { return scan(op.c_str(), s, one, starts); }));
      },
      py::arg("op"), py::arg("axis"), py::arg("initial"), "Cumulative `op` along an axis.");
  t.def(
      "_softmax",
      [](Tensor s, py::handle axis, bool logarithm) {
        const char* op = logarithm ? "log_softmax" : "softmax";
        auto a = to_axes(op, axis);
        if (!a || a->size() != 1)
          raise(ErrorKind::value, std::string("[") + op + "] takes one axis");
        return made(unlocked([&] { return softmax(s, a->front(), logarithm); }));
      },
      py::arg("axis") = -1, py::arg("logarithm") = false,
      "exp(x - max) / sum of the same, along an axis, or its logarithm.");
}

void init_creation(py::module_& m) {
  m.def(
      "full",
      [](py::handle shape, py::handle value, py::handle dtype, py::handle device,
         const std::string& op) {
        Dims d = checked_shape(op, shape);
        Scalar s = scalar_of(op.c_str(), value);
        DType t = to_dtype(dtype);
        graph::Engine& e = to_device(device)->engine();
        return made(unlocked([&] { return full(e, d, s, t, op.c_str()); }));
      },
      py::arg("shape"), py::arg("value"), py::arg("dtype"), py::arg("device"),
      py::arg("op") = "full", "`op` is the name that errors give.");
  m.def(
      "empty",
      [](py::handle shape, py::handle dtype, py::handle device) {
        Dims d = checked_shape("empty", shape);
        DType t = to_dtype(dtype);
        graph::Engine& e = to_device(device)->engine();
        return made(unlocked([&] { return empty(e, d, t); }));
      },
      py::arg("shape"), py::arg("dtype"), py::arg("device"));
  m.def(
      "arange",
      [](double start, double stop, double step, py::handle dtype, py::handle device) {
        DType t = to_dtype(dtype);
        graph::Engine& e = to_device(device)->engine();
        return made(unlocked([&] { return arange(e, start, stop, step, t); }));
      },
      py::arg("start"), py::arg("stop"), py::arg("step"), py::arg("dtype"), py::arg("device"));
  m.def(
      "eye",
      [](py::handle rows, py::handle columns, py::handle diagonal, py::handle dtype,
         py::handle device) {
        int64_t n = to_int64("eye", rows, ErrorKind::overflow),
                cols = to_int64("eye", columns, ErrorKind::overflow),
                k = to_int64("eye", diagonal, ErrorKind::overflow);
        if (n < 0 || cols < 0)
          raise(ErrorKind::value, "[eye] negative size in shape " + to_string(Dims{n, cols}));
        DType t = to_dtype(dtype);
        graph::Engine& e = to_device(device)->engine();
        return made(unlocked([&] { return eye(e, n, cols, k, t); }));
      },
      py::arg("n_rows"), py::arg("n_cols"), py::arg("k"), py::arg("dtype"), py::arg("device"));
}

}  // namespace

Scalar scalar_of(const char* op, py::handle o) {
  auto s = to_scalar(o);
  if (!s)
    raise(ErrorKind::type,
          std::string("[") + op + "] expected a number, not " + py::cast<std::string>(py::repr(o)));
  return *s;
}

Dims checked_shape(const std::string& op, py::handle o) {
  Dims d = to_dims(op.c_str(), o);
  for (int64_t n : d)
    if (n < 0) raise(ErrorKind::value, "[" + op + "] negative size in shape " + to_string(d));
  if (numel(d) >= (int64_t{1} << 32))
    raise(ErrorKind::unsupported, "[" + op + "] a tensor of shape " + to_string(d) +
                                      " has 2^32 elements or more: split it");
  return d;
}

void init_tensor(py::module_& m, py::class_<Tensor>& t) {
  init_properties(t);
  init_views(t);
  init_reductions(t);
  init_creation(m);
  t.def(
      "_windows",
      [](Tensor s, py::handle sizes, py::handle steps, py::handle dilations) {
        Dims a = to_dims("windows", sizes), b = to_dims("windows", steps),
             c = to_dims("windows", dilations);
        return made(unlocked([&] { return windows(s, a, b, c); }));
      },
      py::arg("sizes"), py::arg("steps"), py::arg("dilations"),
      "A view of windows over the last dimensions: [.., place in the window.., windows..].");
  t.def(
      "_astype",
      [](Tensor s, py::handle dtype) {
        DType d = to_dtype(dtype);
        return made(unlocked([&] { return astype(s, d); }));
      },
      py::arg("dtype"));
  m.def(
      "bitcast",
      [](Tensor x, py::handle dtype) {
        DType d = to_dtype(dtype);
        return made(unlocked([&] { return bitcast(x, d); }));
      },
      py::arg("x"), py::arg("dtype"), "The same bytes as elements of another dtype.");
  m.def(
      "matmul", [](Tensor a, Tensor b) { return made(unlocked([&] { return matmul(a, b); })); },
      py::arg("x1"), py::arg("x2"));
  m.def(
      "linear",
      [](Tensor x, Tensor weight, std::optional<Tensor> bias) {
        return made(unlocked([&] { return linear(x, weight, bias ? &*bias : nullptr); }));
      },
      py::arg("x"), py::arg("weight"), py::arg("bias"), "x @ weight.T + bias.");
  m.def(
      "contract",
      [](Tensor a, Tensor b, int rows, int columns, int shared, const std::string& op) {
        graph::ProductRanks ranks{static_cast<uint8_t>(rows), static_cast<uint8_t>(columns),
                                  static_cast<uint8_t>(shared)};
        return made(unlocked([&] { return contract(a, b, ranks, op.c_str()); }));
      },
      py::arg("x1"), py::arg("x2"), py::arg("rows"), py::arg("columns"), py::arg("shared"),
      py::arg("op"),
      "Sums of products of [batch.., rows.., shared..] and [batch.., shared.., columns..].");
  m.def(
      "promote",
      [](py::handle a, py::handle b) {
        return dtype_object(promote("result_type", to_dtype(a), to_dtype(b)));
      },
      py::arg("a"), py::arg("b"), "The dtype that both are cast to where they meet.");
  m.def(
      "unpacked", [](py::handle dtype) { return dtype_object(unpacked(to_dtype(dtype))); },
      py::arg("dtype"), "The dtype of whole words that a packed one is computed in.");
  m.def(
      "has_dtype",
      [](py::handle dtype, py::handle device) {
        DType d = to_dtype(dtype);
        graph::Engine& e = to_device(device)->engine();
        return unlocked([&] { return has_dtype(e, d); });
      },
      py::arg("dtype"), py::arg("device"), "Whether tensors of a dtype can be on a device.");
  m.def(
      "takes",
      [](int row, py::handle dtype) {
        if (row < 0 || row >= graph::kTableRows)
          raise(ErrorKind::value, "no such row of the elementwise table");
        return graph::takes(static_cast<graph::OpId>(row), to_dtype(dtype));
      },
      py::arg("row"), py::arg("dtype"), "Whether a row of the elementwise table takes the dtype.");
  m.def("default_float", [] { return dtype_object(default_float()); });
  m.def(
      "set_default_float", [](py::handle dtype) { set_default_float(to_dtype(dtype)); },
      py::arg("dtype"), "What Python floats become; raises DTypeError for what is no float.");
  m.def(
      "broadcast_shapes",
      [](py::handle a, py::handle b) {
        return to_tuple(broadcast("broadcast_shapes", to_dims("broadcast_shapes", a),
                                  to_dims("broadcast_shapes", b)));
      },
      py::arg("a"), py::arg("b"));
}

}  // namespace wgt::bind
