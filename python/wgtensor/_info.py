"""What the array API standard asks a namespace about itself."""

from __future__ import annotations

from wgtensor import _core
from wgtensor._arrays import DeviceLike
from wgtensor._core import Device
from wgtensor._dtypes import DTYPES, DType, get_default_dtype, int32, isdtype

#: most dimensions of a tensor
_MOST_DIMENSIONS = 12


class NamespaceInfo:
    """The answer of `__array_namespace_info__()`, by the standard's names."""

    def capabilities(self) -> dict[str, bool | int]:
        """'boolean indexing', 'data-dependent shapes' (nonzero has one), 'max dimensions'."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": _MOST_DIMENSIONS,
        }

    def default_device(self) -> Device:
        """The device of tensors that name none."""
        return _core.default_device()

    def default_dtypes(self, *, device: DeviceLike = None) -> dict[str, DType]:
        """Of 'real floating', 'integral' and 'indexing' values; the same on each device."""
        return {"real floating": get_default_dtype(), "integral": int32, "indexing": int32}

    def dtypes(
        self, *, device: DeviceLike = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The dtypes that a device has, of the kinds that `isdtype` knows, by name."""
        return {
            d.name: d
            for d in DTYPES
            if _core.has_dtype(d, device) and (kind is None or isdtype(d, kind))
        }

    def devices(self) -> tuple[Device, ...]:
        """Every adapter, best first."""
        return tuple(_core.devices())
