#include <iterator>

#include "runtime/adapter.h"

namespace wgt::rt {

namespace {

// WebGPU does not tell; the numbers are the vendors'. The first part of a name that fits counts.
struct Units {
  const char* part;
  int count;
};
constexpr Units kUnits[] = {
    {"H100 PCIe", 114}, {"H100 NVL", 132}, {"H100", 132},   {"H200", 132}, {"GH200", 132},
    {"B200", 148},      {"A100", 108},     {"A10", 72},     {"A40", 84},   {"L40", 142},
    {"L4", 58},         {"T4", 40},        {"V100", 80},    {"5090", 170}, {"5080", 84},
    {"4090", 128},      {"4080", 76},      {"4070", 46},    {"4060", 24},  {"3090", 82},
    {"3080", 68},       {"3070", 46},      {"3060", 28},    {"2080", 46},  {"MI300", 304},
    {"7900 XTX", 96},   {"7900 XT", 84},   {"6900 XT", 80}, {"6800", 60},  {"A770", 32},
};
// Cores; "Pro" and "Max" are in the names of others' cards, too.
constexpr Units kApple[] = {{"Ultra", 64}, {"Max", 32}, {"Pro", 16}};
constexpr uint32_t kAppleVendor = 0x106b;

template <size_t N>
int count_in(const Units (&table)[N], const std::string& name, int otherwise) {
  for (const Units& u : table)
    if (name.find(u.part) != std::string::npos) return u.count;
  return otherwise;
}

}  // namespace

int compute_units(const AdapterInfo& adapter) {
  constexpr int kDiscrete = 64, kOther = 16;
  // Not every backend tells the vendor.
  if (adapter.vendor_id == kAppleVendor || adapter.name.starts_with("Apple "))
    return count_in(kApple, adapter.name, kOther);
  return adapter.type == "discrete" ? count_in(kUnits, adapter.name, kDiscrete) : kOther;
}

}  // namespace wgt::rt
