// The gradient of one variable, which comes in parts.
#pragma once
#include <array>
#include <vector>

#include "tensor/tensor.h"

namespace wgt::autograd {

/// Adds up. Parts that slices left, zeros but for places of their own, are put into one tensor,
/// each where it belongs, as long as they do not overlap: so the gradient of many slices of one
/// tensor costs as much as that tensor, not as much for each slice.
class GradientSum {
 public:
  void add(const Tensor& part);
  const Tensor& total() const { return total_; }

 private:
  /// The smallest and largest coordinates that a part has.
  struct Box {
    std::array<int64_t, kMaxRank> low{}, high{};
    int rank = 0;
  };
  /// A value in zeros.
  struct Part {
    Tensor value;
    Layout at;
    Box box;
  };
  static std::optional<Box> box_of(const Dims& whole, const Dims& shape, const Layout& at);
  static std::optional<Part> part_of(const Tensor& t);
  bool is_free(const Box& box) const;

  Tensor total_;
  std::vector<Box> boxes_;  // of the parts in total_ while that is zero elsewhere; else none
};

}  // namespace wgt::autograd
