// The function that a thread is in, as errors name it: one of the package's own that is made of
// others.
#pragma once
#include <string>
#include <utility>

namespace wgt {

/// Empty outside of such a function.
inline thread_local std::string called;

/// The name for errors of `op`, now or when a kernel finds out.
inline std::string name_in_errors(const char* op) {
  return called.empty() ? op : called;
}

/// What runs inside is part of that function: a gradient's work, say, of the one that it is of.
class CalledAs {
 public:
  explicit CalledAs(std::string name) : before_(std::exchange(called, std::move(name))) {}
  ~CalledAs() { called = std::move(before_); }
  CalledAs(const CalledAs&) = delete;
  CalledAs& operator=(const CalledAs&) = delete;

 private:
  std::string before_;
};

}  // namespace wgt
