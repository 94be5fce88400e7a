// What recordings and their replays do with .grad.
#pragma once
#include <vector>

#include "bindings/bindings.h"

namespace wgt::bind {

/// .grad of a leaf, as the function that is being recorded found it.
struct MetGradient {
  Ref<autograd::Slot> slot;
  py::object before;  // or None
  bool read = false;  // what the function does hangs on whether it was there
};
/// The recording looks at or sets (`reads` or not) a gradient for the first time.
void meet_gradient(std::vector<MetGradient>& met, const Ref<autograd::Slot>& slot, bool reads);

/// What a replay leaves in .grad of a tensor that the function knows.
struct GradientEffect {
  enum What : uint8_t { keeps, clears, fresh, output, known, argument } what = keeps;
  py::object owner;
  bool read = false, was_there = false;
  py::object object;  // known
  size_t place = 0;   // of an output or an argument

  /// Whether the replay finds what the recording found.
  bool holds() const;
  /// Before it runs: what it will not read gives its memory back.
  void begin() const;
  /// `made`: the new tensor, where there is one.
  void end(py::object made, const py::list& outputs, const py::list& arguments) const;
};

/// The gradient of a tensor of Python's: None where there is none.
py::object gradient_object(py::handle owner);

}  // namespace wgt::bind
