#include "graph/sort_code.h"

#include <algorithm>

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

SortKeys::SortKeys(DType t, const SortForm& form)
    : dtype(t),
      descending(form.descending),
      bits(form.key_bits ? form.key_bits : item_bits(t)),
      plain_(form.key_bits > 0 || is_bool(t) || info(t).kind == Kind::u) {}

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

std::string element_at(KernelCode& k, const Operand& vector, int64_t count, const std::string& i) {
  const Layout& l = vector.layout;
  int64_t far = (count - 1) * l.strides[0];
  Reach reach{l.offset + std::min<int64_t>(far, 0), l.offset + std::max<int64_t>(far, 0)};
  int64_t bytes = reach.count() * info(k.dtype_of(vector.value)).size;
  if (k.windowed && bytes > KernelCode::window_limit(k.device))
    raise(ErrorKind::unsupported, "a vector of " + std::to_string(bytes) +
                                      " bytes is above this adapter's largest binding: split it");
  int b = k.windowed ? k.bind_window(vector.value, rt::Access::read, reach)
                     : k.bind(vector.value, rt::Access::read);
  std::string offset, stride = k.params.add("stride", static_cast<uint32_t>(l.strides[0]));
  uint32_t fixed = static_cast<uint32_t>(l.offset);
  if (k.windowed)
    offset = k.params.add_patched("offset", Patch::window, b, fixed);
  else if (k.g.is_leaf(vector.value))
    offset = k.params.add_patched("offset", Patch::offset, vector.value, fixed);
  else
    offset = k.params.add("offset", fixed);
  return load_element(k, KernelCode::name_of(b), k.dtype_of(vector.value), k.vec4(vector.value),
                      i + " * " + stride + " + " + offset);
}

}  // namespace wgt::graph
