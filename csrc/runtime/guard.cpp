#include "runtime/guard.h"

#include <string>

#include "runtime/native.h"
#include "webgpu.h"

#ifndef _WIN32
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <mutex>
#endif
#ifdef __linux__
#include <dlfcn.h>
#include <link.h>

#include <cstring>
#endif

namespace wgt::rt {

#ifdef _WIN32

bool run_guarded(const char*, void (*fn)(void*), void* context) {
  fn(context);
  return true;
}

#else

namespace {

#ifdef __linux__

// A panic that never ends leaves its thread "panicking" in Rust's eyes, and wgpu-native frees
// nothing on such a thread: neither now nor for later devices. So the count of panics, a word of
// the library's thread-local memory, is set back to what it was. It is the word that an abort
// raises by two: by the panic, and by the one that says that the first must not leave a C function.
class PanicCount {
 public:
  PanicCount() {
    if (!block_.words) block_ = find_block();
    if (block_.words) std::memcpy(before_, block_.words, block_.count * sizeof(uintptr_t));
  }

  void restore() {
    if (!block_.words) block_ = find_block();  // the thread has touched it only now: all was zero
    size_t at = known.load(std::memory_order_relaxed);
    if (at == kUnknown) at = changed();
    if (at >= block_.count) return;
    known.store(at, std::memory_order_relaxed);
    block_.words[at] = before_[at];
  }

 private:
  struct Block {
    uintptr_t* words = nullptr;
    size_t count = 0;
  };
  static constexpr size_t kUnknown = ~size_t{0}, kMost = 64;

  // The only word that grew by two, or kUnknown.
  size_t changed() const {
    size_t found = kUnknown;
    for (size_t i = 0; i < block_.count; ++i) {
      if (block_.words[i] - before_[i] != 2) continue;
      if (found != kUnknown) return kUnknown;
      found = i;
    }
    return found;
  }

  static Block find_block() {
    struct Search {
      const void* base;
      Block block;
    } search{};
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void*>(&wgpuCreateInstance), &info)) return {};
    search.base = info.dli_fbase;
    dl_iterate_phdr(
        [](dl_phdr_info* module, size_t, void* p) {
          auto* out = static_cast<Search*>(p);
          if (reinterpret_cast<void*>(module->dlpi_addr) != out->base) return 0;
          for (int i = 0; i < module->dlpi_phnum; ++i) {
            const auto& segment = module->dlpi_phdr[i];
            if (segment.p_type != PT_TLS || segment.p_memsz > kMost * sizeof(uintptr_t) ||
                !module->dlpi_tls_data)
              continue;
            out->block = {static_cast<uintptr_t*>(module->dlpi_tls_data),
                          segment.p_memsz / sizeof(uintptr_t)};
          }
          return 1;
        },
        &search);
    return search.block;
  }

  static thread_local Block block_;
  static std::atomic<size_t> known;  // its place, the same on every thread
  uintptr_t before_[kMost] = {};
};

thread_local PanicCount::Block PanicCount::block_;
std::atomic<size_t> PanicCount::known{kUnknown};

#else

struct PanicCount {
  void restore() {}
};

#endif

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
  PanicCount panics;
  install();
  bool ok = call(fn, context, &jump);
  armed = nullptr;
  if (!ok) {
    sigset_t abort_only;  // blocked by the handler that never returned
    sigemptyset(&abort_only);
    sigaddset(&abort_only, SIGABRT);
    pthread_sigmask(SIG_UNBLOCK, &abort_only, nullptr);
    panics.restore();
  }
  uninstall();
  if (!ok) native::log(1, (std::string("wgpu aborted in ") + what).c_str());
  return ok;
}

#endif

}  // namespace wgt::rt
