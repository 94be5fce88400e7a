// Elements that are sorted, as words and as keys.
#pragma once
#include <string>

#include "graph/codegen.h"
#include "kernels/template.h"

namespace wgt::graph {

/// How the elements of a sort lie in words, and how these order: see shaders/sort_keys.wgsl.
struct SortKeys {
  explicit SortKeys(DType dtype, const SortForm& form = {});

  DType dtype;  // of the elements
  bool descending;
  int bits;  // of the keys that may differ

  bool wide() const { return is_wide(dtype); }
  /// Statements that return the words of an element in the compute form.
  std::string to_words(KernelCode& k, const std::string& value) const;
  /// The element in the words `w`, in the compute form of the dtype of whole words that holds it.
  std::string from_words(KernelCode& k) const;
  /// The variables of shaders/sort_keys.wgsl.
  void describe(kernels::Vars& vars) const;

 private:
  bool plain_;  // integers that order as their words
};

/// Element `i` of a vector of `count` elements that a kernel reads where it likes, in the compute
/// form.
std::string element_at(KernelCode& k, const Operand& vector, int64_t count, const std::string& i);

}  // namespace wgt::graph
