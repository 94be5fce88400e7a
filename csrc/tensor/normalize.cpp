#include "tensor/normalize.h"

#include "tensor/autograd.h"
#include "tensor/gradient_values.h"

namespace wgt {

using autograd::Context;
using autograd::Gradients;
using rules::Value;

namespace {

Value mean(const Value& v) {
  return reduce("mean", v.tensor(), std::vector<int64_t>{-1}, true);
}

// Half a binding: what is fused with it may have wider items.
bool one_kernel(const Tensor& x) {
  auto limit = static_cast<int64_t>(x.engine().device().limits().max_binding);
  return x.size() * info(x.dtype()).size <= limit / 2;
}

struct Parts {
  Value centred, scale;
};
Parts composed(const Tensor& x, bool centred, double eps) {
  Value d = centred ? Value(x) - mean(x) : Value(x);
  return {d, rules::rsqrt(mean(d * d) + Value(eps))};
}

// (g - mean(g) - y mean(g y)) / deviation, without `centred` (g - y mean(g y)) / size.
Tensor gradient(const Tensor& x, const Tensor& g, bool centred, double eps) {
  if (autograd::recording(x, g) || !one_kernel(x)) {
    Parts p = composed(x, centred, eps);
    Value y = p.centred * p.scale, rest = Value(g) - y * mean(Value(g) * y);
    return ((centred ? rest - mean(g) : rest) * p.scale).tensor();
  }
  rt::Lock lock = x.engine().lock();
  return Tensor(x.engine().normalize(x.node(), g.node(), centred, scalar_bits(x.dtype(), eps)));
}

}  // namespace

Tensor normalize(const Tensor& x, bool centred, double eps) {
  if (x.rank() == 0) raise(ErrorKind::shape, "[normalize] takes one dimension or more, not ()");
  if (!is_float(x.dtype()) || is_packed(x.dtype()))
    raise(ErrorKind::dtype,
          std::string("[normalize] takes float32 or float64, not ") + info(x.dtype()).name);
  if (x.size() == 0) return x;
  if (autograd::recording(x)) {
    Tensor r = autograd::untracked([&] { return normalize(x, centred, eps); });
    return autograd::record("normalize", r, {x}, autograd::Keeps::operands,
                            [x, centred, eps](const Context& c) {
                              Tensor g = broadcast_to(c.grad(), x.shape());
                              return Gradients{gradient(x, g, centred, eps)};
                            });
  }
  if (!one_kernel(x)) {
    Parts p = composed(x, centred, eps);
    return (p.centred * p.scale).tensor();
  }
  rt::Lock lock = x.engine().lock();
  return Tensor(x.engine().normalize(x.node(), {}, centred, scalar_bits(x.dtype(), eps)));
}

}  // namespace wgt
