// Folding into places that are data: exactly, or always in the same order, so that results are
// bit-identical.
#pragma once
#include "tensor/advanced.h"

namespace wgt {

/// `base` [n, elements] with rows of `values` [m, elements] folded into the rows of it that `rows`
/// (uint32, [m]) says: sum, prod, max or min. Both have one dtype of whole words. `partial`: some
/// of `rows` may be kNowhere, whose values are left out.
Tensor fold_rows(graph::ReduceOp op, const Tensor& base, const Tensor& values, const Tensor& rows,
                 bool partial);

/// `t` with `value`, broadcast and cast, folded into the indexed elements: as often as they are
/// indexed. Bools count as truth, 16-bit floats are folded in float32, integers wrap.
Tensor accumulate(graph::ReduceOp op, const Tensor& t, const std::vector<KeyItem>& key,
                  const Operand& value, const char* name);

/// A key of indices along every axis: the given ones along `axis`, with as many dimensions as `t`,
/// for the other axes their own places. `broadcast`: indices of size 1 there stand for the whole
/// axis. Raises ValueError, ShapeError.
std::vector<KeyItem> along_axis(const Tensor& t, const Tensor& indices, int64_t axis,
                                IndexMode mode, bool broadcast, const char* op);

}  // namespace wgt
