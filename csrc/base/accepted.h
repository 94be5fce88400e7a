// What a setting accepts, as its row of settings.def lists it: words, prefixes and ranges between
// bars, "0|1024..", "off|on", "matmul:*". An empty list accepts any text.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wgt {

/// The text as a whole number, with nothing around it; nothing where it is none, or too large.
std::optional<int64_t> whole_number(std::string_view text);

bool accepted(std::string_view values, std::string_view text);

/// The list in words, for errors and docs: "0, or 1024 to 2147483647"; empty for any text.
std::string accepted_words(std::string_view values);

}  // namespace wgt
