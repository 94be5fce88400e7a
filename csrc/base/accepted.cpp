#include "base/accepted.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

namespace wgt {

namespace {

std::vector<std::string_view> alternatives(std::string_view values) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at <= values.size();) {
    size_t end = std::min(values.find('|', at), values.size());
    out.push_back(values.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

struct Span {
  int64_t low, high;
};

std::optional<Span> range_of(std::string_view item) {
  size_t dots = item.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  return Span{whole_number(item.substr(0, dots)).value_or(0),
              whole_number(item.substr(dots + 2)).value_or(std::numeric_limits<int>::max())};
}

std::string in_words(std::string_view item) {
  if (item.empty()) return "nothing";
  if (auto r = range_of(item)) return std::to_string(r->low) + " to " + std::to_string(r->high);
  if (item.back() == '*') return "'" + std::string(item.substr(0, item.size() - 1)) + "NAME'";
  return whole_number(item) ? std::string(item) : "'" + std::string(item) + "'";
}

}  // namespace

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t v = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, v);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return v;
}

bool accepted(std::string_view values, std::string_view text) {
  if (values.empty()) return true;
  for (std::string_view item : alternatives(values)) {
    if (auto r = range_of(item)) {
      auto v = whole_number(text);
      if (v && *v >= r->low && *v <= r->high) return true;
    } else if (!item.empty() && item.back() == '*') {
      if (text.size() >= item.size() && text.starts_with(item.substr(0, item.size() - 1)))
        return true;
    } else if (item == text) {
      return true;
    }
  }
  return false;
}

std::string accepted_words(std::string_view values) {
  if (values.empty()) return "";
  std::vector<std::string_view> items = alternatives(values);
  if (items.front().empty()) {  // "nothing" reads best at the end
    items.erase(items.begin());
    items.emplace_back();
  }
  std::string out;
  bool number = false;
  for (size_t i = 0; i < items.size(); ++i) {
    number = number || range_of(items[i]);
    if (i > 0) out += i + 1 < items.size() ? ", " : items.size() > 2 || number ? ", or " : " or ";
    out += in_words(items[i]);
  }
  return (number ? "a whole number: " : "") + out;
}

}  // namespace wgt
