#include "runtime/bigstack.h"

#include <cstddef>

#ifdef _WIN32
#include <process.h>
#include <windows.h>
#else
#include <pthread.h>
#endif

namespace wgt::rt {

namespace {
constexpr size_t kStackBytes = size_t{256} << 20;  // reserved, not committed

struct Call {
  void (*fn)(void*);
  void* context;
};
}  // namespace

#ifdef _WIN32

void run_on_big_stack(void (*fn)(void*), void* context) {
  Call call{fn, context};
  uintptr_t thread = _beginthreadex(
      nullptr, static_cast<unsigned>(kStackBytes),
      [](void* p) -> unsigned {
        static_cast<Call*>(p)->fn(static_cast<Call*>(p)->context);
        return 0;
      },
      &call, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (!thread) return fn(context);
  WaitForSingleObject(reinterpret_cast<HANDLE>(thread), INFINITE);
  CloseHandle(reinterpret_cast<HANDLE>(thread));
}

#else

void run_on_big_stack(void (*fn)(void*), void* context) {
  Call call{fn, context};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  int failed = pthread_create(
      &thread, &attributes,
      [](void* p) -> void* {
        static_cast<Call*>(p)->fn(static_cast<Call*>(p)->context);
        return nullptr;
      },
      &call);
  pthread_attr_destroy(&attributes);
  if (failed) return fn(context);  // no address space left for it: better a small stack than none
  pthread_join(thread, nullptr);
}

#endif

}  // namespace wgt::rt
