// A thread with a stack that deep recursion in the shader compiler does not exhaust.
#pragma once
#include <exception>

namespace wgt::rt {

void run_on_big_stack(void (*fn)(void*), void* context);

/// Runs f() there and waits; what it throws is thrown here.
template <class F>
void run_on_big_stack(F&& f) {
  struct Job {
    F& f;
    std::exception_ptr error;
  } job{f, nullptr};
  run_on_big_stack(
      [](void* p) {
        Job& j = *static_cast<Job*>(p);
        try {
          j.f();
        } catch (const std::exception&) {
          j.error = std::current_exception();
        }
      },
      &job);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace wgt::rt
