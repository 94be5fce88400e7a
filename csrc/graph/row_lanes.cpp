#include "graph/row_lanes.h"

#include "graph/tuning.h"

namespace wgt::graph {

int64_t lanes_of_row(LowerContext& c, int group, int64_t rows, int64_t count, int width) {
  const int64_t usual = count > 1024 ? 256 : count > 32 ? 32 : 8;
  if ((!c.tuning.table && c.forced < 0) || c.windowed(group)) return usual;
  const Node& n = *c.g.node_of(c.fusion.groups[static_cast<size_t>(group)].anchor);
  constexpr int kMostRows = 14, kLongest = 14;  // beyond them the order is the same
  Question q{name_of(n),
             std::string(info(n.dtype).name) + " rows" +
                 std::to_string(size_step(rows, kMostRows)) + " of" +
                 std::to_string(size_step(count, kLongest)) + " by" + std::to_string(width) +
                 (n.arity > 1 ? " gradient" : "") + (n.logarithm ? " log" : ""),
             {}};
  auto add = [&](int64_t lanes) {
    q.candidates.push_back({static_cast<int>(lanes), std::to_string(lanes) + " lanes"});
  };
  add(usual);
  for (int64_t lanes = 8; lanes <= kRowThreads; lanes *= 2)
    if (lanes != usual && lanes * width < 2 * count) add(lanes);
  return choose(c, group, q);
}

}  // namespace wgt::graph
