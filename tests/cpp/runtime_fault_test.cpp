// Loss of the device and lack of memory, injected by tests/vulkan_layer (WGT_INJECT_FILE set and
// the layer loaded); without it these cases do nothing.
#include <doctest/doctest.h>

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/device.h"

using namespace wgt;
using namespace wgt::rt;

namespace {

struct Control {  // as in tests/vulkan_layer/inject.c
  std::atomic<int32_t> lost_after, oom_after, oom_times, losses, ooms, calls, allocations, hung;
  std::atomic<int64_t> oom_min_bytes;
};

Control* control() {
  static Control* mapped = []() -> Control* {
    const char* path = std::getenv("WGT_INJECT_FILE");
    int fd = path ? open(path, O_RDWR) : -1;
    if (fd < 0) return nullptr;
    void* at = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return at == MAP_FAILED ? nullptr : static_cast<Control*>(at);
  }();
  return mapped;
}

std::unique_ptr<Device> make() {
  return Device::create(choose_adapter("vulkan"), {});
}

KernelRef increment(Device& device) {
  KernelDesc d;
  d.label = "increment";
  d.bindings = {Access::read_write};
  d.source =
      "@group(0) @binding(0) var<storage, read_write> a: array<u32>;\n"
      "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {\n"
      "  a[id.x] = a[id.x] + 1u;\n"
      "}\n";
  return device.kernel(d);
}

/// Some of everything; raises where the device is lost.
void work(Device& device, std::vector<ReadbackRef>& kept) {
  Lock lock(device.mutex());
  BufferRef b = device.allocate(4096);
  std::vector<uint32_t> zero(1024);
  device.upload(*b, 0, zero.data(), 4096);
  KernelRef k = increment(device);
  Buffer* buffers[] = {b.get()};
  for (int i = 0; i < 100; ++i) device.dispatch(*k, buffers, nullptr, 16, 1, 1);
  ReadbackRef r = device.read_begin(*b, 0, 4096);
  device.read_wait(*r, lock);
  CHECK(static_cast<uint32_t*>(r->data)[1023] == 100);
  kept.push_back(r);
  device.synchronize(lock);
  BufferRef big = device.allocate(3 << 20);
  device.copy(*big, 0, *b, 0, 4096);
  device.empty_cache();
}

}  // namespace

TEST_CASE("a device that the driver loses, at every call in turn") {
  if (!control()) return;
  int losses = control()->losses.load();
  for (int after = 0; after < 40; ++after) {
    CAPTURE(after);
    std::unique_ptr<Device> device = make();
    std::vector<ReadbackRef> kept;
    work(*device, kept);
    control()->lost_after.store(after);
    try {
      for (int round = 0; round < 1000; ++round) work(*device, kept);
      FAIL("the loss went unseen");
    } catch (const Error& e) {
      CHECK(e.kind == ErrorKind::device_lost);
    }
    control()->lost_after.store(-1);
    CHECK(device->lost());
    CHECK_THROWS_AS(device->check(), Error);
    for (auto& r : kept) CHECK(static_cast<uint32_t*>(r->data)[7] == 100);
    if (after % 2) kept.clear();
    device->destroy();
    device.reset();
    for (auto& r : kept) CHECK(static_cast<uint32_t*>(r->data)[7] == 100);
  }
  CHECK(control()->losses.load() - losses == 40);
}

TEST_CASE("out of memory is retried once, then typed") {
  if (!control()) return;
  std::unique_ptr<Device> device = make();
  Lock lock(device->mutex());
  const uint64_t size = 300 << 20;
  control()->oom_min_bytes.store(size);
  control()->oom_times.store(1);
  control()->oom_after.store(0);
  int before = control()->ooms.load();
  BufferRef b = device->allocate(size);  // the second attempt succeeds
  CHECK(control()->ooms.load() == before + 1);
  control()->oom_times.store(1000);
  control()->oom_after.store(0);
  try {
    device->allocate(size);
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.kind == ErrorKind::out_of_memory);
    CHECK(e.requested == size);
  }
  try {
    device->read_begin(*b, 0, size);
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.kind == ErrorKind::out_of_memory);
  }
  control()->oom_after.store(-1);
  b = device->allocate(size);
  lock.unlock();
  std::vector<ReadbackRef> kept;
  work(*device, kept);
}
#endif
