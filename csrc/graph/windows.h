// Tensors above the adapter's largest binding: index spaces are cut into parts that each reach no
// more of any buffer than one binding may hold.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "base/layout.h"

namespace wgt::graph {

/// A part of an axis's row-major index.
struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

/// One range for each axis of an index space.
using Part = std::vector<Range>;

/// First and last element, on top of a base, that an access reaches.
struct Reach {
  int64_t first = 0, last = 0;
  void add(const Reach& o) {
    first += o.first;
    last += o.last;
  }
  int64_t count() const { return last - first + 1; }
};

/// What walking `range` of the row-major index of `sizes` reaches with these strides.
Reach reach_of(const Dims& sizes, const Dims& strides, const Range& range);

struct CutAxis {
  Dims sizes;         // of the dimensions that its index runs over, outermost first
  int64_t unit = 1;   // cuts inside the last dimension lie at multiples; 0: the axis stays whole
  int64_t align = 1;  // all cuts lie at multiples
};

/// Ranges along each axis; their products are the parts.
using Grid = std::vector<std::vector<Range>>;

/// The coarsest grid that halving finds in which bytes(part) is at most `limit` for every part; a
/// part of a part must not have more. Raises UnsupportedError where there is none.
Grid cut(const std::vector<CutAxis>& axes, int64_t limit,
         const std::function<int64_t(const Part&)>& bytes);
/// The same, with parts of which each is at most `share` of the whole, where axes allow that.
Grid cut(const std::vector<CutAxis>& axes, int64_t limit,
         const std::function<int64_t(const Part&)>& bytes, double share);

/// All parts, the last axis fastest.
std::vector<Part> parts_of(const Grid& grid);

}  // namespace wgt::graph
