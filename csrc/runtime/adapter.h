// Adapters: what this machine offers, and which one a selector names.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace wgt::rt {

struct Limits {
  uint64_t max_buffer = 0;            // bytes
  uint64_t max_binding = 0;           // bytes of one storage binding
  uint32_t max_storage_buffers = 0;   // per shader stage
  uint32_t max_workgroup_memory = 0;  // bytes
  uint32_t max_invocations = 0;       // per workgroup
  uint32_t max_workgroup_x = 0, max_workgroup_y = 0, max_workgroup_z = 0;
  uint32_t max_groups = 0;           // workgroups per dimension
  uint32_t max_immediates = 0;       // bytes; 0 where the feature is missing
  uint32_t storage_alignment = 256;  // of binding offsets, bytes
  uint32_t uniform_alignment = 256;
};

struct Features {
  bool f16 = false, subgroups = false, timestamps = false, int64 = false, float64 = false;
  bool immediates = false, int64_atomics = false, float32_atomics = false, pipeline_cache = false,
       coop_matrix = false;
};
/// Names of the features that are true, in a fixed order.
std::vector<std::string> feature_names(const Features& f);

/// How many lanes subgroups have; 0: unknown.
struct SubgroupSizes {
  int64_t least = 0, most = 0;
};

struct AdapterInfo {
  int index = 0;  // position in adapters()
  std::string name, vendor, driver;
  std::string backend;  // "vulkan", "metal", "d3d12", "gl"
  std::string type;     // "discrete", "integrated", "virtual", "cpu", "unknown"
  uint32_t vendor_id = 0, device_id = 0;
  Limits limits;
  Features features;
  SubgroupSizes subgroups;
  bool exact_units = false;  // see Device::has_exact_units
  void* handle = nullptr;    // WGPUAdapter, kept for the life of the process
};

/// Every adapter that can compute, best first: discrete, integrated, virtual, cpu, then everything
/// on GL. Enumerated once per process. Empty where there is none.
const std::vector<AdapterInfo>& adapters();

/// The adapter that `selector` names: "" (the best), "gpu:1" or "1" (index), "vulkan" or "vulkan:0"
/// (backend, position within it), "cpu", or a part of a name ("nvidia").
/// Raises DeviceNotFoundError naming the selector and every adapter there is.
const AdapterInfo& choose_adapter(const std::string& selector);

/// How many multiprocessors (compute units, cores) it has, by its name; a guess for names unknown.
int compute_units(const AdapterInfo& adapter);

}  // namespace wgt::rt
