// Devices lost, shared by threads, and left behind by a fork.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "runtime_helpers.h"

using namespace runtime_test;

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
