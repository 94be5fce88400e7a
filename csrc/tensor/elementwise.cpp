#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/autograd.h"
#include "tensor/gradients.h"

namespace wgt {

using graph::NodeRef;
using graph::OpId;
using graph::Rule;

uint64_t scalar_as_bits(const char* op, DType t, const Scalar& s) {
  if (!is_integer(t) || s.kind == Kind::b)
    return s.kind == Kind::f || s.kind == Kind::u ? scalar_bits(t, s.f) : scalar_bits_int(t, s.i);
  if (s.kind == Kind::f) {
    double low = static_cast<double>(least_integer(t)) - 1.0,
           high = static_cast<double>(largest_integer(t)) + 1.0;
    bool below = is_wide(t) && info(t).kind == Kind::i ? s.f < low : s.f <= low;
    if (std::isnan(s.f) || below || s.f >= high)
      raise(std::isnan(s.f) ? ErrorKind::value : ErrorKind::overflow,
            std::string("[") + op + "] " + std::to_string(s.f) + " cannot become " + info(t).name);
    return scalar_bits(t, s.f);
  }
  bool huge = s.kind == Kind::u;  // above int64's range: only uint64 may hold it
  bool fits = huge ? t == DType::uint64 && s.i != 0
                   : s.i >= least_integer(t) &&
                         (s.i < 0 || static_cast<uint64_t>(s.i) <= largest_integer(t));
  if (!fits)
    raise(ErrorKind::overflow, std::string("[") + op + "] Python integer " +
                                   (huge ? "above 2^63" : std::to_string(s.i)) +
                                   " is out of bounds for " + info(t).name);
  return huge ? static_cast<uint64_t>(s.i) : scalar_bits_int(t, s.i);
}

namespace {

// The dtype that operands meet in; scalars only lift a kind.
DType common_dtype(OpId op, std::span<const Operand> args) {
  const graph::OpInfo& o = op_info(op);
  if (o.rule == Rule::logical) return DType::bool_;  // each operand by itself
  size_t first = o.rule == Rule::select ? 1 : 0;
  // Floats win over integers whatever those are: the order of operands does not count.
  bool floats =
      std::any_of(args.begin() + static_cast<ptrdiff_t>(first), args.end(), [](const Operand& a) {
        auto* t = std::get_if<Tensor>(&a);
        return t && is_float(t->dtype());
      });
  std::optional<DType> t;
  for (size_t i = first; i < args.size(); ++i) {
    auto* a = std::get_if<Tensor>(&args[i]);
    if (!a || (floats && !is_float(a->dtype()))) continue;
    t = t ? promote(o.name, *t, a->dtype()) : a->dtype();
  }
  for (size_t i = first; i < args.size(); ++i)
    if (auto* s = std::get_if<Scalar>(&args[i])) {
      DType own = s->kind == Kind::f   ? default_float()
                  : s->kind == Kind::b ? DType::bool_
                                       : DType::int32;
      if (!t || (is_float(own) && !is_float(*t)) || (is_bool(*t) && !is_bool(own))) t = own;
    }
  return *t;
}

graph::Engine& engine_of(const char* op, std::span<const Operand> args, graph::Engine* fallback) {
  graph::Engine* e = nullptr;
  for (const Operand& a : args)
    if (auto* t = std::get_if<Tensor>(&a)) {
      if (e && e != &t->engine())
        raise(ErrorKind::device_mismatch, std::string("[") + op + "] operands are on " + e->name() +
                                              " and " + t->engine().name() + ": move one of them");
      e = &t->engine();
    }
  if (!e) e = fallback;
  if (!e) internal_error("an operation without a device");
  return *e;
}

NodeRef cast_node(graph::Engine& e, const NodeRef& n, DType to) {
  if (n->dtype == to) return n;
  return e.map(OpId::cast, to, n->shape, &n, 1);
}

}  // namespace

namespace {

// What an operation comes to before it takes the lock.
struct Prepared {
  graph::Engine* engine;
  graph::OpTypes types;
  Dims shape;
};

Prepared prepare(OpId op, std::span<const Operand> args, graph::Engine* engine_of_scalars) {
  const graph::OpInfo& o = op_info(op);
  if (static_cast<int>(args.size()) != o.arity)
    internal_error(std::string(o.name) + ": number of operands");
  Prepared p{&engine_of(o.name, args, engine_of_scalars), op_types(op, common_dtype(op, args)),
             Dims()};
  const Dims* first = nullptr;
  for (const Operand& a : args) {
    auto* t = std::get_if<Tensor>(&a);
    if (!t || (first && t->shape() == p.shape)) continue;
    p.shape = first ? broadcast(o.name, p.shape, t->shape()) : t->shape();
    first = &t->shape();
  }
  return p;
}

// 1: the scalar is above every number of the integer dtype, -1: below, 0: it may be one.
int outside(DType t, const Scalar& s) {
  if (!is_integer(t) || (s.kind != Kind::i && s.kind != Kind::u)) return 0;
  if (s.kind == Kind::u) return t == DType::uint64 && s.i != 0 ? 0 : s.f > 0 ? 1 : -1;
  if (s.i < least_integer(t)) return -1;
  return s.i >= 0 && static_cast<uint64_t>(s.i) > largest_integer(t) ? 1 : 0;
}

// What a comparison with a Python integer that the dtype does not hold gives everywhere, if one is;
// what a predicate gives for all numbers of the dtype, as isnan of integers: as a parameter it
// costs no read, and a literal may lead lavapipe's compiler into a search without end.
std::optional<bool> foregone(OpId op, std::span<const Operand> args, DType t) {
  if (op_info(op).rule == Rule::predicate) {
    std::string_view code = op_info(op).wgsl[static_cast<int>(info(t).kind)];
    if (code == "$B(true)" || code == "$B(false)") return code == "$B(true)";
  }
  if (op_info(op).rule != Rule::compare) return std::nullopt;
  for (size_t i = 0; i < args.size(); ++i) {
    auto* s = std::get_if<Scalar>(&args[i]);
    int side = s ? outside(t, *s) : 0;
    if (side == 0) continue;
    bool first_is_less = (side > 0) == (i == 1);
    switch (op) {
      case OpId::equal:
        return false;
      case OpId::not_equal:
        return true;
      case OpId::less:
      case OpId::less_equal:
        return first_is_less;
      default:
        return !first_is_less;
    }
  }
  return std::nullopt;
}

Tensor make_node(OpId op, std::span<const Operand> args, const Prepared& p) {
  const graph::OpInfo& o = op_info(op);
  graph::Engine& e = *p.engine;
  if (is_wide(p.types.compute)) e.check_wide(p.types.compute, o.name);
  if (numel(p.shape) == 0) return Tensor(e.fill(p.types.result, p.shape, 0));
  if (auto known = foregone(op, args, p.types.compute))
    return Tensor(e.fill(p.types.result, p.shape, *known));
  NodeRef in[3];
  for (size_t i = 0; i < args.size(); ++i) {
    DType want = o.rule == Rule::select && i == 0 ? DType::bool_ : p.types.compute;
    if (auto* t = std::get_if<Tensor>(&args[i]))
      in[i] = cast_node(e, t->node(), want);
    else
      in[i] = e.fill(want, Dims(), scalar_as_bits(o.name, want, std::get<Scalar>(args[i])));
  }
  return Tensor(e.map(op, p.types.result, p.shape, in, o.arity));
}

}  // namespace

Tensor elementwise(OpId op, std::span<const Operand> args, graph::Engine* engine_of_scalars) {
  Prepared p = prepare(op, args, engine_of_scalars);
  rt::Lock lock = p.engine->lock();
  Tensor r = make_node(op, args, p);
  lock.unlock();
  return autograd::recording(args) ? gradients::elementwise(op, args, r) : r;
}

Tensor try_elementwise(OpId op, std::span<const Operand> args) {
  Prepared p = prepare(op, args, nullptr);
  rt::Lock lock = p.engine->try_lock_for_node();
  if (!lock) return Tensor();
  Tensor r = make_node(op, args, p);
  lock.unlock();
  return autograd::recording(args) ? gradients::elementwise(op, args, r) : r;
}

Tensor astype(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  if (autograd::recording(t)) return gradients::astype(t, dtype);
  rt::Lock lock = t.engine().lock();
  if (t.size() == 0) return Tensor(t.engine().fill(dtype, t.shape(), 0));
  return Tensor(cast_node(t.engine(), t.node(), dtype));
}

Tensor copy(const Tensor& t) {
  if (autograd::recording(t)) return gradients::copy(t);
  rt::Lock lock = t.engine().lock();
  if (t.size() == 0) return Tensor(t.engine().fill(t.dtype(), t.shape(), 0));
  return Tensor(t.engine().map(OpId::copy, t.dtype(), t.shape(), &t.node(), 1));
}

bool has_dtype(graph::Engine& e, DType dtype) {
  rt::Lock lock = e.lock();
  return e.has(dtype);
}

void check_dtype(graph::Engine& e, DType dtype, const char* op) {
  if (!is_wide(dtype)) return;
  rt::Lock lock = e.lock();
  e.check_wide(dtype, op);
}

Tensor full(graph::Engine& e, const Dims& shape, const Scalar& value, DType dtype, const char* op) {
  uint64_t bits = scalar_as_bits(op, dtype, value);
  rt::Lock lock = e.lock();
  e.device().check();
  if (is_wide(dtype)) e.check_wide(dtype, op);
  return Tensor(e.fill(dtype, shape, bits));
}

}  // namespace wgt
