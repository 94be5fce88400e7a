// Shape, stride, broadcast and axis arithmetic. Strides and offsets count elements.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/dims.h"

namespace wgt {

/// Where the elements of an index space lie: element(i...) = offset + sum(i_d * strides_d).
struct Layout {
  Dims strides;
  int64_t offset = 0;
  bool operator==(const Layout&) const = default;
};

/// Number of elements; the largest int64_t where that would overflow.
int64_t numel(const Dims& shape);
Dims contiguous_strides(const Dims& shape);
bool is_contiguous(const Dims& shape, const Dims& strides);
std::string to_string(const Dims& shape);  // as Python prints a tuple

/// NumPy's broadcast of two shapes; raises ShapeError naming `op` and both shapes.
Dims broadcast(const char* op, const Dims& a, const Dims& b);
/// Strides that read `shape`/`strides` as `target`; raises ShapeError where NumPy would.
Dims broadcast_strides(const char* op, const Dims& shape, const Dims& strides, const Dims& target);

/// Axis in [0, rank); raises IndexError-like ShapeError naming op, axis and rank.
int normalize_axis(const char* op, int64_t axis, int rank);
/// Bit mask of axes; repeated ones are refused. `axes` empty means none.
uint32_t axes_mask(const char* op, const std::vector<int64_t>& axes, int rank);

/// Strides of a reshape that needs no copy, or nothing.
std::optional<Dims> reshape_strides(const Dims& shape, const Dims& strides, const Dims& target);
/// Resolves one -1 and checks the size; raises ShapeError.
Dims resolve_reshape(const Dims& shape, const Dims& target);

/// `outer` is a layout over the row-major linear index of `shape`; `inner` is a layout over the
/// coordinates of `shape`. Their composition over outer's index space, or nothing where outer
/// does not step along the axes of `shape` (a reshape that splits across them).
/// `outer_shape` is the index space's shape.
std::optional<Layout> compose(const Dims& outer_shape, const Layout& outer, const Dims& shape,
                              const Layout& inner);

}  // namespace wgt
