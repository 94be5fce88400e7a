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

/// Whether values take 64 bits: adapters may not have them.
inline bool is_wide(DType t) {
  return info(t).size == 8;
}
/// The dtype of 32 bits or more that holds what `t` holds; bool becomes uint32.
DType unpacked(DType t);

/// The dtype of an operation between two dtypes; raises DTypeError where none holds both. Floats
/// win over integers.
DType promote(const char* op, DType a, DType b);

/// What Python floats become, and integers where an operation is one of floats.
DType default_float();
void set_default_float(DType t);

/// The bits of a scalar in the compute form of `t`, rounded to what `t` holds: of 16-bit floats a
/// float32's, of smaller integers an int32's or uint32's. Below 64 bits the upper word is zero.
uint64_t scalar_bits(DType t, double value);
uint64_t scalar_bits_int(DType t, int64_t value);
/// Of the least and the largest number; infinities of floats.
uint64_t lowest_bits(DType t);
uint64_t highest_bits(DType t);
/// Bounds of an integer dtype.
int64_t least_integer(DType t);
uint64_t largest_integer(DType t);

}  // namespace wgt
