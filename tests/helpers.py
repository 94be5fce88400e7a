"""What several test files use: settings for a while, counted dispatches, layouts of one array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import wgtensor as wt

DTYPES = ("float32", "int32", "uint32", "bool")


#: what some adapters lack, and the feature of a device that has them
WIDE = {"int64": "int64", "uint64": "int64", "float64": "float64"}


def device_has(dtype: str) -> bool:
    return dtype not in WIDE or WIDE[dtype] in wt.default_device().features


@contextmanager
def setting(**values: Any) -> Iterator[None]:
    """wt.config with other values, for as long as the block runs."""
    before = {name: getattr(wt.config, name) for name in values}
    try:
        for name, value in values.items():
            setattr(wt.config, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(wt.config, name, value)


def dispatches(make: Callable[[], Any]) -> int:
    """Kernels that run when what `make` returns is computed; nothing else waits before."""
    wt.synchronize()
    before = wt.stats()["dispatches"]
    made = make()
    wt.eval(*(made if isinstance(made, (tuple, list)) else [made]))
    return wt.stats()["dispatches"] - before


def random_array(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "float32"
) -> np.ndarray[Any, Any]:
    """Small values of any sign: sums and products of them neither overflow nor lose much."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype == "float32":
        return rng.standard_normal(shape, dtype=np.float32)
    low = -50 if dtype == "int32" else 0
    return rng.integers(low, 50, shape, dtype=dtype)


#: name -> (host array -> tensor with these elements in this shape)
LAYOUTS: dict[str, Callable[[np.ndarray[Any, Any]], wt.Tensor]] = {
    "contiguous": lambda a: wt.asarray(a),
    "transposed": lambda a: wt.asarray(np.ascontiguousarray(a.T)).T,
    "sliced": lambda a: wt.asarray(_padded(a, 2))[tuple(slice(1, 2 * n, 2) for n in a.shape)],
    "shifted": lambda a: wt.asarray(_padded(a, 1))[tuple(slice(1, n + 1) for n in a.shape)],
    "negative": lambda a: wt.asarray(np.ascontiguousarray(a[(slice(None, None, -1),) * a.ndim]))[
        (slice(None, None, -1),) * a.ndim
    ],
    "pending": lambda a: _pending(a),
}


def _padded(a: np.ndarray[Any, Any], step: int) -> np.ndarray[Any, Any]:
    """A larger array that holds `a` at every step-th place from 1 on; the rest is other values."""
    big = np.full([step * n + 1 for n in a.shape], 1, a.dtype)
    big[tuple(slice(1, step * n + (step == 1), step) for n in a.shape)] = a
    return big


def _pending(a: np.ndarray[Any, Any]) -> wt.Tensor:
    """A view of a value that is not computed yet."""
    rolled = wt.asarray(np.ascontiguousarray(a.T))
    kept = wt.where(wt.asarray(np.ones((), np.bool_)), rolled, rolled)
    return kept.T
