// What a reduction or a scan keeps while it folds: one value, or several, as WGSL.
#pragma once
#include <string>
#include <vector>

#include "graph/codegen.h"

namespace wgt::graph {

class Accumulator {
 public:
  static constexpr int kMostParts = 4;
  /// Bytes of one accumulator in memory.
  static int64_t bytes(ReduceOp op, DType input);
  Accumulator(KernelCode& k, ReduceOp op, DType input);

  /// Words of one accumulator in memory, and their dtype.
  int parts() const { return parts_; }
  DType part() const { return part_; }

  /// The WGSL type at a vector width, and the function that folds two of it.
  std::string type(int width) const { return "rd_acc_" + std::to_string(width); }
  std::string combine(int width) const { return "rd_combine_" + std::to_string(width); }
  /// Their declarations.
  std::string declare(int width);
  /// Function `rd_fold` that makes one accumulator of four.
  std::string declare_fold();

  /// Function `rd_shuffle` that gives the accumulator of the lane whose number in the subgroup
  /// differs by `mask`.
  std::string declare_shuffle(int width) const;

  /// Functions `rd_leave(at, acc)` and `rd_found(at)` that keep an accumulator in atomic words of
  /// 32 bits, `apart` from each other.
  std::string declare_meeting(const std::string& binding, int width, int apart) const;

  // Expressions.
  std::string identity(int width);
  /// Of an element, or of two; `index` is its place among the reduced ones, `lanes` whether a
  /// vector holds consecutive ones.
  std::string lift(const std::vector<std::string>& elements, const std::string& index, int width,
                   bool lanes);
  /// From the words, and word `i` of one.
  std::string make(const std::vector<std::string>& words, int width) const;
  std::string word(const std::string& acc, int i) const;
  /// The words of the reduction's value; `count` is the number of reduced elements.
  std::vector<std::string> results(const std::string& acc, const std::string& count, int width);

 private:
  std::string part_type(int width) const { return wgsl_type(info(part_).compute, width); }
  std::string low(const std::string& x, int width) const;
  std::string high(const std::string& x, int width) const;
  std::string whole(const std::string& low, const std::string& high, int width) const;
  std::string function(const std::string& name, int width);
  std::string key(const std::string& element, int width);
  std::string combine_body(int width);
  std::string combine_exponentials(int width);

  KernelCode& k_;
  ReduceOp op_;
  DType input_, part_;
  int parts_;
  std::string identity_[kMostParts];
};

}  // namespace wgt::graph
