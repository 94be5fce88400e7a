// Shapes and strides: a short vector that never allocates.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/errors.h"

namespace wgt {

constexpr int kMaxRank = 12;

class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> v) {
    for (int64_t x : v) push_back(x);
  }
  Dims(int n, int64_t fill) {
    for (int i = 0; i < n; ++i) push_back(fill);
  }
  int size() const { return n_; }
  bool empty() const { return n_ == 0; }
  int64_t operator[](int i) const { return v_[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return v_[static_cast<size_t>(i)]; }
  int64_t back() const { return v_[static_cast<size_t>(n_ - 1)]; }
  int64_t& back() { return v_[static_cast<size_t>(n_ - 1)]; }
  const int64_t* begin() const { return v_.data(); }
  const int64_t* end() const { return v_.data() + n_; }
  void push_back(int64_t x) {
    if (n_ == kMaxRank)
      raise(ErrorKind::shape, "tensors have at most " + std::to_string(kMaxRank) + " dimensions");
    v_[static_cast<size_t>(n_++)] = x;
  }
  void pop_back() { --n_; }
  void insert(int at, int64_t x) {
    push_back(x);
    for (int i = n_ - 1; i > at; --i) std::swap((*this)[i], (*this)[i - 1]);
  }
  bool operator==(const Dims& o) const {
    if (n_ != o.n_) return false;
    for (int i = 0; i < n_; ++i)
      if ((*this)[i] != o[i]) return false;
    return true;
  }

 private:
  std::array<int64_t, kMaxRank> v_{};
  int n_ = 0;
};

}  // namespace wgt
