// Results as long as what a mask selects.
#include <cstring>
#include <limits>

#include "tensor/autograd.h"
#include "tensor/gather.h"

namespace wgt {

namespace {

using Wanted = std::vector<std::optional<Tensor>>;

// Of all results before it is known how long they are.
constexpr int64_t kBytesAhead = 256 << 20;

Tensor flat(const Tensor& t) {
  return reshape(t, Dims{t.size()});
}

Tensor none(const Tensor& mask, const std::optional<Tensor>& of) {
  rt::Lock lock = mask.engine().lock();
  return Tensor(mask.engine().fill(of ? of->dtype() : DType::int32, Dims{0}, 0));
}

struct Selection {
  Tensor mask, before;  // flattened; how many are before each block, and all

  int64_t read_count() const {
    int32_t count = 0;
    rt::ReadbackRef r = to_host(part_of(before, 0, before.size() - 1, 1));
    std::memcpy(&count, r->data, sizeof count);
    return count;
  }

  /// The first `count` places or elements that are selected.
  Tensor result(const std::optional<Tensor>& of, int64_t count) const {
    if (of && autograd::recording(*of))
      return take(flat(*of), result({}, count), 0, IndexMode::distinct, "compact");
    graph::NodeRef values = of ? flat(*of).node() : graph::NodeRef{};
    rt::Lock lock = mask.engine().lock();
    Tensor r(mask.engine().compact(mask.node(), before.node(), values, count));
    lock.unlock();
    return of ? astype(r, of->dtype()) : r;
  }
};

Selection selection(const Tensor& t) {
  Tensor mask = flat(astype(t, DType::bool_));
  rt::Lock lock = t.engine().lock();
  Tensor counts(t.engine().tally(mask.node()));
  lock.unlock();
  return {mask, scan("cumulative_sum", counts, 0, true)};
}

// Where a wait costs more than memory that is written for nothing.
bool works_ahead(const Tensor& mask, const Wanted& wanted) {
  int64_t bytes = 0;
  for (const auto& v : wanted) {
    if (v && autograd::recording(*v)) return false;
    bytes += mask.size() * info(v ? v->dtype() : DType::int32).size;
  }
  return bytes <= kBytesAhead && !mask.engine().device().software_kernels();
}

bool is_computed(const Tensor& t) {
  rt::Lock lock = t.engine().lock();
  t.engine().resolve(*t.node());
  return t.node()->kind == graph::NodeKind::leaf;
}

}  // namespace

std::vector<Tensor> select_true(const Tensor& t, const Wanted& wanted) {
  if (t.size() > std::numeric_limits<int32_t>::max())
    raise(ErrorKind::unsupported,
          "[nonzero] of " + std::to_string(t.size()) + " elements: their indices do not fit int32");
  std::vector<Tensor> out;
  if (t.size() == 0) {
    for (const auto& v : wanted) out.push_back(none(t, v));
    return out;
  }
  Selection s = selection(t);
  // One wait in place of two: results with room for everything, computed with their number.
  if (works_ahead(s.mask, wanted))
    for (const auto& v : wanted) out.push_back(s.result(v, t.size()));
  int64_t count = s.read_count();
  bool ahead = !out.empty();
  out.resize(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!ahead || !is_computed(out[i])) {  // there was no memory for all
      out[i] = count ? s.result(wanted[i], count) : none(t, wanted[i]);
      continue;
    }
    out[i] = part_of(out[i], 0, 0, count);
    if (count < t.size() / 2) out[i] = copy(out[i]);  // gives the room back
  }
  return out;
}

}  // namespace wgt
