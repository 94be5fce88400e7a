"""DLPack in and out: host memory, DLPack 1.0."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._core import Tensor
from wgtensor._dtypes import DType, uint16

CPU = (1, 0)  # kDLCPU
_VERSION = (1, 0)


def export(
    self: Tensor,
    *,
    stream: None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule of the elements in host memory, which are the capsule's own; waits.

    Versioned where `max_version` allows. Raises BufferError for another device than the host, and
    for ``copy=False``, as what is on the device is always copied.
    """
    if stream is not None:
        raise ValueError(f"[dlpack] host memory has no stream: it must be None, not {stream!r}")
    if dl_device is not None and tuple(dl_device) != CPU:
        raise BufferError(f"[dlpack] only host memory {CPU} is given, not device {dl_device}")
    if copy is False:
        raise BufferError("[dlpack] elements are copied from the device: copy=False cannot be kept")
    bits = _core.bitcast(self, uint16) if self.dtype.name == "bfloat16" else self
    return _core.to_dlpack(
        bits.numpy(), self.dtype, max_version is not None and max_version[0] >= 1
    )


def device(self: Tensor) -> tuple[int, int]:
    """Where `__dlpack__` gives the elements: (1, 0), DLPack's name of host memory."""
    return CPU


def read(obj: Any) -> tuple[np.ndarray[Any, Any], DType]:
    """An array of an object's DLPack memory, of bfloat16 its bits, and the dtype.

    Memory elsewhere than on the host is asked for as a copy there. Raises what the object raises,
    and BufferError for memory that is not the host's.
    """
    elsewhere = tuple(obj.__dlpack_device__()) != CPU
    try:
        wanted = {"dl_device": CPU} if elsewhere else {}
        capsule = obj.__dlpack__(max_version=_VERSION, **wanted)
    except TypeError:  # from before DLPack 1.0
        if elsewhere:
            raise BufferError(
                f"the memory is on DLPack's device {obj.__dlpack_device__()}, not the host's: "
                f"move it there first"
            ) from None
        capsule = obj.__dlpack__()
    array, dtype = _core.from_dlpack(capsule)
    return array, dtype
