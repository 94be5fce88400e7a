// Elements at places that are data.
#include "tensor/gather.h"

#include "bindings/bindings.h"
#include "tensor/segments.h"

namespace wgt::bind {

namespace {

// What Python hands over: a mode's name, "trusted" for indices that were checked on the host, or
// "from_start" for those that count from no end.
IndexMode to_mode(const std::string& op, const std::string& name) {
  if (name == "trusted") return IndexMode::trusted;
  return name == "from_start" ? IndexMode::from_start : to_index_mode(op.c_str(), name);
}

graph::ReduceOp to_reduce(const std::string& op, const std::string& name) {
  using graph::ReduceOp;
  for (ReduceOp r : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min})
    if (name == graph::reduce_name(r)) return r;
  raise(ErrorKind::value,
        "[" + op + "] folds by 'sum', 'prod', 'max' or 'min', not '" + name + "'");
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
  m.def(
      "places",
      [](Tensor indices, int64_t size, int axis, const std::string& mode, const std::string& op) {
        IndexMode how = to_mode(op, mode);
        return made(unlocked([&] { return places(indices, size, axis, how, op.c_str()); }));
      },
      py::arg("indices"), py::arg("size"), py::arg("axis"), py::arg("mode"), py::arg("op"),
      "Indices along an axis as places from its start, in uint32.");
  m.def(
      "checked",
      [](Tensor bad, const std::string& op, std::string message) {
        return made(unlocked([&] { return checked(bad, op.c_str(), std::move(message)); }));
      },
      py::arg("bad"), py::arg("op"), py::arg("message"),
      "0 in uint32; the read after it was computed raises ValueError where `bad` is true.");
  m.def(
      "accumulate",
      [](Tensor x, py::handle key, py::handle value, const std::string& reduce,
         const std::string& op) {
        auto items = to_key("[" + op + "] ", x, key, true);
        Operand v = to_value(op, value, x);
        graph::ReduceOp how = to_reduce(op, reduce);
        return made(unlocked([&] { return accumulate(how, x, items, v, op.c_str()); }));
      },
      py::arg("x"), py::arg("key"), py::arg("value"), py::arg("reduce"), py::arg("op"),
      "`x` with a value folded into the indexed elements, as often as they are indexed.");
  m.def(
      "put_along_axis",
      [](Tensor x, Tensor indices, int64_t axis, py::handle value, const std::string& reduce,
         bool broadcast, const std::string& mode, const std::string& op) {
        IndexMode how = to_mode(op, mode);
        Operand v = to_value(op, value, x);
        std::optional<graph::ReduceOp> fold;
        if (!reduce.empty()) fold = to_reduce(op, reduce);
        return made(unlocked([&] {
          auto key = along_axis(x, indices, axis, how, broadcast, op.c_str());
          return fold ? accumulate(*fold, x, key, v, op.c_str())
                      : advanced_assign(x, key, v, op.c_str());
        }));
      },
      py::arg("x"), py::arg("indices"), py::arg("axis"), py::arg("value"), py::arg("reduce"),
      py::arg("broadcast"), py::arg("mode"), py::arg("op"),
      "`x` with a value put, or folded, along an axis, at indices for places of the other axes.");
}

}  // namespace wgt::bind
