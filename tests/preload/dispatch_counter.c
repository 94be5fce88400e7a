// Counts what reaches wgpu-native, whatever the library's own statistics say. Used by LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kDispatches, kSubmits, kPipelines, kCount };
static atomic_ulong counts[kCount];

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
  atomic_fetch_add(&counts[kDispatches], 1);
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
  return real_wgpuDeviceCreateComputePipeline(device, descriptor);
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
void wgt_test_reset_counts(void) {
  for (int i = 0; i < kCount; ++i) atomic_store(&counts[i], 0);
}
