// What the tape knows of a tensor: whether it requires a gradient, and what made it.
#pragma once
#include <cstdint>

#include "base/refcount.h"

namespace wgt::autograd {

struct GradNode;
struct Slot;

/// Objects that hold each other in chains of any length: freed by a loop, never by recursion.
struct Chained : RefCounted {
  Chained() = default;
  Chained(const Chained&) = delete;
  Chained& operator=(const Chained&) = delete;
  virtual ~Chained() = default;
  void on_zero();

 private:
  Chained* next_dead_ = nullptr;
};

/// Shared by all copies of a tensor. One without a node is a leaf.
struct Variable final : Chained {
  Variable();
  Variable(Ref<GradNode> node, uint32_t output);
  ~Variable() override;
  bool is_leaf() const { return !fn; }

  bool requires_grad = true;  // of a leaf it may change [GIL]
  const Ref<GradNode> fn;     // the operation that made it
  const uint32_t output = 0;  // which of its results it is
  Ref<Slot> slot;             // of a leaf: its gradient and hooks [nodes' mutex]
};

}  // namespace wgt::autograd
