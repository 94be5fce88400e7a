// What a step of an optimizer makes of parameters and of its state. Formulas have their home here;
// which numbers they take at which step, and what state there is, in python/wgtensor/optim.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace wgt {

/// Parameters that one formula moves by the same numbers.
struct Update {
  std::string formula;                                   // "sgd", "adam", ...
  std::vector<std::pair<std::string, Operand>> numbers;  // by the names that the formula has
  bool maximize = false;
  std::vector<Tensor> params, gradients;
  std::vector<std::vector<Tensor>> states;  // of each parameter, in the formula's order
};

/// Replaces parameters and states by their next values: lazy, off the tape.
void apply(Update& update);

/// What a step moves from one value to the next. What was before must not be held, so that its
/// memory can be written over: the next value, while it is not computed, keeps it.
struct Moves {
  std::vector<Tensor> next;
  std::vector<graph::Node*> before;
};

/// Starts the work of the next values: of all of them, or where there is no memory for that, of
/// none. Then gives the error, and in `back` the values before; an empty one where the next value
/// is computed already.
std::optional<Error> start(const Moves& moves, std::vector<graph::NodeRef>& back);

}  // namespace wgt
