// A Vulkan layer that makes calls fail on request: device loss, lack of memory, a GPU that hangs.
// WGT_INJECT_FILE names a file with one `struct control`, mapped by the test and by this layer.
// WGT_SPIRV_FOLDER: where each shader is kept as the driver gets it.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#define EXPORT __attribute__((visibility("default")))
#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

// Keep in step with inject.py. Counters: negative is off, 0 means the next call fails.
struct control {
  _Atomic int32_t lost_after;  // submits and waits until the device is lost
  _Atomic int32_t oom_after;   // allocations until one fails
  _Atomic int32_t oom_times;   // how many then fail, one after the other
  _Atomic int32_t losses;      // what happened
  _Atomic int32_t ooms;
  _Atomic int32_t calls;  // submits and waits seen
  _Atomic int32_t allocations;
  _Atomic int32_t hung;           // not 0: nothing that is submitted ever ends
  _Atomic int64_t oom_min_bytes;  // smaller allocations neither count nor fail
};

struct device {
  void* key;  // the loader's dispatch pointer, shared by a device and its queues
  VkDevice handle;
  atomic_int lost;  // as with a real loss, all later submits and waits of this device fail
  PFN_vkGetDeviceProcAddr get;
};

struct instance {
  void* key;
  PFN_vkGetInstanceProcAddr get;
};

// Slots are reused by key, and a test process makes few devices at a time.
static struct device devices[256];
static struct instance instances[256];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct control* control;

static void* key_of(const void* handle) {
  return *(void* const*)handle;
}

static struct device* device_of(const void* handle) {
  struct device* found = NULL;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < LENGTH(devices) && !found; ++i)
    if (devices[i].key == key_of(handle)) found = &devices[i];
  pthread_mutex_unlock(&lock);
  if (!found) abort();
  return found;
}

static void map_control(void) {
  const char* path = getenv("WGT_INJECT_FILE");
  int fd = path ? open(path, O_RDWR) : -1;
  if (control || fd < 0) return;
  void* at = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) control = at;
}

// Counts one call down; true when it is the one to fail.
static int fires(_Atomic int32_t* counter) {
  int32_t value = atomic_load(counter);
  while (value >= 0)
    if (atomic_compare_exchange_weak(counter, &value, value - 1)) return value == 0;
  return 0;
}

#define NEXT(d, name) ((PFN_##name)(d)->get((d)->handle, #name))

static int is_lost(struct device* d) {
  if (!control) return 0;
  atomic_fetch_add(&control->calls, 1);
  if (!atomic_load(&d->lost) && fires(&control->lost_after)) {
    atomic_store(&d->lost, 1);
    // A device that is lost has stopped: what it was given may be freed.
    NEXT(d, vkDeviceWaitIdle)(d->handle);
    atomic_fetch_add(&control->losses, 1);
  }
  return atomic_load(&d->lost);
}

// Submits and waits: lost, or passed on. `h` is the handle that the call starts with.
#define LOSABLE(name, params, args)                            \
  static VKAPI_ATTR VkResult VKAPI_CALL inject_##name params { \
    struct device* d = device_of(h);                           \
    if (is_lost(d)) return VK_ERROR_DEVICE_LOST;               \
    return NEXT(d, name) args;                                 \
  }

LOSABLE(vkQueueSubmit, (VkQueue h, uint32_t n, const VkSubmitInfo* s, VkFence f), (h, n, s, f))
LOSABLE(vkQueueSubmit2, (VkQueue h, uint32_t n, const VkSubmitInfo2* s, VkFence f), (h, n, s, f))
LOSABLE(vkQueueSubmit2KHR, (VkQueue h, uint32_t n, const VkSubmitInfo2* s, VkFence f), (h, n, s, f))

// The same for what asks about work: of a GPU that hangs it never says that something ended.
#define HANGABLE(name, params, args, while_hung)               \
  static VKAPI_ATTR VkResult VKAPI_CALL inject_##name params { \
    struct device* d = device_of(h);                           \
    if (is_lost(d)) return VK_ERROR_DEVICE_LOST;               \
    if (is_hung()) return while_hung;                          \
    return NEXT(d, name) args;                                 \
  }

static int is_hung(void) {
  return control && atomic_load(&control->hung);
}

