// The last resort against calls of wgpu-native that abort the process (a Rust panic).
#pragma once
#include <type_traits>

namespace wgt::rt {

/// Runs fn(context); false if it aborted. On POSIX only; elsewhere a plain call. The call must own
/// no C++ objects: the way out is a longjmp. The panic has unwound wgpu's own frames by then, so
/// that what the call was given can still be released; what wgpu was about to free is lost.
bool run_guarded(const char* what, void (*fn)(void*), void* context);

template <class F>
bool guarded(const char* what, F&& f) {
  return run_guarded(
      what, [](void* p) { (*static_cast<std::remove_reference_t<F>*>(p))(); }, &f);
}

}  // namespace wgt::rt
