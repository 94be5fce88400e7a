// The function that a thread is in, as errors name it: one of the package's own that is made of
// others.
#pragma once
#include <string>

namespace wgt {

/// Empty outside of such a function.
inline thread_local std::string called;

/// The name for errors of `op`, now or when a kernel finds out.
inline std::string name_in_errors(const char* op) {
  return called.empty() ? op : called;
}

}  // namespace wgt
