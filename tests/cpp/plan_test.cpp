// The check of plans that debug mode makes: it must see what it is for.
#include "graph/plan.h"

#include <doctest/doctest.h>

using namespace wgt;
using namespace wgt::graph;

namespace {

// Values: nodes 0 and 1, leaf 2, scratch 3.
struct Fixture {
  FlushGraph g;
  Plan plan;
  Fixture() {
    g.nodes.resize(2);
    g.leaves.resize(1);
    plan.values = 4;
  }
  Step& step(std::vector<int> reads, int writes, int in_place = -1) {
    Step s;
    s.what = "test";
    s.buffers = std::move(reads);
    s.outputs = {{writes, 16, in_place}};
    plan.steps.push_back(std::move(s));
    return plan.steps.back();
  }
  std::string complaint() const {
    try {
      verify_plan(g, plan);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
};

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a plan that is right") {
  Fixture f;
  f.step({2}, 3);
  f.step({3, 2}, 0).dies = {3};
  f.step({2, 1}, 1, 2);  // bound as an output, takes over the leaf
  CHECK(f.complaint().empty());
}

TEST_CASE("plans that are wrong") {
  Fixture f;
  SUBCASE("reads what nobody wrote") {
    f.step({3}, 0);
    CHECK(has(f.complaint(), "reads a dead value"));
  }
  SUBCASE("reads what has died") {
    f.step({2}, 0).dies = {2};
    f.step({2}, 1);
    CHECK(has(f.complaint(), "reads a dead value"));
  }
  SUBCASE("writes twice") {
    f.step({2}, 0);
    f.step({2}, 0);
    CHECK(has(f.complaint(), "writes a value twice"));
  }
  SUBCASE("takes over what has died") {
    f.step({2}, 3).dies = {2};
    f.step({3}, 0, 2);
    CHECK(has(f.complaint(), "takes over a dead buffer"));
  }
  SUBCASE("reads what another has taken over") {
    f.step({}, 0, 2);
    f.step({2}, 1);
    CHECK(has(f.complaint(), "reads a dead value"));
  }
}