// A counter that says that not even the first submission is done.
static VkResult nothing_done(uint64_t* value) {
  *value = 0;
  return VK_SUCCESS;
}

HANGABLE(vkWaitForFences, (VkDevice h, uint32_t n, const VkFence* f, VkBool32 all, uint64_t t),
         (h, n, f, all, t), VK_TIMEOUT)
HANGABLE(vkWaitSemaphores, (VkDevice h, const VkSemaphoreWaitInfo* w, uint64_t t), (h, w, t),
         VK_TIMEOUT)
HANGABLE(vkWaitSemaphoresKHR, (VkDevice h, const VkSemaphoreWaitInfo* w, uint64_t t), (h, w, t),
         VK_TIMEOUT)
HANGABLE(vkGetFenceStatus, (VkDevice h, VkFence f), (h, f), VK_NOT_READY)
HANGABLE(vkGetSemaphoreCounterValue, (VkDevice h, VkSemaphore s, uint64_t* v), (h, s, v),
         nothing_done(v))
HANGABLE(vkGetSemaphoreCounterValueKHR, (VkDevice h, VkSemaphore s, uint64_t* v), (h, s, v),
         nothing_done(v))

static VKAPI_ATTR VkResult VKAPI_CALL inject_vkAllocateMemory(VkDevice h,
                                                              const VkMemoryAllocateInfo* info,
                                                              const VkAllocationCallbacks* a,
                                                              VkDeviceMemory* memory) {
  struct device* d = device_of(h);
  if (control && (int64_t)info->allocationSize >= atomic_load(&control->oom_min_bytes)) {
    atomic_fetch_add(&control->allocations, 1);
    if (fires(&control->oom_after)) {
      atomic_fetch_add(&control->ooms, 1);
      // Armed for the next one too, until oom_times are used up.
      if (atomic_fetch_sub(&control->oom_times, 1) > 1) atomic_store(&control->oom_after, 0);
      return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
  }
  return NEXT(d, vkAllocateMemory)(h, info, a, memory);
}

static VKAPI_ATTR VkResult VKAPI_CALL
inject_vkCreateShaderModule(VkDevice h, const VkShaderModuleCreateInfo* info,
                            const VkAllocationCallbacks* a, VkShaderModule* module) {
  static atomic_int number;
  const char* folder = getenv("WGT_SPIRV_FOLDER");
  char path[4096];
  if (folder) {
    snprintf(path, sizeof(path), "%s/%d.spv", folder, atomic_fetch_add(&number, 1));
    FILE* file = fopen(path, "wb");
    if (!file || fwrite(info->pCode, 1, info->codeSize, file) != info->codeSize) abort();
    fclose(file);
  }
  return NEXT(device_of(h), vkCreateShaderModule)(h, info, a, module);
}

// The loader's list of what to call next, advanced for the layer below.
static void* link_info(const void* next, VkStructureType type) {
  VkLayerInstanceCreateInfo* at = (VkLayerInstanceCreateInfo*)next;
  while (at && !(at->sType == type && at->function == VK_LAYER_LINK_INFO))
    at = (VkLayerInstanceCreateInfo*)at->pNext;
  return at;
}

static VKAPI_ATTR VkResult VKAPI_CALL inject_vkCreateInstance(const VkInstanceCreateInfo* info,
                                                              const VkAllocationCallbacks* a,
                                                              VkInstance* out) {
  VkLayerInstanceCreateInfo* link =
      link_info(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  PFN_vkGetInstanceProcAddr get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  VkResult result = ((PFN_vkCreateInstance)get(NULL, "vkCreateInstance"))(info, a, out);
  if (result != VK_SUCCESS) return result;
  pthread_mutex_lock(&lock);
  map_control();
  for (size_t i = 0; i < LENGTH(instances); ++i) {
    if (instances[i].key && instances[i].key != key_of(*out)) continue;
    instances[i] = (struct instance){key_of(*out), get};
    break;
  }
  pthread_mutex_unlock(&lock);
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL inject_vkCreateDevice(VkPhysicalDevice physical,
                                                            const VkDeviceCreateInfo* info,
                                                            const VkAllocationCallbacks* a,
                                                            VkDevice* out) {
  VkLayerDeviceCreateInfo* link =
      link_info(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  PFN_vkGetInstanceProcAddr get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  PFN_vkGetDeviceProcAddr get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  PFN_vkCreateDevice create = (PFN_vkCreateDevice)get_instance(NULL, "vkCreateDevice");
  VkResult result = create(physical, info, a, out);
  if (result != VK_SUCCESS) return result;
  pthread_mutex_lock(&lock);
  size_t slot = 0;
  while (slot < LENGTH(devices) && devices[slot].key && devices[slot].key != key_of(*out)) ++slot;
  if (slot == LENGTH(devices)) abort();
  devices[slot].key = key_of(*out);
  devices[slot].handle = *out;
  devices[slot].get = get;
  atomic_store(&devices[slot].lost, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

static VKAPI_ATTR void VKAPI_CALL inject_vkDestroyDevice(VkDevice h,
                                                         const VkAllocationCallbacks* a) {
  if (!h) return;
  struct device* d = device_of(h);
  PFN_vkDestroyDevice next = NEXT(d, vkDestroyDevice);
  pthread_mutex_lock(&lock);
  d->key = NULL;
  pthread_mutex_unlock(&lock);
  next(h, a);
}

static VKAPI_ATTR void VKAPI_CALL inject_vkDestroyInstance(VkInstance h,
                                                           const VkAllocationCallbacks* a) {
  if (!h) return;
  PFN_vkDestroyInstance next = NULL;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < LENGTH(instances); ++i) {
    if (instances[i].key != key_of(h)) continue;
    next = (PFN_vkDestroyInstance)instances[i].get(h, "vkDestroyInstance");
    instances[i].key = NULL;
  }
  pthread_mutex_unlock(&lock);
  if (next) next(h, a);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL inject_vkGetInstanceProcAddr(VkInstance h,
                                                                             const char* name);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL inject_vkGetDeviceProcAddr(VkDevice h,
                                                                           const char* name);

#define ENTRY(name) \
  { #name, (PFN_vkVoidFunction)inject_##name }
static const struct entry {
  const char* name;
  PFN_vkVoidFunction function;
} entries[] = {
    ENTRY(vkGetInstanceProcAddr),
    ENTRY(vkCreateInstance),
    ENTRY(vkDestroyInstance),
    ENTRY(vkCreateDevice),
    // From here on functions of a device.
    ENTRY(vkGetDeviceProcAddr),
    ENTRY(vkDestroyDevice),
    ENTRY(vkQueueSubmit),
    ENTRY(vkQueueSubmit2),
    ENTRY(vkQueueSubmit2KHR),
    ENTRY(vkWaitForFences),
    ENTRY(vkWaitSemaphores),
    ENTRY(vkWaitSemaphoresKHR),
    ENTRY(vkGetFenceStatus),
    ENTRY(vkGetSemaphoreCounterValue),
    ENTRY(vkGetSemaphoreCounterValueKHR),
    ENTRY(vkAllocateMemory),
    ENTRY(vkCreateShaderModule),
};
enum { kFirstOfDevice = 4 };

static PFN_vkVoidFunction own(const char* name, size_t first) {
  for (size_t i = first; i < LENGTH(entries); ++i)
    if (!strcmp(entries[i].name, name)) return entries[i].function;
  return NULL;
}

static PFN_vkVoidFunction inject_vkGetDeviceProcAddr(VkDevice h, const char* name) {
  struct device* d = device_of(h);
  PFN_vkVoidFunction next = d->get(h, name);
  // Not there below, for want of an extension: not here either.
  PFN_vkVoidFunction mine = next ? own(name, kFirstOfDevice) : NULL;
  return mine ? mine : next;
}

static PFN_vkVoidFunction inject_vkGetInstanceProcAddr(VkInstance h, const char* name) {
  PFN_vkVoidFunction mine = own(name, 0);
  if (mine || !h) return mine;
  PFN_vkGetInstanceProcAddr get = NULL;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < LENGTH(instances) && !get; ++i)
    if (instances[i].key == key_of(h)) get = instances[i].get;
  pthread_mutex_unlock(&lock);
  return get ? get(h, name) : NULL;
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  interface->loaderLayerInterfaceVersion = 2;
  interface->pfnGetInstanceProcAddr = inject_vkGetInstanceProcAddr;
  interface->pfnGetDeviceProcAddr = inject_vkGetDeviceProcAddr;
  interface->pfnGetPhysicalDeviceProcAddr = NULL;
  return VK_SUCCESS;
}
