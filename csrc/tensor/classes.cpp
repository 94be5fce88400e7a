#include "tensor/classes.h"

#include "tensor/gather.h"

namespace wgt {

using graph::OpId;

Classes classes_of(const Tensor& target, int64_t size, int axis, int64_t ignored, const char* op) {
  Scalar none{Kind::i, static_cast<double>(ignored), ignored}, zero{Kind::i, 0, 0};
  Tensor counted = elementwise(OpId::not_equal, {target, none});
  Tensor index = elementwise(OpId::where, {counted, target, zero});
  // What 32 bits do not hold stays out of range.
  if (is_wide(index.dtype())) {
    Scalar least{Kind::i, -1, -1}, most{Kind::i, INT32_MAX, INT32_MAX};
    if (index.dtype() == DType::int64) index = elementwise(OpId::maximum, {index, least});
    index = elementwise(OpId::minimum, {index, most});
  }
  // Of negative ones no class is left: they count from no end.
  index = astype(index, DType::uint32);
  return {counted, places(index, size, axis, IndexMode::raise, op)};
}

Tensor class_hits(const Tensor& index, int64_t size, int axis) {
  Tensor all = arange(index.engine(), 0, static_cast<double>(size), 1, DType::uint32);
  Dims along{size};
  for (int d = axis; d < index.rank(); ++d) along.push_back(1);
  return elementwise(OpId::equal, {expand_dims(index, {axis}), reshape(all, along)});
}

}  // namespace wgt
