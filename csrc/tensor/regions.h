// Keys as a region of a tensor and indices into it.
#pragma once
#include "tensor/advanced.h"

namespace wgt {

/// The basic part of a key makes a region of the tensor; arrays index axes of that.
struct Resolved {
  std::vector<IndexItem> basic;
  Indices indices;  // for each axis of the region
  int at = 0;       // of the dimensions of the indices, among the axes without
};
/// Masks become indices: takes reading back how many are true.
Resolved resolve(const std::vector<KeyItem>& key);

bool is_integer_item(const KeyItem& k);
IndexItem whole_axis(int64_t size);
/// The sizes of the axes that have indices.
Dims indexed_sizes(const Dims& region, const Indices& indices);
/// For each axis of the region: of those with indices the given strides, else 0.
Dims spread(const Dims& strides, const Indices& indices);
/// The axes without indices.
std::vector<int64_t> free_axes(const Indices& indices);

/// What a resolved key selects, and what setting that and folding into it give: the functions of
/// advanced.h and segments.h behind a key.
Tensor index_at(const Tensor& t, const Resolved& key, const char* op);
Tensor assign_at(const Tensor& t, const Resolved& key, const Operand& value, const char* op);
/// Zeros of a shape with a value where a key of distinct indices leads.
Tensor placed_at(const Dims& shape, const Resolved& key, const Tensor& value, const char* op);
Tensor accumulate_at(graph::ReduceOp op, const Tensor& t, const Resolved& key, const Operand& value,
                     const char* name);

/// A value as the tensor's dtype has it, without leading dimensions of 1 that `shape` lacks. Raises
/// ShapeError where it does not broadcast to that, DeviceMismatchError.
Tensor fitted_value(const Tensor& t, const Operand& value, const Dims& shape, const char* op);
/// `t` with the region that basic indexing names replaced.
Tensor put_back(const Tensor& t, const std::vector<IndexItem>& basic, const Tensor& region);

}  // namespace wgt
