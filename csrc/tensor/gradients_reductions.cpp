// Gradients of reductions, softmax and scans.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "tensor/autograd.h"
#include "tensor/gradient_rules.h"
#include "tensor/gradients.h"

namespace wgt::gradients {

using autograd::Context;
using autograd::Gradients;
using autograd::Keeps;
using autograd::record;
using autograd::untracked;
using rules::Value;

namespace {

using Axes = std::vector<int64_t>;

/// What a rule needs of a reduction.
struct Folded {
  Dims shape, kept;  // of the operand; with the reduced axes of size 1
  Axes axes;
  double count = 1;
};

Folded folded(const char* op, const Tensor& t, const std::optional<Axes>& axes) {
  uint32_t mask = axes ? axes_mask(op, *axes, t.rank()) : (1u << t.rank()) - 1u;
  Folded f{t.shape(), t.shape(), {}, 1};
  for (int d = 0; d < t.rank(); ++d)
    if ((mask >> d) & 1u) {
      f.axes.push_back(d);
      f.count *= static_cast<double>(t.shape()[d]);
      f.kept[d] = 1;
    }
  return f;
}

Tensor spread(const Tensor& g, const Folded& f) {
  return wgt::broadcast_to(wgt::reshape(g, f.kept), f.shape);
}

Tensor sum_kept(const Value& v, const Axes& axes) {
  return wgt::reduce("sum", v.tensor(), axes, true);
}

Tensor flipped(const Tensor& t, int axis) {
  std::vector<IndexItem> items;
  for (int d = 0; d < t.rank(); ++d) {
    int64_t n = t.shape()[d];
    items.push_back({IndexItem::slice, d == axis ? n - 1 : 0, d == axis ? -1 : 1, n});
  }
  return wgt::index(t, items);
}

Tensor reversed_sums(const Tensor& t, int axis) {
  return flipped(wgt::scan("cumulative_sum", flipped(t, axis), axis, false), axis);
}

/// Products of all elements before each, along the last axis.
Tensor products_before(const Tensor& rows) {
  Tensor all = wgt::scan("cumulative_prod", rows, rows.rank() - 1, true);
  return part_of(all, rows.rank() - 1, 0, rows.shape().back());
}

// Products of the others, which are right whatever is zero.
Tensor prod_gradient(const Tensor& g, const Tensor& x, const Folded& f) {
  Axes order, inverse(static_cast<size_t>(f.shape.size()));
  auto reduced = [&](int64_t d) {
    return std::find(f.axes.begin(), f.axes.end(), d) != f.axes.end();
  };
  Dims flat;
  for (int d = 0; d < f.shape.size(); ++d)
    if (!reduced(d)) {
      order.push_back(d);
      flat.push_back(f.shape[d]);
    }
  flat.push_back(static_cast<int64_t>(f.count));
  order.insert(order.end(), f.axes.begin(), f.axes.end());
  for (size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  Tensor turned = wgt::permute(x, order), rows = wgt::reshape(turned, flat);
  int last = rows.rank() - 1;
  Value others =
      Value(products_before(rows)) * Value(flipped(products_before(flipped(rows, last)), last));
  Tensor back = wgt::permute(wgt::reshape(others.tensor(), turned.shape()), inverse);
  return (Value(spread(g, f)) * Value(back)).tensor();
}

// Equal extrema share evenly.
Tensor extremum_gradient(const Tensor& g, const Tensor& x, const Tensor& result, const Folded& f) {
  Value hit = Value(x) == Value(wgt::reshape(result, f.kept));
  Value count = sum_kept(wgt::astype(hit.tensor(), g.dtype()), f.axes);
  return rules::where(hit, Value(wgt::reshape(g, f.kept)) / count, 0).tensor();
}

Tensor logsumexp_gradient(const Tensor& g, const Tensor& x, const Tensor& result, const Folded& f) {
  Value total = wgt::reshape(result, f.kept);
  Value shift = rules::where(rules::isinf(total), 0, total);
  return (Value(wgt::reshape(g, f.kept)) * rules::exp(Value(x) - shift)).tensor();
}

Tensor variance_gradient(const Tensor& g, const Tensor& x, const Folded& f, double divisor) {
  Value centred = Value(x) - Value(wgt::reduce("mean", x, f.axes, true));
  return (Value(wgt::reshape(g, f.kept)) * (2 / divisor) * centred).tensor();
}

}  // namespace

Tensor reduce(const char* op, const Tensor& t, const std::optional<Axes>& axes, bool keepdims) {
  Tensor r = untracked([&] { return wgt::reduce(op, t, axes, keepdims); });
  if (!is_float(r.dtype())) return r;
  Folded f = folded(op, t, axes);
  std::string_view name(op);
  if (name == "sum")
    return record("sum", r, {t}, Keeps::nothing,
                  [f](const Context& c) { return Gradients{spread(c.grad(), f)}; });
  if (name == "mean")
    return record("mean", r, {t}, Keeps::nothing, [f](const Context& c) {
      return Gradients{spread((Value(c.grad()) / f.count).tensor(), f)};
    });
  if (name == "prod")
    return record("prod", r, {t}, Keeps::operands,
                  [f, t](const Context& c) { return Gradients{prod_gradient(c.grad(), t, f)}; });
  if (name == "max" || name == "min")
    return record(name == "max" ? "max" : "min", r, {t}, Keeps::result, [f, t](const Context& c) {
      return Gradients{extremum_gradient(c.grad(), t, c.result(), f)};
    });
  if (name == "logsumexp")
    return record("logsumexp", r, {t}, Keeps::result, [f, t](const Context& c) {
      return Gradients{logsumexp_gradient(c.grad(), t, c.result(), f)};
    });
  autograd::check_no_rule(op, t);
  return r;
}

Tensor variance(const char* name, const Tensor& t, const std::optional<Axes>& axes,
                double correction, bool keepdims) {
  Tensor r = untracked([&] { return wgt::variance(name, t, axes, correction, keepdims); });
  Folded f = folded(name, t, axes);
  double divisor = std::max(f.count - correction, 0.0);
  if (std::string_view(name) == "var")
    return record("var", r, {t}, Keeps::operands, [f, t, divisor](const Context& c) {
      return Gradients{variance_gradient(c.grad(), t, f, divisor)};
    });
  // Of equal elements the standard deviation is 0, where the root has no slope: 0 is taken.
  return record("std", r, {t}, Keeps::result, [f, t, divisor](const Context& c) {
    Value out = c.result(), flat = out == 0;
    Value g = rules::where(flat, 0, Value(c.grad()) / (2 * rules::where(flat, 1, out)));
    return Gradients{variance_gradient(g.tensor(), t, f, divisor)};
  });
}

Tensor softmax(const Tensor& t, int64_t axis, bool logarithm) {
  Tensor r = untracked([&] { return wgt::softmax(t, axis, logarithm); });
  Axes along{normalize_axis("softmax", axis, t.rank())};
  if (logarithm)
    return record("log_softmax", r, {t}, Keeps::result, [along](const Context& c) {
      Value g = c.grad();
      return Gradients{(g - rules::exp(c.result()) * Value(sum_kept(g, along))).tensor()};
    });
  return record("softmax", r, {t}, Keeps::result, [along](const Context& c) {
    Value g = c.grad(), out = c.result();
    return Gradients{(out * (g - Value(sum_kept(g * out, along)))).tensor()};
  });
}

namespace {

// Before the first zero it is (sum of g out from there on) / x; at the first zero the same with a 1
// in its place; behind it 0.
Tensor cumulative_prod_gradient(const Tensor& g, const Tensor& x, const Tensor& result, int axis) {
  Value v = x, zero = v == 0;
  Tensor zeros = wgt::scan("cumulative_sum", wgt::astype(zero.tensor(), DType::int32), axis, false);
  Value before = Value(zeros) == 0, first = zero & (Value(zeros) == 1);
  Value plain =
      Value(reversed_sums((Value(g) * Value(result)).tensor(), axis)) / rules::where(before, v, 1);
  Tensor filled = rules::where(first, 1, v).tensor();
  Tensor products = wgt::scan("cumulative_prod", filled, axis, false);
  Value at_zero = reversed_sums((Value(g) * Value(products)).tensor(), axis);
  // The sum at the first zero takes what follows it: products there have the zero replaced.
  return rules::where(before, plain, rules::where(first, at_zero, 0)).tensor();
}

}  // namespace

Tensor scan(const char* name, const Tensor& t0, std::optional<int64_t> axis, bool initial) {
  Tensor t = t0.rank() == 0 ? wgt::reshape(t0, Dims{1}) : t0;
  Tensor r = untracked([&] { return wgt::scan(name, t, axis, initial); });
  int a = normalize_axis(name, axis.value_or(0), t.rank());
  int64_t n = t.shape()[a];
  auto own = [a, n, initial](const Tensor& g) { return initial ? part_of(g, a, 1, n) : g; };
  if (std::string_view(name) == "cumulative_sum")
    return record("cumulative_sum", r, {t}, Keeps::nothing, [a, own](const Context& c) {
      return Gradients{reversed_sums(own(c.grad()), a)};
    });
  if (std::string_view(name) == "cumulative_prod")
    return record("cumulative_prod", r, {t}, Keeps::result, [a, own, t](const Context& c) {
      return Gradients{cumulative_prod_gradient(own(c.grad()), t, own(c.result()), a)};
    });
  return record(name, r, {t}, Keeps::result, [a, t](const Context& c) {
    return Gradients{running_extremum_gradient(c.grad(), t, c.result(), a)};
  });
}

}  // namespace wgt::gradients
