// The function that a thread is in, as errors name it: one of the package's own that is made of
// others.
#pragma once
#include <string>
#include <utility>

#include "base/errors.h"

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

/// The runtime does not know for whom it allocates: its errors get the function's name here.
inline Error named(const Error& error, const char* op) {
  std::string text = error.what();
  if (error.kind != ErrorKind::out_of_memory || text.starts_with("[")) return error;
  return error.with_text("[" + name_in_errors(op) + "] " + text);
}

/// Runs f, whose want of memory is told as that of `op`.
template <class F>
decltype(auto) naming(const char* op, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw named(error, op);
  }
}

}  // namespace wgt
