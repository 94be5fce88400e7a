// Objects that wgpu keeps for us, counted by itself.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "runtime/native.h"
#include "tensor/gather.h"
#include "tensor/tensor.h"

using namespace wgt;
using graph::OpId;

namespace {

Scalar value(double f) {
  return Scalar{Kind::f, f, static_cast<int64_t>(f)};
}

// 20 operations of all families: elementwise, folds, products, sorts, places, assignments, reads.
void mixed(graph::Engine& e, int i) {
  Tensor x = full(e, Dims{24, 16}, value(i % 7), DType::float32);
  Tensor y = elementwise(OpId::add, {x, value(i)});
  for (int k = 0; k < 8; ++k) y = elementwise(OpId::sin, {elementwise(OpId::add, {y, x})});
  Tensor s = softmax(y, -1), m = matmul(s, permute(y, {1, 0}));
  Tensor order = argsort(reduce("sum", m, std::vector<int64_t>{1}, false), 0);
  Tensor rows = take(m, order, 0, IndexMode::raise, "take");
  to_host(index_assign(rows, {{IndexItem::integer, i % 24, 1, 0}}, value(1)));
}

std::map<std::string, size_t> counted(graph::Engine& e) {
  rt::Lock lock = e.lock();
  e.synchronize(lock);
  e.collect();
  std::map<std::string, size_t> counts;
  for (const auto& c : rt::native::object_counts()) counts[c.kind] = c.count;
  return counts;
}

}  // namespace

TEST_CASE("objects of wgpu do not grow over 10,000 operations") {
  graph::Engine& e = *graph::Engine::create(rt::choose_adapter(""), {});
  for (int i = 0; i < 50; ++i) mixed(e, i);  // pools and caches fill
  auto before = counted(e);
  CHECK(before["compute pipelines"] > 5);
  CHECK(before["buffers"] > 5);
  for (int i = 0; i < 500; ++i) mixed(e, i);
  for (const auto& [kind, count] : counted(e)) {
    CAPTURE(kind);
    CHECK(count <= before[kind]);
  }
}
