// The command stream: one encoder, many dispatches to a pass, many to a submission.
#pragma once
#include <deque>
#include <string>

#include "runtime/bindgroups.h"
#include "runtime/core.h"
#include "runtime/kernels.h"
#include "runtime/params.h"
#include "runtime/readback.h"
#include "runtime/sender.h"
#include "runtime/staging.h"

namespace wgt::rt {

class Stream {
 public:
  Stream(Core& core, BindGroups& groups, Kernels& kernels, UploadRing& uploads, Reads& reads)
      : core_(core),
        groups_(groups),
        kernels_(kernels),
        uploads_(uploads),
        reads_(reads),
        params_(core),
        sender_(core) {}
  ~Stream() { retire(); }

  template <class Binding>  // Buffer* const: whole buffers, or const Window
  void dispatch(Kernel& kernel, Binding* bindings, const void* params, uint32_t x, uint32_t y,
                uint32_t z);
  void copy(WGPUBuffer dst, uint64_t dst_offset, WGPUBuffer src, uint64_t src_offset,
            uint64_t bytes);
  /// Seconds, estimated, of what was recorded last: submits where they are enough.
  void add_work(double seconds);
  void clear(WGPUBuffer dst, uint64_t bytes);
  /// While one lives, what is recorded is submitted on demand only.
  class Whole {
   public:
    explicit Whole(Stream& s) : stream_(s) { ++s.whole_; }
    ~Whole() { --stream_.whole_; }
    Whole(const Whole&) = delete;
    Whole& operator=(const Whole&) = delete;

   private:
    Stream& stream_;
  };
  /// What is dispatched in between is a pass of its own, which writes timestamps `first` and
  /// `first` + 1 where it begins and ends.
  void begin_timed(WGPUQuerySet set, uint32_t first);
  void end_timed() { close_pass(); }
  /// Writes the first `count` timestamps to a buffer, as 64-bit numbers of ticks.
  void resolve(WGPUQuerySet set, uint32_t count, WGPUBuffer to);
  /// Work that fails wgpu's validation is dropped, all that was recorded since the last submission,
  /// and raises Error.
  void submit();
  /// Waits until everything submitted has reached the driver.
  void drain() { sender_.drain(); }
  /// For who is about to wait: sends what the thread has not begun to.
  void help() { sender_.help(); }
  /// Ends the sending thread; submits happen on the caller's from now on.
  void close() { sender_.close(); }
  /// At the end of the process: waits, some seconds at most, for a software driver. It compiles on
  /// threads of its own, which crash while the process takes its libraries down.
  void settle();
  /// Raises what work handed to the sending thread was refused for.
  void check_refused() { sender_.raise_refused(); }
  /// Ends the sending thread and releases what is being recorded.
  void retire();
  /// Whether what was submitted up to this number has reached the driver.
  bool sent(uint64_t number) { return sender_.sent(number); }
  /// Whether so little is in flight that more may be submitted.
  bool has_room();
  bool idle() const { return core_.signals->completed.load() >= core_.submitted; }

 private:
  /// Whether what is recorded, as many dispatches as usual or more, should go now.
  bool is_long_enough();
  void open_pass(const WGPUComputePassDescriptor* desc = nullptr);
  void close_pass();
  void open_encoder();
  template <class Binding>
  void bind(Kernel& kernel, Binding* bindings, uint32_t offset);
  void finish(WGPUCommandBuffer out[2], size_t& count);
  void send(const WGPUCommandBuffer* buffers, size_t count);
  void hand_over();
  void limit_in_flight();

  Core& core_;
  BindGroups& groups_;
  Kernels& kernels_;
  UploadRing& uploads_;
  Reads& reads_;
  ParamArena params_;
  Sender sender_;
  WGPUCommandEncoder encoder_ = nullptr;
  WGPUComputePassEncoder pass_ = nullptr;
  // What the open pass has set.
  uint64_t pipeline_ = 0;  // serial
  BindEntry* group_ = nullptr;
  uint64_t group_deletions_ = 0;
  uint32_t offset_ = 0;
  std::string immediates_;  // of the open pass's pipeline
  int dispatches_ = 0;      // since the last submission
  int whole_ = 0;           // Whole objects alive
  double seconds_ = 0;      // the same, estimated
  struct Submission {
    uint64_t number;
    double seconds;
  };
  std::deque<Submission> in_flight_;  // long ones that may still run
};

}  // namespace wgt::rt
