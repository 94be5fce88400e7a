// The kernels behind losses of classes.
#include "bindings/bindings.h"
#include "tensor/classes.h"
#include "tensor/cross_entropy.h"

namespace wgt::bind {

void init_losses(py::module_& m) {
  m.def(
      "classes_of",
      [](Tensor target, int64_t size, int axis, int64_t ignored, const std::string& op) {
        Classes c = unlocked([&] { return classes_of(target, size, axis, ignored, op.c_str()); });
        return py::make_tuple(made(std::move(c.counted)), made(std::move(c.index)));
      },
      py::arg("target"), py::arg("size"), py::arg("axis"), py::arg("ignored"), py::arg("op"),
      "Of class indices: which are not `ignored`, and their places in uint32, 0 where they are.");
  m.def(
      "class_hits",
      [](Tensor index, int64_t size, int axis) {
        return made(unlocked([&] { return class_hits(index, size, axis); }));
      },
      py::arg("index"), py::arg("size"), py::arg("axis"), "True at the class, along an axis.");
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
