// A thread that ends and submits command encoders, so that the caller records the next ones
// meanwhile: wgpu and the driver do most of their work there, some 2.4 µs per small dispatch on an
// NVIDIA H100.
#pragma once
#include <condition_variable>
#include <deque>
#include <thread>

#include "runtime/core.h"

namespace wgt::rt {

/// Submits finished commands as submission `number` and asks for the news of its end.
void send_commands(Core& core, const WGPUCommandBuffer* buffers, size_t count, uint64_t number);
/// Of commands that will not be sent, or have been: they keep the memory of all that they refer to,
/// also on a device that is lost.
void release_commands(Core& core, const WGPUCommandBuffer* buffers, size_t count);

class Sender {
 public:
  struct Job {
    WGPUCommandEncoder encoder = nullptr;
    WGPUComputePassEncoder pass = nullptr;  // still open, or null
    uint64_t number = 0;
  };
  explicit Sender(Core& core) : core_(core) {}
  ~Sender();

  /// Takes the job over. Jobs are sent in order. [lock]
  void push(const Job& job);
  /// Waits until every job is sent. Needed before anything else is submitted or the device
  /// destroyed. [lock]
  void drain();
  /// For who is about to wait: sends what the thread has not taken yet, as it takes some 15 µs to
  /// wake. Not to software drivers, which compute in the call. [lock]
  void help();
  /// Whether the jobs up to this number are sent.
  bool sent(uint64_t number);
  /// From now on nothing is accepted, and what was not sent yet is dropped: for the end of the
  /// process. [lock]
  void close();
  bool open() const { return !closed_; }
  /// Raises what a job's commands were refused for.
  void raise_refused();

 private:
  bool has_thread() const;  // a fork has none
  void run();
  void send_next(std::unique_lock<std::mutex>& l);
  void discard(const Job& job);
  void send(const Job& job);
  void refuse(const Job& job, const std::string& why);

  Core& core_;
  std::mutex mutex_;  // of what follows; taken after the device lock, if both
  std::condition_variable wake_, idle_;
  std::deque<Job> jobs_;
  uint64_t newest_sent_ = 0;
  bool busy_ = false, stop_ = false;
  std::string refused_;
  std::atomic<bool> has_refused_{false};
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace wgt::rt
