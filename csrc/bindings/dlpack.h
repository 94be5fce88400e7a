// The structures of DLPack 1.0 (https://dmlc.github.io/dlpack/latest/c_api.html), which are its
// ABI.
#pragma once
#include <cstdint>

namespace wgt::dlpack {

constexpr uint32_t kMajor = 1, kMinor = 0;
constexpr int32_t kCpu = 1;

enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct Device {
  int32_t type;
  int32_t id;
};

struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct View {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};

/// What capsules named "dltensor" hold.
struct Managed {
  View view;
  void* context;
  void (*deleter)(Managed*);
};

enum Flags : uint64_t { kReadOnly = 1, kCopied = 2 };

/// What capsules named "dltensor_versioned" hold.
struct ManagedVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  View view;
};

}  // namespace wgt::dlpack
