"""Devices: which there are, and which one is the default."""

from __future__ import annotations

import asyncio

from wgtensor import _core
from wgtensor._arrays import DeviceLike
from wgtensor._core import Device


def devices() -> tuple[Device, ...]:
    """Every adapter, best first; a device is made on one at its first use."""
    return tuple(_core.devices())


def is_available() -> bool:
    """Whether there is any adapter."""
    return len(_core.devices()) > 0


def default_device() -> Device:
    """The device of tensors that name none. Raises DeviceNotFoundError."""
    return _core.default_device()


def set_default_device(device: DeviceLike) -> None:
    """Makes a Device, or what a selector names, the default; None: WGTENSOR_DEVICE or the best adapter."""
    _core.set_default_device(device)


def get_device(device: DeviceLike = None) -> Device:
    """The Device that a selector names, or the default one."""
    if isinstance(device, Device):
        return device
    if device is None:
        return default_device()
    for d in _core.devices():
        if d == device:
            return d
    return Device(device)


async def _create_async(selector: str | None = None) -> Device:
    """Like Device(selector), without blocking the event loop."""
    return await asyncio.to_thread(Device, selector)


Device.create_async = staticmethod(_create_async)
