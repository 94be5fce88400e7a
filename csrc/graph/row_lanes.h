// How many lanes share a row in kernels that keep rows in registers: softmax, normalization.
#pragma once
#include <cstdint>

#include "graph/codegen.h"

namespace wgt::graph {

/// A power of two of at most kRowThreads, for rows of `count` elements of which a lane takes
/// `width` at a time. Where choices are measured, this is one.
int64_t lanes_of_row(LowerContext& c, int group, int64_t rows, int64_t count, int width);

constexpr int64_t kRowThreads = 256;  // of a workgroup

}  // namespace wgt::graph
