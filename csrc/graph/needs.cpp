// What running a plan needs at once: so that it can be had before anything is overwritten.
#include <algorithm>
#include <map>
#include <set>

#include "graph/plan.h"

namespace wgt::graph {

namespace {

struct Count {
  int now = 0, most = 0;
};

// As run_step() takes buffers and lets them go.
std::vector<rt::Device::Need> count(const FlushGraph& g, const Plan& plan,
                                    const rt::Device& device) {
  std::vector<uint64_t> own(static_cast<size_t>(plan.values), 0);  // size of the value's buffer
  for (size_t i = 0; i < g.leaves.size(); ++i)
    if (g.leaf_dies[i] || g.leaf_frees[i]) own[g.nodes.size() + i] = g.leaves[i]->buffer->bytes;
  std::map<uint64_t, Count> classes;
  std::set<uint64_t> workspaces;  // one after the other
  for (const Step& step : plan.steps) {
    for (const StepOutput& o : step.outputs) {
      if (o.workspace) {
        workspaces.insert(device.size_class(o.bytes));
        continue;
      }
      uint64_t& size = own[static_cast<size_t>(o.value)];
      if (o.in_place >= 0) {
        size = std::exchange(own[static_cast<size_t>(o.in_place)], 0);
        continue;
      }
      size = device.size_class(o.bytes);
      Count& c = classes[size];
      c.most = std::max(c.most, ++c.now);
    }
    for (int v : step.dies)
      if (uint64_t size = std::exchange(own[static_cast<size_t>(v)], 0)) --classes[size].now;
  }
  std::vector<rt::Device::Need> needs;
  for (const auto& [size, c] : classes)
    if (c.most > 0) needs.push_back({size, static_cast<size_t>(c.most)});
  for (uint64_t size : workspaces) needs.push_back({size, 1, true});
  return needs;
}

}  // namespace

const std::vector<rt::Device::Need>& needs_of(const FlushGraph& g, Plan& plan,
                                              const rt::Device& device) {
  if (!plan.needs) plan.needs = count(g, plan, device);
  return *plan.needs;
}

}  // namespace wgt::graph
