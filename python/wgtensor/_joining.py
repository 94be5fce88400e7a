"""More of NumPy's ways to cut, join and fit arrays: views, and copies by places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import ShapeError, Tensor
from wgtensor._functions import zeros
from wgtensor._indexing import take
from wgtensor._manipulation import (
    array_split,
    as_int,
    as_tensors,
    axis_of,
    concat,
    moveaxis,
    split,
)
from wgtensor._naming import public
from wgtensor._searching import flatnonzero

__all__ = [
    "append",
    "block",
    "cat",
    "chunk",
    "column_stack",
    "delete",
    "dsplit",
    "hsplit",
    "insert",
    "resize",
    "rollaxis",
    "transpose",
    "trim_zeros",
    "vsplit",
]


def _cut(op: str, x: ArrayLike, where: Any, axis: int, least: int) -> list[Tensor]:
    t = as_tensor(op, x)
    if t.ndim < least:
        raise ShapeError(f"[{op}] takes {least} dimensions or more, not shape {t.shape}")
    return split(t, where, axis)


@public
def hsplit(x: ArrayLike, indices_or_sections: int | Sequence[int], /) -> list[Tensor]:
    """`split` along the second axis, or along the only one; views."""
    t = as_tensor("hsplit", x)
    return _cut("hsplit", t, indices_or_sections, min(t.ndim - 1, 1), 1)


@public
def vsplit(x: ArrayLike, indices_or_sections: int | Sequence[int], /) -> list[Tensor]:
    """`split` along the first axis of two or more; views."""
    return _cut("vsplit", x, indices_or_sections, 0, 2)


@public
def dsplit(x: ArrayLike, indices_or_sections: int | Sequence[int], /) -> list[Tensor]:
    """`split` along the third axis; views."""
    return _cut("dsplit", x, indices_or_sections, 2, 3)


@public
def chunk(x: ArrayLike, chunks: int, axis: int = 0) -> list[Tensor]:
    """Views of that many parts of an axis, equal but for the last; fewer where it is too short, as
    PyTorch's."""
    t = as_tensor("chunk", x)
    a = axis_of("chunk", axis, t.ndim)
    count = as_int("chunk", "chunks", chunks)
    if count < 1:
        raise ValueError(f"[chunk] {count} parts: one or more are needed")
    size = max(-(-t.shape[a] // count), 1)
    return array_split(t, list(range(size, t.shape[a], size)), a)


@public
def cat(arrays: Sequence[ArrayLike], /, axis: int = 0) -> Tensor:
    """PyTorch's name for `concat`."""
    return concat(arrays, axis=axis)


@public
def column_stack(arrays: Sequence[ArrayLike], /) -> Tensor:
    """Joined along the second axis; vectors count as columns."""
    tensors = as_tensors("column_stack", arrays)
    return concat([t if t.ndim > 1 else t.reshape((-1, 1)) for t in tensors], axis=1)


@public
def block(arrays: Any, /) -> Tensor:
    """Nested lists of arrays joined: the innermost along the last axis, those around along the one
    before it, and so on. Raises ShapeError, ValueError for lists of different depths."""
    depth = _depth(arrays)
    flat = as_tensors("block", _leaves(arrays))
    ndim = max(depth, *(t.ndim for t in flat))
    parts = iter([t.reshape((*(1,) * (ndim - t.ndim), *t.shape)) for t in flat])

    def join(nested: Any, level: int) -> Tensor:
        if not isinstance(nested, list):
            return next(parts)
        return concat([join(item, level - 1) for item in nested], axis=-level)

    return join(arrays, depth)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(item) for item in arrays}
    if len(depths) != 1:
        raise ValueError("[block] takes lists of one depth, none of them empty")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Any]:
    if not isinstance(arrays, list):
        return [arrays]
    return [leaf for item in arrays for leaf in _leaves(item)]


@public
def append(x: ArrayLike, values: ArrayLike, /, axis: int | None = None) -> Tensor:
    """`x` and `values` joined along an axis; both flattened without one."""
    return concat([x, values], axis=axis)


def _along(op: str, x: ArrayLike, axis: int | None) -> tuple[Tensor, int]:
    t = as_tensor(op, x)
    return (t.reshape(-1), 0) if axis is None else (t, axis_of(op, axis, t.ndim))


