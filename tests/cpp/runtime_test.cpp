// The runtime by itself: memory, stream, kernels, errors, loss and recovery.
#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/settings.h"
#include "runtime/device.h"

using namespace wgt;
using namespace wgt::rt;

namespace {

std::unique_ptr<Device> make(bool default_limits = false, bool debug = false) {
  return Device::create(choose_adapter(""), DeviceOptions{default_limits, debug});
}

Device& shared() {
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
KernelDesc add_kernel(const Device& device, const std::string& label = "add") {
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

void add(Device& device, Kernel& kernel, Buffer& b, uint32_t n, float value) {
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

}  // namespace

TEST_CASE("uploads of odd sizes come back") {
  Device& device = shared();
  for (size_t n : {1, 3, 4, 5, 255, 4097, 300001, 3000001}) {
    std::vector<uint8_t> data(n);
    for (size_t i = 0; i < n; ++i) data[i] = static_cast<uint8_t>(i * 7 + n);
    BufferRef b;
    {
      Lock lock(device.mutex());
      b = device.allocate(n);
      CHECK(b->bytes >= n);
      CHECK(b->bytes % 16 == 0);
      device.upload(*b, 0, data.data(), n);
    }
    CHECK(read<uint8_t>(device, *b, n) == data);
  }
}

TEST_CASE("a chain of 10,000 dispatches") {
  for (bool default_limits : {false, true}) {
    std::unique_ptr<Device> device = make(default_limits);
    CHECK(device->use_immediates(8) == (device->limits().max_immediates >= 8));
    BufferRef b;
    {
      Lock lock(device->mutex());
      b = device->allocate(64 * 4);
      std::vector<float> zero(64);
      device->upload(*b, 0, zero.data(), 256);
      KernelRef k = device->kernel(add_kernel(*device));
      for (int i = 0; i < 10000; ++i) add(*device, *k, *b, 64, static_cast<float>(i % 3));
    }
    CHECK(read<float>(*device, *b, 64) == std::vector<float>(64, 9999.0f));
  }
}
