// Results that are put together from pieces: each piece, with what was computed for it, is written
// straight to its place of one buffer.
#include <algorithm>

#include "tensor/autograd.h"
#include "tensor/gradients.h"

namespace wgt {

using graph::Engine;

namespace {

// Kernels check no index: a piece outside the result is refused here.
void check_inside(const char* op, const Dims& shape, const Piece& p) {
  int64_t low = p.at.offset, high = p.at.offset;
  bool fits = p.at.strides.size() == p.value.rank();
  for (int d = 0; fits && d < p.value.rank(); ++d) {
    int64_t reach = p.at.strides[d] * (p.value.shape()[d] - 1);
    (reach < 0 ? low : high) += reach;
  }
  if (!fits || low < 0 || high >= numel(shape))
    raise(ErrorKind::value, std::string("[") + op + "] a piece of shape " +
                                to_string(p.value.shape()) + " lies outside a result of shape " +
                                to_string(shape));
}

Scalar truth(const Scalar& s) {
  bool set = s.kind == Kind::f || s.kind == Kind::u ? s.f != 0 : s.i != 0;
  return {Kind::i, set ? 1.0 : 0.0, set ? 1 : 0};
}

// Small items share words, so that two pieces may meet in one: they are placed in a 32-bit form.
Tensor place_unpacked(Engine& e, const Dims& shape, DType dtype, std::vector<Piece> pieces,
                      const std::optional<Scalar>& fill, const char* op) {
  for (Piece& p : pieces) p.value = astype(astype(p.value, dtype), unpacked(dtype));
  std::optional<Scalar> number = fill;
  if (fill && is_bool(dtype)) number = truth(*fill);
  return astype(place(e, shape, unpacked(dtype), pieces, number, op), dtype);
}

}  // namespace

Tensor place(Engine& e, const Dims& shape, DType dtype, const std::vector<Piece>& pieces,
             const std::optional<Scalar>& fill, const char* op) {
  auto recorded = [](const Piece& p) { return autograd::recording(p.value); };
  if (std::any_of(pieces.begin(), pieces.end(), recorded))
    return gradients::place(e, shape, dtype, pieces, fill, op);
  if (is_packed(dtype) && !pieces.empty()) return place_unpacked(e, shape, dtype, pieces, fill, op);
  int64_t written = 0;
  for (const Piece& p : pieces) written += p.value.size();
  Tensor out =
      fill ? full(e, shape, *fill, dtype, op) : empty(e, shape, dtype, written < numel(shape));
  for (const Piece& p : pieces) {
    if (p.value.size() == 0) continue;
    if (&p.value.engine() != &e)
      raise(ErrorKind::device_mismatch, std::string("[") + op + "] tensors are on " + e.name() +
                                            " and " + p.value.engine().name() +
                                            ": move one of them");
    check_inside(op, shape, p);
    Tensor value = astype(p.value, dtype);
    rt::Lock lock = e.lock();
    out = Tensor(e.assign(out.node(), value.node(), p.at));
  }
  return out;
}

Tensor concat(const std::vector<Tensor>& parts, int64_t axis, const char* op) {
  if (parts.empty()) raise(ErrorKind::value, std::string("[") + op + "] needs a tensor or more");
  if (std::any_of(parts.begin(), parts.end(), [](auto& t) { return autograd::recording(t); }))
    return gradients::concat(parts, axis, op);
  const Tensor& first = parts.front();
  if (first.rank() == 0)
    raise(ErrorKind::shape, std::string("[") + op +
                                "] 0-d tensors have no axis to be joined along: give axis=None, "
                                "or use stack()");
  int a = normalize_axis(op, axis, first.rank());
  Dims shape = first.shape();
  DType dtype = first.dtype();
  shape[a] = 0;
  std::vector<Piece> pieces;
  for (const Tensor& t : parts) {
    Dims fitted = t.shape();
    if (fitted.size() == shape.size()) fitted[a] = first.shape()[a];
    if (!(fitted == first.shape()))
      raise(ErrorKind::shape, std::string("[") + op + "] shapes " + to_string(first.shape()) +
                                  " and " + to_string(t.shape()) + " differ in more than axis " +
                                  std::to_string(a));
    if (&t.engine() != &first.engine())
      raise(ErrorKind::device_mismatch, std::string("[") + op + "] tensors are on " +
                                            first.engine().name() + " and " + t.engine().name() +
                                            ": move one of them");
    dtype = promote(op, dtype, t.dtype());
    if (t.size()) pieces.push_back({t, Layout{Dims(), shape[a]}});
    shape[a] += t.shape()[a];
  }
  check_dtype(first.engine(), dtype, op);
  if (numel(shape) >= (int64_t{1} << 32))
    raise(ErrorKind::unsupported, std::string("[") + op + "] a result of shape " +
                                      to_string(shape) + " has 2^32 elements or more: split it");
  if (pieces.size() == 1) return astype(pieces.front().value, dtype);
  Dims strides = contiguous_strides(shape);
  for (Piece& p : pieces) p.at = {strides, p.at.offset * strides[a]};
  return place(first.engine(), shape, dtype, pieces, std::nullopt, op);
}

}  // namespace wgt
