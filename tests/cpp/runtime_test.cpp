// The runtime by itself: memory, stream, kernels, errors, loss and recovery.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

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

TEST_CASE("freed memory is reused in stream order") {
  Device& device = shared();
  Lock lock(device.mutex());
  device.empty_cache();
  constexpr uint32_t n = 5000;
  std::vector<ReadbackRef> reads;
  KernelRef k = device.kernel(add_kernel(device));
  uint64_t made = device.stats().buffers;
  for (int i = 0; i < 20; ++i) {  // every round writes the same memory, right after it was read
    BufferRef b = device.allocate(n * 4);
    std::vector<float> data(n, static_cast<float>(i));
    device.upload(*b, 0, data.data(), n * 4);
    add(device, *k, *b, n, 0.5f);
    reads.push_back(device.read_begin(*b, 0, n * 4));
  }
  CHECK(device.stats().buffers - made == 1);
  for (size_t i = 0; i < reads.size(); ++i) {
    device.read_wait(*reads[i], lock);
    auto* got = static_cast<float*>(reads[i]->data);
    CHECK(got[0] == static_cast<float>(i) + 0.5f);
    CHECK(got[n - 1] == static_cast<float>(i) + 0.5f);
  }
}

TEST_CASE("size classes waste at most an eighth") {
  Device& device = shared();
  Lock lock(device.mutex());
  for (uint64_t n : {uint64_t{0}, uint64_t{1}, uint64_t{256}, uint64_t{257}, uint64_t{1000},
                     uint64_t{4097}, uint64_t{65537}, uint64_t{1000001}, uint64_t{66000000}}) {
    BufferRef b = device.allocate(n);
    CHECK(b->bytes >= std::max<uint64_t>(n, 16));
    CHECK(b->bytes % 16 == 0);
    if (n > 256) CHECK(static_cast<double>(b->bytes) <= 1.125 * static_cast<double>(n) + 16);
  }
  device.empty_cache();
  CHECK(device.stats().pooled_bytes == 0);
}

TEST_CASE("many uploads in one submission, and copies") {
  Device& device = shared();
  BufferRef a, b;
  constexpr int n = 3000;
  {
    Lock lock(device.mutex());
    a = device.allocate(n * 4);
    b = device.allocate(n * 4);
    for (uint32_t i = 0; i < n; ++i) device.upload(*a, i * 4, &i, 4);
    device.copy(*b, 0, *a, 0, n * 4);
    device.copy(*b, 0, *b, 400, 400);  // within one buffer
    auto* packed = static_cast<uint32_t*>(device.upload_begin(*a, 0, 8));
    packed[0] = 7;
    packed[1] = 8;
  }
  std::vector<uint32_t> got = read<uint32_t>(device, *b, n);
  CHECK(got[0] == 100);
  CHECK(got[99] == 199);
  CHECK(got[100] == 100);
  CHECK(got[n - 1] == n - 1);
  CHECK(read<uint32_t>(device, *a, 3) == std::vector<uint32_t>{7, 8, 2});
  CHECK(read<uint8_t>(device, *a, 3, 7) == std::vector<uint8_t>{0, 2, 0});  // from within a word
}

TEST_CASE("an upload above the staging budget") {
  Device& device = shared();
  const uint64_t n = 200 << 20;
  BufferRef b;
  std::vector<uint32_t> data(n / 4);
  std::iota(data.begin(), data.end(), 0u);
  for (int round = 0; round < 3; ++round) {
    Lock lock(device.mutex());
    b = device.allocate(n);
    device.upload(*b, 0, data.data(), n);
  }
  Lock lock(device.mutex());
  ReadbackRef r = device.read_begin(*b, 0, n);
  device.read_wait(*r, lock);
  CHECK(std::memcmp(r->data, data.data(), n) == 0);
}

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

TEST_CASE("allocations that cannot succeed") {
  Device& device = shared();
  Lock lock(device.mutex());
  uint64_t most = device.limits().max_buffer;
  Error e = error_of([&] { device.allocate(most + 1); });
  CHECK(e.kind == ErrorKind::out_of_memory);
  CHECK(e.requested == most + 1);
  CHECK(std::string(e.what()).find(std::to_string(most + 1)) != std::string::npos);
  BufferRef b = device.allocate(1024);  // and it goes on
  CHECK(b->bytes == 1024);
}

