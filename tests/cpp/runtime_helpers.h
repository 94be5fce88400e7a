// Devices, a kernel and reads for the tests of the runtime.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace runtime_test {

using namespace wgt;
using namespace wgt::rt;

inline std::unique_ptr<Device> make(bool default_limits = false, bool debug = false) {
  return Device::create(choose_adapter(""), DeviceOptions{default_limits, debug});
}

inline Device& shared() {
  static Device* device = make().release();  // leaked: no GPU work at exit
  return *device;
}

template <class T>
std::vector<T> read(Device& device, Buffer& b, size_t n, uint64_t offset = 0) {
  Lock lock(device.mutex());
  ReadbackRef r = device.read_begin(b, offset, n * sizeof(T));
  device.read_wait(*r, lock);
  std::vector<T> out(n);
  std::memcpy(out.data(), r->data, n * sizeof(T));
  return out;
}

/// a[i] += p.value for i < p.n, in place.
inline KernelDesc add_kernel(const Device& device, const std::string& label = "add") {
  KernelDesc d;
  d.label = label;
  d.bindings = {Access::read_write};
  d.param_bytes = 8;
  d.immediates = device.use_immediates(8);
  std::string params =
      d.immediates ? "var<immediate> p: P;" : "@group(0) @binding(1) var<uniform> p: P;";
  d.source = "// " + label + "\nstruct P { n: u32, value: f32 }\n" + params + R"(
@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < p.n) { a[id.x] = a[id.x] + p.value; }
}
)";
  return d;
}

struct AddParams {
  uint32_t n;
  float value;
};

inline void add(Device& device, Kernel& kernel, Buffer& b, uint32_t n, float value) {
  AddParams p{n, value};
  Buffer* buffers[] = {&b};
  device.dispatch(kernel, buffers, &p, (n + 63) / 64, 1, 1);
}

template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  FAIL("no error was raised");
  return Error(ErrorKind::generic, "");
}

}  // namespace runtime_test
