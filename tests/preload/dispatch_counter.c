// Counts what reaches wgpu-native, whatever the library's own statistics say. Used by LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kDispatches, kSubmits, kPipelines, kChecked, kTrusted, kCount };
static atomic_ulong counts[kCount];

// The labels of the pipelines dispatched since the last reset. One thread at a time records.
struct string_view {
  const char* data;
  size_t length;
};
struct pipeline_descriptor {  // how WGPUComputePipelineDescriptor starts
  void* next;
  struct string_view label;
};
enum { kLabelBytes = 32, kPipelinesKnown = 4096, kLabelsKept = 16384 };
static struct {
  void* handle;
  char label[kLabelBytes];
} known[kPipelinesKnown];
static atomic_ulong known_count;
static unsigned long current, dispatched[kLabelsKept];

// Python opens the extension with a scope of its own, where RTLD_NEXT does not look.
static int find_library(struct dl_phdr_info* info, size_t size, void* out) {
  (void)size;
  if (!strstr(info->dlpi_name, "wgpu_native")) return 0;
  *(void**)out = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  return 1;
}

static void* real(const char* name) {
  void* library = NULL;
  dl_iterate_phdr(find_library, &library);
  void* function = library ? dlsym(library, name) : NULL;
  if (!function) {
    fprintf(stderr, "dispatch_counter: no %s\n", name);
    abort();
  }
  return function;
}

// Looked up once; a second look-up by another thread finds the same pointer.
#define REAL(name)                                               \
  static _Atomic(void*) cached_##name;                           \
  if (!atomic_load(&cached_##name)) cached_##name = real(#name); \
  __typeof__(&name) real_##name = (__typeof__(&name))atomic_load(&cached_##name)

void wgpuComputePassEncoderDispatchWorkgroups(void* pass, uint32_t x, uint32_t y, uint32_t z) {
  REAL(wgpuComputePassEncoderDispatchWorkgroups);
  unsigned long n = atomic_fetch_add(&counts[kDispatches], 1);
  if (n < kLabelsKept) dispatched[n] = current;
  real_wgpuComputePassEncoderDispatchWorkgroups(pass, x, y, z);
}

void wgpuComputePassEncoderDispatchWorkgroupsIndirect(void* pass, void* buffer, uint64_t offset) {
  REAL(wgpuComputePassEncoderDispatchWorkgroupsIndirect);
  atomic_fetch_add(&counts[kDispatches], 1);
  real_wgpuComputePassEncoderDispatchWorkgroupsIndirect(pass, buffer, offset);
}

void wgpuQueueSubmit(void* queue, size_t count, void* const* commands) {
  REAL(wgpuQueueSubmit);
  atomic_fetch_add(&counts[kSubmits], 1);
  real_wgpuQueueSubmit(queue, count, commands);
}

uint64_t wgpuQueueSubmitForIndex(void* queue, size_t count, void* const* commands) {
  REAL(wgpuQueueSubmitForIndex);
  atomic_fetch_add(&counts[kSubmits], 1);
  return real_wgpuQueueSubmitForIndex(queue, count, commands);
}

void* wgpuDeviceCreateComputePipeline(void* device, const void* descriptor) {
  REAL(wgpuDeviceCreateComputePipeline);
  atomic_fetch_add(&counts[kPipelines], 1);
  void* pipeline = real_wgpuDeviceCreateComputePipeline(device, descriptor);
  unsigned long n = atomic_fetch_add(&known_count, 1);
  if (n < kPipelinesKnown) {
    const struct string_view* label = &((const struct pipeline_descriptor*)descriptor)->label;
    size_t length = label->data && label->length < kLabelBytes ? label->length : 0;
    if (length) memcpy(known[n].label, label->data, length);
    known[n].handle = pipeline;
  }
  return pipeline;
}

void* wgpuDeviceCreateShaderModule(void* device, const void* descriptor) {
  REAL(wgpuDeviceCreateShaderModule);
  atomic_fetch_add(&counts[kChecked], 1);
  return real_wgpuDeviceCreateShaderModule(device, descriptor);
}

void* wgpuDeviceCreateShaderModuleTrusted(void* device, const void* descriptor, uint64_t checks) {
  REAL(wgpuDeviceCreateShaderModuleTrusted);
  atomic_fetch_add(&counts[kTrusted], 1);
  return real_wgpuDeviceCreateShaderModuleTrusted(device, descriptor, checks);
}

void wgpuComputePassEncoderSetPipeline(void* pass, void* pipeline) {
  REAL(wgpuComputePassEncoderSetPipeline);
  // The youngest of that handle: one may be used again for another pipeline.
  unsigned long n = atomic_load(&known_count);
  for (n = n < kPipelinesKnown ? n : kPipelinesKnown; n > 0; --n)
    if (known[n - 1].handle == pipeline) break;
  current = n;
  real_wgpuComputePassEncoderSetPipeline(pass, pipeline);
}

// The label of the i-th dispatch since the last reset.
const char* wgt_test_label(unsigned long i) {
  unsigned long n = i < kLabelsKept && i < atomic_load(&counts[kDispatches]) ? dispatched[i] : 0;
  return n ? known[n - 1].label : "";
}

unsigned long wgt_test_dispatch_count(void) {
  return atomic_load(&counts[kDispatches]);
}
unsigned long wgt_test_submit_count(void) {
  return atomic_load(&counts[kSubmits]);
}
unsigned long wgt_test_pipeline_count(void) {
  return atomic_load(&counts[kPipelines]);
}
unsigned long wgt_test_checked_count(void) {
  return atomic_load(&counts[kChecked]);
}
unsigned long wgt_test_trusted_count(void) {
  return atomic_load(&counts[kTrusted]);
}
void wgt_test_reset_counts(void) {
  for (int i = 0; i < kCount; ++i) atomic_store(&counts[i], 0);
}
