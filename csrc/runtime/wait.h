// Waiting for the GPU without ever blocking in wgpu: its own waits have no time limit.
#pragma once
#include <chrono>

#include "runtime/core.h"

namespace wgt::rt {

class Waiter {
 public:
  explicit Waiter(Core& core);
  /// Lets callbacks fire. Raises DeviceLostError, also when nothing has moved for the time limit.
  void poll();
  /// Yields at first, then sleeps longer and longer. Touches nothing that needs the device lock.
  void pause();
  /// Calls the application's check when it is due. No lock may be held.
  void check_interrupt();

 private:
  using Clock = std::chrono::steady_clock;
  Core& core_;
  Clock::time_point start_ = Clock::now(), last_progress_ = start_;
  Clock::time_point last_check_ = start_;
  uint64_t events_;
};

/// Whether the user wants the program to stop, looked at now and then: for waits under a device's
/// lock, which cannot be left by an exception. What they wait for must be possible without: then
/// the call goes on to its end without waiting, and the interrupt is served when it returns.
class Interrupts {
 public:
  bool operator()();

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_ = Clock::time_point::min();
  bool seen_ = false;
};

/// Polls until done() holds. Gives `lock` up during the pauses, where there is one.
template <class Done>
void wait_until(Core& core, Done&& done, Lock* lock = nullptr) {
  if (done()) return;
  Waiter waiter(core);
  for (;;) {
    core.check();
    waiter.poll();
    if (done()) return;
    if (lock) lock->unlock();
    waiter.pause();
    if (lock) waiter.check_interrupt();
    if (lock) {
      lock->lock();
      if (must_stop()) [[unlikely]]
        stop(*lock);
    }
    if (done()) return;
  }
}

}  // namespace wgt::rt
