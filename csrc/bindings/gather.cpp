// Elements at places that are data.
#include "tensor/gather.h"

#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

// What Python hands over: a mode's name, or "trusted" for indices that were checked on the host.
IndexMode to_mode(const std::string& op, const std::string& name) {
  return name == "trusted" ? IndexMode::trusted : to_index_mode(op.c_str(), name);
}

}  // namespace

void init_gather(py::module_& m) {
  m.def(
      "take",
      [](Tensor x, Tensor indices, int64_t axis, const std::string& mode, const std::string& op) {
        IndexMode how = to_mode(op, mode);
        return made(unlocked([&] { return take(x, indices, axis, how, op.c_str()); }));
      },
      py::arg("x"), py::arg("indices"), py::arg("axis"), py::arg("mode"), py::arg("op"),
      "Elements along an axis, whose place the dimensions of the indices take.");
  m.def(
      "take_along_axis",
      [](Tensor x, Tensor indices, int64_t axis, const std::string& mode, const std::string& op) {
        IndexMode how = to_mode(op, mode);
        return made(unlocked([&] { return take_along_axis(x, indices, axis, how, op.c_str()); }));
      },
      py::arg("x"), py::arg("indices"), py::arg("axis"), py::arg("mode"), py::arg("op"),
      "Elements along an axis, at indices for each element of the other axes.");
}

}  // namespace wgt::bind
