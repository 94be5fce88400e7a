// What tells recordings apart.
#pragma once
#include <string>

#include "bindings/bindings.h"

namespace wgt::bind {

void init_jit_keys(py::module_& m);
/// Name of the device that tensors are made on which name none; empty where none was chosen yet.
std::string chosen_device_name();

}  // namespace wgt::bind
