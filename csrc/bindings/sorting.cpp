// Sorting.
#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "tensor/scatter.h"

namespace wgt::bind {

void init_sorting(py::module_& m) {
  m.def(
      "sort",
      [](Tensor x, int64_t axis, py::handle descending) {
        bool down = to_flag("sort", "descending", descending);
        return made(unlocked([&] { return sort(x, axis, down); }));
      },
      py::arg("x"), py::arg("axis"), py::arg("descending"));
  m.def(
      "argsort",
      [](Tensor x, int64_t axis, py::handle descending, int key_bits) {
        bool down = to_flag("argsort", "descending", descending);
        return made(unlocked([&] { return argsort(x, axis, down, key_bits); }));
      },
      py::arg("x"), py::arg("axis"), py::arg("descending"), py::arg("key_bits") = 0,
      "`key_bits`: the elements are integers from 0 to 2**key_bits - 1.");
  m.def(
      "top_places",
      [](Tensor x, int64_t k, int64_t axis, py::handle largest) {
        bool top = to_flag("topk", "largest", largest);
        return made(unlocked([&] { return top_places(x, k, axis, top); }));
      },
      py::arg("x"), py::arg("k"), py::arg("axis"), py::arg("largest"));
  m.def(
      "unpermuted",
      [](Tensor x, Tensor order) { return made(unlocked([&] { return unpermuted(x, order); })); },
      py::arg("x"), py::arg("order"), "The vector whose element order[i] is x[i].");
  m.def(
      "search",
      [](Tensor sorted, Tensor values, int side, const std::string& op) {
        auto s = static_cast<graph::SearchSide>(side);
        return made(unlocked([&] { return search(sorted, values, s, op.c_str()); }));
      },
      py::arg("sorted"), py::arg("values"), py::arg("side"), py::arg("op"),
      "For each value how many elements of a sorted vector are less (side 0), less or equal (1), "
      "or "
      "whether one is equal (2), as int32. Both have one dtype.");
  m.def(
      "nonzero",
      [](Tensor x) {
        py::list out;
        for (Tensor& t : unlocked([&] { return places_of_true(x); }))
          out.append(made(std::move(t)));
        return out;
      },
      py::arg("x"), "The places of what is not 0, in row-major order: an index for each axis.");
  m.def(
      "compact",
      [](Tensor mask, const py::list& values) {
        std::vector<std::optional<Tensor>> wanted;
        for (py::handle v : values)
          wanted.push_back(v.is_none() ? std::nullopt : std::optional(py::cast<Tensor>(v)));
        std::vector<Tensor> results = unlocked([&] { return select_true(mask, wanted); });
        py::list out;
        for (Tensor& t : results) out.append(made(std::move(t)));
        return out;
      },
      py::arg("mask"), py::arg("values"),
      "What a mask selects of each tensor of its size, in row-major order; of None the places. "
      "Reads one count back.");
}

}  // namespace wgt::bind
