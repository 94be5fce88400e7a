// Host arrays in and out.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstring>

#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

constexpr uint64_t kCopyBelow =
    64 << 10;  // bytes; smaller arrays are copied and their staging returned

Tensor from_array(py::array a, py::handle dtype, py::handle device, const std::string& op) {
  DType t = to_dtype(dtype);
  if (a.itemsize() != info(t).size) internal_error("from_array: item size");
  if (a.ndim() > kMaxRank)
    raise(ErrorKind::shape, "[" + op + "] an array of " + std::to_string(a.ndim()) +
                                " dimensions: tensors have at most " + std::to_string(kMaxRank) +
                                " dimensions");
  Dims shape, strides;
  for (py::ssize_t i = 0; i < a.ndim(); ++i) {
    shape.push_back(a.shape(i));
    strides.push_back(a.strides(i));
  }
  graph::Engine& e = to_device(device)->engine();
  const void* data = a.data();
  return made(unlocked([&] {
    check_dtype(e, t, op.c_str());
    return from_host(e, t, shape, strides, data);
  }));
}

py::array to_numpy(Tensor t) {
  auto d = py::reinterpret_borrow<py::dtype>(py::object(dtype_object(t.dtype()).attr("numpy")));
  std::vector<py::ssize_t> shape(t.shape().begin(), t.shape().end());
  if (t.size() == 0) return py::array(d, shape);
  rt::ReadbackRef r = unlocked([&] { return to_host(t); });
  forward_log();
  if (r->bytes <= kCopyBelow) {
    py::array out(d, shape);
    std::memcpy(out.mutable_data(), r->data, static_cast<size_t>(out.nbytes()));
    return out;
  }
  void* data = r->data;
  auto* owner = new rt::ReadbackRef(std::move(r));
  py::capsule base(owner, [](void* p) { delete static_cast<rt::ReadbackRef*>(p); });
  return py::array(d, shape, data, base);
}

}  // namespace

void init_host(py::module_& m, py::class_<Tensor>& t) {
  t.def("numpy", &to_numpy,
        "The elements as a NumPy array of the caller's own; waits for the work.");
  m.def("from_array", &from_array, py::arg("array"), py::arg("dtype"), py::arg("device"),
        py::arg("op") = "asarray",
        "Copies a NumPy array of the dtype's own item type to the device.");
  m.def(
      "eval",
      [](const std::vector<Tensor>& tensors) {
        unlocked([&] { eval(tensors); });
        forward_log();
      },
      py::arg("tensors"), "Starts the work of these tensors and does not wait.");
  m.def(
      "explain", [](Tensor x) { return unlocked([&] { return explain(x); }); }, py::arg("tensor"));
}

}  // namespace wgt::bind
