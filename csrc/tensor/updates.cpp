#include "tensor/updates.h"

#include <algorithm>
#include <span>

#include "base/called.h"
#include "tensor/autograd.h"
#include "tensor/gradient_values.h"

namespace wgt {

namespace {

using rules::Value;

/// The numbers of a step. Those that a formula can do without are left out where they change
/// nothing.
class Numbers {
 public:
  /// As 0-d tensors of one dtype: operations that take the same number share its node.
  Numbers(const Update& u, const Tensor& like) {
    for (const auto& [name, number] : u.numbers) {
      if (auto* s = std::get_if<Scalar>(&number))
        values_.emplace_back(name, full(like.engine(), Dims(), *s, like.dtype(), "step"));
      else
        values_.emplace_back(name, std::get<Tensor>(number));
    }
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const Value& operator[](std::string_view name) const {
    if (const Value* v = find(name)) return *v;
    internal_error("an update without its number '" + std::string(name) + "'");
  }

 private:
  const Value* find(std::string_view name) const {
    for (const auto& [own, value] : values_)
      if (own == name) return &value;
    return nullptr;
  }
  std::vector<std::pair<std::string_view, Value>> values_;
};

using State = std::span<Value>;

/// The gradient with a share of the parameter in it.
Value decayed(const Numbers& n, const Value& p, const Value& g) {
  return n.has("decay") ? g + p * n["decay"] : g;
}

Value sgd(const Numbers& n, const Value& p, const Value& gradient, State state) {
  Value g = decayed(n, p, gradient);
  if (!state.empty()) {
    state[0] = state[0] * n["momentum"] + g * n["share"];
    g = n.has("nesterov") ? g + state[0] * n["nesterov"] : state[0];
  }
  return p - g * n["rate"];
}

Value adam(const Numbers& n, const Value& before, const Value& gradient, State state) {
  Value g = decayed(n, before, gradient);
  Value p = n.has("shrink") ? before * n["shrink"] : before;
  Value& m = state[0];
  Value& v = state[1];
  m = m * n["beta1"] + g * n["rest1"];
  v = v * n["beta2"] + g * g * n["rest2"];
  if (state.size() > 2) state[2] = maximum(state[2], v);
  Value root = sqrt(state.back()) * n["root"];
  return p - (m * n["rate"]) / (root + n["eps"]);
}

// The state: the mean square, then the mean where it is centred, then what the momentum keeps.
Value rmsprop(const Numbers& n, const Value& p, const Value& gradient, State state) {
  Value g = decayed(n, p, gradient);
  state[0] = state[0] * n["alpha"] + g * g * n["rest"];
  Value v = state[0];
  if (n.has("centred")) {
    state[1] = state[1] * n["alpha"] + g * n["rest"];
    v = v - state[1] * state[1];
  }
  Value move = g / (sqrt(v) + n["eps"]);
  if (n.has("momentum")) move = state.back() = state.back() * n["momentum"] + move;
  return p - move * n["rate"];
}

Value adagrad(const Numbers& n, const Value& p, const Value& gradient, State state) {
  Value g = decayed(n, p, gradient);
  state[0] = state[0] + g * g;
  return p - g * n["rate"] / (sqrt(state[0]) + n["eps"]);
}

Value lion(const Numbers& n, const Value& before, const Value& g, State state) {
  Value p = n.has("shrink") ? before * n["shrink"] : before;
  Value way = state[0] * n["beta1"] + g * n["rest1"];
  state[0] = state[0] * n["beta2"] + g * n["rest2"];
  return p - sign(way) * n["rate"];
}

struct Formula {
  std::string_view name;
  Value (*next)(const Numbers&, const Value& p, const Value& g, State);
};
constexpr Formula kFormulas[] = {
    {"sgd", sgd}, {"adam", adam}, {"rmsprop", rmsprop}, {"adagrad", adagrad}, {"lion", lion},
};

const Formula& formula_of(std::string_view name) {
  for (const Formula& f : kFormulas)
    if (f.name == name) return f;
  internal_error("no update " + std::string(name));
}

}  // namespace

void apply(Update& u) {
  autograd::ModeGuard off(false);
  const Formula& formula = formula_of(u.formula);
  std::optional<Numbers> numbers;
  std::vector<Value> state;
  for (size_t i = 0; i < u.params.size(); ++i) {
    Tensor& p = u.params[i];
    if (i == 0 || p.dtype() != u.params[i - 1].dtype() || &p.engine() != &u.params[i - 1].engine())
      numbers.emplace(u, p);
    Value g = u.maximize ? -Value(u.gradients[i]) : Value(u.gradients[i]);
    state.assign(u.states[i].begin(), u.states[i].end());
    p = formula.next(*numbers, p, g, state).tensor();
    for (size_t k = 0; k < state.size(); ++k) u.states[i][k] = state[k].tensor();
  }
}

std::optional<Error> start(const Moves& moves, std::vector<graph::NodeRef>& back) {
  std::vector<graph::Engine*> engines;
  for (const Tensor& t : moves.next)
    if (std::find(engines.begin(), engines.end(), &t.engine()) == engines.end())
      engines.push_back(&t.engine());
  back.assign(moves.next.size(), {});
  for (graph::Engine* e : engines) {
    std::vector<size_t> own;
    for (size_t i = 0; i < moves.next.size(); ++i)
      if (&moves.next[i].engine() == e) own.push_back(i);
    rt::Lock lock = e->lock();
    std::vector<graph::Node*> targets, before;
    for (size_t i : own) {
      e->settle(*moves.next[i].node());
      targets.push_back(moves.next[i].node().get());
      before.push_back(moves.before[i]);
    }
    std::vector<graph::NodeRef> kept;
    if (auto error = e->flush_whole(targets, before, kept)) {
      for (size_t k = 0; k < own.size(); ++k) back[own[k]] = std::move(kept[k]);
      return named(*error, "step");
    }
    e->device().submit();
  }
  return std::nullopt;
}

}  // namespace wgt
