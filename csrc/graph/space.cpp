// Index spaces: what a kernel reads and writes where, dimensions merged, vectors, parts.
#include <algorithm>
#include <cstdlib>

#include "graph/codegen.h"

namespace wgt::graph {

const Placement* SpaceCode::inline_placement(int value, const Layout& layout) const {
  if (k_.g.is_leaf(value)) return nullptr;
  for (const Placement& p : k_.fusion.placements[static_cast<size_t>(value)])
    if (p.group == k_.group_id && p.space == space_ && p.layout == layout) return &p;
  return nullptr;
}

void SpaceCode::collect(int value, const Layout& layout) {
  if (!collected_) {
    full_ = shape_;
    collected_ = true;
  }
  for (const auto& d : defined_)
    if (d.first.first == value && d.first.second == layout) return;
  const bool leaf = k_.g.is_leaf(value);
  const Node& n = *k_.g.node_of(value);
  if (!leaf && n.kind == NodeKind::map && inline_placement(value, layout)) {
    for (const auto& v : visited_)
      if (v.first == value && v.second == layout) return;
    visited_.push_back({value, layout});
    const FlushNode& f = k_.g.nodes[static_cast<size_t>(value)];
    for (size_t i = 0; i < f.operands.size(); ++i) {
      const Operand& o = f.operands[i];
      auto l = compose(full_, layout, n.shape, o.layout);
      if (!l) internal_error("fused through a view that does not compose");
      if (n.op == OpId::gather && i == 0)
        collect_gathered(n, o.value, *l, *compose(full_, layout, n.shape, f.operands[1].layout));
      else if (is_check(n.op) && i == 1)
        checks_ = true;
      else
        collect(o.value, *l);
    }
    return;
  }
  if (n.kind == NodeKind::fill && !leaf) return;
  for (size_t i = 0; i < accesses_.size(); ++i)
    if (accesses_[i].value == value && accesses_[i].is_plain_read() && originals_[i] == layout)
      return;
  accesses_.push_back({value, layout, false});
  originals_.push_back(layout);
}

void SpaceCode::add_write(int value, const Layout& layout) {
  if (!collected_) {
    full_ = shape_;
    collected_ = true;
  }
  accesses_.push_back({value, layout, true});
  originals_.push_back(layout);
}

void SpaceCode::add_scatter(int value, const Layout& layout, int64_t last) {
  add_write(value, layout);
  accesses_.back().span = Reach{0, last};
}

void SpaceCode::collapse(const std::vector<std::string>& vars, const std::vector<int>& bounds) {
  Dims shape;
  std::vector<Dims> strides(accesses_.size());
  axes_.clear();
  for (size_t a = 0; a < vars.size(); ++a) {
    Axis axis{vars[a], shape.size(), 0};
    for (int d = bounds[a]; d < bounds[a + 1]; ++d) {
      if (full_[d] == 1) continue;
      bool merge = axis.count > 0;
      for (size_t i = 0; merge && i < accesses_.size(); ++i)
        merge = strides[i].back() == originals_[i].strides[d] * full_[d];
      if (merge) {
        shape.back() *= full_[d];
        for (size_t i = 0; i < accesses_.size(); ++i) strides[i].back() = originals_[i].strides[d];
      } else {
        shape.push_back(full_[d]);
        for (size_t i = 0; i < accesses_.size(); ++i)
          strides[i].push_back(originals_[i].strides[d]);
        ++axis.count;
      }
    }
    axes_.push_back(axis);
  }
  shape_ = shape;
  for (size_t i = 0; i < accesses_.size(); ++i) accesses_[i].layout.strides = strides[i];
}

void SpaceCode::split_inner(const std::string& outer, const std::string& inner) {
  int n = axes_.at(0).count;
  axes_ = {{outer, 0, n - 1}, {inner, n - 1, 1}};
}

bool SpaceCode::is_computed(const Access& a) const {
  NodeKind kind = k_.g.node_of(a.value)->kind;
  return (kind == NodeKind::iota || kind == NodeKind::random) && !k_.g.is_leaf(a.value) && !a.write;
}

Dims SpaceCode::sizes(int axis) const {
  const Axis& a = axes_[static_cast<size_t>(axis)];
  Dims out;
  for (int d = a.first; d < a.first + a.count; ++d) out.push_back(shape_[d]);
  return out;
}

Reach SpaceCode::reach(const Access& a, const Part& part) const {
  Reach out{a.layout.offset, a.layout.offset};
  for (size_t i = 0; i < axes_.size(); ++i) {
    Dims strides;
    for (int d = axes_[i].first; d < axes_[i].first + axes_[i].count; ++d)
      strides.push_back(a.layout.strides[d]);
    out.add(reach_of(sizes(static_cast<int>(i)), strides, part[i]));
  }
  if (!a.span) return out;
  out.add(*a.span);
  if (a.write) {  // into a dense result, from whose front data moves it back
    out.first = std::max<int64_t>(out.first, 0);
    out.last = std::min(out.last, numel(k_.g.node_of(a.value)->shape) - 1);
  }
  return out;
}

int64_t SpaceCode::widest(const Part& part) const {
  int64_t most = 0;
  for (const Access& a : accesses_)
    if (!is_computed(a) && !a.span)  // what data moves is cut by itself: see slices()
      most = std::max(most, reach(a, part).count() * info(k_.dtype_of(a.value)).size);
  return most;
}

int64_t SpaceCode::extent(int axis) const {
  if (!part_.empty()) return part_[static_cast<size_t>(axis)].size();
  int64_t n = 1;
  const Axis& a = axes_[static_cast<size_t>(axis)];
  for (int d = a.first; d < a.first + a.count; ++d) n *= shape_[d];
  return n;
}

int SpaceCode::lane_dim(int axis) const {
  const Axis& a = axes_[static_cast<size_t>(axis)];
  return a.count ? a.first + a.count - 1 : -1;
}

// Whether every position of a step of 4 along `lane` starts on a multiple of 4 elements.
bool SpaceCode::aligned(const Access& a, int lane) const {
  int64_t offset = a.layout.offset;
  if (k_.g.is_leaf(a.value)) offset += k_.g.leaf(a.value)->layout.offset;
  if (offset % 4 != 0) return false;
  for (int d = 0; d < shape_.size(); ++d)
    if (d != lane && a.layout.strides[d] % 4 != 0) return false;
  return true;
}

bool SpaceCode::can_vectorize(int axis, bool overrun, bool gather) const {
  int lane = lane_dim(axis);
  if (lane < 0) return false;
  bool whole = shape_[lane] % 4 == 0;
  if (!whole && !(overrun && shape_.size() == 1)) return false;
  for (const Access& a : accesses_) {
    if (a.write && a.span) return false;
    if (is_computed(a) || a.span) continue;
    int64_t s = a.layout.strides[lane];
    if (s == 0 && !a.write) continue;
    if (s == 1 && aligned(a, lane)) continue;
    if (a.write || !gather || !whole) return false;
  }
  return true;
}

std::optional<std::vector<std::pair<int, Layout>>> SpaceCode::dense_reads() const {
  std::vector<std::pair<int, Layout>> out;
  if (shape_.size() != 1) return std::nullopt;
  for (size_t i = 0; i < accesses_.size(); ++i) {
    const Access& a = accesses_[i];
    const DType t = k_.g.node_of(a.value)->dtype;
    if (a.span || is_computed(a)) return std::nullopt;
    if (a.layout.strides[0] == 0 && !a.write) continue;
    const bool leaf = k_.g.is_leaf(a.value);
    if (info(t).size != 4 || a.layout.strides[0] != 1 || a.layout.offset != 0 ||
        (leaf && k_.g.leaf(a.value)->layout.offset != 0))
      return std::nullopt;
    if (!a.write) out.push_back({a.value, originals_[i]});
  }
  return out;
}

void SpaceCode::set_width(int width, int lane_axis) {
  width_ = width;
  lane_axis_ = lane_axis;
  for (const Access& a : accesses_) {
    int lane = lane_dim(lane_axis_);
    if (is_computed(a) || (a.span && !moves_fours(a, lane))) continue;
    bool vec = width == 4 && lane >= 0 && a.layout.strides[lane] == 1 && aligned(a, lane);
    k_.want_vec4(a.value, vec);
  }
}

bool SpaceCode::same_place(int value, int output) const {
  const Access *read = nullptr, *write = nullptr;
  for (const Access& a : accesses_) {
    if (a.write && a.value == output) write = &a;
    if (a.write) continue;
    bool alias = a.value == value;
    if (k_.g.is_leaf(value) && k_.g.is_leaf(a.value)) {
      size_t first = k_.g.nodes.size();
      alias = k_.g.leaf_buffer[static_cast<size_t>(value) - first] ==
              k_.g.leaf_buffer[static_cast<size_t>(a.value) - first];
    }
    if (!alias) continue;
    if (read || a.span) return false;
    read = &a;
  }
  if (!read || !write || read->value != value || !(read->layout == write->layout)) return false;
  return !k_.g.is_leaf(value) || k_.g.leaf(value)->layout.offset == 0;
}

bool SpaceCode::reads(int value) const {
  return std::any_of(accesses_.begin(), accesses_.end(),
                     [&](const Access& a) { return !a.write && a.value == value; });
}

int64_t SpaceCode::unit_strides(int axis) const {
  int lane = lane_dim(axis);
  if (lane < 0) return 0;
  int64_t total = 0;
  for (const Access& a : accesses_) {
    if (a.write || a.layout.strides[lane] != 1) continue;
    int64_t elements = 1;
    for (int d = 0; d < shape_.size(); ++d)
      if (a.layout.strides[d] != 0) elements *= shape_[d];
    total += elements;
  }
  return total;
}

}  // namespace wgt::graph
