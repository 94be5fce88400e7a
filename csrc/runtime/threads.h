// Threads of the library's own.
#pragma once
#include <thread>
#include <utility>

#ifndef _WIN32
#include <signal.h>
#endif

namespace wgt::rt {

/// A thread that takes no signals: those belong to the application's threads.
template <class F>
std::thread quiet_thread(F&& f) {
#ifndef _WIN32
  struct NoSignals {
    sigset_t before;
    NoSignals() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  } blocked;
#endif
  return std::thread(std::forward<F>(f));
}

}  // namespace wgt::rt
