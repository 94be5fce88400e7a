// Results made of pieces.
#include <pybind11/stl.h>

#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

// (tensor, offset, strides)
Piece to_piece(const char* op, py::handle o) {
  auto t = py::cast<py::tuple>(o);
  Layout at{to_dims(op, t[2]), to_int64(op, t[1], ErrorKind::value)};
  return {py::cast<Tensor>(t[0]), at};
}

}  // namespace

void init_manipulation(py::module_& m) {
  m.def(
      "concat",
      [](const std::vector<Tensor>& tensors, int64_t axis, const std::string& op) {
        return made(unlocked([&] { return concat(tensors, axis, op.c_str()); }));
      },
      py::arg("tensors"), py::arg("axis"), py::arg("op") = "concat",
      "Tensors one after the other along an axis. `op` is the name that errors give.");
  m.def(
      "place",
      [](py::handle shape, py::handle dtype, py::handle device, const py::list& pieces,
         py::handle fill, const std::string& op) {
        Dims d = checked_shape(op, shape);
        DType t = to_dtype(dtype);
        std::vector<Piece> parts;
        for (py::handle p : pieces) parts.push_back(to_piece(op.c_str(), p));
        std::optional<Scalar> background;
        if (!fill.is_none()) background = scalar_of(op.c_str(), fill);
        graph::Engine& e = to_device(device)->engine();
        return made(unlocked([&] { return place(e, d, t, parts, background, op.c_str()); }));
      },
      py::arg("shape"), py::arg("dtype"), py::arg("device"), py::arg("pieces"),
      py::arg("fill") = py::none(), py::arg("op") = "place",
      "A result of `fill`, or unspecified, with each (tensor, offset, strides) in its place.");
}

}  // namespace wgt::bind
