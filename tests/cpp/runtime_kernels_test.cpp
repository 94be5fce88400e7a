// Kernels of the runtime: compiled, kept, bound, refused.
#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/settings.h"
#include "runtime_helpers.h"

using namespace runtime_test;

TEST_CASE("evicted pipelines are compiled again") {
  std::unique_ptr<Device> device = make();
  BufferRef b;
  {
    Lock lock(device->mutex());
    device->set_pipeline_capacity(3);
    b = device->allocate(256);
    std::vector<float> zero(64);
    device->upload(*b, 0, zero.data(), 256);
    std::vector<KernelRef> kernels;
    for (int i = 0; i < 8; ++i)
      kernels.push_back(device->kernel(add_kernel(*device, "add" + std::to_string(i))));
    for (int round = 0; round < 3; ++round)
      for (auto& k : kernels) add(*device, *k, *b, 64, 1.0f);
    CHECK(device->stats().live_pipelines == 3);
    CHECK(device->stats().pipelines == 24);
    CHECK(device->kernel(add_kernel(*device, "add2")) == kernels[2]);
  }
  CHECK(read<float>(*device, *b, 64) == std::vector<float>(64, 24.0f));
}

TEST_CASE("bind groups go with their buffers") {
  std::unique_ptr<Device> device = make();
  Lock lock(device->mutex());
  KernelRef k = device->kernel(add_kernel(*device));
  {
    std::vector<BufferRef> keep;
    for (int i = 0; i < 5000; ++i) {  // more than the cache holds
      keep.push_back(device->allocate(256));
      add(*device, *k, *keep.back(), 64, 1.0f);
    }
    for (auto& b : keep) add(*device, *k, *b, 64, 1.0f);
  }
  device->empty_cache();
  CHECK(device->stats().live_bytes == 0);
  device->synchronize(lock);
}

TEST_CASE("shader errors name the place") {
  Device& device = shared();
  Lock lock(device.mutex());
  for (bool trusted : {true, false}) {
    KernelDesc d;
    d.label = "broken";
    d.bindings = {Access::read_write};
    d.trusted = trusted;
    d.source =
        "@group(0) @binding(0) var<storage, read_write> a: array<f32>;\n"
        "@compute @workgroup_size(1) fn main() {\n"
        "  a[0] = nonsense;\n"
        "}\n";
    KernelRef k = device.kernel(d);
    Error e = error_of([&] { device.compile(*k); });
    CHECK(e.kind == ErrorKind::shader);
    CHECK(e.line == 3);
    CHECK(e.column == 10);
    CHECK(std::string(e.what()).find("broken") != std::string::npos);
    CHECK(std::string(e.what()).find("nonsense") != std::string::npos);
    // Where the layout disagrees the pipeline fails, not the module.
    d.source =
        "@group(0) @binding(5) var<storage, read_write> a: array<f32>;\n"
        "@compute @workgroup_size(1) fn main() { a[0] = 1.0; }\n";
    KernelRef wrong = device.kernel(d);
    CHECK(error_of([&] { device.compile(*wrong); }).kind == ErrorKind::shader);
  }
}

TEST_CASE("kernels compiled together: each is right, and one that is not spoils none") {
  std::unique_ptr<Device> device = make();
  Lock lock(device->mutex());
  BufferRef b = device->allocate(4 * 12);
  std::vector<KernelRef> kernels;
  std::vector<Kernel*> together;
  auto add = [&](const std::string& expression) {
    KernelDesc d;
    d.label = expression;
    d.bindings = {Access::read_write};
    d.source =
        "@group(0) @binding(0) var<storage, read_write> a: array<u32>;\n"
        "@compute @workgroup_size(1) fn main() { " +
        expression + "; }\n";
    kernels.push_back(device->kernel(d));
    together.push_back(kernels.back().get());
  };
  for (int i = 0; i < 12; ++i)
    add("a[" + std::to_string(i) + "] = " + std::to_string(i * i + 7) + "u");
  SUBCASE("all compile") {
    uint64_t before = device->stats().pipelines;
    device->compile(together);
    uint64_t made = device->stats().pipelines - before;
    CHECK((made == 12 || std::thread::hardware_concurrency() < 2));
  }
  SUBCASE("one does not") {
    add("a[0] = nonsense");
    device->compile(together);
    Error e = error_of([&] { device->compile(*kernels.back()); });
    CHECK(e.kind == ErrorKind::shader);
    CHECK(std::string(e.what()).find("nonsense") != std::string::npos);
  }
  for (int i = 0; i < 12; ++i) {
    Buffer* buffers[] = {b.get()};
    device->dispatch(*kernels[static_cast<size_t>(i)], buffers, nullptr, 1, 1, 1);
  }
  ReadbackRef r = device->read_begin(*b, 0, 4 * 12);
  device->read_wait(*r, lock);
  for (uint32_t i = 0; i < 12; ++i) {
    uint32_t value = 0;
    std::memcpy(&value, static_cast<const char*>(r->data) + 4 * i, 4);
    CHECK(value == i * i + 7);
  }
}

