// What is known of the kernels for matrix products.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace wgt {

/// The kernels that fit the device, as the setting `kernels` names them.
std::vector<std::string> matmul_kernels(graph::Engine& engine);

/// Raises ValueError with all names where a value of the setting `kernels` names none of them.
void check_kernels(std::string_view kernels, const char* setting);

}  // namespace wgt
