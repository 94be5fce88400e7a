// Random numbers: what wgtensor.random is made of.
#include "tensor/random.h"

#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

Distribution to_distribution(const std::string& name) {
  if (name == "bits") return Distribution::bits;
  if (name == "uniform") return Distribution::uniform;
  if (name == "exponential") return Distribution::exponential;
  if (name == "normal") return Distribution::normal;
  raise(ErrorKind::value, "[random] unknown distribution '" + name + "'");
}

}  // namespace

void init_random(py::module_& m) {
  m.def(
      "random",
      [](const std::string& distribution, py::handle shape, py::handle dtype, py::handle device,
         uint64_t seed, uint64_t offset) {
        Distribution d = to_distribution(distribution);
        Dims dims = checked_shape("random", shape);
        DType t = to_dtype(dtype);
        graph::Engine& e = to_device(device)->engine();
        return made(unlocked([&] { return random(e, d, dims, t, {seed, offset}); }));
      },
      py::arg("distribution"), py::arg("shape"), py::arg("dtype"), py::arg("device"),
      py::arg("seed"), py::arg("offset"), "'bits', 'uniform', 'exponential' or 'normal' numbers.");
  m.def(
      "random_below",
      [](uint64_t span, py::handle shape, py::handle dtype, py::handle device, uint64_t seed,
         uint64_t offset) {
        Dims dims = checked_shape("randint", shape);
        DType t = to_dtype(dtype);
        graph::Engine& e = to_device(device)->engine();
        return made(unlocked([&] { return random_below(e, span, dims, t, {seed, offset}); }));
      },
      py::arg("span"), py::arg("shape"), py::arg("dtype"), py::arg("device"), py::arg("seed"),
      py::arg("offset"), "Integers in [0, span); with span 0 all of the dtype.");
  m.def(
      "affine",
      [](Tensor x, double scale, double shift) {
        return made(unlocked([&] { return affine(x, scale, shift); }));
      },
      py::arg("x"), py::arg("scale"), py::arg("shift"),
      "x * scale + shift, the product rounded before the sum on every adapter.");
}

}  // namespace wgt::bind
