// What is known of the kernels for matrix products.
#pragma once
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace wgt {

/// The kernels that fit the device, as the setting `kernels` names them.
std::vector<std::string> matmul_kernels(graph::Engine& engine);

}  // namespace wgt
