#include "base/dtype.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "base/errors.h"

namespace wgt {

namespace {
constexpr const char* public_name(const char* name) {
  return std::char_traits<char>::compare(name, "bool_", 6) == 0 ? "bool" : name;
}
constexpr DTypeInfo kInfo[] = {
#define DTYPE(name, size, kind, compute, storage, per, numpy) \
  {public_name(#name), size, Kind::kind, compute, storage, per, numpy},
#include "base/dtypes.def"
#undef DTYPE
};
}  // namespace

const DTypeInfo& info(DType t) {
  return kInfo[static_cast<int>(t)];
}

DType unpacked(DType t) {
  if (!is_packed(t)) return t;
  return is_float(t) ? DType::float32 : info(t).kind == Kind::i ? DType::int32 : DType::uint32;
}

namespace {
DType integer_of(bool is_signed, int size) {
  switch (size) {
    case 1:
      return is_signed ? DType::int8 : DType::uint8;
    case 2:
      return is_signed ? DType::int16 : DType::uint16;
    case 4:
      return is_signed ? DType::int32 : DType::uint32;
    default:
      return is_signed ? DType::int64 : DType::uint64;
  }
}

std::atomic<DType> the_default_float{DType::float32};
}  // namespace

DType default_float() {
  return the_default_float.load(std::memory_order_relaxed);
}

void set_default_float(DType t) {
  if (!is_float(t))
    raise(ErrorKind::dtype, std::string("[set_default_dtype] ") + info(t).name +
                                " is no float: float16, bfloat16, float32 and float64 are");
  the_default_float.store(t, std::memory_order_relaxed);
}

DType promote(const char* op, DType a, DType b) {
  if (a == b || is_bool(b)) return a;
  if (is_bool(a)) return b;
  int sa = info(a).size, sb = info(b).size;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (is_float(a)) return sa == sb ? DType::float32 : sa > sb ? a : b;
  Kind ka = info(a).kind;
  if (ka == info(b).kind) return sa > sb ? a : b;
  int sign = ka == Kind::i ? sa : sb, unsign = ka == Kind::i ? sb : sa;
  if (sign > unsign) return integer_of(true, sign);
  if (unsign < 8) return integer_of(true, 2 * unsign);
  raise(ErrorKind::dtype, std::string("[") + op + "] " + info(a).name + " and " + info(b).name +
                              " have no common integer dtype: cast one of them with astype()");
}

namespace {

// A float32 that rounds as the double would: towards zero, the last bit set where that lost
// something (Boldo and Melquiond 2008: rounding to odd makes a second rounding innocent).
float to_odd(double x) {
  auto f = static_cast<float>(x);
  double d = f;
  if (d == x || std::isnan(x)) return f;
  auto b = std::bit_cast<uint32_t>(f);
  if (std::abs(d) > std::abs(x)) --b;
  return std::bit_cast<float>(b | 1u);
}

// The nearest float16, ties to even, as a float32.
float to_half(float x) {
  uint32_t b = std::bit_cast<uint32_t>(x), a = b & 0x7fffffffu;
  if (a >= 0x7f800000u) return x;
  float magnitude;
  if (a < 0x38800000u)  // a multiple of 2^-24
    magnitude = (std::bit_cast<float>(a) + 0.5f) - 0.5f;
  else
    magnitude = std::bit_cast<float>((a + 0xfffu + ((a >> 13) & 1u)) & ~0x1fffu);
  if (magnitude > 65504.0f) magnitude = std::numeric_limits<float>::infinity();
  return std::copysign(magnitude, x);
}

float to_bfloat(float x) {
  uint32_t b = std::bit_cast<uint32_t>(x);
  if ((b & 0x7fffffffu) >= 0x7f800000u) return x;
  return std::bit_cast<float>((b + 0x7fffu + ((b >> 16) & 1u)) & 0xffff0000u);
}

uint64_t float_bits(DType t, double value) {
  if (t == DType::float64) return std::bit_cast<uint64_t>(value);
  float f = t == DType::float16    ? to_half(to_odd(value))
            : t == DType::bfloat16 ? to_bfloat(to_odd(value))
                                   : static_cast<float>(value);
  return std::bit_cast<uint32_t>(f);
}

}  // namespace

uint64_t scalar_bits(DType t, double value) {
  if (is_float(t)) return float_bits(t, value);
  if (is_bool(t)) return value != 0.0;
  if (value >= 9223372036854775808.0) {
    if (!is_wide(t)) return scalar_bits_int(t, static_cast<int64_t>(static_cast<uint64_t>(value)));
    return static_cast<uint64_t>(value);
  }
  return scalar_bits_int(t, static_cast<int64_t>(value));
}

uint64_t scalar_bits_int(DType t, int64_t value) {
  if (is_float(t)) return float_bits(t, static_cast<double>(value));
  if (is_bool(t)) return value != 0;
  if (is_wide(t)) return static_cast<uint64_t>(value);
  int unused = 64 - 8 * info(t).size;
  auto bits = static_cast<uint64_t>(value) << unused;
  if (info(t).kind == Kind::i) return static_cast<uint32_t>(static_cast<int64_t>(bits) >> unused);
  return bits >> unused;
}

int64_t least_integer(DType t) {
  if (info(t).kind != Kind::i) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - 8 * info(t).size);
}

uint64_t largest_integer(DType t) {
  uint64_t all = std::numeric_limits<uint64_t>::max() >> (64 - 8 * info(t).size);
  return info(t).kind == Kind::i ? all >> 1 : all;
}

uint64_t lowest_bits(DType t) {
  if (is_float(t)) return scalar_bits(t, -std::numeric_limits<double>::infinity());
  return scalar_bits_int(t, least_integer(t));
}

uint64_t highest_bits(DType t) {
  if (is_float(t)) return scalar_bits(t, std::numeric_limits<double>::infinity());
  return is_bool(t) ? 1 : scalar_bits_int(t, static_cast<int64_t>(largest_integer(t)));
}

}  // namespace wgt
