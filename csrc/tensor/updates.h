// What a step of an optimizer makes of parameters and of its state. Formulas have their home here;
// which numbers they take at which step, and what state there is, in python/wgtensor/optim.
#pragma once
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

}  // namespace wgt
