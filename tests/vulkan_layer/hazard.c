// A fault on purpose: two fills of one buffer with no barrier between them. Only a layer with
// synchronisation checks says so; tools/validate.py takes it for the sign that they are on.
#include <stdio.h>
#include <vulkan/vulkan.h>

#define OK(call)                           \
  if ((call) != VK_SUCCESS) {              \
    fprintf(stderr, "%s failed\n", #call); \
    return 1;                              \
  }

static int hazard(VkPhysicalDevice physical) {
  float priority = 1;
  VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                   .queueCount = 1,
                                   .pQueuePriorities = &priority};
  VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                    .queueCreateInfoCount = 1,
                                    .pQueueCreateInfos = &queue};
  VkDevice device;
  OK(vkCreateDevice(physical, &device_info, NULL, &device));

  VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                    .size = 256,
                                    .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkBuffer buffer;
  OK(vkCreateBuffer(device, &buffer_info, NULL, &buffer));
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, buffer, &needs);
  uint32_t type = 0;
  while (!(needs.memoryTypeBits >> type & 1)) ++type;
  VkMemoryAllocateInfo memory_info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                      .allocationSize = needs.size,
                                      .memoryTypeIndex = type};
  VkDeviceMemory memory;
  OK(vkAllocateMemory(device, &memory_info, NULL, &memory));
  OK(vkBindBufferMemory(device, buffer, memory, 0));

  VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  VkCommandPool pool;
  OK(vkCreateCommandPool(device, &pool_info, NULL, &pool));
  VkCommandBufferAllocateInfo commands_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = pool,
      .commandBufferCount = 1};
  VkCommandBuffer commands;
  OK(vkAllocateCommandBuffers(device, &commands_info, &commands));
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  OK(vkBeginCommandBuffer(commands, &begin));
  vkCmdFillBuffer(commands, buffer, 0, 256, 1);
  vkCmdFillBuffer(commands, buffer, 0, 256, 2);
  OK(vkEndCommandBuffer(commands));

  vkDestroyCommandPool(device, pool, NULL);
  vkDestroyBuffer(device, buffer, NULL);
  vkFreeMemory(device, memory, NULL);
  vkDestroyDevice(device, NULL);
  return 0;
}

int main(void) {
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_1};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                               .pApplicationInfo = &application};
  VkInstance instance;
  OK(vkCreateInstance(&info, NULL, &instance));
  uint32_t count = 1;
  VkPhysicalDevice physical;
  VkResult found = vkEnumeratePhysicalDevices(instance, &count, &physical);
  if ((found != VK_SUCCESS && found != VK_INCOMPLETE) || !count) return 1;
  int status = hazard(physical);
  vkDestroyInstance(instance, NULL);
  return status;
}
