"""A Vulkan layer that injects failures; see inject.py."""
