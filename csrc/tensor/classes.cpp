#include "tensor/classes.h"

#include "tensor/gather.h"

namespace wgt {

using graph::OpId;

Classes classes_of(const Tensor& target, int64_t size, int axis, int64_t ignored, const char* op) {
  Scalar none{Kind::i, static_cast<double>(ignored), ignored}, zero{Kind::i, 0, 0};
  Tensor counted = elementwise(OpId::not_equal, {target, none});
  Tensor index = elementwise(OpId::where, {counted, target, zero});
  return {counted, places(index, size, axis, IndexMode::from_start, op)};
}

Tensor class_hits(const Tensor& index, int64_t size, int axis) {
  Tensor all = arange(index.engine(), 0, static_cast<double>(size), 1, DType::uint32);
  Dims along{size};
  for (int d = axis; d < index.rank(); ++d) along.push_back(1);
  return elementwise(OpId::equal, {expand_dims(index, {axis}), reshape(all, along)});
}

}  // namespace wgt
