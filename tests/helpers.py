"""What several test files use: settings for a while, counted dispatches, layouts of one array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import wgtensor as wt

DTYPES = ("float32", "int32", "uint32", "bool")
ALL_DTYPES = tuple(d.name for d in wt._dtypes.DTYPES)


def device_has(dtype: str) -> bool:
    return wt._core.has_dtype(wt._dtypes.to_dtype(dtype), None)


def tensor(data: Any, device: Any = None) -> wt.Tensor:
    """asarray(); 64-bit arrays, which NumPy makes of most things, fit a device that has none."""
    if isinstance(data, np.ndarray) and data.itemsize == 8 and not device_has(data.dtype.name):
        data = data.astype({"i": np.int32, "u": np.uint32, "f": np.float32}[data.dtype.kind])
    return wt.asarray(data, device=device)


ROWS = {row[0]: i for i, row in enumerate(wt._generated.TABLE)}


def takes(function: str, dtype: str) -> bool:
    """Whether the elementwise function is there for operands of a dtype, on this device."""
    return device_has(dtype) and wt._core.takes(ROWS[function], wt._dtypes.to_dtype(dtype))


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


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """NumPy's dtype of that name; skips the test where bfloat16 needs a package that is missing."""
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    return wt._dtypes.to_dtype(dtype).numpy


def special_values(dtype: str) -> np.ndarray[Any, Any]:
    """Limits, neighbours of what matters, and NaN payloads, infinities and denormals of floats."""
    d = numpy_dtype(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if d.kind in "iu":
        i = np.iinfo(d)
        return np.array([0, 1, 2, 100, i.max, i.max - 1, i.max // 2 + 1, i.min, i.min + 1], d)
    bits = np.dtype(f"u{d.itemsize}")
    one, half = np.array([1, 0.5], d).view(bits)
    inf = int(np.array(np.inf, d).view(bits))
    sign = 1 << (8 * d.itemsize - 1)
    quiet = (inf & -inf) >> 1
    patterns = [0, 1, 2, one, half, one + 1, half - 1, inf, inf - 1, inf | quiet, inf | quiet | 5]
    patterns += [inf & -inf, (inf & -inf) - 1]  # the least normal number, the largest denormal
    both = [int(p) | s for p in patterns for s in (0, sign)]
    numbers = np.array([1.5, -2.5, 127.5, -128.5, 255.5, 300, 40000, -70000, 3e9, -3e9, 1e19], d)
    return np.concatenate([np.array(both, bits).view(d), numbers])


def same_bits(actual: Any, expected: np.ndarray[Any, Any]) -> None:
    """Shape, dtype and every bit are equal."""
    a = actual.numpy() if hasattr(actual, "numpy") else np.asarray(actual)
    assert a.shape == expected.shape
    assert a.dtype == expected.dtype
    if a.tobytes() != expected.tobytes():
        bits = np.dtype(f"u{a.dtype.itemsize}")
        x, y = (np.ascontiguousarray(v).view(bits).reshape(-1) for v in (a, expected))
        at = np.flatnonzero(x != y)
        shown = ", ".join(f"{i}: {x[i]:#x} is not {y[i]:#x}" for i in at[:5].tolist())
        raise AssertionError(f"{len(at)} of {x.size} elements differ: {shown}")


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


def is_tensor(x: Any, expected: Any) -> None:
    assert isinstance(x, wt.Tensor)
    expected = np.asarray(expected)
    assert x.shape == expected.shape
    np.testing.assert_allclose(x.numpy(), expected, rtol=2e-6)


def source(kind: str, base: np.ndarray[Any, Any]) -> wt.Tensor:
    """The same elements as a leaf, as a value that waits, or as one that a kernel made."""
    t = wt.asarray(base)
    if kind == "leaf":
        return t
    waiting = wt.where(t == t, t, t)
    return waiting if kind == "pending" else waiting.eval()


def leaf(*values: float) -> wt.Tensor:
    """A vector that requires grad."""
    return wt.asarray(values, dtype="float32").requires_grad_()


def grad_of(x: wt.Tensor) -> list[float]:
    assert x.grad is not None
    values: list[float] = x.grad.tolist()
    return values


def counted(function: Any) -> tuple[Any, list[int]]:
    """The function under jit, and how often Python has run it."""
    calls = [0]

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        return function(*args, **kwargs)

    return wt.jit(wrapped), calls


def arrays(
    rng: np.random.Generator, *shapes: tuple[int, ...], dtype: str = "float32"
) -> tuple[Any, Any]:
    """random_array() of each shape, and the same as tensors."""
    made = [random_array(rng, s, dtype) for s in shapes]
    return made, [wt.asarray(a) for a in made]


def workgroups_meet(device: wt.Device) -> bool:
    """Whether those of one kernel may, where a second one would follow."""
    return device.backend == "vulkan"
