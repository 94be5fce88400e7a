// One logical device: memory, kernels and the command stream.
//
// Locking: every member marked [lock] needs mutex() held by the caller. Release the GIL before
// taking it; never take the GIL under it. Waits give the lock up while they sleep.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/errors.h"
#include "runtime/adapter.h"
#include "runtime/buffer.h"
#include "runtime/memory.h"
#include "runtime/stats.h"

namespace wgt::rt {

using Lock = std::unique_lock<std::mutex>;

struct DeviceOptions {
  bool default_limits = false;  // ask for no feature and WebGPU's default limits only
  bool debug = false;           // shaders with runtime checks, fresh buffers poisoned, labels
  uint64_t max_binding = 0;     // bytes, to stay below the adapter's limit; 0: as it is
  std::string kernels;          // "gpu", "gpu:ballots", "software"; else as the adapter is
  uint64_t memory_limit = 0;    // bytes of buffers, used and free; 0: none
};

/// Whether a device made with these chooses kernels that suit software adapters.
bool wants_software_kernels(const AdapterInfo& adapter, const DeviceOptions& options);

enum class Access : uint8_t { read, read_write };

constexpr uint32_t kWorkspaceZeros = 4096;  // see Device::workspace()
constexpr uint32_t kMaxParamBytes = 4096;   // of one kernel

/// What a compute kernel needs. WGSL binds storage buffer i as @group(0) @binding(i), the
/// parameters as `var<immediate>` or as a uniform at @group(0) @binding(bindings.size()); entry
/// point "main".
struct KernelDesc {
  std::string label;
  std::string source;
  std::vector<Access> bindings;
  uint32_t param_bytes = 0;  // multiple of 4; 0: no parameters
  bool immediates = false;   // parameters as immediates (Device::use_immediates says)
  bool trusted = true;       // compile without runtime checks (ignored in debug mode)
};

/// A compiled kernel. The pipeline inside may be dropped by the LRU and is compiled anew on demand.
struct Kernel;
using KernelRef = std::shared_ptr<Kernel>;

/// A part of a buffer to bind, for tensors above limits().max_binding.
struct Window {
  Buffer* buffer = nullptr;
  uint64_t offset = 0;  // a multiple of limits().storage_alignment
  uint64_t bytes = 0;   // a multiple of 4, at most limits().max_binding
};

/// Host memory that will hold bytes of a buffer. `data` is valid once read_wait() returned, and
/// stays so until the last reference dies, also after the device is lost or replaced.
struct Readback {
  void* data = nullptr;
  uint64_t bytes = 0;
  struct Impl;
  std::unique_ptr<Impl> impl;
  Readback();
  ~Readback();  // any thread, no lock needed
};
using ReadbackRef = std::shared_ptr<Readback>;

class Device {
 public:
  /// Raises DeviceNotFoundError where the adapter refuses. May take some 100 ms.
  static std::unique_ptr<Device> create(const AdapterInfo& adapter, const DeviceOptions& options);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  std::mutex& mutex();
  const AdapterInfo& adapter() const;
  const Limits& limits() const;      // of this device: the granted ones
  const Features& features() const;  // the granted ones
  const DeviceOptions& options() const;
  bool is_software() const;  // adapter type "cpu"
  int compute_units() const;
  SubgroupSizes subgroup_sizes() const;  // none without the feature
  /// Whether an fma rounds once, reciprocals and their roots are within a unit in the last place,
  /// and halves become floats unchanged: then a few of these give correctly rounded results.
  bool has_exact_units() const;
  bool software_kernels() const;  // wants_software_kernels
  /// Whether a workgroup may read what others of its dispatch wrote by atomics before they counted
  /// up, behind storageBarrier(): where that becomes a barrier of device scope, as in SPIR-V.
  bool workgroups_meet() const;
  bool use_immediates(uint32_t param_bytes) const;
  Stats& stats();  // [lock]
  /// How errors call it; before others know of the device.
  void set_name(const std::string& name);

  /// Storage for `bytes` (at least; rounded to a size class) with unspecified contents. [lock]
  /// Raises OutOfMemoryError (after dropping the pool, waiting and one retry), DeviceLostError,
  /// and OutOfMemoryError at once above limits().max_buffer.
  BufferRef allocate(uint64_t bytes);
  /// A buffer for one kernel, at least so large, in which its workgroups meet: the first
  /// kWorkspaceZeros words are 0, and must be when the kernel ends. Raises as allocate(). [lock]
  BufferRef workspace(uint64_t bytes);
  /// Bytes of the buffer that allocate() gives.
  uint64_t size_class(uint64_t bytes) const;
  /// Buffers that are needed at once: `bytes` as size_class() gives them.
  struct Need {
    uint64_t bytes = 0;
    size_t count = 0;
    bool workspace = false;
  };
  /// Sees to it that as many are free, in addition to what is in use. Raises OutOfMemoryError.
  /// [lock]
  void reserve(const std::vector<Need>& needs);

