// wgpu's limits and the part of them that we use.
#pragma once
#include "runtime/adapter.h"
#include "webgpu.h"

namespace wgt::rt {

WGPULimits adapter_limits(WGPUAdapter adapter);
WGPULimits device_limits(WGPUDevice device);
/// WebGPU's default limits, each no better than the adapter's.
WGPULimits default_limits(const WGPULimits& adapter);
Limits to_limits(const WGPULimits& l, bool immediates);
/// `l` cut down to what WebGPU guarantees.
Limits at_most_default(Limits l);

}  // namespace wgt::rt
