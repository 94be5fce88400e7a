"""A device's memory: how much, for what, and how much there may be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, SupportsIndex

from wgtensor import _core
from wgtensor._arrays import DeviceLike
from wgtensor._manipulation import as_int

__all__ = [
    "empty_cache",
    "memory_snapshot",
    "memory_stats",
    "record_lines",
    "reset_peak_memory",
    "set_memory_limit",
]


class Memory(NamedTuple):
    """A buffer in use. `what` and `line` are known of tensors made within record_lines()."""

    bytes: int
    references: int
    what: str | None
    line: str | None


def memory_stats(device: DeviceLike = None) -> dict[str, Any]:
    """Bytes of a device's buffers.

    'live': of tensors, and of work that waits or runs; 'peak': the most that ever was, or since
    reset_peak_memory(); 'pooled': free, kept for reuse; 'limit': what 'live' and 'pooled' may have
    together, or None. 'staging' is mapped memory of transfers, which no limit counts:
    'staging_upload' and 'staging_read'. 'live_buffers' and 'pooled_buffers' count, and 'classes'
    has both numbers by the size of the buffers: {4096: {'live': 2, 'pooled': 1}}.
    """
    return _core.memory_stats(device)


def set_memory_limit(limit: SupportsIndex | None, device: DeviceLike = None) -> None:
    """Sets how many bytes the buffers of a device may have together; None: as many as there are.

    Beyond it free buffers go first, then operations raise OutOfMemoryError, and the tensors that
    exist stay as they are. Also holds after recover(). Raises ValueError for less than a byte,
    OverflowError for more than 64 bits hold.
    """
    if limit is None:
        _core.set_memory_limit(0, device)
        return
    if isinstance(limit, bool):
        raise TypeError(f"[set_memory_limit] takes a number of bytes or None, not {limit}")
    number = as_int("set_memory_limit", "the limit", limit)
    if number < 1:
        raise ValueError(f"[set_memory_limit] takes a number of bytes or None, not {number}")
    _core.set_memory_limit(number, device)


def reset_peak_memory(device: DeviceLike = None) -> None:
    """Counts the peak of memory_stats() anew from what is live now."""
    _core.reset_peak_memory(device)


def empty_cache(device: DeviceLike = None) -> None:
    """Gives the memory that nothing uses back to the driver.

    Also plans and kernels beyond the settings max_plans and max_pipelines, and the holes that
    compilers leave in the memory of the process.
    """
    _core.get_device(device).empty_cache()


def memory_snapshot(device: DeviceLike = None) -> list[Memory]:
    """Every buffer in use, the largest first.

    Those of tensors made within record_lines() also tell dtype, shape and the line that made them.
    Views share a buffer, and so do small results, some hundred in one.
    """
    buffers = [Memory(*row) for row in _core.memory_buffers(device)]
    return sorted(buffers, key=lambda b: b.bytes, reverse=True)


@contextmanager
def record_lines() -> Iterator[None]:
    """In this block each new tensor remembers the line that made it: for memory_snapshot(), and for
    errors that show later. In all threads; it costs some microseconds a tensor. The setting
    `record_lines` does the same for a whole program.
    """
    before = _core.get_setting("record_lines")
    _core.set_setting("record_lines", "1")
    try:
        yield
    finally:
        _core.set_setting("record_lines", before)
