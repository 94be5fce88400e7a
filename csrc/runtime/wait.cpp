#include "runtime/wait.h"

#include <algorithm>
#include <thread>

#include "base/settings.h"
#include "runtime/native.h"

namespace wgt::rt {

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
  core_.signals->lose("no progress for " + std::to_string(limit) +
                      " s (setting wait_limit, WGTENSOR_WAIT_LIMIT)");
  core_.raise_lost();
}

void Waiter::pause() {
  // Short waits are the rule, and a sleep costs at least some 70 µs.
  if (Clock::now() - start_ < std::chrono::microseconds(100)) {
    std::this_thread::yield();
    return;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(sleep_us_));
  sleep_us_ = std::min(sleep_us_ * 3 / 2, 1000);
}

}  // namespace wgt::rt
