// Sorting.
#include "bindings/bindings.h"

namespace wgt::bind {

void init_sorting(py::module_& m) {
  m.def(
      "sort",
      [](Tensor x, int64_t axis, bool descending) {
        return made(unlocked([&] { return sort(x, axis, descending); }));
      },
      py::arg("x"), py::arg("axis"), py::arg("descending"));
  m.def(
      "argsort",
      [](Tensor x, int64_t axis, bool descending, int key_bits) {
        return made(unlocked([&] { return argsort(x, axis, descending, key_bits); }));
      },
      py::arg("x"), py::arg("axis"), py::arg("descending"), py::arg("key_bits") = 0,
      "`key_bits`: the elements are integers from 0 to 2**key_bits - 1.");
}

}  // namespace wgt::bind
