#include "graph/plan.h"

#include <algorithm>

#include "base/hash.h"
#include "base/settings.h"
#include "graph/codegen.h"
#include "graph/fusion.h"
#include "graph/work.h"

namespace wgt::graph {

namespace {

void check_sizes(const FlushGraph& g, const rt::Device& device, const Step& step) {
  uint64_t limit = device.limits().max_binding;
  auto check = [&](uint64_t bytes, const char* what) {
    if (bytes > limit)
      raise(ErrorKind::unsupported, "[" + step.what + "] " + what + " of " + std::to_string(bytes) +
                                        " bytes is above this adapter's largest binding (" +
                                        std::to_string(limit) + " bytes): split the tensor");
  };
  for (const StepOutput& o : step.outputs) check(o.bytes, "a result");
  for (int v : step.buffers)
    if (v < static_cast<int>(g.nodes.size() + g.leaves.size()) && g.is_leaf(v))
      check(g.leaf(v)->buffer->bytes, "an operand");
}

// Which values nothing reads after each group: their buffers are free for reuse or for taking over;
// or, where `shared`, those that other views share, which are free when the last of them is.
std::vector<std::vector<int>> find_dying(const FlushGraph& g, const Fusion& f, bool shared) {
  size_t nodes = g.nodes.size(), values = nodes + g.leaves.size();
  std::vector<int> last(values, -1);
  for (size_t i = 0; i < f.groups.size(); ++i)
    for (int v : f.groups[i].externals) last[static_cast<size_t>(v)] = static_cast<int>(i);
  // A held node that stays lazy keeps what computing it later will read.
  std::vector<bool> kept(values, false);
  for (size_t id = nodes; id-- > 0;) {
    if (f.materialized[id] || !(kept[id] || g.nodes[id].held)) continue;
    for (const Operand& o : g.nodes[id].operands) kept[static_cast<size_t>(o.value)] = true;
  }
  std::vector<std::vector<int>> dying(f.groups.size());
  for (size_t v = 0; v < values; ++v) {
    if (last[v] < 0 || kept[v]) continue;
    bool dies = v >= nodes ? (shared ? g.leaf_frees : g.leaf_dies)[v - nodes]
                           : !shared && !g.nodes[v].held && !g.nodes[v].root;
    if (dies) dying[static_cast<size_t>(last[v])].push_back(static_cast<int>(v));
  }
  return dying;
}

// Plans one group and checks what came of it.
void lower(LowerContext& c, int gi) {
  const Group& group = c.fusion.groups[static_cast<size_t>(gi)];
  std::vector<Step>& steps = c.plan.steps;
  size_t first = steps.size();
  lower_group(c, gi);
  for (int v : c.dying[static_cast<size_t>(gi)]) steps.back().dies.push_back(v);
  for (int v : c.freed[static_cast<size_t>(gi)]) steps.back().dies.push_back(v);
  double seconds = seconds_of(c.g, group, c.device) / static_cast<double>(steps.size() - first);
  for (size_t s = first; s < steps.size(); ++s) {
    steps[s].group = gi;
    steps[s].seconds = seconds;
    if (steps[s].kernel && steps[s].windows.empty()) check_sizes(c.g, c.device, steps[s]);
    steps[s].what +=
        " (" + std::to_string(group.ops) + (group.ops == 1 ? " operation)" : " operations)");
  }
}

}  // namespace

void lower_group(LowerContext& c, int gi) {
  const Group& group = c.fusion.groups[static_cast<size_t>(gi)];
  NodeKind kind = group.anchor < 0 ? NodeKind::map : c.g.node_of(group.anchor)->kind;
  switch (kind) {
    case NodeKind::reduce:
      lower_reduce(c, gi);
      break;
    case NodeKind::softmax:
      lower_softmax(c, gi);
      break;
    case NodeKind::normalize:
      lower_normalize(c, gi);
      break;
    case NodeKind::scan:
      lower_scan(c, gi);
      break;
    case NodeKind::sort:
      lower_sort(c, gi);
      break;
    case NodeKind::segments:
      c.g.node_of(group.anchor)->any_order ? lower_exact_sums(c, gi) : lower_segments(c, gi);
      break;
    case NodeKind::tally:
    case NodeKind::compact:
      lower_compact(c, gi);
      break;
    case NodeKind::search:
      lower_search(c, gi);
      break;
    case NodeKind::matmul:
      lower_matmul(c, gi);
      break;
    default:
      lower_map(c, gi);
  }
}

void verify_plan(const FlushGraph& g, const Plan& plan) {
  std::vector<int> state(static_cast<size_t>(plan.values), 0);  // 0 unwritten, 1 live, 2 dead
  for (size_t v = g.nodes.size(); v < g.nodes.size() + g.leaves.size(); ++v) state[v] = 1;
  for (const Step& s : plan.steps) {
    auto is_output = [&](int v) {
      return std::any_of(s.outputs.begin(), s.outputs.end(),
                         [&](const StepOutput& o) { return o.value == v; });
    };
    for (int v : s.buffers)
      if (state[static_cast<size_t>(v)] != 1 && !is_output(v))
        internal_error("[" + s.what + "] reads a dead value");
    for (const StepOutput& o : s.outputs) {
      if (state[static_cast<size_t>(o.value)] == 1)
        internal_error("[" + s.what + "] writes a value twice");
      if (o.in_place >= 0) {
        if (state[static_cast<size_t>(o.in_place)] != 1)
          internal_error("[" + s.what + "] takes over a dead buffer");
        state[static_cast<size_t>(o.in_place)] = 2;
      }
      state[static_cast<size_t>(o.value)] = 1;
      if (o.workspace && std::find(s.dies.begin(), s.dies.end(), o.value) == s.dies.end())
        internal_error("[" + s.what + "] keeps a workspace");
    }
    for (int v : s.dies) state[static_cast<size_t>(v)] = 2;
  }
}

// Deeper expressions strain the shader compilers and the stack.
constexpr int kMostOperations = 256;
constexpr int kTemplateWords = 96;  // sizes of dimensions, and what the templates themselves take

namespace {
std::shared_ptr<Plan> plan_with(const FlushGraph& g, rt::Device& device, Tuning tuning,
                                int max_ops) {
  FusionLimits limits{max_ops,
                      std::min(static_cast<int>(device.limits().max_storage_buffers), kMaxBuffers),
                      static_cast<int>(rt::kMaxParamBytes / 4) - kTemplateWords};
  Fusion f = fuse(g, limits);
  auto plan = std::make_shared<Plan>();
  plan->values = static_cast<int>(g.nodes.size() + g.leaves.size());
  plan->computed = f.materialized;
  plan->notes = f.notes;
  LowerContext c{g, f, device, *plan, find_dying(g, f, false), find_dying(g, f, true), tuning};
  for (size_t i = 0; i < f.groups.size(); ++i) {
    plan->results.push_back(f.groups[i].outputs);
    try {
      lower(c, static_cast<int>(i));
    } catch (const Error& error) {
      std::string text = error.what();
      if (text.starts_with("[")) throw PlanError(error, f.groups[i].outputs);
      const Group& group = f.groups[i];
      const char* name =
          name_of(*g.node_of(group.anchor >= 0 ? group.anchor : group.outputs.front()));
      throw PlanError(Error(error.kind, std::string("[") + name + "] " + text),
                      f.groups[i].outputs);
    }
  }
  if (settings().debug) verify_plan(g, *plan);
  return plan;
}
}  // namespace

std::shared_ptr<Plan> make_plan(const FlushGraph& g, rt::Device& device, Tuning tuning) {
  int max_ops = std::clamp(settings().max_fusion, 1, kMostOperations);
  try {
    return plan_with(g, device, tuning, max_ops);
  } catch (const PlanError& error) {
    // Parts of large buffers that do not fit into one kernel's bindings may, one operation each.
    if (error.kind != ErrorKind::unsupported || max_ops == 1) throw;
    return plan_with(g, device, tuning, 1);
  }
}

std::shared_ptr<Plan> PlanCache::find(const std::vector<uint64_t>& key) {
  auto range = index_.equal_range(hash_words(key.data(), key.size()));
  for (auto it = range.first; it != range.second; ++it)
    if (it->second->key == key) {
      order_.splice(order_.begin(), order_, it->second);
      return it->second->plan;
    }
  return nullptr;
}

void PlanCache::insert(std::vector<uint64_t> key, std::shared_ptr<Plan> plan, size_t capacity) {
  uint64_t h = hash_words(key.data(), key.size());
  order_.push_front({std::move(key), h, std::move(plan)});
  index_.emplace(h, order_.begin());
  trim(capacity);
}

void PlanCache::trim(size_t capacity) {
  while (order_.size() > std::max<size_t>(capacity, 1)) {
    auto last = std::prev(order_.end());
    auto range = index_.equal_range(last->hash);
    for (auto it = range.first; it != range.second; ++it)
      if (it->second == last) {
        index_.erase(it);
        break;
      }
    order_.pop_back();
  }
}

void PlanCache::clear() {
  order_.clear();
  index_.clear();
}

}  // namespace wgt::graph
