#include <doctest/doctest.h>

#include "base/accepted.h"
#include "base/environment.h"

using namespace wgt;

TEST_CASE("accepted values: words, prefixes and ranges") {
  CHECK(accepted("", "anything"));
  CHECK(accepted("|on", ""));
  CHECK(!accepted("|on", "off"));
  CHECK(accepted("0|1024..", "0"));
  CHECK(!accepted("0|1024..", "1023"));
  CHECK(accepted("0|1024..", "2147483647"));
  CHECK(!accepted("0|1024..", "2147483648"));
  CHECK(!accepted("0..4", "+1"));
  CHECK(!accepted("0..4", "99999999999999999999"));
  CHECK(accepted("x|matmul:*", "matmul:name"));
  CHECK(!accepted("x|matmul:*", "matmul"));
  CHECK(accepted_words("0|1024..") == "a whole number: 0, or 1024 to 2147483647");
  CHECK(accepted_words("1..256") == "a whole number: 1 to 256");
  CHECK(accepted_words("|a") == "'a' or nothing");
  CHECK(accepted_words("a|b|c:*") == "'a', 'b', or 'c:NAME'");
}

TEST_CASE("closest names") {
  CHECK(closest("FLUSH_NODE", {"MAX_PLANS", "FLUSH_NODES"}) == "FLUSH_NODES");
  CHECK(closest("COLOUR", {"MAX_PLANS", "FLUSH_NODES"}).empty());
}
