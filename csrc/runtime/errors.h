// Errors that wgpu reports about a call, collected by scopes and raised typed.
#pragma once
#include <string>

#include "runtime/core.h"

namespace wgt::rt {

struct WgpuError {
  WGPUErrorType type = WGPUErrorType_NoError;
  std::string message;
  explicit operator bool() const { return type != WGPUErrorType_NoError; }
  bool out_of_memory() const;
  bool says_lost() const;
};

/// Collects every kind of error between its construction and pop(). Costs some 0.1 µs. Scopes
/// belong to the device, so another thread's waits until this one is popped.
class ErrorScope {
 public:
  explicit ErrorScope(Core& core);
  ~ErrorScope() { pop(); }
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;
  WgpuError pop();

 private:
  Core& core_;
  std::unique_lock<std::recursive_mutex> turn_;
  bool earlier_;  // an uncaptured error is there that is not ours
  bool open_ = true;
};

/// Raises what `error` stands for: a lost device, no memory, else Error with the text.
[[noreturn]] void raise_wgpu(Core& core, const WgpuError& error, const std::string& doing);
/// ShaderError with the place in the source, where the message names one.
[[noreturn]] void raise_shader(Core& core, const WgpuError& error, const std::string& label);

}  // namespace wgt::rt
