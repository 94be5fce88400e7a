#include "base/dtype.h"

#include <bit>

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

DType promote(const char* op, DType a, DType b) {
  if (a == b || is_bool(b)) return a;
  if (is_bool(a)) return b;
  if (is_float(a) || is_float(b)) return DType::float32;
  raise(ErrorKind::dtype, std::string("[") + op + "] " + info(a).name + " and " + info(b).name +
                              " promote to int64, which is not supported yet: cast one of them "
                              "with astype()");
}

uint32_t scalar_bits(DType t, double value) {
  switch (info(t).kind) {
    case Kind::f:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case Kind::b:
      return value != 0.0 ? 1u : 0u;
    case Kind::i:
      return static_cast<uint32_t>(static_cast<int64_t>(value));
    case Kind::u:
      return static_cast<uint32_t>(static_cast<int64_t>(value));
  }
  internal_error("scalar_bits");
}

uint32_t scalar_bits_int(DType t, int64_t value) {
  if (is_float(t)) return scalar_bits(t, static_cast<double>(value));
  if (is_bool(t)) return value != 0;
  return static_cast<uint32_t>(value);
}

}  // namespace wgt
