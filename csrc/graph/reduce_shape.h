// How a reduction is laid out on lanes and workgroups.
#pragma once
#include <cstdint>

#include "graph/codegen.h"

namespace wgt::graph {

struct ReduceShape {
  bool row = true;
  int tr = 256, to = 1;  // lanes along the reduced elements, outputs, per workgroup
  int ow = 1, rw = 1;    // elements of a step along outputs, along reduced elements
  int64_t outs = 0, count = 0, splits = 1, chunk = 0;
  int64_t groups() const { return (outs / ow + to - 1) / to; }  // workgroups of a split
};

/// Lanes, where the rest is known. `words`: there are packed results, which share words.
void choose_threads(ReduceShape& s, bool words, bool software);

/// All of it for a group's first kernel, from row, ow, rw, outs and count. Where choices are
/// measured, this is one.
void choose_shape(LowerContext& c, int group, ReduceShape& s, bool words);

}  // namespace wgt::graph
