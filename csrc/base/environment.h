// The process's environment, and names that were mistyped.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace wgt {

/// Names of the variables that begin so, in order.
std::vector<std::string> environment_names(std::string_view prefix);

/// The one of `names` that is nearest to `name` by single-letter changes; empty where none is near.
std::string closest(std::string_view name, const std::vector<std::string>& names);

}  // namespace wgt
