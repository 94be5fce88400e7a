// The dtypes and their properties, all from dtypes.def.
#pragma once
#include <cstdint>
#include <string>

namespace wgt {

enum class DType : uint8_t {
#define DTYPE(name, ...) name,
#include "base/dtypes.def"
#undef DTYPE
};

enum class Kind : uint8_t { b, i, u, f };

struct DTypeInfo {
  const char* name;  // "bool", "int32", ...
  int size;          // bytes of an item in host memory and in storage
  Kind kind;
  const char* compute;  // WGSL scalar type that expressions use
  const char* storage;  // WGSL element type of the storage array
  int per_element;      // items in one storage element
  const char* numpy;    // NumPy's array-interface type string
};

const DTypeInfo& info(DType t);
constexpr int kDTypeCount = 0
#define DTYPE(...) +1
#include "base/dtypes.def"
#undef DTYPE
    ;

inline bool is_float(DType t) {
  return info(t).kind == Kind::f;
}
inline bool is_bool(DType t) {
  return info(t).kind == Kind::b;
}
inline bool is_integer(DType t) {
  return info(t).kind == Kind::i || info(t).kind == Kind::u;
}
inline bool is_packed(DType t) {
  return info(t).per_element > 1;
}

/// The dtype of an operation between two dtypes; raises DTypeError where no supported dtype holds
/// both.
DType promote(const char* op, DType a, DType b);

/// The bits of a scalar as the storage form of `t` (one 32-bit word).
uint32_t scalar_bits(DType t, double value);
uint32_t scalar_bits_int(DType t, int64_t value);

}  // namespace wgt
