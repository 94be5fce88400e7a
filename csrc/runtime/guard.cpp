#include "runtime/guard.h"

#include <string>

#include "runtime/native.h"

#ifndef _WIN32
#include <csetjmp>
#include <csignal>
#include <mutex>
#endif

namespace wgt::rt {

#ifdef _WIN32

bool run_guarded(const char*, void (*fn)(void*), void* context) {
  fn(context);
  return true;
}

#else

namespace {

thread_local sigjmp_buf* armed = nullptr;

std::mutex install_mutex;
int install_count = 0;
struct sigaction previous;

void on_abort(int signal_number, siginfo_t* details, void* context) {
  if (armed) siglongjmp(*armed, 1);
  // Another thread's abort: as if we were not here.
  if (previous.sa_flags & SA_SIGINFO) {
    if (previous.sa_sigaction) previous.sa_sigaction(signal_number, details, context);
  } else if (previous.sa_handler != SIG_IGN && previous.sa_handler != SIG_DFL) {
    previous.sa_handler(signal_number);
  } else if (previous.sa_handler == SIG_DFL) {
    sigaction(SIGABRT, &previous, nullptr);
    raise(SIGABRT);
  }
}

// The handler is ours only while some thread is inside a guarded call, so that faulthandler and
// the like keep working.
void install() {
  std::lock_guard<std::mutex> lock(install_mutex);
  if (install_count++) return;
  struct sigaction ours {};
  ours.sa_sigaction = on_abort;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGABRT, &ours, &previous);
}

void uninstall() {
  std::lock_guard<std::mutex> lock(install_mutex);
  if (--install_count) return;
  struct sigaction current {};
  sigaction(SIGABRT, &previous, &current);
  bool still_ours = (current.sa_flags & SA_SIGINFO) && current.sa_sigaction == on_abort;
  if (!still_ours) sigaction(SIGABRT, &current, nullptr);  // someone installed one meanwhile
}

// Apart from run_guarded, so that no local of this frame lives across the jump.
__attribute__((noinline)) bool call(void (*fn)(void*), void* context, sigjmp_buf* jump) {
  if (sigsetjmp(*jump, 0)) return false;
  armed = jump;
  try {
    fn(context);
  } catch (...) {
    // With a handler in sight the panic unwinds its own frames, which frees their locks, and then
    // aborts. Should a version of wgpu let it through, it ends here.
    return false;
  }
  return true;
}

}  // namespace

bool run_guarded(const char* what, void (*fn)(void*), void* context) {
  if (armed) {  // nested: the outer guard is enough
    fn(context);
    return true;
  }
  sigjmp_buf jump;
  install();
  bool ok = call(fn, context, &jump);
  armed = nullptr;
  if (!ok) {
    sigset_t abort_only;  // blocked by the handler that never returned
    sigemptyset(&abort_only);
    sigaddset(&abort_only, SIGABRT);
    pthread_sigmask(SIG_UNBLOCK, &abort_only, nullptr);
  }
  uninstall();
  if (!ok) native::log(1, (std::string("wgpu aborted in ") + what).c_str());
  return ok;
}

#endif

}  // namespace wgt::rt
