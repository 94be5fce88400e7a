// Copies of host memory, with several threads where one does not fill the memory bus.
#pragma once
#include <cstdint>

namespace wgt::rt {

/// memcpy. `threads` 0: as many as pay off for this size.
void host_copy(void* dst, const void* src, uint64_t bytes, unsigned threads = 0);

}  // namespace wgt::rt
