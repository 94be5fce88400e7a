#include "tensor/cross_entropy.h"

#include "tensor/autograd.h"
#include "tensor/gradient_values.h"

namespace wgt {

using autograd::Context;
using autograd::Gradients;
using graph::ReduceOp;
using rules::Value;

namespace {

void check_pair(const char* op, const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape()))
    raise(ErrorKind::shape, std::string("[") + op + "] takes two tensors of one shape, not " +
                                to_string(a.shape()) + " and " + to_string(b.shape()));
  if (!is_float(a.dtype()) || is_packed(a.dtype()) || a.dtype() != b.dtype())
    raise(ErrorKind::dtype, std::string("[") + op + "] takes float32 or float64, both alike, not " +
                                info(a.dtype()).name + " and " + info(b.dtype()).name);
  if (&a.engine() != &b.engine())
    raise(ErrorKind::device_mismatch, std::string("[") + op + "] operands are on " +
                                          a.engine().name() + " and " + b.engine().name());
}

Tensor folded(ReduceOp op, const Tensor& a, const Tensor& b, uint32_t axes) {
  rt::Lock lock = a.engine().lock();
  return Tensor(a.engine().reduce(op, a.node(), axes, b.node()));
}

uint32_t all_axes(const Tensor& t) {
  return (1u << t.rank()) - 1u;
}

/// One word of each result.
Tensor word(const Tensor& words, int i) {
  std::vector<IndexItem> items;
  for (int d = 0; d + 1 < words.rank(); ++d)
    items.push_back({IndexItem::slice, 0, 1, words.shape()[d]});
  items.push_back({IndexItem::integer, i, 1, 0});
  return index(words, items);
}

Tensor summed(const Value& v, int axis) {
  return reduce("sum", v.tensor(), std::vector<int64_t>{axis}, true);
}

// Everything over all elements, not over rows: what is made of rows would be a kernel of its own.
struct Slopes {
  const Context& c;
  const Tensor &x, &t;
  int axis;

  Value spread(const Tensor& rows) const {
    return broadcast_to(expand_dims(rows, {axis}), x.shape());
  }
  // factor (weight softmax(x) - t) and -factor log_softmax(x), where `counts`: elsewhere there is
  // no gradient, whatever the scores are. `words` as the kernel gives them.
  Gradients of(const Tensor& words, const std::vector<Value>& factors, const Value& counts) const {
    auto row = [&](int i) { return spread(word(words, i)); };
    Value shifted = Value(x) - row(1) - row(2);
    auto scaled = [&](Value v) {
      for (const Value& f : factors) v = v * f;
      return rules::where(counts, v, 0).tensor();
    };
    Gradients result(2);
    if (c.needs(0)) result[0] = scaled(row(3) * rules::exp(shifted) - Value(t));
    if (c.needs(1)) result[1] = scaled(-shifted);
    return result;
  }
  // The same of functions that have gradients themselves; `factor` is one for each row.
  Gradients recorded(const Tensor& factor) const {
    Value g = expand_dims(factor, {axis});
    Gradients result(2);
    if (c.needs(0))
      result[0] = (g * (Value(summed(t, axis)) * Value(softmax(x, axis)) - Value(t))).tensor();
    if (c.needs(1)) result[1] = (-g * Value(softmax(x, axis, true))).tensor();
    return result;
  }
};

bool recording_backward(const Context& c, const Tensor& x, const Tensor& t) {
  return autograd::recording(x, t) || autograd::recording(c.grad());
}

Tensor words_of(const Tensor& x, const Tensor& t, int axis) {
  return folded(ReduceOp::cross_entropy, x.detached(), t.detached(), 1u << axis);
}

}  // namespace

Tensor cross_entropy(const Tensor& x, const Tensor& t, int64_t axis) {
  check_pair("cross_entropy", x, t);
  int a = normalize_axis("cross_entropy", axis, x.rank());
  if (x.size() == 0) return squeeze(summed(Value(x) * Value(t), a), std::vector<int64_t>{a});
  Tensor words = words_of(x, t, a), loss = word(words, 0);
  if (!autograd::recording(x, t)) return loss;
  auto rule = [x, t, words, a](const Context& c) {
    if (recording_backward(c, x, t)) return Slopes{c, x, t, a}.recorded(c.grad());
    Tensor scores = x.detached(), targets = t.detached();
    Slopes s{c, scores, targets, a};
    Value g = s.spread(c.grad());
    return s.of(words, {g}, rules::not_equal(g, 0));
  };
  return autograd::record("cross_entropy", loss, {x, t}, autograd::Keeps::operands, rule);
}

Tensor mean_cross_entropy(const Tensor& x, const Tensor& t, int64_t axis, const Tensor& counted,
                          const Tensor& weights) {
  check_pair("cross_entropy", x, t);
  int a = normalize_axis("cross_entropy", axis, x.rank());
  if (x.size() == 0 || x.rank() == 1) {
    Tensor each = rules::where(counted, cross_entropy(x, t, axis), 0).tensor();
    return weighted_mean(each, weights);
  }
  Tensor words = words_of(x, t, a);
  Tensor each = rules::where(counted, word(words, 0), 0).tensor();
  check_pair("cross_entropy", each, weights);
  Tensor means = folded(ReduceOp::weighted_mean, each, weights.detached(), all_axes(each));
  Tensor mean = word(means, 0);
  if (!autograd::recording(x, t)) return mean;
  auto rule = [=](const Context& c) {
    Value share = word(means, 1);
    if (recording_backward(c, x, t)) {
      Value g = Value(c.grad()) * share;
      return Slopes{c, x, t, a}.recorded(rules::where(counted, g, 0).tensor());
    }
    Tensor scores = x.detached(), targets = t.detached();
    Slopes s{c, scores, targets, a};
    return s.of(words, {share, Value(c.grad())}, s.spread(counted));
  };
  return autograd::record("cross_entropy", mean, {x, t}, autograd::Keeps::operands, rule);
}

Tensor weighted_mean(const Tensor& a, const Tensor& b) {
  check_pair("weighted_mean", a, b);
  auto sum = [](const Tensor& t) { return Value(reduce("sum", t, std::nullopt, false)); };
  if (a.size() == 0 || a.rank() == 0) return (sum(a) / sum(b)).tensor();
  Tensor words = folded(ReduceOp::weighted_mean, a.detached(), b.detached(), all_axes(a));
  Tensor mean = word(words, 0);
  if (!autograd::recording(a, b)) return mean;
  return autograd::record("weighted_mean", mean, {a, b}, autograd::Keeps::operands,
                          [a, b, words, sum](const Context& c) {
                            bool recording =
                                autograd::recording(a, b) || autograd::recording(c.grad());
                            Value share = recording ? Value(1) / sum(b) : Value(word(words, 1));
                            Value each = Value(c.grad()) * share;
                            Gradients result(2);
                            if (c.needs(0)) result[0] = broadcast_to(each.tensor(), a.shape());
                            if (c.needs(1)) {
                              Value of_all = recording ? sum(a) * share : Value(word(words, 0));
                              result[1] = broadcast_to((-each * of_all).tensor(), b.shape());
                            }
                            return result;
                          });
}

}  // namespace wgt
