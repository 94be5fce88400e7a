#include "graph/sort_code.h"

#include "graph/storage.h"

namespace wgt::graph {

namespace {

int item_bits(DType t) {
  return is_bool(t) ? 1 : 8 * info(t).size;
}

std::string hexadecimal(uint32_t n) {
  constexpr const char* digits = "0123456789abcdef";
  std::string s;
  for (int shift = 28; shift >= 0; shift -= 4) s += digits[(n >> shift) & 15u];
  return "0x" + s + "u";
}

// The bits of infinity, of 64 bits the upper word.
uint32_t infinity_bits(DType t) {
  switch (t) {
    case DType::float16:
      return 0x7c00u;
    case DType::bfloat16:
      return 0x7f80u;
    case DType::float64:
      return 0x7ff00000u;
    default:
      return 0x7f800000u;
  }
}

}  // namespace

SortKeys::SortKeys(const Node& sort)
    : dtype(sort.inputs[0]->dtype),
      descending(sort.sort.descending),
      bits(sort.sort.key_bits ? sort.sort.key_bits : item_bits(dtype)),
      plain_(sort.sort.key_bits > 0 || is_bool(dtype) || info(dtype).kind == Kind::u) {}

std::string SortKeys::to_words(KernelCode& k, const std::string& value) const {
  if (is_packed(dtype)) return "  return vec2<u32>(" + encode(k, dtype, value, 1) + ", 0u);\n";
  if (!wide()) return "  return vec2<u32>(bitcast<u32>(" + value + "), 0u);\n";
  std::string bits = dtype == DType::uint64 ? value : "bitcast<u64>(" + value + ")";
  return "  let bits = " + bits +
         ";\n  return vec2<u32>(u32(bits & u64(0xffffffffu)), u32(bits >> 32u));\n";
}

std::string SortKeys::from_words(KernelCode& k) const {
  if (is_bool(dtype)) return "w.x";
  if (is_packed(dtype)) return decode(k, dtype, "w.x", 1);
  return constant(dtype, "w.x", "w.y");
}

void SortKeys::describe(kernels::Vars& vars) const {
  int item = wide() ? 64 : item_bits(dtype);
  uint32_t sign = item >= 32 ? 0x80000000u : 1u << (item - 1);
  uint32_t mask = item >= 32 ? 0xffffffffu : (1u << item) - 1u;
  bool floats = is_float(dtype);
  vars.set("BITS", int64_t{item});
  vars.set("KIND", int64_t{floats ? 2 : plain_ ? 0 : 1});
  vars.set("SIGN", hexadecimal(sign));
  vars.set("MASK", hexadecimal(mask));
  vars.set("INF", hexadecimal(infinity_bits(dtype)));
  vars.set("FLIP", descending ? " ^ " + hexadecimal(sign) : std::string());
  std::string ones = wide() ? "vec2<u32>(0xffffffffu)" : hexadecimal(mask);
  vars.set("TURN", descending ? " ^ " + ones : std::string());
}

}  // namespace wgt::graph
