// The process's own memory, where drivers and compilers leave holes.
#pragma once
#include <cstddef>

namespace wgt::rt {

/// Gives whole free pages back to the system. Does nothing where the C library offers no way.
void give_pages_back();

/// Counts compiled kernels that were dropped, over all devices: gives pages back after some. Their
/// compilers work on threads, each of which leaves the holes in an arena of its own.
void dropped_kernel();

}  // namespace wgt::rt