def _host_places(op: str, obj: Any) -> Any:
    """What NumPy takes as places; a tensor's are read."""
    return obj.numpy() if isinstance(obj, Tensor) else obj


@public
def insert(x: ArrayLike, obj: Any, values: ArrayLike, /, axis: int | None = None) -> Tensor:
    """`x` with `values` in front of the places `obj` along an axis; flattened without one.

    obj: an integer, a slice or a sequence of integers, as np.insert takes them; a tensor is read.
    Raises IndexError, ShapeError.
    """
    t, a = _along("insert", x, axis)
    n = t.shape[a]
    places = _host_places("insert", obj)
    v = as_tensor("insert", values, t.device)._astype(t.dtype)
    if np.ndim(places) == 0 and not isinstance(places, slice):  # it takes what the values have
        v = moveaxis(v.reshape((*(1,) * (t.ndim - v.ndim), *v.shape)), 0, a)
        count = v.shape[a]
    else:
        count = np.insert(np.arange(n), places, -1).size - n
    filled = v.broadcast_to((*t.shape[:a], count, *t.shape[a + 1 :]))
    order = np.insert(np.arange(n), places, n + np.arange(count))
    return take(concat([t, filled], axis=a), order, axis=a)


@public
def delete(x: ArrayLike, obj: Any, /, axis: int | None = None) -> Tensor:
    """`x` without the places `obj` along an axis; flattened without one.

    obj: an integer, a slice, a sequence of integers or a mask, as np.delete takes them; a tensor is
    read. Raises IndexError.
    """
    t, a = _along("delete", x, axis)
    kept = np.delete(np.arange(t.shape[a]), _host_places("delete", obj))
    return take(t, kept, axis=a)


@public
def resize(x: ArrayLike, new_shape: int | Sequence[int], /) -> Tensor:
    """The elements of `x` in row-major order, again and again, in another shape; zeros where there
    are none. Raises ValueError for negative sizes."""
    t = as_tensor("resize", x).reshape(-1)
    sizes = new_shape if isinstance(new_shape, (tuple, list)) else (new_shape,)
    shape = tuple(as_int("resize", "a size", n) for n in sizes)
    if any(n < 0 for n in shape):
        raise ValueError(f"[resize] sizes must not be negative: {shape}")
    if t.size == 0:
        return zeros(shape, dtype=t.dtype, device=t.device)
    count = int(np.prod(shape, dtype=np.int64))
    repeats = -(-count // t.size)
    whole = t.expand_dims(0).broadcast_to((repeats, t.size)).reshape(-1)
    return whole[:count].reshape(shape)


@public
def trim_zeros(x: ArrayLike, /, trim: str = "fb") -> Tensor:
    """The vector `x` without the zeros in front ("f") and at the back ("b"); a view.

    Where the others are is read back. Raises ShapeError, ValueError.
    """
    t = as_tensor("trim_zeros", x)
    if t.ndim != 1:
        raise ShapeError(f"[trim_zeros] takes a vector, not shape {t.shape}")
    if trim.lower() not in ("f", "b", "fb", "bf"):
        raise ValueError(f"[trim_zeros] trim is 'f', 'b' or 'fb', not {trim!r}")
    found = flatnonzero(t)
    if found.size == 0:
        return t[:0]
    first, last = found[[0, -1]].tolist()
    start = first if "f" in trim.lower() else 0
    return t[start : last + 1] if "b" in trim.lower() else t[start:]


@public
def transpose(x: ArrayLike, /, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in reverse order, or in the given one; a view."""
    t = as_tensor("transpose", x)
    return t.T if axes is None else t.permute(tuple(axes))


@public
def rollaxis(x: ArrayLike, axis: int, start: int = 0, /) -> Tensor:
    """An axis moved in front of the place `start`, the others in order; a view."""
    t = as_tensor("rollaxis", x)
    a = axis_of("rollaxis", axis, t.ndim)
    to = as_int("rollaxis", "start", start)
    to += t.ndim if to < 0 else 0
    if not 0 <= to <= t.ndim:
        raise IndexError(f"[rollaxis] start {start} is out of bounds for {t.ndim} dimensions")
    return moveaxis(t, a, to - 1 if a < to else to)
