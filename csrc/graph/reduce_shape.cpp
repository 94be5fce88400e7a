#include "graph/reduce_shape.h"

#include <algorithm>

#include "graph/tuning.h"

namespace wgt::graph {

namespace {

int power_of_two(int64_t least, int64_t most) {
  int64_t n = 1;
  while (n < least && n < most) n *= 2;
  return static_cast<int>(n);
}

// Packed results share words.
void share_words(ReduceShape& s, bool words) {
  if (!words || s.outs <= 1 || s.to >= 4) return;
  s.to = 4;
  s.tr = std::min(s.tr, 64);
}

// At most so many steps does a lane take: 64 blocks of 64 turns of 4 keep sums exact as a tree's
// are. (llvmpipe ends every loop of an invocation after 65,535 turns in all.)
constexpr int64_t kMostSteps = 64 * 64 * 4;
// Columns: as many elements, but 64 rows or more, does a software driver's processor keep at hand.
constexpr int64_t kAtHand = 16384;

// Enough workgroups to fill the device, each with work worth its start.
void split(ReduceShape& s, bool software, int64_t target) {
  const int64_t least = software ? 65536 : 8192;
  int64_t work = s.count * s.to * s.ow;
  // Half of the workgroups wanted, which leave nothing to each other, are as good; so are fewer
  // columns.
  const int64_t most_splits = s.row ? 1024 : 512;
  s.splits = std::clamp<int64_t>(std::min(target / std::max<int64_t>(s.groups(), 1), work / least),
                                 1, most_splits);
  if (!software && s.splits < 4) s.splits = 1;
  int64_t most = kMostSteps * s.tr * s.rw;
  if (software && !s.row)
    most = std::min(most, std::max({kAtHand / s.outs, int64_t{64}, s.count / 4096}));
  s.splits = std::max(s.splits, (s.count + most - 1) / most);
  int64_t unit = s.rw;
  s.chunk = ((s.count + s.splits - 1) / s.splits + unit - 1) / unit * unit;
  s.splits = (s.count + s.chunk - 1) / s.chunk;
}

int64_t usual_target(bool software) {
  return software ? 8 : 2048;
}

/// The shape with so many lanes along the reduced elements, and so many workgroups wanted; 0: as
/// usual.
ReduceShape variant(ReduceShape s, bool words, bool software, int lanes, int64_t target) {
  choose_threads(s, words, software);
  if (lanes) {
    const int threads = s.tr * s.to;
    s.tr = lanes;
    s.to = std::max(threads / lanes, 1);
    share_words(s, words);
  }
  split(s, software, target ? target : usual_target(software));
  return s;
}

}  // namespace

// Few distinct numbers of lanes, as each is a kernel of its own. A software driver runs eight lanes
// at a time, and those to the next barrier before others: what they read should be side by side.
void choose_threads(ReduceShape& s, bool words, bool software) {
  int64_t units = s.outs / s.ow;
  if (s.row) {
    int64_t steps = s.count / s.rw / 2;  // two or more for each lane
    s.tr = steps >= 256 ? 256 : steps >= 64 ? 64 : steps >= 16 ? 16 : steps >= 4 ? 4 : 1;
    if (software) s.tr = std::min(s.tr, 8);
    s.to = software ? power_of_two(s.outs, 256 / s.tr) : 256 / s.tr;
  } else {
    s.to = units >= 32768 || s.count < 16 ? 256 : power_of_two(units, software ? 256 : 32);
    s.tr = software ? std::max(8 / s.to, 1) : 256 / s.to;
  }
  share_words(s, words);
}

void choose_shape(LowerContext& c, int group, ReduceShape& s, bool words) {
  const bool software = c.device.software_kernels();
  const ReduceShape usual = variant(s, words, software, 0, 0);
  if ((!c.tuning.table && c.forced < 0) || c.windowed(group)) {
    s = usual;
    return;
  }
  std::vector<ReduceShape> shapes;
  Question q;
  auto add = [&](const ReduceShape& shape, const std::string& name) {
    for (const ReduceShape& other : shapes)
      if (other.tr == shape.tr && other.to == shape.to && other.splits == shape.splits) return;
    q.candidates.push_back({static_cast<int>(shapes.size()), name});
    shapes.push_back(shape);
  };
  add(usual, "usual");
  for (int lanes : {256, 64, 16, 4, 1})
    if (lanes * s.rw <= s.count)
      add(variant(s, words, software, lanes, 0), std::to_string(lanes) + " lanes");
  for (int64_t target : {8, 128, 512, 2048, 8192})
    add(variant(s, words, software, 0, target), std::to_string(target) + " groups");
  const Node& n = *c.g.node_of(c.fusion.groups[static_cast<size_t>(group)].anchor);
  constexpr int kMost = 24;
  q.family = std::string("reduce ") + reduce_name(n.reduce);
  q.shape_class = std::string(info(n.inputs[0]->dtype).name) + (s.row ? " rows" : " columns") +
                  " to" + std::to_string(size_step(s.outs, kMost)) + " of" +
                  std::to_string(size_step(s.count, kMost)) + " by" +
                  std::to_string(std::max(s.ow, s.rw)) + (words ? " packed" : "");
  s = shapes[static_cast<size_t>(choose(c, group, q))];
}

}  // namespace wgt::graph
