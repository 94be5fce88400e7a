// The last resort against calls of wgpu-native that abort the process (a Rust panic).
#pragma once
#include <type_traits>

namespace wgt::rt {

/// Runs fn(context); false if it aborted. On POSIX only; elsewhere a plain call. The call must own
/// no C++ objects: the way out is a longjmp. What it touched in wgpu may be locked for ever
/// afterwards.
bool run_guarded(const char* what, void (*fn)(void*), void* context);

template <class F>
bool guarded(const char* what, F&& f) {
  return run_guarded(
      what, [](void* p) { (*static_cast<std::remove_reference_t<F>*>(p))(); }, &f);
}

}  // namespace wgt::rt
