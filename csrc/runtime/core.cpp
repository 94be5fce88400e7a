#include "runtime/core.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#ifndef _WIN32
#include <pthread.h>
#include <unistd.h>
#endif

namespace wgt::rt {

std::atomic<bool> fork_flag{false};

bool forked() {
  return fork_flag.load(std::memory_order_relaxed);
}

#ifndef _WIN32
static void enter_child() {
  fork_flag.store(true);
#ifdef __GLIBC__
  // Mesa's exit handlers join threads that the child does not have, and crash: the last handler to
  // be registered runs first, and ends the process without them.
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
#endif
}
#endif

void watch_forks() {
#ifndef _WIN32
  static const int once = pthread_atfork(nullptr, nullptr, enter_child);
  (void)once;
#endif
}

void raise_forked() {
  raise(ErrorKind::device_lost,
        "GPU devices do not survive a fork: this process was forked from one that uses the GPU. "
        "Start workers with multiprocessing's 'spawn' method");
}

namespace {
std::atomic<bool> ending{false};
std::thread::id last_thread;  // written before `ending`
}  // namespace

void begin_exit() {
  last_thread = std::this_thread::get_id();
  ending.store(true, std::memory_order_release);
}

bool exiting() {
  return ending.load(std::memory_order_acquire);
}

bool must_stop() {
  return exiting() && std::this_thread::get_id() != last_thread;
}

void stop(Lock& held) {
  held.unlock();
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

std::string text(WGPUStringView v) {
  if (!v.data) return "";
  return v.length == WGPU_STRLEN ? std::string(v.data) : std::string(v.data, v.length);
}

void Signals::lose(const std::string& why) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (reason_.empty()) reason_ = why;
  }
  lost.store(true, std::memory_order_release);
}

void Signals::complete(uint64_t submission) {
  uint64_t newest = completed.load();
  while (newest < submission && !completed.compare_exchange_weak(newest, submission)) {
  }
  events.fetch_add(1, std::memory_order_relaxed);
}

std::string Signals::reason() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return reason_;
}

void Signals::record_uncaptured(const std::string& text) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (uncaptured_.empty()) uncaptured_ = text;
  has_uncaptured.store(true, std::memory_order_release);
}

std::string Signals::take_uncaptured() {
  std::lock_guard<std::mutex> lock(mutex_);
  has_uncaptured.store(false, std::memory_order_relaxed);
  return std::exchange(uncaptured_, {});
}

void Core::raise_lost() const {
  if (fork_flag.load()) raise_forked();
  raise(ErrorKind::device_lost, "device " + title() + " is lost: " + signals->reason());
}

std::string Core::title() const {
  return name.empty() ? "'" + adapter.name + "'" : name + " ('" + adapter.name + "')";
}

void Core::poison(const char* what) {
  signals->poisoned.store(true, std::memory_order_release);
  signals->lose(std::string("wgpu aborted in ") + what +
                ", as it does when the driver has lost the device");
}

}  // namespace wgt::rt
