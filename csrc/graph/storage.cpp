#include "graph/storage.h"

namespace wgt::graph {

namespace {

std::string number(uint64_t n) {
  return std::to_string(n) + "u";
}

int item_bits(DType t) {
  return 8 * info(t).size;
}

std::string of_width(const std::string& scalar, const std::string& value, int width) {
  return wgsl_type(scalar.c_str(), width) + "(" + value + ")";
}

uint64_t item_mask(DType t) {
  return (uint64_t{1} << item_bits(t)) - 1;
}

}  // namespace

std::string decode(KernelCode& k, DType t, const std::string& raw, int width) {
  auto u = [&](uint64_t n) { return of_width("u32", number(n), width); };
  std::string item = "(" + raw + " & " + u(item_mask(t)) + ")";
  switch (t) {
    case DType::bool_:
      return item + " != " + u(0);
    case DType::int8:
    case DType::int16: {
      std::string shift = u(static_cast<uint64_t>(32 - item_bits(t)));
      return "(bitcast<" + wgsl_type("i32", width) + ">(" + raw + " << " + shift + ") >> " + shift +
             ")";
    }
    case DType::float16:
      return k.use_function(k.numbers ? "half_to_number" : "half_to_float", width) + "(" + item +
             ")";
    case DType::bfloat16:
      return "bitcast<" + wgsl_type("f32", width) + ">(" + raw + " << " + u(16) + ")";
    default:
      return item;
  }
}

std::string load_element(KernelCode& k, const std::string& name, DType t, bool vec4_array,
                         const std::string& i) {
  if (is_packed(t)) {
    bool bytes = info(t).per_element == 4;
    std::string word = name + "[(" + i + ") >> " + (bytes || vec4_array ? "2u" : "1u") + "]";
    if (!bytes && vec4_array) word += "[((" + i + ") >> 1u) & 1u]";
    std::string shift = "(((" + i + ") & " + (bytes ? "3u) * 8u" : "1u) * 16u") + ")";
    return decode(k, t, "(" + word + " >> " + shift + ")", 1);
  }
  if (vec4_array) return name + "[(" + i + ") >> 2u][(" + i + ") & 3u]";
  return name + "[" + i + "]";
}

std::string unpacked_words(DType t, const std::string& first, const std::string& second) {
  if (info(t).per_element == 4)
    return "vec4<u32>(" + first + ", " + first + " >> 8u, " + first + " >> 16u, " + first +
           " >> 24u)";
  return "vec4<u32>(" + first + ", " + first + " >> 16u, " + second + ", " + second + " >> 16u)";
}

std::string encode(KernelCode& k, DType t, const std::string& value, int width) {
  auto u = [&](uint64_t n) { return of_width("u32", number(n), width); };
  switch (t) {
    case DType::bool_:
      return "select(" + u(0) + ", " + u(1) + ", " + value + ")";
    case DType::float16:
      return k.use_function("float_to_half", width) + "(" + value + ")";
    case DType::bfloat16:
      return k.use_function("float_to_bfloat", width) + "(" + value + ")";
    default:
      return "(bitcast<" + wgsl_type("u32", width) + ">(" + value + ") & " + u(item_mask(t)) + ")";
  }
}

std::string packed_store(const std::string& name, DType t, bool vec4_array, const std::string& i,
                         const std::string& raw) {
  if (info(t).per_element == 4)
    return "  " + name + "[(" + i + ") >> 2u] = " + raw + ".x | (" + raw + ".y << 8u) | (" + raw +
           ".z << 16u) | (" + raw + ".w << 24u);\n";
  std::string first = raw + ".x | (" + raw + ".y << 16u)",
              second = raw + ".z | (" + raw + ".w << 16u)";
  if (vec4_array)
    return "  " + name + "[(" + i + ") >> 2u] = vec2<u32>(" + first + ", " + second + ");\n";
  return "  " + name + "[(" + i + ") >> 1u] = " + first + ";\n  " + name + "[((" + i +
         ") >> 1u) + 1u] = " + second + ";\n";
}

std::string wrapped(DType t, const std::string& value, int width) {
  if (!is_packed(t) || !is_integer(t)) return value;
  auto u = [&](uint64_t n) { return of_width("u32", number(n), width); };
  if (info(t).kind == Kind::u) return "((" + value + ") & " + u(item_mask(t)) + ")";
  std::string shift = u(static_cast<uint64_t>(32 - item_bits(t)));
  return "(((" + value + ") << " + shift + ") >> " + shift + ")";
}

std::string rounded(KernelCode& k, DType t, const std::string& value, int width) {
  if (!is_packed(t) || !is_float(t)) return value;
  if (t == DType::float16)
    return k.use_function("half_to_float", width) + "(" + k.use_function("float_to_half", width) +
           "(" + value + "))";
  return "bitcast<" + wgsl_type("f32", width) + ">(" + k.use_function("float_to_bfloat", width) +
         "(" + value + ") << " + of_width("u32", "16u", width) + ")";
}

namespace {

std::string float_to_integer(KernelCode& k, DType from, DType to, const std::string& value,
                             int width) {
  bool is_signed = info(to).kind == Kind::i;
  std::string name = std::string(is_wide(from) ? "d" : "f") + "_to_" + (is_signed ? "i" : "u") +
                     (is_wide(to) ? "64" : "");
  std::string v = k.use_function(name, width) + "(" + value + ")";
  if (!is_packed(to)) return v;
  const char* compute = info(to).compute;
  auto bound = [&](const std::string& n) { return of_width(compute, n, width); };
  return "clamp(" + v + ", " + bound(std::to_string(least_integer(to))) + ", " +
         bound(std::to_string(largest_integer(to))) + ")";
}

// Integers of another width or sign wrap. Only one of the two changes at a time: naga extends by
// the target's sign, not the operand's.
std::string integer_to_integer(DType from, DType to, const std::string& value, int width) {
  std::string ty = wgsl_type(info(to).compute, width);
  if (is_wide(to) && !is_wide(from)) {
    // By halves: Mesa 22.3 compares widened numbers with a zero that it found by itself as if they
    // were unsigned, and some drivers extend by the sign of the target.
    std::string u = wgsl_type("u32", width), m = wgsl_type("u64", width);
    std::string bits = m + "(bitcast<" + u + ">(" + value + "))";
    if (info(from).kind == Kind::i)
      bits = "((" + m + "(bitcast<" + u + ">(" + value + " >> " + u + "(31u))) << " + u +
             "(32u)) | " + bits + ")";
    return to == DType::uint64 ? bits : "bitcast<" + ty + ">(" + bits + ")";
  }
  return wrapped(to, ty + "(" + value + ")", width);
}

// The float32 from which a double rounds to 16 bits as it would itself.
std::string to_32_bits(KernelCode& k, DType from, DType to, const std::string& value, int width) {
  if (from == DType::float64 && is_packed(to))
    return k.use_function("f64_to_odd", width) + "(" + value + ")";
  return wgsl_type(info(to).compute, width) + "(" + value + ")";
}

}  // namespace

std::string converted(KernelCode& k, DType from, DType to, const std::string& value, int width) {
  std::string ty = wgsl_type(info(to).compute, width);
  std::string zero = wgsl_type(info(from).compute, width) + "(0)";
  if (from == to) return value;
  if (is_bool(to)) {
    if (!is_float(from)) return value + " != " + zero;
    return k.use_function(is_wide(from) ? "ne_f64" : "ne_f", width) + "(" + value + ", " + zero +
           ")";
  }
  if (is_bool(from)) return "select(" + ty + "(0), " + ty + "(1), " + value + ")";
  if (is_float(from) && is_integer(to)) return float_to_integer(k, from, to, value, width);
  bool alike = info(from).compute == std::string(info(to).compute);
  if (is_float(to))
    return rounded(k, to, alike ? value : to_32_bits(k, from, to, value, width), width);
  return alike ? wrapped(to, value, width) : integer_to_integer(from, to, value, width);
}

std::string constant(DType t, const std::string& low, const std::string& high) {
  if (is_bool(t)) return low + " != 0u";
  std::string compute = info(t).compute;
  if (!is_wide(t)) return "bitcast<" + compute + ">(" + low + ")";
  std::string bits = "((u64(" + high + ") << 32u) | u64(" + low + "))";
  return t == DType::uint64 ? bits : "bitcast<" + compute + ">(" + bits + ")";
}

}  // namespace wgt::graph
