#include "runtime/adapter.h"

#include <algorithm>
#include <cctype>

#include "runtime/core.h"
#include "runtime/limits.h"
#include "runtime/native.h"

namespace wgt::rt {

namespace {

std::string lower(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

const char* backend_name(WGPUBackendType t) {
  switch (t) {
    case WGPUBackendType_Vulkan:
      return "vulkan";
    case WGPUBackendType_Metal:
      return "metal";
    case WGPUBackendType_D3D12:
      return "d3d12";
    case WGPUBackendType_D3D11:
      return "d3d11";
    case WGPUBackendType_OpenGL:
    case WGPUBackendType_OpenGLES:
      return "gl";
    default:
      return "unknown";
  }
}

const char* type_name(WGPUAdapterType t) {
  switch (t) {
    case WGPUAdapterType_DiscreteGPU:
      return "discrete";
    case WGPUAdapterType_IntegratedGPU:
      return "integrated";
    case WGPUAdapterType_CPU:
      return "cpu";
    default:
      return "unknown";
  }
}

/// What no adapter tells of itself (wgpu-native 29.0.1.1 leaves the sizes of subgroups out).
struct Vendor {
  uint32_t id;
  const char* name;
  SubgroupSizes subgroups;
  bool exact_units;  // over Vulkan; the tests of rounding tell
};

Vendor vendor_of(uint32_t id) {
  static constexpr Vendor vendors[] = {
      {0x10de, "NVIDIA", {32, 32}, true}, {0x1002, "AMD", {32, 64}, false},
      {0x8086, "Intel", {8, 32}, false},  {0x106b, "Apple", {32, 32}, false},
      {0x13b5, "ARM", {}, false},         {0x5143, "Qualcomm", {}, false},
      {0x1010, "Imagination", {}, false}, {0x1414, "Microsoft", {}, false},
      {0x1ae0, "Google", {4, 4}, false},  // SwiftShader
      {0x10005, "Mesa", {4, 16}, false},  // llvmpipe, by its vectors
  };
  for (const Vendor& v : vendors)
    if (v.id == id) return v;
  return {id, "", {}, false};
}

AdapterInfo describe(WGPUAdapter handle) {
  AdapterInfo out;
  out.handle = handle;
  WGPUAdapterInfo info{};
  if (wgpuAdapterGetInfo(handle, &info) == WGPUStatus_Success) {
    out.name = text(info.device);
    out.vendor_id = info.vendorID;
    out.device_id = info.deviceID;
    std::string driver = text(info.vendor), version = text(info.description);
    const Vendor known = vendor_of(info.vendorID);
    out.vendor = known.name;
    out.driver = driver + (driver.empty() || version.empty() ? "" : " ") + version;
    out.backend = backend_name(info.backendType);
    out.type = type_name(info.adapterType);
    out.subgroups = {info.subgroupMinSize, info.subgroupMaxSize};
    if (!out.subgroups.least) out.subgroups = known.subgroups;
    out.exact_units = known.exact_units && out.backend == "vulkan";
    wgpuAdapterInfoFreeMembers(info);
  }
  for (const native::FeatureRow& row : native::feature_rows()) {
    bool all = true;
    for (WGPUFeatureName id : row.ids) all = all && wgpuAdapterHasFeature(handle, id);
    out.features.*row.member = all;
  }
  WGPULimits limits = adapter_limits(handle);
  out.limits = to_limits(limits, out.features.immediates);
  return out;
}

int rank(const AdapterInfo& a) {
  if (a.backend == "gl") return 10;
  static const char* order[] = {"discrete", "integrated", "virtual", "unknown", "cpu"};
  for (int i = 0; i < 5; ++i)
    if (a.type == order[i]) return i;
  return 9;
}

// NVIDIA's GL is listed at version 3.3, with limits as if it had compute shaders.
bool computes(const AdapterInfo& a) {
  if (!a.limits.max_storage_buffers || !a.limits.max_invocations) return false;
  if (a.backend != "gl") return true;
  size_t at = a.driver.find_first_of("0123456789");
  if (at == std::string::npos || at + 2 >= a.driver.size() || a.driver[at + 1] != '.') return true;
  int version = (a.driver[at] - '0') * 10 + (a.driver[at + 2] - '0');
  return version >= (a.driver.find("ES") != std::string::npos ? 31 : 43);
}

std::vector<AdapterInfo> enumerate() {
  std::vector<AdapterInfo> out;
  for (WGPUAdapter handle : native::enumerate_adapters())
    if (handle)
      if (AdapterInfo a = describe(handle); computes(a)) out.push_back(std::move(a));
  std::stable_sort(out.begin(), out.end(),
                   [](const AdapterInfo& a, const AdapterInfo& b) { return rank(a) < rank(b); });
  for (size_t i = 0; i < out.size(); ++i) out[i].index = static_cast<int>(i);
  return out;
}

[[noreturn]] void raise_not_found(const std::string& selector) {
  const std::vector<AdapterInfo>& all = adapters();
  if (all.empty())
    raise(ErrorKind::device_not_found,
          "no GPU adapter was found" + (selector.empty() ? "" : " for '" + selector + "'") +
              ": install a driver for Vulkan, Metal or DirectX 12 (on Debian or Ubuntu, "
              "mesa-vulkan-drivers has one that runs on the CPU)");
  std::string list;
  for (const AdapterInfo& a : all)
    list += (list.empty() ? "" : "; ") + std::to_string(a.index) + ": " + a.name + " (" +
            a.backend + ", " + a.type + ")";
  raise(ErrorKind::device_not_found,
        "no adapter matches '" + selector + "'; this machine has " + list);
}

bool is_number(const std::string& s) {
  return !s.empty() && s.size() < 6 &&
         std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c); });
}

}  // namespace

