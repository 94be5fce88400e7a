"""Random keys of arrays: integers, slices, new axes, ellipses, arrays of integers and of bools."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from helpers import tensor

Key = tuple[Any, ...]


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, ...]:
    return tuple(
        draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 6, 2, 3, 4, 0]), min_size=1, max_size=4))
    )


@st.composite
def slices(draw: st.DrawFn, size: int) -> slice:
    bound = st.none() | st.integers(-size - 2, size + 2)
    step = st.none() | st.sampled_from([1, 2, 3, -1, -2])
    return slice(draw(bound), draw(bound), draw(step))


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> Key:
    """A key that NumPy takes, with one array or more in most cases."""
    common = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    items: list[Any] = []
    axis, masked = 0, False
    while axis < len(shape):
        kind = draw(st.sampled_from(["slice", "int", "array", "array", "mask", "new", "stop"]))
        size = shape[axis]
        if kind == "new" and len(items) < 6:
            items.append(None)
        elif kind == "slice":
            items.append(draw(slices(size)))
            axis += 1
        elif kind == "int" and size:
            items.append(draw(st.integers(-size, size - 1)))
            axis += 1
        elif kind == "array" and (size or 0 in common):
            items.append(draw(arrays(common, size)))
            axis += 1
        elif kind == "mask" and not masked:
            masked = True
            rank = draw(st.integers(0, len(shape) - axis))
            items.append(draw(masks(shape[axis : axis + rank], common)))
            axis += rank
        elif kind == "stop":
            break
    # NumPy lets masks without elements index any axis.
    none = any(isinstance(i, np.ndarray) and i.dtype == bool and i.size == 0 for i in items)
    if not none and draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
        items = in_place(items, shape)
    return tuple(items)


def in_place(items: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """Items behind the ellipsis index the last axes: where they do not fit those, no ellipsis."""
    try:
        np.empty(shape)[tuple(items)]
    except IndexError:
        return [i for i in items if i is not Ellipsis]
    return items


@st.composite
def arrays(draw: st.DrawFn, common: tuple[int, ...], size: int) -> Any:
    """Indices along an axis, of a shape that broadcasts to the common one."""
    shape = tuple(1 if draw(st.integers(0, 4)) == 0 else n for n in common)
    shape = shape[draw(st.integers(0, len(shape))) :] if draw(st.integers(0, 4)) == 0 else shape
    dtype = draw(st.sampled_from(["int8", "int16", "int32", "int64", "uint8", "uint32"]))
    low = -size if dtype.startswith("i") else 0
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    return rng.integers(low, max(size, 1), shape).astype(dtype)


@st.composite
def masks(draw: st.DrawFn, shape: tuple[int, ...], common: tuple[int, ...]) -> Any:
    """A mask whose count of true elements mostly broadcasts with the common shape."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    mask = rng.random(shape) < draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    if common and draw(st.booleans()) and mask.size >= common[-1]:
        mask = np.zeros(mask.size, bool)
        mask[: common[-1]] = True
        mask = rng.permutation(mask).reshape(shape)
    return mask


def on_device(key: Key, chosen: list[bool]) -> Key:
    """The key with those of its arrays on the device that `chosen` names, others as they are."""
    turns = iter(chosen)

    def moved(i: Any) -> Any:
        return tensor(i) if isinstance(i, np.ndarray) and next(turns, True) else i

    return tuple(moved(i) for i in key)
