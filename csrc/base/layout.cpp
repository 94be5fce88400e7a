#include "base/layout.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace wgt {

int64_t numel(const Dims& shape) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  int64_t n = 1;
  bool over = false;
  for (int64_t d : shape) {
    if (d == 0) return 0;
    if (((n | d) >> 31) == 0) {  // two short factors: no division
      n *= d;
      continue;
    }
    over = over || n > most / d;
    if (!over) n *= d;
  }
  return over ? most : n;
}

Dims contiguous_strides(const Dims& shape) {
  Dims s(shape.size(), 0);
  int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    s[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return s;
}

bool is_contiguous(const Dims& shape, const Dims& strides) {
  int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

std::string to_string(const Dims& shape) {
  std::string s = "(";
  for (int i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + (shape.size() == 1 ? ",)" : ")");
}

Dims broadcast(const char* op, const Dims& a, const Dims& b) {
  if (a == b) return a;
  int rank = std::max(a.size(), b.size());
  Dims out(rank, 1);
  for (int i = 0; i < rank; ++i) {
    int ia = i - (rank - a.size()), ib = i - (rank - b.size());
    int64_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1)
      raise(ErrorKind::shape, std::string("[") + op + "] shapes " + to_string(a) + " and " +
                                  to_string(b) + " do not broadcast: dimension " +
                                  std::to_string(i) + " is " + std::to_string(da) + " against " +
                                  std::to_string(db));
    out[i] = da == 1 ? db : da;
  }
  return out;
}

Dims broadcast_strides(const char* op, const Dims& shape, const Dims& strides, const Dims& target) {
  int lead = target.size() - shape.size();
  Dims out(target.size(), 0);
  bool fits = lead >= 0;
  for (int i = 0; fits && i < shape.size(); ++i) {
    int64_t d = shape[i], t = target[i + lead];
    if (d == t)
      out[i + lead] = d == 1 ? 0 : strides[i];
    else if (d != 1)
      fits = false;
  }
  if (!fits)
    raise(ErrorKind::shape, std::string("[") + op + "] shape " + to_string(shape) +
                                " does not broadcast to " + to_string(target));
  return out;
}

int normalize_axis(const char* op, int64_t axis, int rank) {
  int64_t a = axis < 0 ? axis + rank : axis;
  if (a < 0 || a >= rank)
    raise(ErrorKind::index, std::string("[") + op + "] axis " + std::to_string(axis) +
                                " is out of bounds for a tensor with " + std::to_string(rank) +
                                " dimensions");
  return static_cast<int>(a);
}

uint32_t axes_mask(const char* op, const std::vector<int64_t>& axes, int rank) {
  uint32_t mask = 0;
  for (int64_t a : axes) {
    uint32_t bit = 1u << normalize_axis(op, a, rank);
    if (mask & bit)
      raise(ErrorKind::value,
            std::string("[") + op + "] axis " + std::to_string(a) + " is repeated");
    mask |= bit;
  }
  return mask;
}

std::optional<Dims> reshape_strides(const Dims& shape, const Dims& strides, const Dims& target) {
  if (numel(shape) == 0) return contiguous_strides(target);
  Dims out(target.size(), 0);
  int i = 0, j = 0;
  // Walk both shapes in blocks of equal size; a block of `shape` must be contiguous in itself.
  while (i < shape.size() || j < target.size()) {
    int i0 = i, j0 = j;
    int64_t a = i < shape.size() ? shape[i++] : 1, b = j < target.size() ? target[j++] : 1;
    while (a != b) {
      if (a < b) {
        if (i >= shape.size()) return std::nullopt;
        a *= shape[i++];
      } else {
        if (j >= target.size()) return std::nullopt;
        b *= target[j++];
      }
    }
    int64_t step = 0;
    int last = -1;
    for (int k = i - 1; k >= i0; --k) {
      if (shape[k] == 1) continue;
      if (last >= 0 && strides[k] != strides[last] * shape[last]) return std::nullopt;
      if (last < 0) step = strides[k];
      last = k;
    }
    for (int k = j - 1; k >= j0; --k) {
      out[k] = target[k] == 1 ? 0 : step;
      step *= target[k];
    }
  }
  return out;
}

Dims resolve_reshape(const Dims& shape, const Dims& target) {
  Dims out = target, given;
  int unknown = -1;
  for (int i = 0; i < target.size(); ++i) {
    if (target[i] == -1 && unknown < 0) {
      unknown = i;
    } else if (target[i] < 0) {
      raise(ErrorKind::shape, "[reshape] size " + std::to_string(target[i]) + " in " +
                                  to_string(target) +
                                  (target[i] == -1 ? ": only one -1 is allowed"
                                                   : ": sizes are not negative, but for one -1"));
    } else {
      given.push_back(target[i]);
    }
  }
  int64_t total = numel(shape), known = numel(given);
  if (unknown >= 0 && known != 0 && total % known == 0) out[unknown] = total / known;
  if ((unknown >= 0 && out[unknown] < 0) || numel(out) != total)
    raise(ErrorKind::shape, "[reshape] cannot reshape " + to_string(shape) + " (" +
                                std::to_string(total) + " elements) to " + to_string(target));
  return out;
}

std::optional<Layout> compose(const Dims& outer_shape, const Layout& outer, const Dims& shape,
                              const Layout& inner) {
  Dims dense = contiguous_strides(shape);
  if (is_contiguous(shape, inner.strides))
    return Layout{outer.strides, outer.offset + inner.offset};
  bool constant =
      std::all_of(inner.strides.begin(), inner.strides.end(), [](int64_t s) { return s == 0; });
  if (constant) return Layout{Dims(outer_shape.size(), 0), inner.offset};

  Layout out{Dims(outer_shape.size(), 0), inner.offset};
  Dims low(shape.size(), 0);  // coordinate of the first element, then the lowest one reached
  int64_t rest = outer.offset;
  for (int d = 0; d < shape.size(); ++d) {
    low[d] = rest / dense[d];
    rest %= dense[d];
    out.offset += low[d] * inner.strides[d];
  }
  Dims high = low;
  for (int j = 0; j < outer_shape.size(); ++j) {
    int64_t s = outer.strides[j], n = outer_shape[j];
    if (n <= 1 || s == 0) continue;
    int d = 0;  // the axis this stride moves along: the largest dense stride that divides it
    while (d < shape.size() && (shape[d] == 1 || std::llabs(s) % dense[d] != 0)) ++d;
    if (d == shape.size()) return std::nullopt;
    int64_t k = s / dense[d];
    (k < 0 ? low : high)[d] += k * (n - 1);
    out.strides[j] = k * inner.strides[d];
  }
  for (int d = 0; d < shape.size(); ++d)
    if (low[d] < 0 || high[d] >= shape[d]) return std::nullopt;
  return out;
}

}  // namespace wgt
