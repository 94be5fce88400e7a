#include "tensor/gradient_sum.h"

#include <algorithm>

#include "tensor/autograd.h"

namespace wgt::autograd {

// Nothing where the layout goes backwards in one coordinate to go forwards in another.
std::optional<GradientSum::Box> GradientSum::box_of(const Dims& whole, const Dims& shape,
                                                    const Layout& at) {
  Box b;
  b.rank = whole.size();
  Dims dense = contiguous_strides(whole);
  int64_t first = at.offset;
  for (int d = 0; d < shape.size(); ++d)
    if (at.strides[d] < 0) first += at.strides[d] * (shape[d] - 1);
  auto coordinate = [&](int64_t element, int axis) { return element / dense[axis] % whole[axis]; };
  for (int a = 0; a < b.rank; ++a) {
    b.low[static_cast<size_t>(a)] = coordinate(first, a);
    int64_t last = coordinate(first, a);
    for (int d = 0; d < shape.size(); ++d)
      last += coordinate(std::abs(at.strides[d]), a) * (shape[d] - 1);
    if (last >= whole[a]) return std::nullopt;  // it carries over to the next row
    b.high[static_cast<size_t>(a)] = last;
  }
  return b;
}

std::optional<GradientSum::Part> GradientSum::part_of(const Tensor& t) {
  rt::Lock lock = t.engine().lock();
  const graph::Node& n = *t.node();
  bool placed = n.kind == graph::NodeKind::assign && n.pending &&
                n.inputs[0]->kind == graph::NodeKind::fill && n.inputs[0]->bits == 0;
  if (!placed) return std::nullopt;
  auto box = box_of(n.shape, n.inputs[1]->shape, n.layout);
  if (!box) return std::nullopt;
  return Part{Tensor(n.inputs[1]), n.layout, *box};
}

bool GradientSum::is_free(const Box& box) const {
  auto apart = [&](const Box& other) {
    for (size_t a = 0; a < static_cast<size_t>(box.rank); ++a)
      if (box.high[a] < other.low[a] || other.high[a] < box.low[a]) return true;
    return false;
  };
  return std::all_of(boxes_.begin(), boxes_.end(), apart);
}

void GradientSum::add(const Tensor& part) {
  bool first = !total_.node();
  if (!grad_mode && (first || !boxes_.empty())) {
    auto p = part_of(part);
    if (p && (first || is_free(p->box))) {
      boxes_.push_back(p->box);
      rt::Lock lock = part.engine().lock();
      total_ = first ? part : Tensor(part.engine().assign(total_.node(), p->value.node(), p->at));
      return;
    }
  }
  boxes_.clear();
  total_ = first ? part : elementwise(graph::OpId::add, {total_, part});
}

}  // namespace wgt::autograd
