// How folds into places that are data go by atomics.
#pragma once
#include "runtime/device.h"

namespace wgt::graph {

/// Whether `numbers` of float32 that go to `places` are summed by accumulators, and not by sorting
/// them: each place's accumulator takes the memory of 16 numbers.
bool sums_exactly(const rt::Device& device, int64_t places, int64_t numbers);

/// As many copies of few places do lanes need so as not to wait for one another: a power of two.
int64_t copies_of(const rt::Device& device, int64_t places, int64_t numbers);

}  // namespace wgt::graph
