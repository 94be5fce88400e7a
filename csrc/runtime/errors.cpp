#include "runtime/errors.h"

#include <cstdlib>

namespace wgt::rt {

namespace {

// wgpu-native panics at the filter for internal errors; those arrive as uncaptured ones.
constexpr WGPUErrorFilter kFilters[] = {WGPUErrorFilter_OutOfMemory, WGPUErrorFilter_Validation};

}  // namespace

bool WgpuError::says_lost() const {
  return message.find("device is lost") != std::string::npos ||
         message.find("device lost") != std::string::npos ||
         message.find("Device lost") != std::string::npos;
}

bool WgpuError::out_of_memory() const {
  // wgpu reports most of them as validation errors.
  return type == WGPUErrorType_OutOfMemory ||
         message.find("Not enough memory left") != std::string::npos ||
         message.find("Out of memory") != std::string::npos ||
         message.find("out of memory") != std::string::npos;
}

ErrorScope::ErrorScope(Core& core)
    : core_(core),
      turn_(core.scope_mutex),
      earlier_(core.signals->has_uncaptured.load(std::memory_order_acquire)) {
  for (WGPUErrorFilter filter : kFilters) wgpuDevicePushErrorScope(core_.device, filter);
}

WgpuError ErrorScope::pop() {
  WgpuError first;
  if (!open_) return first;
  open_ = false;
  std::unique_lock<std::recursive_mutex> turn = std::move(turn_);
  if (!core_.touchable()) return first;
  WGPUPopErrorScopeCallbackInfo info{};
  info.mode = WGPUCallbackMode_AllowSpontaneous;
  info.userdata1 = &first;
  info.callback = [](WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message,
                     void* out, void*) {
    auto* error = static_cast<WgpuError*>(out);
    if (status != WGPUPopErrorScopeStatus_Success || type == WGPUErrorType_NoError || *error)
      return;
    error->type = type;
    error->message = text(message);
  };
  for (size_t i = 0; i < std::size(kFilters); ++i) wgpuDevicePopErrorScope(core_.device, info);
  if (!first && !earlier_ && core_.signals->has_uncaptured.load(std::memory_order_acquire))
    first = {WGPUErrorType_Internal, core_.signals->take_uncaptured()};
  return first;
}

void raise_wgpu(Core& core, const WgpuError& error, const std::string& doing) {
  if (error.says_lost()) core.signals->lose(error.message);
  core.check();
  ErrorKind kind = error.out_of_memory() ? ErrorKind::out_of_memory : ErrorKind::generic;
  raise(kind, doing + ": " + error.message);
}

void raise_shader(Core& core, const WgpuError& error, const std::string& label) {
  if (error.says_lost()) core.signals->lose(error.message);
  core.check();
  if (error.out_of_memory()) raise_wgpu(core, error, "compiling '" + label + "'");
  Error e(ErrorKind::shader, "kernel '" + label + "' does not compile: " + error.message);
  // naga points at "wgsl:LINE:COLUMN".
  size_t at = error.message.find("wgsl:");
  if (at != std::string::npos) {
    char* end = nullptr;
    e.line = static_cast<int>(std::strtol(error.message.c_str() + at + 5, &end, 10));
    if (*end == ':') e.column = static_cast<int>(std::strtol(end + 1, nullptr, 10));
  }
  throw e;
}

}  // namespace wgt::rt