TEST_CASE("a deep nest in a user's source does not overflow the stack") {
  Device& device = shared();
  Lock lock(device.mutex());
  std::string e = "a[0]";
  for (int i = 0; i < 3000; ++i) e = "abs(" + e + ")";
  KernelDesc d;
  d.label = "deep";
  d.bindings = {Access::read_write};
  d.trusted = false;
  d.source =
      "@group(0) @binding(0) var<storage, read_write> a: array<f32>;\n"
      "@compute @workgroup_size(1) fn main() { a[0] = " +
      e + "; }\n";
  KernelRef k = device.kernel(d);
  try {
    device.compile(*k);
  } catch (const Error& error) {  // refused is fine too
    CHECK(error.kind == ErrorKind::shader);
  }
}

TEST_CASE("refused work is dropped, and the device goes on") {
  std::unique_ptr<Device> device = make();
  BufferRef b;
  {
    Lock lock(device->mutex());
    KernelDesc d;
    d.label = "conflict";
    d.bindings = {Access::read, Access::read_write};
    d.source =
        "@group(0) @binding(0) var<storage, read> a: array<f32>;\n"
        "@group(0) @binding(1) var<storage, read_write> b: array<f32>;\n"
        "@compute @workgroup_size(1) fn main() { b[0] = a[0]; }\n";
    KernelRef k = device->kernel(d);
    b = device->allocate(256);
    std::vector<float> ones(64, 1.0f);
    device->upload(*b, 0, ones.data(), 256);
    device->submit();
    Buffer* same[] = {b.get(), b.get()};
    device->dispatch(*k, same, nullptr, 1, 1, 1);
    ReadbackRef r = device->read_begin(*b, 0, 256);
    CHECK(error_of([&] { device->submit(); }).kind == ErrorKind::generic);
    CHECK(error_of([&] { device->read_wait(*r, lock); }).kind == ErrorKind::generic);
    KernelRef ok = device->kernel(add_kernel(*device));
    add(*device, *ok, *b, 64, 1.0f);
    device->dispatch(*ok, same, nullptr, 0, 1, 1);  // nothing to do
    AddParams p{64, 1.0f};
    CHECK_THROWS_AS(device->dispatch(*ok, same, &p, 1 << 20, 1, 1), Error);
  }
  CHECK(read<float>(*device, *b, 64) == std::vector<float>(64, 2.0f));
}

TEST_CASE("parameters as uniforms, more than the arena holds at once") {
  std::unique_ptr<Device> device = make(true);
  int before = settings().submit_dispatches;
  settings().submit_dispatches = 100000;
  BufferRef b;
  {
    Lock lock(device->mutex());
    b = device->allocate(256);
    std::vector<float> zero(64);
    device->upload(*b, 0, zero.data(), 256);
    KernelRef k = device->kernel(add_kernel(*device));
    for (int i = 0; i < 2000; ++i) add(*device, *k, *b, 64, static_cast<float>(i));
  }
  settings().submit_dispatches = before;
  CHECK(read<float>(*device, *b, 64) == std::vector<float>(64, 1999.0f * 1000.0f));
}

TEST_CASE("parameters stay right across kernels, passes and submissions") {
  for (bool default_limits : {false, true}) {
    std::unique_ptr<Device> device = make(default_limits);
    float expected = 0;
    BufferRef b;
    {
      Lock lock(device->mutex());
      b = device->allocate(256);
      std::vector<float> zeros(64, 0);
      device->upload(*b, 0, zeros.data(), 256);
      KernelRef first = device->kernel(add_kernel(*device, "first"));
      KernelRef second = device->kernel(add_kernel(*device, "second"));
      KernelDesc plain;  // without parameters
      plain.label = "plain";
      plain.bindings = {Access::read_write};
      plain.source = R"(@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  a[id.x] = a[id.x] + 0.25;
})";
      KernelRef third = device->kernel(plain);
      for (int i = 0; i < 500; ++i) {
        int turn = i * 7 % 11;
        float value = turn < 8 ? 1 : static_cast<float>(turn);  // mostly as before
        if (i % 9 == 4) {
          Buffer* buffers[] = {b.get()};
          device->dispatch(*third, buffers, nullptr, 1, 1, 1);
          value = 0.25;
        } else {
          add(*device, i % 5 == 3 ? *second : *first, *b, 64, value);
        }
        expected += value;
        if (i % 23 == 22) device->submit();
        if (i % 31 == 30) device->upload(*b, 0, zeros.data(), 4);  // ends the pass
      }
    }
    CHECK(read<float>(*device, *b, 1, 4 * 63)[0] == expected);
  }
}
