// Shape and stride arithmetic, checked against walks over every element.
#include "base/layout.h"

#include <doctest/doctest.h>

#include <random>

using namespace wgt;

namespace {

// Coordinates of the row-major position i.
Dims coordinates(const Dims& shape, int64_t i) {
  Dims c(shape.size(), 0);
  for (int d = shape.size() - 1; d >= 0; --d) {
    c[d] = i % shape[d];
    i /= shape[d];
  }
  return c;
}

int64_t at(const Layout& l, const Dims& c) {
  int64_t i = l.offset;
  for (int d = 0; d < c.size(); ++d) i += c[d] * l.strides[d];
  return i;
}

Dims random_shape(std::mt19937& r, int rank, int largest) {
  Dims s;
  for (int d = 0; d < rank; ++d)
    s.push_back(1 + static_cast<int64_t>(r() % static_cast<unsigned>(largest)));
  return s;
}

}  // namespace

TEST_CASE("broadcast follows NumPy") {
  CHECK(broadcast("op", {3, 1}, {4}) == Dims{3, 4});
  CHECK(broadcast("op", {}, {2, 3}) == Dims{2, 3});
  CHECK(broadcast("op", {0, 1}, {1, 5}) == Dims{0, 5});
  CHECK_THROWS_WITH_AS(broadcast("add", {2, 3}, {4}),
                       "[add] shapes (2, 3) and (4,) do not broadcast: dimension 1 is 3 against 4",
                       Error);
}

TEST_CASE("broadcast strides are 0 along what is repeated") {
  CHECK(broadcast_strides("op", {3, 1}, {1, 1}, {2, 3, 4}) == Dims{0, 1, 0});
  CHECK_THROWS_AS(broadcast_strides("op", {3, 2}, {2, 1}, {3, 4}), Error);
}

TEST_CASE("reshape strides reach the same elements in the same order") {
  std::mt19937 r(7);
  int views = 0;
  for (int round = 0; round < 3000; ++round) {
    Dims shape = random_shape(r, 1 + static_cast<int>(r() % 4), 4);
    Dims order = contiguous_strides(shape), strides = order;
    if (r() % 2 && shape.size() > 1) std::swap(strides[0], strides[shape.size() - 1]);
    if (r() % 3 == 0) strides[0] = -strides[0];
    Dims target;
    int64_t rest = numel(shape);
    while (rest > 1 && target.size() < 5) {
      int64_t d = 1 + static_cast<int64_t>(r() % static_cast<unsigned>(rest));
      while (rest % d) --d;
      target.push_back(d);
      rest /= d;
    }
    target.push_back(rest);
    auto found = reshape_strides(shape, strides, target);
    if (!found) continue;
    ++views;
    Layout from{strides, 100}, to{*found, 100};
    for (int64_t i = 0; i < numel(shape); ++i)
      REQUIRE(at(from, coordinates(shape, i)) == at(to, coordinates(target, i)));
  }
  CHECK(views > 1000);
}

TEST_CASE("compose gives the layout of a view of a view, or nothing") {
  std::mt19937 r(11);
  int found = 0;
  for (int round = 0; round < 5000; ++round) {
    Dims shape = random_shape(r, 1 + static_cast<int>(r() % 3), 5);
    Dims dense = contiguous_strides(shape);
    Layout inner{random_shape(r, shape.size(), 50), static_cast<int64_t>(r() % 20)};
    for (int d = 0; d < shape.size(); ++d)
      if (r() % 3 == 0) inner.strides[d] = 0;
    // A view of the dense form: axes permuted, sliced, reversed, broadcast.
    Dims outer_shape;
    Layout outer;
    for (int d = shape.size() - 1; d >= 0; --d) {
      int64_t step = 1 + static_cast<int64_t>(r() % 2), n = 1 + (shape[d] - 1) / step;
      bool reversed = r() % 2;
      if (reversed) outer.offset += (n - 1) * step * dense[d];
      outer_shape.push_back(n);
      outer.strides.push_back((reversed ? -step : step) * dense[d]);
      if (r() % 4 == 0) {
        outer_shape.push_back(3);
        outer.strides.push_back(0);
      }
    }
    auto both = compose(outer_shape, outer, shape, inner);
    if (!both) continue;
    ++found;
    for (int64_t i = 0; i < numel(outer_shape); ++i) {
      Dims c = coordinates(outer_shape, i);
      REQUIRE(at(*both, c) == at(inner, coordinates(shape, at(outer, c))));
    }
  }
  CHECK(found > 4000);
}

TEST_CASE("compose refuses a view that crosses the axes it is laid over") {
  // (4, 6) seen as (3, 8): a step along 8 crosses rows of 6.
  CHECK_FALSE(compose({3, 8}, {{8, 1}, 0}, {4, 6}, {{10, 1}, 0}));
  // A dense inner layout takes any view.
  CHECK(compose({3, 8}, {{8, 1}, 0}, {4, 6}, {{6, 1}, 5})->offset == 5);
}

TEST_CASE("axes") {
  CHECK(normalize_axis("op", -1, 3) == 2);
  CHECK_THROWS_AS(normalize_axis("op", 3, 3), Error);
  CHECK(axes_mask("op", {0, -1}, 3) == 5u);
  CHECK_THROWS_AS(axes_mask("op", {0, -3}, 3), Error);
}

TEST_CASE("reshape sizes") {
  CHECK(resolve_reshape({2, 6}, {3, -1}) == Dims{3, 4});
  CHECK(resolve_reshape({0, 3}, {0, 5}) == Dims{0, 5});
  CHECK_THROWS_AS(resolve_reshape({2, 6}, {5, -1}), Error);
  CHECK_THROWS_AS(resolve_reshape({2, 6}, {-1, -1}), Error);
}
