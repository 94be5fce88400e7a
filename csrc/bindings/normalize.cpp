// Normalization: what layer_norm and its kin are made of.
#include "tensor/normalize.h"

#include "bindings/bindings.h"

namespace wgt::bind {

void init_normalize(py::module_& m) {
  m.def(
      "normalize",
      [](Tensor x, bool centred, py::handle eps) {
        double e = to_real("normalize", "eps", eps);
        return made(unlocked([&] { return normalize(x, centred, e); }));
      },
      py::arg("x"), py::arg("centred"), py::arg("eps"),
      "x / sqrt(mean(x^2) + eps) over the last axis; centred: of x less its mean there.");
}

}  // namespace wgt::bind