  /// The kernel of this description: cached by source and bindings. Compiles at the first dispatch.
  /// [lock]
  KernelRef kernel(KernelDesc desc);
  /// Compiles now. Raises ShaderError with line and column in the source. [lock]
  void compile(Kernel& kernel);
  /// Compiles several at once, on threads; what fails does so again at its dispatch. [lock]
  void compile(std::vector<Kernel*> kernels);
  /// Lets a pipeline go that nobody will use soon. [lock]
  void drop(Kernel& kernel);
  /// Number of pipelines kept; beyond it the least recently used go. Default from the settings.
  /// [lock]
  void set_pipeline_capacity(size_t n);

  /// Records one dispatch. `buffers` in binding order; `params` is copied. Submits by itself after
  /// enough dispatches, bytes or work. Raises DeviceLostError. [lock]
  void dispatch(Kernel& kernel, Buffer* const* buffers, const void* params, uint32_t x, uint32_t y,
                uint32_t z);
  void dispatch(Kernel& kernel, const Window* windows, const void* params, uint32_t x, uint32_t y,
                uint32_t z);  // [lock]

  /// How long what was just dispatched takes, estimated: submits when there is enough. [lock]
  void add_work(double seconds);

  /// Copies host memory at the call; the write is ordered in the stream. `bytes` need not be a
  /// multiple of 4: the padding of the last word is zero. `offset` is a multiple of 4. [lock]
  void upload(Buffer& dst, uint64_t offset, const void* data, uint64_t bytes);
  /// Like upload, but the caller fills the returned memory (of `bytes`, 16-aligned) before the next
  /// call on this device; for strided sources that are packed on the way. [lock]
  void* upload_begin(Buffer& dst, uint64_t offset, uint64_t bytes);
  void copy(Buffer& dst, uint64_t dst_offset, Buffer& src, uint64_t src_offset,
            uint64_t bytes);  // [lock]
  /// Zeros, so that nobody sees what was computed in this memory before; the debug mode's pattern
  /// stays. [lock]
  void blank(Buffer& dst, uint64_t bytes);

  /// Records the copy to host memory. [lock]
  ReadbackRef read_begin(Buffer& src, uint64_t offset, uint64_t bytes);
  /// Submits and waits until the data is there. Gives `lock` up while waiting.
  /// Raises DeviceLostError; also when the device makes no progress for the configured time limit.
  void read_wait(Readback& readback, Lock& lock);

  /// Sends what is recorded. Does not wait. Raises DeviceLostError. [lock]
  void submit();
  /// After an interrupt more may be in flight than usual: waits until that is done, giving the lock
  /// up meanwhile. For the beginning of a call, as a further interrupt ends it.
  void catch_up(Lock& lock);
  /// Submits, and waits until all submitted work is done. Gives `lock` up while waiting.
  void synchronize(Lock& lock);

  /// The number of the newest submission: see done(). [lock]
  uint64_t submitted() const;
  /// Whether that submission has ended; lets callbacks fire. Raises DeviceLostError. [lock]
  bool done(uint64_t submission);
  /// Waits until it has, or `seconds` (none: for ever) are over: false then. Gives `lock` up while
  /// waiting. Raises DeviceLostError.
  bool wait(uint64_t submission, std::optional<double> seconds, Lock& lock);

  /// Takes back what died on other threads, and what the GPU is done with; once retired, forgets
  /// it. Cheap. [lock]
  void collect();
  /// Gives pooled memory back to the driver. [lock]
  void empty_cache();
  /// Bytes that buffers, used and free, may have together; 0: no limit. Free ones go at once.
  /// [lock]
  void set_memory_limit(uint64_t bytes);
  /// From now on the peak is counted anew. [lock]
  void reset_peak();
  MemoryReport memory();                // [lock]
  std::vector<BufferReport> buffers();  // in use [lock]
  /// Called under the lock before an allocation is refused: lets go of what nobody needs.
  void set_reclaim(std::function<void()> reclaim);

  /// After begin_exit(): waits until no thread is inside the driver, though not for ever, and ends
  /// the device's own thread; the device still works. Takes the lock itself.
  void close();
  /// Loses the device on purpose. Takes the lock itself; any thread.
  void destroy();
  /// Gives back to the driver all that a lost device holds, but the memory of readbacks that the
  /// host still has. Only collect(), live_buffers() and what asks for the loss may follow. [lock]
  void retire();
  size_t live_buffers() const;  // that somebody refers to [lock]
  bool lost() const;
  std::string lost_reason() const;
  /// Raises DeviceLostError if lost.
  void check() const;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  Device();
  std::unique_ptr<Impl> impl_;
  friend struct Buffer;
};

/// Functions that long waits call some twenty times a second. `check` is called with no lock held,
/// and may throw; `pending` under a device's lock: whether the user wants the program to stop.
void set_interrupt_checks(void (*check)(), bool (*pending)());
/// Takes the messages that wgpu logged since the last call: (level 1..5 = error..trace, text).
std::vector<std::pair<int, std::string>> take_log();
void set_log_level(int level);
/// "29.0.1.1"
std::string wgpu_version();
/// The process is about to end: from now on the calling thread alone uses devices. The others stop
/// where they take a device's lock, for drivers do not survive calls during the end of a process.
void begin_exit();
bool exiting();
bool must_stop();
[[noreturn]] void stop(Lock& held);
/// Whether this process is a fork of the one that made a device; every device then raises on use.
bool forked();

}  // namespace wgt::rt
