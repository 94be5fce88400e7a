#include "tensor/scatter.h"

#include "tensor/autograd.h"

namespace wgt {

using graph::Engine;
using graph::OpId;
using graph::ScatterOp;

Tensor scatter(ScatterOp op, const Tensor& base, const Tensor& value, const Tensor& position,
               const Dims& strides, int64_t last) {
  autograd::check_no_rule("scatter", base);
  autograd::check_no_rule("scatter", value);
  Engine& e = base.engine();
  rt::Lock lock = e.lock();
  return Tensor(e.scatter(op, base.node(), value.node(), position.node(), strides, last));
}

namespace {

// Row-major indices as indices along each axis.
std::vector<Tensor> unravelled(const Tensor& flat, const Dims& shape) {
  std::vector<Tensor> out(static_cast<size_t>(shape.size()));
  Tensor rest = flat;
  for (int d = shape.size() - 1; d >= 0; --d) {
    if (d == 0) {
      out[0] = rest;
      break;
    }
    out[static_cast<size_t>(d)] = elementwise(OpId::remainder, {rest, number(shape[d])});
    rest = elementwise(OpId::floor_divide, {rest, number(shape[d])});
  }
  return out;
}

}  // namespace

std::vector<Tensor> places_of_true(const Tensor& mask) {
  return unravelled(select_true(mask, {std::nullopt})[0], mask.shape());
}

}  // namespace wgt
