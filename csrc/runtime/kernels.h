// Compiled kernels: cached by description, the pipelines in them bounded.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/bindgroups.h"
#include "runtime/core.h"

namespace wgt::rt {

struct Kernel {
  KernelDesc desc;
  BindLayout* layout = nullptr;
  WGPUPipelineLayout pipeline_layout = nullptr;
  WGPUComputePipeline pipeline = nullptr;  // null: not compiled yet, or evicted
  uint64_t serial = 0;                     // of the pipeline: handles come again, serials don't
  uint64_t last_use = 0;
};

class Kernels {
 public:
  explicit Kernels(Core& core);
  ~Kernels() { retire(); }
  void retire();
  KernelRef get(KernelDesc desc);
  void compile(Kernel& kernel);
  /// Those that have no pipeline yet, several at once. What cannot be compiled is left as it is.
  void compile(std::vector<Kernel*> kernels);
  void set_capacity(size_t n);
  void drop(Kernel& kernel);
  /// Drops what is beyond the settings of now, and sources that nobody knows.
  void trim();

 private:
  BindLayout* layout_of(const KernelDesc& desc);
  WGPUPipelineLayout pipeline_layout_of(BindLayout& layout, uint32_t immediate_bytes);
  void check(const KernelDesc& desc) const;
  WGPUShaderModule make_module(const KernelDesc& desc);
  WGPUComputePipeline make_pipeline(const Kernel& kernel, WGPUShaderModule module);
  void make_pipeline(Kernel& kernel);
  void count(Kernel& kernel);
  void evict(size_t keep);
  void sweep();

  Core& core_;
  size_t capacity() const;
  size_t capacity_ = 0;  // 0: as the settings say now
  uint64_t next_serial_ = 1;
  std::unordered_multimap<uint64_t, KernelRef> kernels_;
  std::vector<std::unique_ptr<BindLayout>> layouts_;
};

}  // namespace wgt::rt
