"""Devices: which there are, and which one is the default."""

from __future__ import annotations

from wgtensor import _core
from wgtensor._arrays import DeviceLike
from wgtensor._async import on_a_thread
from wgtensor._core import Device

__all__ = ["default_device", "devices", "get_device", "is_available", "set_default_device"]


def devices() -> tuple[Device, ...]:
    """Every adapter, best first; a device is made on one at its first use."""
    return tuple(_core.devices())


def is_available() -> bool:
    """Whether there is any adapter."""
    return len(_core.devices()) > 0


def default_device() -> Device:
    """The device of tensors that name none: of the innermost block ``with device:``, or else
    the one that was set, or the best. Raises DeviceNotFoundError.
    """
    return _core.default_device()


def set_default_device(device: DeviceLike) -> None:
    """Sets the device of tensors that name none; None: WGTENSOR_DEVICE or the best adapter."""
    _core.set_default_device(device)


def get_device(device: DeviceLike = None) -> Device:
    """The shared device that a selector names, or the default one. Raises DeviceNotFoundError.

    ``Device(selector)`` makes a logical device of its own instead.
    """
    return _core.get_device(device)


async def _create_async(selector: str | int | None = None) -> Device:
    """Like Device(selector), without blocking the event loop."""
    return await on_a_thread(Device, selector)


def install() -> None:
    """Puts the above on the core's class; the stub lists it."""
    setattr(Device, "create_async", staticmethod(_create_async))  # noqa: B010
    Device.__module__ = "wgtensor"
