#include "tensor/gradients_indexing.h"

#include "base/called.h"
#include "tensor/autograd.h"
#include "tensor/segments.h"

namespace wgt::gradients {

using autograd::Context;
using autograd::Gradients;
using autograd::Keeps;
using autograd::record;
using autograd::untracked;
using graph::OpId;
using graph::ReduceOp;

namespace {

Tensor zeros(const Tensor& like, const Dims& shape) {
  return autograd::filled(like.engine(), shape, like.dtype(), 0);
}

Tensor tensor_of(const Operand& value) {
  auto* t = std::get_if<Tensor>(&value);
  return t ? *t : Tensor();
}

// The gradient of a value that broadcast to `part`: it may have leading dimensions of 1 that the
// part lacks.
Tensor for_value(const Tensor& part, int rank) {
  Dims shape = part.shape();
  while (shape.size() < rank) shape.insert(0, 1);
  return reshape(part, shape);
}

}  // namespace

Tensor gather(const Tensor& x, const Indices& indices, int at, const char* op) {
  Tensor r = untracked([&] { return wgt::gather(x, indices, at, op); });
  Dims shape = x.shape();
  Resolved key{{}, indices, at};
  for (int64_t n : shape) key.basic.push_back(whole_axis(n));
  return record(
      op, r, {x}, Keeps::nothing, [key, shape, name = name_in_errors(op)](const Context& c) {
        CalledAs inside(name);
        const char* rule = "gradient of an index";
        if (are_distinct(key.indices)) return Gradients{wgt::placed_at(shape, key, c.grad(), rule)};
        return Gradients{
            wgt::accumulate_at(ReduceOp::sum, zeros(c.grad(), shape), key, c.grad(), rule)};
      });
}

Tensor placed_at(const Dims& shape, const Resolved& key, const Tensor& value, const char* op) {
  Tensor r = untracked([&] { return wgt::placed_at(shape, key, value, op); });
  return record(op, r, {value}, Keeps::nothing,
                [key, called_by = name_in_errors(op)](const Context& c) {
                  CalledAs inside(called_by);
                  return Gradients{wgt::index_at(c.grad(), key, "gradient of an index")};
                });
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis, IndexMode mode,
                       const char* op) {
  Tensor r = untracked([&] { return wgt::take_along_axis(x, indices, axis, mode, op); });
  int64_t size = x.shape()[normalize_axis(op, axis, x.rank())];
  std::string name = name_in_errors(op);
  return record(op, r, {x}, Keeps::nothing, [indices, axis, mode, size, name](const Context& c) {
    CalledAs inside(name);
    Dims shape = c.grad().shape();
    shape[normalize_axis("backward", axis, shape.size())] = size;
    Tensor none = zeros(c.grad(), shape);
    auto key = along_axis(none, indices, axis, mode, true, "backward");
    return Gradients{accumulate(ReduceOp::sum, none, key, c.grad(), "gradient of an index")};
  });
}

// Of several writes to an element the last one has the gradient.
Tensor assign_at(const Tensor& t, const Resolved& key, const Operand& value, const char* op) {
  Tensor r = untracked([&] { return wgt::assign_at(t, key, value, op); });
  Tensor v = tensor_of(value);
  int rank = v.node() ? v.rank() : 0;
  std::string called_by = name_in_errors(op);
  return record(op, r, {t, v}, Keeps::nothing, [key, rank, called_by](const Context& c) {
    CalledAs inside(called_by);
    Gradients grads(2);
    const char* name = "gradient of an assignment";
    if (c.needs(0)) grads[0] = wgt::assign_at(c.grad(), key, Scalar{Kind::f, 0}, name);
    if (c.needs(1)) {
      Tensor part = wgt::index_at(c.grad(), key, name);
      Tensor mine = untracked([&] {
        graph::Engine& e = part.engine();
        auto n = static_cast<double>(part.size());
        Tensor place = wgt::reshape(arange(e, 0, n, 1, DType::int32), part.shape());
        Tensor none = autograd::filled(e, c.grad().shape(), DType::int32, 0);
        Tensor last = wgt::index_at(wgt::assign_at(none, key, place, name), key, name);
        return elementwise(OpId::equal, {last, place});
      });
      grads[1] = for_value(elementwise(OpId::where, {mine, part, Scalar{Kind::f, 0}}), rank);
    }
    return grads;
  });
}

namespace {

// All that equal an extremum share its gradient.
Gradients of_extremum(const Context& c, const Tensor& t, const Tensor& v, const Resolved& key) {
  const char* name = "gradient of an extremum";
  Tensor result = c.result();
  Tensor chosen = wgt::index_at(result, key, name);
  Tensor fitted = fitted_value(t, v, chosen.shape(), name);
  Tensor here = astype(elementwise(OpId::equal, {t, result}), t.dtype());
  Tensor there = astype(elementwise(OpId::equal, {fitted, chosen}), t.dtype());
  Tensor count = wgt::accumulate_at(ReduceOp::sum, here, key, there, name);
  Tensor share = elementwise(OpId::divide,
                             {c.grad(), elementwise(OpId::maximum, {count, Scalar{Kind::f, 1}})});
  Gradients grads(2);
  if (c.needs(0)) grads[0] = elementwise(OpId::multiply, {here, share});
  if (c.needs(1))
    grads[1] =
        for_value(elementwise(OpId::multiply, {there, wgt::index_at(share, key, name)}), v.rank());
  return grads;
}

}  // namespace

Tensor accumulate_at(ReduceOp op, const Tensor& t, const Resolved& key, const Operand& value,
                     const char* name) {
  Tensor r = untracked([&] { return wgt::accumulate_at(op, t, key, value, name); });
  Tensor v = tensor_of(value);
  if (op == ReduceOp::prod) {
    autograd::check_no_rule(name, t);
    if (v.node()) autograd::check_no_rule(name, v);
  }
  int rank = v.node() ? v.rank() : 0;
  std::string called_by = name_in_errors(name);
  if (op == ReduceOp::sum)
    return record(name, r, {t, v}, Keeps::nothing, [key, rank, called_by](const Context& c) {
      CalledAs inside(called_by);
      Gradients grads(2);
      if (c.needs(0)) grads[0] = c.grad();
      if (c.needs(1)) grads[1] = for_value(wgt::index_at(c.grad(), key, "gradient of a sum"), rank);
      return grads;
    });
  Tensor given = v.node() ? v : full(t.engine(), Dims(), std::get<Scalar>(value), t.dtype(), name);
  return record(name, r, {t, v}, Keeps::result, [t, given, key, called_by](const Context& c) {
    CalledAs inside(called_by);
    return of_extremum(c, t, given, key);
  });
}

}  // namespace wgt::gradients
