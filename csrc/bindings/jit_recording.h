// What a recording meets.
#pragma once
#include <utility>
#include <vector>

#include "bindings/jit_gradients.h"

namespace wgt::bind {

// A tensor that was there before the recording.
struct Met {
  py::object object;
  Tensor before;
  graph::NodeRef placeholder;
};

// A number, or the key and counter of random numbers, that a Python function gives for each run.
struct Varying {
  py::object function;
  std::vector<graph::NodeRef> nodes;
  std::vector<uint64_t> behind;  // random: how far each begins behind the first offset
  size_t first_random = 0;
  uint64_t offset = 0;
  bool random = false;
};

struct Recording {
  graph::Engine* engine;
  std::vector<Met> met;
  std::vector<Varying> varying;
  std::vector<MetGradient> gradients;
  int pauses = 0;
};

/// Where an object is in a list, or -1.
int place_of(const py::list& list, py::handle o);
/// Whether it was there before the recording, which knows it.
bool is_met(const Recording& r, py::handle o);

/// What the recording leaves in .grad; new tensors are added to the results.
std::vector<GradientEffect> gradient_effects(const Recording& r, const py::list& outputs,
                                             const py::list& aliases,
                                             std::vector<graph::NodeRef>& results);
/// What an object that the recording met is reached by: itself, or (true) the tensor whose gradient
/// it was.
std::pair<py::object, bool> way_to(const Recording& r, const py::object& o,
                                   const py::list& aliases);

}  // namespace wgt::bind
