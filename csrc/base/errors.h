// Typed errors. The bindings map each class to a Python exception of the same name.
#pragma once
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace wgt {

enum class ErrorKind {
  generic,
  shape,
  dtype,
  index,
  value,
  type,
  overflow,
  runtime,
  device_not_found,
  device_mismatch,
  out_of_memory,
  device_lost,
  shader,
  workgroup_size,
  unsupported,
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind k, const std::string& message) : std::runtime_error(message), kind(k) {}
  ErrorKind kind;
  uint64_t requested = 0;             // bytes, out_of_memory only
  std::optional<uint64_t> available;  // bytes, where known
  int line = 0, column = 0;           // shader only
  bool late = false;                  // found by a kernel, told by whatever reads next

  /// The same with another text.
  Error with_text(const std::string& text) const {
    Error e(kind, text);
    e.requested = requested;
    e.available = available;
    e.line = line;
    e.column = column;
    e.late = late;
    return e;
  }
};

[[noreturn]] inline void raise(ErrorKind kind, const std::string& message) {
  throw Error(kind, message);
}

/// For states that only a bug in wgtensor can reach.
[[noreturn]] inline void internal_error(const std::string& message) {
  throw Error(ErrorKind::generic, "internal error (please report): " + message);
}

}  // namespace wgt
