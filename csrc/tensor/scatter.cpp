#include "tensor/scatter.h"

#include <cstring>

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

int32_t read_int(const Tensor& t) {
  rt::ReadbackRef r = to_host(t);
  int32_t value;
  std::memcpy(&value, r->data, sizeof value);
  return value;
}

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
  Engine& e = mask.engine();
  int64_t n = mask.size();
  Tensor found = empty(e, Dims{0}, DType::int32);
  if (n > 0) {
    Tensor flat = reshape(mask, Dims{n});
    Tensor count = scan("cumulative_sum", astype(flat, DType::int32), 0, false);
    int32_t total = read_int(part_of(count, 0, n - 1, 1));
    if (total > 0) {
      Tensor rank = astype(elementwise(OpId::subtract, {count, number(1)}), DType::uint32);
      Tensor place = elementwise(OpId::where, {flat, rank, number(kNowhere)});
      Tensor all = arange(e, 0, static_cast<double>(n), 1, DType::int32);
      found = scatter(ScatterOp::store, empty(e, Dims{total}, DType::int32), all, place, Dims{0},
                      total - 1);
    }
  }
  return unravelled(found, mask.shape());
}

}  // namespace wgt
