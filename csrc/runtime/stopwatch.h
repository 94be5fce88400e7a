// Times work on the GPU, for choices that are measured.
#pragma once
#include <functional>
#include <vector>

#include "runtime/device.h"

namespace wgt::rt {

/// All of it needs the device's lock, and keeps it: other threads wait meanwhile. Raises
/// DeviceLostError.
class Stopwatch {
 public:
  explicit Stopwatch(Device& device) : device_(device) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Waits until everything that was recorded has ended.
  void settle();
  /// Seconds that each of `count` runs of `work` takes, which dispatches a few kernels: by
  /// timestamps where the adapter has them, else by the host's clock around a submission each.
  std::vector<double> time(int count, const std::function<void()>& work);
  /// Copies bytes to the host, and waits for them. `offset` and `bytes` are multiples of 4.
  void read(Buffer& src, uint64_t offset, uint64_t bytes, void* out);

 private:
  std::vector<double> by_timestamps(int count, const std::function<void()>& work);
  std::vector<double> by_clock(int count, const std::function<void()>& work);

  Device& device_;
  bool stamps_fail_ = false;  // the driver writes none
};

}  // namespace wgt::rt
