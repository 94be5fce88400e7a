#include "runtime/sender.h"

#include "runtime/errors.h"
#include "runtime/native.h"
#include "runtime/threads.h"

namespace wgt::rt {

void send_commands(Core& core, const WGPUCommandBuffer* buffers, size_t count, uint64_t number) {
  WGPUQueueWorkDoneCallbackInfo done{};
  done.mode = WGPUCallbackMode_AllowSpontaneous;
  done.userdata1 = core.signals;
  done.userdata2 = reinterpret_cast<void*>(static_cast<uintptr_t>(number));
  done.callback = [](WGPUQueueWorkDoneStatus, WGPUStringView, void* p, void* n) {
    static_cast<Signals*>(p)->complete(reinterpret_cast<uintptr_t>(n));
  };
  bool sent = core.try_call("wgpuQueueSubmit", [&] {
    native::submit(core.queue, count, buffers);
    wgpuQueueOnSubmittedWorkDone(core.queue, done);
  });
  release_commands(core, buffers, count);
  if (!sent) core.raise_lost();
}

void release_commands(Core& core, const WGPUCommandBuffer* buffers, size_t count) {
  core.release("wgpuCommandBufferRelease", [=] {
    for (size_t i = 0; i < count; ++i)
      if (buffers[i]) wgpuCommandBufferRelease(buffers[i]);
  });
}

Sender::~Sender() {
  close();
}

void Sender::push(const Job& job) {
  if (!thread_.joinable()) thread_ = quiet_thread([this] { run(); });
  {
    std::lock_guard<std::mutex> l(mutex_);
    jobs_.push_back(job);
  }
  wake_.notify_one();
}

bool Sender::has_thread() const {
  return thread_.joinable() && !fork_flag.load(std::memory_order_relaxed);
}

void Sender::drain() {
  if (!has_thread()) return;
  help();
  std::unique_lock<std::mutex> l(mutex_);
  idle_.wait(l, [this] { return jobs_.empty() && !busy_; });
}

void Sender::help() {
  if (core_.adapter.type == "cpu" || !has_thread()) return;
  std::unique_lock<std::mutex> l(mutex_);
  while (!jobs_.empty() && !busy_) send_next(l);
}

bool Sender::sent(uint64_t number) {
  if (!has_thread()) return true;
  std::lock_guard<std::mutex> l(mutex_);
  return newest_sent_ >= number || (jobs_.empty() && !busy_);
}

void Sender::discard(const Job& job) {
  core_.release("release of the encoder", [&job] {
    if (job.pass) wgpuComputePassEncoderRelease(job.pass);
    wgpuCommandEncoderRelease(job.encoder);
  });
  core_.signals->complete(job.number);
}

void Sender::close() {
  closed_ = true;
  if (!thread_.joinable()) return;
  // It exists in the parent only, or may never come back from the driver.
  if (fork_flag.load(std::memory_order_relaxed) || core_.signals->stuck.load()) {
    thread_.detach();
    return;
  }
  std::deque<Job> left;
  {
    std::lock_guard<std::mutex> l(mutex_);
    left.swap(jobs_);
  }
  drain();
  for (const Job& job : left) discard(job);
  {
    std::lock_guard<std::mutex> l(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Sender::raise_refused() {
  if (!has_refused_.load(std::memory_order_acquire)) [[likely]]
    return;
  std::string why;
  {
    std::lock_guard<std::mutex> l(mutex_);
    why.swap(refused_);
    has_refused_.store(false);
  }
  core_.check();
  raise(ErrorKind::generic, "the recorded work was refused and dropped: " + why);
}

void Sender::run() {
  std::unique_lock<std::mutex> l(mutex_);
  for (;;) {
    wake_.wait(l, [this] { return !busy_ && (stop_ || !jobs_.empty()); });
    if (jobs_.empty()) return;
    send_next(l);
  }
}

void Sender::send_next(std::unique_lock<std::mutex>& l) {
  Job job = jobs_.front();
  jobs_.pop_front();
  busy_ = true;
  l.unlock();
  try {
    send(job);
  } catch (const Error&) {
    core_.signals->complete(job.number);  // the device is lost; who waits finds out by check()
  }
  l.lock();
  newest_sent_ = job.number;
  busy_ = false;
  if (jobs_.empty())
    idle_.notify_all();
  else
    wake_.notify_one();
}

void Sender::send(const Job& job) {
  if (core_.lost()) return discard(job);
  WGPUCommandBuffer buffer = nullptr;
  WgpuError error;
  {
    ErrorScope scope(core_);
    if (job.pass) {
      wgpuComputePassEncoderEnd(job.pass);
      wgpuComputePassEncoderRelease(job.pass);
    }
    buffer = wgpuCommandEncoderFinish(job.encoder, nullptr);
    wgpuCommandEncoderRelease(job.encoder);
    error = scope.pop();
  }
  if (!error && core_.signals->has_uncaptured.load(std::memory_order_acquire))
    error = {WGPUErrorType_Validation, core_.signals->take_uncaptured()};
  if (error || core_.lost()) {
    release_commands(core_, &buffer, 1);
    refuse(job, error.message);
    return;
  }
  send_commands(core_, &buffer, 1, job.number);
}

void Sender::refuse(const Job& job, const std::string& why) {
  if (WgpuError{WGPUErrorType_Validation, why}.says_lost()) core_.signals->lose(why);
  {
    std::lock_guard<std::mutex> l(mutex_);
    refused_ = why;
    has_refused_.store(true, std::memory_order_release);
  }
  core_.signals->complete(job.number);
}

}  // namespace wgt::rt
