// Repeated timing: what nanobench would do, which no package registry that the build may use
// offers.
//
// A sample is the wall time of `inner` iterations and the wait for them, divided by `inner`; it is
// long enough for the wait to weigh little. Results are medians of samples, after warm-up.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// CPU time of the calling thread; where the system has no such clock, wall time.
inline double thread_seconds() {
#ifdef CLOCK_THREAD_CPUTIME_ID
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
#else
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
#endif
}

inline double median(std::vector<double> v) {
  if (v.empty()) return 0;
  auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  if (v.size() % 2) return *middle;
  return (*middle + *std::max_element(v.begin(), middle)) / 2;
}

struct Effort {
  int repeats = 15;
  double sample_seconds = 0.02;  // shortest sample worth taking
  double row_seconds = 3;        // beyond it the repeats end early, after at least three
};

struct Timing {
  std::vector<double> seconds;  // per iteration
  int inner = 1;
  double median() const { return bench::median(seconds); }
  double fastest() const { return *std::min_element(seconds.begin(), seconds.end()); }
  double slowest() const { return *std::max_element(seconds.begin(), seconds.end()); }
};

/// Times run(n), which does n iterations and waits for their end.
template <class Run>
Timing measure(const Effort& effort, Run&& run) {
  auto timed = [&](int n) {
    auto start = Clock::now();
    run(n);
    return seconds_since(start);
  };
  run(1);  // compiles, and fills caches and pools
  double once = std::min(timed(1), timed(1));
  Timing t;
  t.inner = static_cast<int>(std::clamp(effort.sample_seconds / once, 1.0, 1000.0));
  if (t.inner > 1) run(t.inner);
  double spent = 0;
  for (int i = 0; i < effort.repeats; ++i) {
    double sample = timed(t.inner);
    t.seconds.push_back(sample / t.inner);
    spent += sample;
    if (i >= 2 && spent > effort.row_seconds) break;
  }
  return t;
}

}  // namespace bench