std::vector<std::string> feature_names(const Features& f) {
  std::vector<std::string> out;
  for (const native::FeatureRow& row : native::feature_rows())
    if (f.*row.member) out.push_back(row.name);
  return out;
}

const std::vector<AdapterInfo>& adapters() {
  static const auto* list = new std::vector<AdapterInfo>(enumerate());  // leaked on purpose
  return *list;
}

const AdapterInfo& choose_adapter(const std::string& selector) {
  const std::vector<AdapterInfo>& all = adapters();
  std::string word = lower(selector), position;
  size_t colon = word.rfind(':');
  if (colon != std::string::npos && is_number(word.substr(colon + 1))) {
    position = word.substr(colon + 1);
    word = word.substr(0, colon);
  }
  if (is_number(word) && position.empty()) {
    position = word;
    word = "gpu";
  }
  size_t nth = position.empty() ? 0 : std::stoul(position);
  auto find = [&](auto&& matches) -> const AdapterInfo* {
    size_t left = nth;
    for (const AdapterInfo& a : all)
      if (matches(a) && left-- == 0) return &a;
    return nullptr;
  };
  const AdapterInfo* found = nullptr;
  if (word.empty() || (word == "gpu" && !position.empty())) {
    found = find([](const AdapterInfo&) { return true; });
  } else if (word == "gpu") {
    found = find([](const AdapterInfo& a) { return a.type != "cpu"; });
  } else {
    found = find([&](const AdapterInfo& a) { return a.backend == word || a.type == word; });
    // Only where the word is no backend or type: "vulkan:7" is no search for a name.
    bool keyword = std::any_of(all.begin(), all.end(), [&](const AdapterInfo& a) {
      return a.backend == word || a.type == word;
    });
    if (!found && !keyword)
      found = find([&](const AdapterInfo& a) {
        return lower(a.name).find(word) != std::string::npos ||
               lower(a.vendor).find(word) != std::string::npos;
      });
  }
  if (!found) raise_not_found(selector);
  return *found;
}

}  // namespace wgt::rt
