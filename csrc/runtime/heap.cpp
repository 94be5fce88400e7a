#include "runtime/heap.h"

#include <atomic>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace wgt::rt {

namespace {
// Giving their pages back takes some 3 ms, compiling as many a hundred times that.
constexpr size_t kDropsBetween = 32;
std::atomic<size_t> drops{0};
}  // namespace

void give_pages_back() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void dropped_kernel() {
  if ((drops.fetch_add(1, std::memory_order_relaxed) + 1) % kDropsBetween == 0) give_pages_back();
}

}  // namespace wgt::rt
