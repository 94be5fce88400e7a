#include "graph/tuning.h"

#include <doctest/doctest.h>

#include <set>

#include "kernels/matmul.h"

using namespace wgt;
using graph::TuningTable;

namespace {

rt::Limits limits_of(uint32_t memory, uint32_t invocations) {
  rt::Limits l;
  l.max_workgroup_memory = memory;
  l.max_invocations = l.max_workgroup_x = l.max_workgroup_y = invocations;
  l.max_workgroup_z = 64;
  l.max_groups = 65535;
  return l;
}

}  // namespace

TEST_CASE("matmul candidates: the estimate's choice is the first, and all of them fit") {
  for (bool software : {false, true})
    for (const rt::Limits& limits : {limits_of(16384, 256), limits_of(49152, 1024)})
      for (DType t : {DType::float32, DType::int32, DType::float64})
        for (bool long_epilogue : {false, true})
          for (int64_t m : {1, 16, 100, 4096})
            for (int64_t k : {1, 64, 5000, 60000}) {
              kernels::MatmulProblem p{t, 1, m, 200, k, k, 1, 200, 1, true, true};
              p.long_epilogue = long_epilogue;
              const kernels::MatmulTarget target{limits, software};
              const std::vector<int> found = kernels::matmul_candidates(target, p);
              REQUIRE(!found.empty());
              CHECK(found[0] == kernels::plan_matmul(target, p).variant);
              CHECK(std::set<int>(found.begin(), found.end()).size() == found.size());
              for (int v : found) CHECK(kernels::matmul_variant_fits(limits, v, t));
              if (software && k == 60000) CHECK(found.size() == 1);
            }
}

TEST_CASE("matmul classes: neighbouring sizes share one, what changes the kernel does not") {
  auto name = [](const kernels::MatmulProblem& p) {
    return kernels::matmul_class(p, graph::size_step);
  };
  const kernels::MatmulProblem p{DType::float32, 1, 512, 512, 512, 512, 1, 512, 1, true, true};
  kernels::MatmulProblem q = p;
  q.m = 500;
  q.k = 600;
  CHECK(name(q) == name(p));
  q.m = 300;
  CHECK(name(q) != name(p));
  for (auto change : {+[](kernels::MatmulProblem& r) { r.dtype = DType::int32; },
                      +[](kernels::MatmulProblem& r) { r.batch = 64; },
                      +[](kernels::MatmulProblem& r) { r.long_epilogue = true; },
                      +[](kernels::MatmulProblem& r) { r.pieces = true; },
                      +[](kernels::MatmulProblem& r) { r.a_aligned = false; },
                      +[](kernels::MatmulProblem& r) { std::swap(r.b_rs, r.b_cs); },
                      +[](kernels::MatmulProblem& r) {
                        r.b_columns = kernels::MatmulWalk{8, true};
                      }}) {
    q = p;
    change(q);
    CHECK(name(q) != name(p));
  }
}

TEST_CASE("size steps: the nearest power of two, up to the largest") {
  CHECK(graph::size_step(0, 9) == 0);
  CHECK(graph::size_step(1, 9) == 0);
  CHECK(graph::size_step(5, 9) == 2);
  CHECK(graph::size_step(6, 9) == 3);
  CHECK(graph::size_step(512, 9) == 9);
  CHECK(graph::size_step(int64_t{1} << 40, 9) == 9);
}

TEST_CASE("tuning table: the first choice stays, news are told once") {
  TuningTable table("here");
  CHECK(!table.loaded());
  table.load({{"a", "one"}});
  table.load({{"b", "one"}});  // too late
  CHECK(table.loaded());
  CHECK(table.find("a") == "one");
  CHECK(!table.find("b"));
  using Origin = TuningTable::Origin;
  CHECK(table.settle("a", {"two", Origin::measured, {}}) == "one");
  CHECK(table.settle("b", {"two", Origin::measured, {{"two", 1.0}}}) == "two");
  CHECK(table.settle("c", {"three", Origin::estimate, {}}) == "three");
  table.report("odd");
  const TuningTable::News news = table.take_news();
  CHECK(news.measured.size() == 1);
  CHECK(news.measured.count("b") == 1);
  CHECK(news.reports.size() == 1);
  CHECK(table.take_news().measured.empty());
  table.forget();
  CHECK(!table.loaded());
  CHECK(table.choices().empty());
}
