// Elements at places that are data.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace wgt {

/// What an index that an axis does not have means: an IndexError at the next read, the nearest
/// place (negative ones are the first), or one counted round; trusted ones are known to be in range
/// and not negative, distinct ones besides that no place is there twice, of several axes together.
/// from_start raises as well, also for negative ones, which else count from the end.
enum class IndexMode : uint8_t { raise, clip, wrap, trusted, distinct, from_start };
inline bool is_checked(IndexMode mode) {
  return mode == IndexMode::raise || mode == IndexMode::from_start;
}
/// An index that raises reads the nearest place until then, and writes nowhere.
enum class Use : uint8_t { read, write };
/// A place that leads nowhere: what has it is left out.
constexpr int64_t kNowhere = 0xffffffff;
/// Raises ValueError.
IndexMode to_index_mode(const char* op, const std::string& name);

/// Integer indices along an axis of some tensor as places from its start, in uint32. Raises
/// IndexError for an axis without elements and indices that are no integers.
Tensor places(const Tensor& indices, int64_t size, int axis, IndexMode mode, const char* op,
              Use use = Use::read);

/// 0 in uint32 for each element of `bad`; what computes it finds those that are true, and the next
/// read raises ValueError: [op] message.
Tensor checked(const Tensor& bad, const char* op, std::string message);

/// Indices along one axis.
struct AxisIndex {
  Tensor at;
  IndexMode mode = IndexMode::raise;
  int axis = -1;  // that errors name; -1: the one that it indexes
};
/// One entry for each axis of a tensor, or nothing for all of the axis.
using Indices = std::vector<std::optional<AxisIndex>>;
/// Whether they lead nowhere twice.
bool are_distinct(const Indices& indices);

/// Elements that indices lead to, of a layout over the axes that they index: where they lie, and
/// the range of that.
struct Position {
  Dims shape;      // that the indices broadcast to
  Tensor element;  // of that shape, uint32; none without indices
  graph::Reach span;
  bool quads = true;     // all strides are multiples of four
  bool partial = false;  // some elements may be kNowhere
};
/// Raises IndexError.
Dims broadcast_indices(const Indices& indices, const char* op);
/// `strides` are those of all axes. Raises IndexError where the indices do not broadcast or, in the
/// modes that say so, are out of range.
Position position_of(const Dims& axes, const Indices& indices, const Dims& strides, const char* op,
                     Use use = Use::read);

/// The axes that are not indexed and, at `at` among them, the dimensions of the indices.
struct Gathered {
  Dims shape;
  Dims strides;  // of a tensor's own strides: 0 for the dimensions of the indices
};
Gathered gathered(const Dims& axes, const Dims& strides, const Indices& indices, const Dims& common,
                  int at, const char* op);
/// `t` with as many new last dimensions as axes without indices are not before `at`: `t` then has
/// the place that the dimensions of the indices have.
Tensor before_rest(const Tensor& t, const Indices& indices, int at);

/// Elements where the indices lead, whose dimensions are at `at` among those of the other axes.
Tensor gather(const Tensor& x, const Indices& indices, int at, const char* op);
/// Elements of `x` over `shape` with these strides, moved by `element`, which has as many
/// dimensions.
Tensor gather(const Tensor& x, const Dims& shape, const Dims& strides, const Position& p,
              const Tensor& element);
/// Along one axis, whose place the dimensions of the indices take.
Tensor take(const Tensor& x, const Tensor& indices, int64_t axis, IndexMode mode, const char* op);
/// Along one axis, with indices for each element of the other axes; those broadcast.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis, IndexMode mode,
                       const char* op);

/// Strides, and the offset that views build on. Takes the lock.
Layout layout_of(const Tensor& t);
Scalar number(int64_t i);

}  // namespace wgt
