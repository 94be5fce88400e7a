// How long kernels take, roughly: so that no dispatch and no submission runs for longer than what
// drivers stand, and users.
#pragma once
#include "graph/fusion.h"
#include "graph/plan.h"

namespace wgt::graph {

/// Estimated seconds that the group takes. Right within an order of magnitude at the slowest of
/// its kind of adapter.
double seconds_of(const FlushGraph& g, const Group& group, const rt::Device& device);

/// Seconds of estimated work that one dispatch, or one submission, may have: a setting.
double most_seconds();
/// Whether kernels of the group can be cut by their time. Sorts, scans, searches and sums at places
/// that are data are several kernels of a pass over the data each, and stay as they are.
bool can_be_cut(const FlushGraph& g, const Group& group);

}  // namespace wgt::graph
