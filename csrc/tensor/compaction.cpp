// Results as long as what a mask selects.
#include <cstring>
#include <limits>

#include "tensor/autograd.h"
#include "tensor/gather.h"

namespace wgt {

namespace {

Tensor flat(const Tensor& t) {
  return reshape(t, Dims{t.size()});
}

Tensor none(const Tensor& t, DType dtype) {
  rt::Lock lock = t.engine().lock();
  return Tensor(t.engine().fill(dtype, Dims{0}, 0));
}

int64_t read_count(const Tensor& counts) {
  int32_t count = 0;
  rt::ReadbackRef r = to_host(part_of(counts, 0, counts.size() - 1, 1));
  std::memcpy(&count, r->data, sizeof count);
  return count;
}

Tensor compacted(const Selection& s, const graph::NodeRef& values) {
  rt::Lock lock = s.mask.engine().lock();
  return Tensor(s.mask.engine().compact(s.mask.node(), s.before.node(), values, s.count));
}

}  // namespace

Selection select_true(const Tensor& t) {
  if (t.size() > std::numeric_limits<int32_t>::max())
    raise(ErrorKind::unsupported,
          "[nonzero] of " + std::to_string(t.size()) + " elements: their indices do not fit int32");
  Selection s{flat(astype(t, DType::bool_)), none(t, DType::int32), 0};
  if (t.size() == 0) return s;
  rt::Lock lock = t.engine().lock();
  Tensor counts(t.engine().tally(s.mask.node()));
  lock.unlock();
  s.before = scan("cumulative_sum", counts, 0, true);
  s.count = read_count(s.before);
  return s;
}

Tensor places(const Selection& s) {
  return s.count ? compacted(s, {}) : none(s.mask, DType::int32);
}

Tensor elements(const Selection& s, const Tensor& t) {
  if (s.count && autograd::recording(t))
    return take(flat(t), places(s), 0, IndexMode::trusted, "compact");
  return s.count ? astype(compacted(s, flat(t).node()), t.dtype()) : none(t, t.dtype());
}

}  // namespace wgt
