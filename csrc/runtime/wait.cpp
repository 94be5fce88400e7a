#include "runtime/wait.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/settings.h"
#include "runtime/native.h"

namespace wgt::rt {

namespace {
constexpr std::chrono::microseconds kShortest{20}, kLongest{1000};
// Of the time waited for so far: what a sleep may make a wait longer. The processors of a software
// driver are better left alone.
constexpr int kShare = 1024, kShareOfSoftware = 16;
// A sleep costs at least some 70 µs, and most waits are short; but a software driver computes on
// the processors that a waiting thread would keep busy.
constexpr std::chrono::microseconds kYielding{2000}, kYieldingToSoftware{100};
}  // namespace

Waiter::Waiter(Core& core) : core_(core), events_(core.signals->events.load()) {}

void Waiter::poll() {
  core_.call("wgpuDevicePoll", [this] { native::poll(core_.device); });
  uint64_t events = core_.signals->events.load(std::memory_order_relaxed);
  Clock::time_point now = Clock::now();
  if (events != events_) {  // something ended: the device is alive
    events_ = events;
    last_progress_ = now;
    return;
  }
  int limit = settings().wait_limit;
  if (now - last_progress_ < std::chrono::seconds(limit)) return;
  core_.signals->stuck.store(true);
  core_.signals->lose("no progress for " + std::to_string(limit) +
                      " s (setting wait_limit, WGTENSOR_WAIT_LIMIT)");
  core_.raise_lost();
}

namespace {
std::atomic<void (*)()> interrupt_check{nullptr};
std::atomic<bool (*)()> interrupt_pending{nullptr};
constexpr std::chrono::milliseconds kBetweenChecks{50};
}  // namespace

void set_interrupt_checks(void (*check)(), bool (*pending)()) {
  interrupt_check.store(check);
  interrupt_pending.store(pending);
}

bool Interrupts::operator()() {
  Clock::time_point now = Clock::now();
  if (seen_ || now < next_) return seen_;
  next_ = now + kBetweenChecks;
  auto pending = interrupt_pending.load();
  return seen_ = pending && pending();
}

void Waiter::check_interrupt() {
  Clock::time_point now = Clock::now();
  if (now - last_check_ < kBetweenChecks) return;
  last_check_ = now;
  if (auto check = interrupt_check.load()) check();
}

void Waiter::pause() {
  Clock::time_point now = Clock::now();
  bool software = core_.adapter.type == "cpu";
  if (now - start_ < (software ? kYieldingToSoftware : kYielding)) {
    std::this_thread::yield();
    return;
  }
  auto waited = std::chrono::duration_cast<std::chrono::microseconds>(now - start_);
  std::this_thread::sleep_for(
      std::clamp(waited / (software ? kShareOfSoftware : kShare), kShortest, kLongest));
}

}  // namespace wgt::rt
