"""Elements at places that are data: take, take_along_axis and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import ShapeError, Tensor
from wgtensor._manipulation import as_int, axis_of

__all__ = ["take", "take_along_axis"]

_MODES = ("raise", "clip", "wrap")


def index_operand(
    op: str, indices: ArrayLike, size: int, axis: int, mode: str, like: Tensor
) -> tuple[Tensor, str]:
    """Indices along an axis of `size` as a tensor, and the mode that the core takes them in.

    Those that are host data are checked here; a tensor's by the kernel that uses them.
    """
    if mode not in _MODES:
        raise ValueError(f"[{op}] mode must be 'raise', 'clip' or 'wrap', not {mode!r}")
    return checked_operand(op, indices, size, axis, mode, like)


def checked_operand(
    op: str, indices: ArrayLike, size: int, axis: int, mode: str, like: Tensor
) -> tuple[Tensor, str]:
    """The same, also for "from_start": as "raise", and negative indices are out of range."""
    if isinstance(indices, Tensor):
        return indices, mode
    try:
        a = np.asarray(indices)
    except ValueError as error:
        raise ShapeError(f"[{op}] NumPy makes no array of the indices: {error}") from None
    if a.size == 0 and not isinstance(indices, np.ndarray):
        a = a.astype(np.int32)
    if a.dtype.kind not in "iu":
        raise IndexError(f"[{op}] indices are integers, not {a.dtype}")
    return as_tensor(op, _checked(op, a, size, axis, mode), like.device), "trusted"


def _checked(
    op: str, a: np.ndarray[Any, Any], size: int, axis: int, mode: str
) -> np.ndarray[Any, Any]:
    kept = np.int32 if size <= 1 << 31 else np.uint32
    if a.dtype != np.uint64:
        a = a.astype(np.int64)
    if a.size == 0:
        return a.astype(kept)
    if size == 0:
        raise IndexError(f"[{op}] no index is in bounds for axis {axis} with size 0")
    if mode == "clip":
        a = np.clip(a, 0, size - 1)
        return a.astype(kept)
    if mode == "wrap":
        a = a % size
        return a.astype(kept)
    least = 0 if mode == "from_start" else -size
    outside = (a >= size) | (a < least) if a.dtype.kind == "i" else a >= size
    if outside.any():
        raise IndexError(
            f"[{op}] index {a[outside].flat[0]} is out of bounds for axis {axis} with size {size}"
        )
    a = np.where(a < 0, a + size, a)
    return a.astype(kept)


def take(
    x: ArrayLike, indices: ArrayLike, /, axis: int | None = None, *, mode: str = "raise"
) -> Tensor:
    """The elements of `x` at integer indices along an axis; of the flattened `x` by default.

    The dimensions of `indices` take the place of the axis. Negative indices count from the end.
    mode="raise": IndexError for those out of range: at once where they are host data, else with the
    next read; "clip": the nearest place, the first for negative ones; "wrap": counted round. A
    lookup fuses with elementwise work on the indices before it and on the elements behind it.
    """
    t = as_tensor("take", x)
    if axis is None:
        t = t.reshape(-1)
    a = axis_of("take", 0 if axis is None else axis, t.ndim)
    operand, how = index_operand("take", indices, t.shape[a], a, mode, t)
    return _core.take(t, operand, a, how, "take")


def take_along_axis(
    x: ArrayLike, indices: ArrayLike, /, axis: int | None = -1, *, mode: str = "raise"
) -> Tensor:
    """The elements of `x` along an axis, at indices for each place of the other axes.

    ``out[i, j, k] = x[i, indices[i, j, k], k]`` for axis 1 of three. `x` and `indices` have as many
    dimensions, which broadcast but for the axis; for ``axis=None`` `x` is flattened, and `indices`
    have one. `mode` as for take. Raises ShapeError, ValueError, IndexError.
    """
    t = as_tensor("take_along_axis", x)
    if axis is None:
        t = t.reshape(-1)
        axis = 0
    a = axis_of("take_along_axis", as_int("take_along_axis", "axis", axis), t.ndim)
    operand, how = index_operand("take_along_axis", indices, t.shape[a], a, mode, t)
    return _core.take_along_axis(t, operand, a, how, "take_along_axis")
