// How dtypes lie in memory, as WGSL: items of fewer than 32 bits share words.
#pragma once
#include <string>

#include "graph/codegen.h"

namespace wgt::graph {

/// The element at `i` of the array `name`, in the compute form.
std::string load_element(KernelCode& k, const std::string& name, DType t, bool vec4_array,
                         const std::string& i);
/// The items in the low bits of `raw`, in the compute form.
std::string decode(KernelCode& k, DType t, const std::string& raw, int width);
/// Four items of a packed dtype, each in the low bits of a lane, from the words that hold them.
std::string unpacked_words(DType t, const std::string& first, const std::string& second);
/// A value as the bits of its item, the rest of the word zero.
std::string encode(KernelCode& k, DType t, const std::string& value, int width);

/// Statements that store four items, the bits in the lanes of `raw`, from element `i` on.
std::string packed_store(const std::string& name, DType t, bool vec4_array, const std::string& i,
                         const std::string& raw);

/// `value`, the result of an operation in the compute form, as `t` holds it: integers wrap.
std::string wrapped(DType t, const std::string& value, int width);
/// `value` as a 16-bit float `t` holds it; other dtypes' as it is.
std::string rounded(KernelCode& k, DType t, const std::string& value, int width);
/// From one dtype's compute form to another's, rounded and clamped as NumPy's astype; floats beyond
/// an integer's range become its nearest bound, NaN zero.
std::string converted(KernelCode& k, DType from, DType to, const std::string& value, int width);
/// A constant whose bits are two words (the upper one read where `t` has 64 bits).
std::string constant(DType t, const std::string& low, const std::string& high);

}  // namespace wgt::graph
