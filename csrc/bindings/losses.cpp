// The kernels behind losses of classes.
#include "bindings/bindings.h"
#include "tensor/cross_entropy.h"

namespace wgt::bind {

void init_losses(py::module_& m) {
  m.def(
      "cross_entropy",
      [](Tensor scores, Tensor targets, int64_t axis) {
        return made(unlocked([&] { return cross_entropy(scores, targets, axis); }));
      },
      py::arg("scores"), py::arg("targets"), py::arg("axis"),
      "sum(targets * (logsumexp(scores) - scores)) along an axis.");
  m.def(
      "mean_cross_entropy",
      [](Tensor scores, Tensor targets, int64_t axis, Tensor counted, Tensor weights) {
        return made(
            unlocked([&] { return mean_cross_entropy(scores, targets, axis, counted, weights); }));
      },
      py::arg("scores"), py::arg("targets"), py::arg("axis"), py::arg("counted"),
      py::arg("weights"), "Its weighted mean over the rows that are counted.");
  m.def(
      "weighted_mean",
      [](Tensor a, Tensor b) { return made(unlocked([&] { return weighted_mean(a, b); })); },
      py::arg("a"), py::arg("b"), "sum(a) / sum(b).");
}

}  // namespace wgt::bind
