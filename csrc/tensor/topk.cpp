// The greatest or least elements of rows.
#include <algorithm>

#include "tensor/gather.h"

namespace wgt {

using graph::OpId;

namespace {

constexpr int64_t kTile = 2048;      // that a workgroup sorts, on any adapter
constexpr int64_t kMostOfTile = 16;  // a part of a tile that is worth choosing from it

int last_axis(const Tensor& t) {
  return t.rank() - 1;
}

Tensor first_of(const Tensor& t, int64_t k) {
  return part_of(t, last_axis(t), 0, std::min(k, t.shape().back()));
}

Tensor at(const Tensor& t, const Tensor& places) {
  return take_along_axis(t, places, last_axis(t), IndexMode::trusted, "topk");
}

Tensor top(const Tensor& rows, int64_t k, bool largest);

// Those of each tile are candidates. Equal ones keep their order, as tiles do.
Tensor top_of_tiles(const Tensor& rows, int64_t k, bool largest) {
  graph::Engine& e = rows.engine();
  int64_t n = rows.shape().back(), tiles = n / kTile;
  Dims split = rows.shape(), flat = rows.shape();
  split.back() = tiles;
  split.push_back(kTile);
  flat.back() = tiles * k;
  Tensor whole = reshape(part_of(rows, last_axis(rows), 0, tiles * kTile), split);
  Tensor chosen = first_of(argsort(whole, -1, largest), k);
  Tensor begins =
      arange(e, 0, static_cast<double>(tiles * kTile), static_cast<double>(kTile), DType::int32);
  chosen = elementwise(OpId::add, {chosen, reshape(begins, Dims{tiles, 1})});
  std::vector<Tensor> candidates{reshape(chosen, flat)};
  if (n > tiles * kTile) {
    Tensor rest = part_of(rows, last_axis(rows), tiles * kTile, n - tiles * kTile);
    candidates.push_back(
        elementwise(OpId::add, {first_of(argsort(rest, -1, largest), k), number(tiles * kTile)}));
  }
  Tensor places = concat(candidates, last_axis(rows), "topk");
  return at(places, top(at(rows, places), k, largest));
}

Tensor top(const Tensor& rows, int64_t k, bool largest) {
  int64_t n = rows.shape().back();
  bool tiles = n > 4 * kTile && k <= kTile / kMostOfTile && rows.rank() < kMaxRank;
  // A software adapter sorts all of a row as fast as its tiles.
  if (!tiles || rows.engine().device().software_kernels())
    return first_of(argsort(rows, -1, largest), k);
  return top_of_tiles(rows, k, largest);
}

}  // namespace

Tensor top_places(const Tensor& t, int64_t k, int64_t axis, bool largest) {
  int a = normalize_axis("topk", axis, t.rank());
  if (k < 0 || k > t.shape()[a])
    raise(ErrorKind::value, "[topk] k = " + std::to_string(k) + " of an axis of " +
                                std::to_string(t.shape()[a]) + " elements, shape " +
                                to_string(t.shape()));
  Tensor rows = with_axis_last(t.detached(), a);
  Tensor r = rows.size() == 0 || k == 0 ? part_of(argsort(rows, -1, largest), t.rank() - 1, 0, k)
                                        : top(rows, k, largest);
  return with_axis_last(r, a);
}

}  // namespace wgt
