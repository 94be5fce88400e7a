#include "base/environment.h"

#include <algorithm>
#include <cstdlib>

#if defined(__APPLE__)
#include <crt_externs.h>
#elif !defined(_WIN32)
extern char** environ;
#endif

namespace wgt {

namespace {

char** variables() {
#if defined(__APPLE__)
  return *_NSGetEnviron();
#elif defined(_WIN32)
  return _environ;
#else
  return environ;
#endif
}

// Letters to change, insert or drop (V. I. Levenshtein, 1966).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> environment_names(std::string_view prefix) {
  std::vector<std::string> out;
  for (char** at = variables(); at && *at; ++at) {
    std::string_view entry(*at);
    if (entry.starts_with(prefix)) out.emplace_back(entry.substr(0, entry.find('=')));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string closest(std::string_view name, const std::vector<std::string>& names) {
  constexpr size_t kFar = 4;  // letters apart
  std::string best;
  size_t least = kFar;
  for (const std::string& candidate : names)
    if (size_t d = distance(name, candidate); d < least) {
      least = d;
      best = candidate;
    }
  return best;
}

}  // namespace wgt