TEST_CASE("debug mode poisons fresh and reused memory") {
  std::unique_ptr<Device> device = make(false, true);
  for (int round = 0; round < 2; ++round) {
    BufferRef b;
    {
      Lock lock(device->mutex());
      b = device->allocate(3 << 20);
    }
    std::vector<uint32_t> got = read<uint32_t>(*device, *b, (3 << 20) / 4);
    CHECK(got.front() == 0x7fc0deadu);
    CHECK(got.back() == 0x7fc0deadu);
    Lock lock(device->mutex());
    std::vector<uint32_t> zero((3 << 20) / 4);
    device->upload(*b, 0, zero.data(), 3 << 20);
  }
}

TEST_CASE("default limits") {
  std::unique_ptr<Device> device = make(true);
  const Limits& l = device->limits();
  CHECK(l.max_storage_buffers <= 8);
  CHECK(l.max_binding <= 128 << 20);
  CHECK(l.max_buffer <= 256 << 20);
  CHECK(l.max_workgroup_memory <= 16384);
  CHECK(l.max_invocations <= 256);
  CHECK(l.max_immediates == 0);
  CHECK(feature_names(device->features()).empty());
  CHECK(!device->use_immediates(4));
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

TEST_CASE("choosing an adapter") {
  CHECK(!adapters().empty());
  CHECK(choose_adapter("").index == 0);
  CHECK(choose_adapter("0").index == 0);
  CHECK(choose_adapter("gpu:0").index == 0);
  const AdapterInfo& first = adapters()[0];
  CHECK(choose_adapter(first.backend).index == 0);
  CHECK(choose_adapter(first.backend + ":0").index == 0);
  CHECK(choose_adapter(first.name.substr(0, 5)).index == 0);
  Error e = error_of([] { choose_adapter("no such card"); });
  CHECK(e.kind == ErrorKind::device_not_found);
  CHECK(std::string(e.what()).find("no such card") != std::string::npos);
  CHECK(std::string(e.what()).find(first.name) != std::string::npos);
  CHECK(error_of([] { choose_adapter("999"); }).kind == ErrorKind::device_not_found);
}

TEST_CASE("every adapter computes") {
  for (const AdapterInfo& adapter : adapters())
    for (bool default_limits : {false, true}) {
      CAPTURE(adapter.name);
      CAPTURE(adapter.backend);
      std::unique_ptr<Device> device = Device::create(adapter, {default_limits, false});
      BufferRef b;
      {
        Lock lock(device->mutex());
        b = device->allocate(256);
        std::vector<float> ones(64, 1.0f);
        device->upload(*b, 0, ones.data(), 256);
        KernelRef k = device->kernel(add_kernel(*device));
        for (int i = 0; i < 100; ++i) add(*device, *k, *b, 64, 1.0f);
      }
      CHECK(read<float>(*device, *b, 64) == std::vector<float>(64, 101.0f));
    }
}

TEST_CASE("a destroyed device raises, and its readbacks stay readable") {
  std::unique_ptr<Device> device = make();
  ReadbackRef kept;
  BufferRef b;
  const uint64_t n = 64 << 20;
  {
    Lock lock(device->mutex());
    b = device->allocate(n);
    std::vector<uint32_t> data(n / 4, 77);
    device->upload(*b, 0, data.data(), n);
    kept = device->read_begin(*b, 0, n);
    device->read_wait(*kept, lock);
  }
  KernelRef k;
  {
    Lock lock(device->mutex());
    k = device->kernel(add_kernel(*device));
    add(*device, *k, *b, 64, 1.0f);
  }
  device->destroy();
  CHECK(device->lost());
  Lock lock(device->mutex());
  CHECK(error_of([&] { device->check(); }).kind == ErrorKind::device_lost);
  CHECK(error_of([&] { device->allocate(16); }).kind == ErrorKind::device_lost);
  CHECK(error_of([&] { add(*device, *k, *b, 64, 1.0f); }).kind == ErrorKind::device_lost);
  CHECK(error_of([&] { device->upload(*b, 0, "abcd", 4); }).kind == ErrorKind::device_lost);
  CHECK(error_of([&] { device->read_begin(*b, 0, 4); }).kind == ErrorKind::device_lost);
  CHECK(error_of([&] { device->submit(); }).kind == ErrorKind::device_lost);
  CHECK(error_of([&] { device->synchronize(lock); }).kind == ErrorKind::device_lost);
  CHECK(std::string(error_of([&] { device->check(); }).what()).find("request") !=
        std::string::npos);
  lock.unlock();
  auto* got = static_cast<uint32_t*>(kept->data);
  CHECK(got[0] == 77);
  CHECK(got[n / 4 - 1] == 77);
  b.reset();
  device.reset();
  CHECK(got[n / 8] == 77);
  kept.reset();
}

TEST_CASE("destroyed under load from another thread, and replaced") {
  for (int round = 0; round < 20; ++round) {
    std::unique_ptr<Device> device = make();
    std::thread destroyer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(3 + round));
      device->destroy();
    });
    Error e = error_of([&] {
      for (;;) {
        Lock lock(device->mutex());
        BufferRef b = device->allocate(4096);
        std::vector<float> zero(1024);
        device->upload(*b, 0, zero.data(), 4096);
        KernelRef k = device->kernel(add_kernel(*device));
        for (int i = 0; i < 30; ++i) add(*device, *k, *b, 1024, 1.0f);
        ReadbackRef r = device->read_begin(*b, 0, 4096);
        device->read_wait(*r, lock);
        CHECK(static_cast<float*>(r->data)[5] == 30.0f);
      }
    });
    CHECK(e.kind == ErrorKind::device_lost);
    destroyer.join();
  }
}

