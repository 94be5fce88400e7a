// The runtime by itself: adapters, memory, stream, limits.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "runtime_helpers.h"

using namespace runtime_test;

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
