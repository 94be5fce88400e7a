"""NumPy's answers about order, with this library's rules: stable, NaN last in either order."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers import numpy_dtype, special_values

Array = np.ndarray[Any, Any]


def comparable(a: Array) -> Array:
    """bfloat16 as float32, whose order NumPy knows."""
    return a.astype(np.float32) if a.dtype.kind not in "biuf" else a


def argsort(a: Array, axis: int = -1, descending: bool = False) -> Array:
    c = comparable(a)
    if not descending:
        return np.argsort(c, axis=axis, kind="stable").astype(np.int32)
    turned = np.argsort(np.flip(c, axis), axis=axis, kind="stable")
    order = np.flip(c.shape[axis] - 1 - turned, axis)
    nans = (
        np.take_along_axis(np.isnan(c), order, axis) if c.dtype.kind == "f" else np.zeros(c.shape)
    )
    last = np.argsort(nans, axis=axis, kind="stable")
    return np.take_along_axis(order, last, axis).astype(np.int32)


def sort(a: Array, axis: int = -1, descending: bool = False) -> Array:
    return np.take_along_axis(a, argsort(a, axis, descending), axis)


def disorder(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Values all over the dtype's range among many equal ones, NaNs, zeros of both signs."""
    d = numpy_dtype(dtype)
    size = int(np.prod(shape))
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if d.kind in "iu":
        i = np.iinfo(d)
        a = rng.integers(i.min, i.max, size, dtype=d, endpoint=True)
    else:
        a = rng.standard_normal(size).astype(d)
    few = rng.choice(special_values(dtype)[:20], size)
    a[rng.random(size) < 0.4] = few[rng.random(size).argsort()][0] if size else 0
    some = rng.random(size) < 0.3
    a[some] = few[some]
    return a.reshape(shape)
