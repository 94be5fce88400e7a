// Parameters: tensors that a module finds among its attributes.
#include "bindings/bindings.h"

namespace wgt::bind {

namespace {
struct Parameter final : Tensor {
  explicit Parameter(const Tensor& t) : Tensor(t) {}
};
}  // namespace

void init_parameter(py::module_& m, newfunc usual_new) {
  py::class_<Parameter, Tensor> p(
      m, "Parameter", "A tensor that modules find among their attributes, and optimizers update.");
  // Unlike tensors, these are made by their class.
  reinterpret_cast<PyTypeObject*>(p.ptr())->tp_new = usual_new;
  p.def(py::init([](const Tensor& data, bool requires_grad) {
          return Parameter(autograd::leaf(data.detached(), requires_grad));
        }),
        py::arg("data"), py::arg("requires_grad") = true);
}

}  // namespace wgt::bind
