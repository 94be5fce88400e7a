"""Print the Vulkan devices; exit 1 without a loader, 2 without a device. Standard library only."""

import ctypes
import sys

NAME_OFFSET, NAME_SIZE = 20, 256  # VkPhysicalDeviceProperties.deviceName
LOADERS = {"linux": ["libvulkan.so.1"], "win32": ["vulkan-1.dll"]}


class InstanceCreateInfo(ctypes.Structure):
    """VkInstanceCreateInfo with nothing asked for."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("application", ctypes.c_void_p),
        ("layer_count", ctypes.c_uint32),
        ("layers", ctypes.c_void_p),
        ("extension_count", ctypes.c_uint32),
        ("extensions", ctypes.c_void_p),
    )


def devices() -> list[str]:
    """The names of the Vulkan devices."""
    vk = ctypes.CDLL(LOADERS[sys.platform][0])
    instance = ctypes.c_void_p()
    info = InstanceCreateInfo(type=1)
    if vk.vkCreateInstance(ctypes.byref(info), None, ctypes.byref(instance)) != 0:
        return []
    count = ctypes.c_uint32(64)
    handles = (ctypes.c_void_p * 64)()
    if vk.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), handles) != 0:
        return []
    names = []
    for handle in handles[: count.value]:
        properties = ctypes.create_string_buffer(4096)
        vk.vkGetPhysicalDeviceProperties(ctypes.c_void_p(handle), properties)
        raw = properties.raw[NAME_OFFSET : NAME_OFFSET + NAME_SIZE]
        names.append(raw.split(b"\0")[0].decode(errors="replace"))
    return names


def main() -> int:
    if sys.platform not in LOADERS:  # macOS: Metal needs no loader
        return 0
    try:
        found = devices()
    except OSError as error:
        print(f"no Vulkan loader: {error}")
        return 1
    print("Vulkan devices: " + (", ".join(found) or "none"))
    return 0 if found else 2


if __name__ == "__main__":
    sys.exit(main())
