#include "graph/windows.h"

#include <algorithm>
#include <optional>

namespace wgt::graph {

namespace {

// Outermost dimension in which the ends of the range differ, and the size of a step there.
struct Level {
  int dim = -1;
  int64_t inner = 1;
};

Level level_of(const Dims& sizes, const Range& r) {
  int64_t inner = numel(sizes);
  for (int d = 0; d < sizes.size(); ++d) {
    inner /= sizes[d];
    if (r.begin / inner != (r.end - 1) / inner) return {d, inner};
  }
  return {};
}

// Where to halve, or nothing where the range must stay whole.
std::optional<int64_t> middle(const CutAxis& axis, const Range& r) {
  Level l = level_of(axis.sizes, r);
  if (l.dim < 0 || axis.unit == 0) return std::nullopt;
  int64_t first = r.begin / l.inner, last = (r.end - 1) / l.inner;
  int64_t at = (first + last + 1) / 2 * l.inner;
  int64_t step = l.dim == axis.sizes.size() - 1 ? std::max(axis.unit, axis.align) : axis.align;
  at = (at + step - 1) / step * step;
  if (at <= r.begin || at >= r.end) return std::nullopt;
  return at;
}

// Of the dimensions from `d` on, from their row-major place `first` to `last`: the end of a row,
// whole rows, the begin of one.
Reach reach_from(const Dims& sizes, const Dims& strides, int d, int64_t first, int64_t last) {
  if (d == sizes.size()) return {};
  int64_t inner = 1;
  for (int i = d + 1; i < sizes.size(); ++i) inner *= sizes[i];
  const int64_t low = first / inner, high = last / inner;
  Reach out;
  bool begun = false;
  auto add = [&](int64_t row, int64_t from, int64_t to) {
    Reach r = reach_from(sizes, strides, d + 1, from, to);
    r.first += row * strides[d];
    r.last += row * strides[d];
    out = begun ? Reach{std::min(out.first, r.first), std::max(out.last, r.last)} : r;
    begun = true;
  };
  const bool headless = first % inner != 0, tailless = (last + 1) % inner != 0;
  if (low == high) {
    add(low, first % inner, last % inner);
    return out;
  }
  if (headless) add(low, first % inner, inner - 1);
  if (tailless) add(high, 0, last % inner);
  const int64_t whole = low + headless, end = high - tailless;
  if (whole <= end) add(whole, 0, inner - 1);
  if (whole < end) add(end, 0, inner - 1);
  return out;
}

class Cutter {
 public:
  Cutter(const std::vector<CutAxis>& axes, int64_t limit,
         const std::function<int64_t(const Part&)>& bytes, double share)
      : axes_(axes), limit_(limit), bytes_(bytes) {
    double all = 1;
    for (const CutAxis& a : axes) {
      grid_.push_back({{0, numel(a.sizes)}});
      all *= static_cast<double>(numel(a.sizes));
    }
    most_ = share * all;
  }

  // Part by part, in order: cutting leaves those that fit as they are, or makes them smaller.
  Grid run() {
    std::vector<size_t> at(axes_.size(), 0);
    for (size_t axis = 0; axis < axes_.size();) {
      Part part;
      for (size_t i = 0; i < axes_.size(); ++i) part.push_back(grid_[i][at[i]]);
      if ((bytes_(part) > limit_ || elements(part) > most_) && halve(part)) continue;
      for (axis = 0; axis < axes_.size() && ++at[axis] == grid_[axis].size(); ++axis) at[axis] = 0;
    }
    return std::move(grid_);
  }

 private:
  static double elements(const Part& part) {
    double n = 1;
    for (const Range& r : part) n *= static_cast<double>(r.size());
    return n;
  }

  // Along the axis where it helps most; false where a part is too long and cannot be cut.
  bool halve(const Part& part) {
    int best = -1;
    int64_t least = 0, where = 0;
    for (size_t i = 0; i < axes_.size(); ++i) {
      auto at = middle(axes_[i], part[i]);
      if (!at) continue;
      Part low = part, high = part;
      low[i].end = high[i].begin = *at;
      int64_t size = std::max(bytes_(low), bytes_(high));
      if (best >= 0 && size >= least) continue;
      best = static_cast<int>(i);
      least = size;
      where = *at;
    }
    if (best < 0 && bytes_(part) <= limit_) return false;
    if (best < 0)
      raise(ErrorKind::unsupported, "one step reaches " + std::to_string(bytes_(part)) +
                                        " bytes of a buffer, and this adapter binds " +
                                        std::to_string(limit_) +
                                        " at most: split the tensor (for a view of a small dtype, "
                                        "its axis of largest stride)");
    auto& ranges = grid_[static_cast<size_t>(best)];
    for (size_t i = 0; i < ranges.size(); ++i)
      if (ranges[i].begin < where && where < ranges[i].end) {
        ranges.insert(ranges.begin() + static_cast<ptrdiff_t>(i) + 1, {where, ranges[i].end});
        ranges[i].end = where;
        break;
      }
    return true;
  }

  const std::vector<CutAxis>& axes_;
  int64_t limit_;
  const std::function<int64_t(const Part&)>& bytes_;
  double most_ = 0;  // elements
  Grid grid_;
};

}  // namespace

Reach reach_of(const Dims& sizes, const Dims& strides, const Range& range) {
  return reach_from(sizes, strides, 0, range.begin, range.end - 1);
}

Grid cut(const std::vector<CutAxis>& axes, int64_t limit,
         const std::function<int64_t(const Part&)>& bytes) {
  return Cutter(axes, limit, bytes, 1).run();
}

Grid cut(const std::vector<CutAxis>& axes, int64_t limit,
         const std::function<int64_t(const Part&)>& bytes, double share) {
  return Cutter(axes, limit, bytes, share).run();
}

std::vector<Part> parts_of(const Grid& grid) {
  std::vector<Part> parts{{}};
  for (const auto& ranges : grid) {
    std::vector<Part> longer;
    for (const Part& p : parts)
      for (const Range& r : ranges) {
        longer.push_back(p);
        longer.back().push_back(r);
      }
    parts = std::move(longer);
  }
  return parts;
}

}  // namespace wgt::graph
