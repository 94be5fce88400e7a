// Gradients of sorts, and of running extrema, whose gradients go to places that are data.
#include "tensor/autograd.h"
#include "tensor/gradient_values.h"
#include "tensor/gradients.h"
#include "tensor/segments.h"

namespace wgt::gradients {

using autograd::Context;
using autograd::Gradients;
using autograd::Keeps;
using rules::Value;

Tensor sort(const Tensor& t, int64_t axis, bool descending) {
  int a = normalize_axis("sort", axis, t.rank());
  Tensor order = wgt::argsort(t.detached(), a, descending);
  Tensor r = wgt::take_along_axis(t.detached(), order, a, IndexMode::trusted, "sort");
  return autograd::record("sort", r, {t}, Keeps::operands, [order, a](const Context& c) {
    Tensor back = wgt::argsort(order, a);
    return Gradients{wgt::take_along_axis(c.grad(), back, a, IndexMode::trusted, "sort")};
  });
}

// To the last element so far that is the extremum; with NaN in it to the last NaN.
Tensor running_extremum_gradient(const Tensor& g, const Tensor& x, const Tensor& result, int axis) {
  Dims along(x.rank(), 1);
  along[axis] = x.shape()[axis];
  auto n = static_cast<double>(along[axis]);
  Tensor places = wgt::reshape(wgt::arange(x.engine(), 0, n, 1, DType::int32), along);
  Value hit = (Value(x) == Value(result)) | rules::isnan(x);
  Tensor none = wgt::full(x.engine(), Dims(), Scalar{Kind::i, 0, 0}, DType::int32);
  Tensor from = wgt::scan("cumulative_max", rules::where(hit, places, none).tensor(), axis, false);
  Tensor zeros = autograd::filled(x.engine(), x.shape(), g.dtype(), 0);
  auto key = along_axis(zeros, from, axis, IndexMode::trusted, false, "scan");
  return wgt::accumulate(graph::ReduceOp::sum, zeros, key, g, "scan");
}

}  // namespace wgt::gradients