TEST_CASE("several threads use one device") {
  Device& device = shared();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&device, &wrong, t] {
      for (int round = 0; round < 20; ++round) {
        BufferRef b;
        {
          Lock lock(device.mutex());
          b = device.allocate(1024);
          std::vector<float> start(256, static_cast<float>(t));
          device.upload(*b, 0, start.data(), 1024);
          KernelRef k = device.kernel(add_kernel(device));
          for (int i = 0; i < 10; ++i) add(device, *k, *b, 256, 1.0f);
        }
        if (read<float>(device, *b, 256) != std::vector<float>(256, static_cast<float>(t) + 10))
          ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("log and version") {
  CHECK(wgpu_version().find('.') != std::string::npos);
  take_log();
  CHECK(take_log().empty());
  CHECK(!forked());
}

TEST_CASE("parts of a buffer, and buffers above the binding limit") {
  Device& device = shared();
  uint64_t step = std::max<uint64_t>(device.limits().storage_alignment, 256);
  BufferRef b, big;
  {
    Lock lock(device.mutex());
    b = device.allocate(step * 4);
    std::vector<float> zero(step);
    device.upload(*b, 0, zero.data(), step * 4);
    KernelRef k = device.kernel(add_kernel(device));
    AddParams p{64, 2.0f};
    Window w{b.get(), step, 256};
    for (int i = 0; i < 3; ++i) device.dispatch(*k, &w, &p, 1, 1, 1);
    w = {b.get(), 2 * step, 256};
    device.dispatch(*k, &w, &p, 1, 1, 1);
    add(device, *k, *b, 64, 1.0f);  // whole
    if (device.limits().max_binding + 4096 < device.limits().max_buffer &&
        device.limits().max_binding < 200 << 20) {
      big = device.allocate(device.limits().max_binding + 4096);
      device.upload(*big, 0, zero.data(), 256);
      add(device, *k, *big, 64, 1.0f);
    }
  }
  std::vector<float> got = read<float>(device, *b, step);
  CHECK(got[0] == 1.0f);
  CHECK(got[64] == (step == 256 ? 6.0f : 0.0f));
  CHECK(got[step / 4] == 6.0f);
  CHECK(got[step / 2] == 2.0f);
  CHECK(got[step / 2 + 64] == 0.0f);
  if (big) CHECK(read<float>(device, *big, 64) == std::vector<float>(64, 1.0f));
}

#ifndef _WIN32
TEST_CASE("a forked child raises and does not hang") {
  Device& device = shared();
  {
    Lock lock(device.mutex());
    device.synchronize(lock);
  }
  pid_t child = fork();
  if (child == 0) {
    bool raised = forked();
    try {
      device.check();
      raised = false;
    } catch (const Error& e) {
      raised = raised && e.kind == ErrorKind::device_lost &&
               std::string(e.what()).find("spawn") != std::string::npos;
    }
    _exit(raised ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(!forked());
}
#endif
