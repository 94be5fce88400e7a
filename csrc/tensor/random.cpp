#include "tensor/random.h"

namespace wgt {

using graph::Engine;
using graph::NodeRef;
using graph::OpId;

namespace {

// The streams of one tensor, one after the other. [lock]
class Words {
 public:
  Words(Engine& e, const Dims& shape, RandomState at) : e_(e), shape_(shape), at_(at) {}
  NodeRef next() { return e_.random(shape_, at_.seed, at_.offset, stream_++); }
  // An operation of one word, or for a dtype of 64 bits of two.
  NodeRef number(OpId one, OpId two, bool wide) {
    NodeRef in[2] = {next()};
    if (!wide) return e_.map(one, DType::float32, shape_, in, 1);
    in[1] = next();
    return e_.map(two, DType::float64, shape_, in, 2);
  }

 private:
  Engine& e_;
  const Dims& shape_;
  RandomState at_;
  uint32_t stream_ = 0;
};

// Bits of a word that do not show in a number below 1.
uint64_t spare_bits(DType t) {
  return t == DType::float16 ? 21 : t == DType::bfloat16 ? 24 : 8;
}

NodeRef uniform(Engine& e, Words& words, const Dims& shape, DType dtype) {
  if (dtype == DType::float64) return words.number(OpId::unit64, OpId::unit64, true);
  NodeRef in[2] = {words.next(), e.fill(DType::uint32, Dims(), spare_bits(dtype))};
  return e.map(OpId::unit, DType::float32, shape, in, 2);
}

NodeRef normal(Engine& e, Words& words, const Dims& shape, bool wide) {
  DType t = wide ? DType::float64 : DType::float32;
  NodeRef twice[2] = {words.number(OpId::minus_log, OpId::minus_log64, wide),
                      e.fill(t, Dims(), scalar_bits(t, 2))};
  NodeRef square = e.map(OpId::multiply, t, shape, twice, 2);
  NodeRef in[2] = {e.map(OpId::sqrt, t, shape, &square, 1),
                   words.number(OpId::cos_turn, OpId::cos_turn64, wide)};
  return e.map(OpId::multiply, t, shape, in, 2);
}

}  // namespace

Tensor random(Engine& e, Distribution d, const Dims& shape, DType dtype, RandomState at) {
  bool bits = d == Distribution::bits;
  if (bits ? dtype != DType::uint32 : !is_float(dtype))
    raise(ErrorKind::dtype, std::string("[random] makes ") + (bits ? "words" : "floats") +
                                ", not " + info(dtype).name +
                                ": cast with astype(), or see randint");
  check_dtype(e, dtype, "random");
  rt::Lock lock = e.lock();
  e.device().check();
  if (numel(shape) == 0) return Tensor(e.fill(dtype, shape, 0));
  Words words(e, shape, at);
  bool wide = dtype == DType::float64;
  NodeRef n = d == Distribution::bits      ? words.next()
              : d == Distribution::uniform ? uniform(e, words, shape, dtype)
              : d == Distribution::normal  ? normal(e, words, shape, wide)
                                           : words.number(OpId::minus_log, OpId::minus_log64, wide);
  if (n->dtype != dtype) n = e.map(OpId::cast, dtype, shape, &n, 1);
  return Tensor(std::move(n));
}

Tensor random_below(Engine& e, uint64_t span, const Dims& shape, DType dtype, RandomState at) {
  check_dtype(e, dtype, "randint");
  rt::Lock lock = e.lock();
  e.device().check();
  if (numel(shape) == 0) return Tensor(e.fill(dtype, shape, 0));
  Words words(e, shape, at);
  NodeRef in[3] = {words.next()};
  if (span == 0 && dtype == DType::uint32) return Tensor(in[0]);
  in[1] = words.next();
  if (span != 0) {
    in[2] = e.fill(dtype, Dims(), span);
    return Tensor(e.map(OpId::below, dtype, shape, in, 3));
  }
  // hi 2^32 + lo
  NodeRef hi[2] = {e.map(OpId::cast, dtype, shape, &in[0], 1), e.fill(dtype, Dims(), 32)};
  NodeRef both[2] = {e.map(OpId::bitwise_left_shift, dtype, shape, hi, 2),
                     e.map(OpId::cast, dtype, shape, &in[1], 1)};
  return Tensor(e.map(OpId::bitwise_or, dtype, shape, both, 2));
}

Tensor affine(const Tensor& x, double scale, double shift) {
  Scalar a, b;
  a.f = scale;
  b.f = shift;
  return elementwise(OpId::affine, {x, a, b});
}

}  // namespace wgt
