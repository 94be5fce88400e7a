#include "runtime/adapter.h"

#include <doctest/doctest.h>

using namespace wgt::rt;

namespace {
int units(const char* name, const char* type, uint32_t vendor) {
  AdapterInfo a;
  a.name = name;
  a.type = type;
  a.vendor_id = vendor;
  return compute_units(a);
}
}  // namespace

TEST_CASE("compute units: names of Apple's cards count for these alone") {
  constexpr uint32_t kApple = 0x106b, kAmd = 0x1002, kNvidia = 0x10de;
  CHECK(units("Apple M2 Max", "integrated", kApple) == 32);
  CHECK(units("Apple M1 Ultra", "integrated", 0) == 64);
  CHECK(units("Apple M4", "integrated", kApple) == 16);
  const int unknown = units("A card", "discrete", kAmd);
  CHECK(units("AMD Radeon Pro W7900", "discrete", kAmd) == unknown);
  CHECK(units("Quadro RTX Max-Q", "discrete", kNvidia) == unknown);
  CHECK(units("NVIDIA H100 PCIe", "discrete", kNvidia) == 114);
}
