"""argmax and argmin: the first of equals, NaN before all, any axis, size and layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import DTYPES, LAYOUTS, dispatches, random_array
from tolerances import check

Array = np.ndarray[Any, Any]

OPS = ["argmax", "argmin"]
SIZES = [1, 2, 31, 32, 33, 127, 128, 129, 257, 1023, 4097]


def verify(op: str, a: Array, t: wt.Tensor, axis: Any = None, keepdims: bool = False) -> None:
    expected = np.asarray(getattr(np, op)(a, axis=axis, keepdims=keepdims), np.int32)
    result = getattr(wt, op)(t, axis=axis, keepdims=keepdims)
    assert result.dtype == "int32"
    check(result, expected, name=f"{op} {a.dtype}{a.shape} axis={axis}")


@pytest.mark.short
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_axes(op: str, dtype: str, rng: np.random.Generator) -> None:
    a = random_array(rng, (3, 4, 5, 6), dtype)
    t = wt.asarray(a)
    for axis in (None, 0, 1, 2, 3, -1, -4):
        verify(op, a, t, axis)
        verify(op, a, t, axis, keepdims=True)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(op: str, layout: str, rng: np.random.Generator) -> None:
    """Without an axis the place counts the tensor's elements in row-major order, not memory's."""
    for dtype in DTYPES:
        for shape in [(6, 8, 10), (5, 7, 3)]:
            a = random_array(rng, shape, dtype)
            for axis in (None, 0, 1, 2):
                verify(op, a, LAYOUTS[layout](a), axis)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_sizes(op: str, dtype: str, rng: np.random.Generator) -> None:
    for n in SIZES:
        for shape, axis in [((n,), 0), ((5, n), 1), ((n, 5), 0), ((n, 64), 0), ((2, n, 3), 1)]:
            a = random_array(rng, shape, dtype)
            verify(op, a, wt.asarray(a), axis)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_ties(op: str, dtype: str, rng: np.random.Generator) -> None:
    """The first wins: in one lane, over lanes, over splits, in rows and in columns."""
    for n in (3, 8, 33, 257, 4097, 300_000):
        a = np.ones(n, dtype)
        verify(op, a, wt.asarray(a))
        extreme = 2 if op == "argmax" and dtype != "bool" else 1 if op == "argmax" else 0
        a = np.full(n, 1 - extreme if dtype == "bool" else 1, dtype)
        a[rng.choice(n, size=min(n, 3), replace=False)] = extreme
        verify(op, a, wt.asarray(a))
        wide = np.stack([a, a[::-1], a, np.roll(a, 1)] * 5)
        verify(op, wide, wt.asarray(wide), 1)
        verify(op, np.ascontiguousarray(wide.T), wt.asarray(np.ascontiguousarray(wide.T)), 0)


@pytest.mark.short
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("n", [1, 3, 8, 33, 300, 5000, 200_000])
def test_nan_wins_and_the_first_does(op: str, n: int) -> None:
    for first in {0, 1 % n, n // 2, n - 1}:
        a = np.zeros(n, np.float32)
        a[n // 3] = np.inf
        a[2 * n // 3] = -np.inf
        a[first] = np.nan
        a[min(first + 5, n - 1)] = -np.float32(np.nan)
        verify(op, a, wt.asarray(a))
        b = np.stack([a, a[::-1]] * 9)
        verify(op, b, wt.asarray(b), 1)
        verify(op, np.ascontiguousarray(b.T), wt.asarray(np.ascontiguousarray(b.T)), 0)


@pytest.mark.parametrize("op", OPS)
def test_infinities_zeros_and_extremes(op: str) -> None:
    inf, big, tiny = np.inf, 3.4e38, 1.2e-38
    rows = [
        [-inf, -inf, -inf],
        [inf, inf, inf],
        [-inf, -big, -inf],
        [inf, big, -inf],
        [0.0, -0.0, 0.0],
        [-0.0, 0.0, -0.0],
        [tiny, -tiny, 0.0],
        [-tiny, 0.0, tiny],
        [-1.0, -2.0, -3.0],
    ]
    a = np.array(rows, np.float32)
    verify(op, a, wt.asarray(a), 1)
    for extremes in (
        np.array([-(2**31), 2**31 - 1, 0, -1, 2**31 - 1, -(2**31)], np.int32),
        np.array([5, 2**32 - 1, 0, 2**31, 2**32 - 1, 0], np.uint32),
    ):
        verify(op, extremes, wt.asarray(extremes))


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS)
def test_long_axes(op: str, rng: np.random.Generator) -> None:
    a = rng.standard_normal(3_000_001, dtype=np.float32)
    verify(op, a, wt.asarray(a))
    whole = rng.integers(0, 1000, (100_003, 20), dtype=np.int32)
    for axis in (None, 0, 1):
        verify(op, whole, wt.asarray(whole), axis)
    n = 2**27 + 3
    far = wt.arange(n)
    assert getattr(wt, op)(far).item() == (n - 1 if op == "argmax" else 0)


@pytest.mark.short
def test_empty_and_0d() -> None:
    e = wt.zeros((3, 0, 4))
    for op in (wt.argmax, wt.argmin):
        assert op(e, axis=0).shape == (0, 4)
        assert op(e, axis=0).dtype == "int32"
        assert op(e, axis=-1, keepdims=True).shape == (3, 0, 1)
        for axis in (None, 1):
            with pytest.raises(ValueError, match=r"zero elements.*\(3, 0, 4\)"):
                op(e, axis=axis)
        for value in (3.0, np.nan):
            s = wt.asarray(np.float32(value))
            assert op(s).item() == 0
            assert op(s, keepdims=True).shape == ()
        assert op(wt.zeros((3, 4)), keepdims=True).shape == (1, 1)
        assert op(wt.zeros((1, 5, 1)), axis=0).tolist() == [[0]] * 5


def test_errors() -> None:
    t = wt.zeros((2, 3))
    for op in OPS:
        for axis in (2, -3):
            with pytest.raises(IndexError, match=rf"\[{op}\].*2 dimensions"):
                getattr(wt, op)(t, axis=axis)
        for bad in ((0, 1), 1.0, "0"):
            with pytest.raises(TypeError, match=rf"\[{op}\]"):
                getattr(wt, op)(t, axis=bad)
        with pytest.raises(wt.UnsupportedError, match="int32"):
            getattr(wt, op)(wt.broadcast_to(wt.zeros(1), (2**31,)))


def test_methods_and_numpys_functions(rng: np.random.Generator) -> None:
    a = random_array(rng, (4, 5))
    t = wt.asarray(a)
    check(t.argmax(1), a.argmax(axis=1).astype(np.int32))
    check(t.argmin(dim=0), a.argmin(axis=0).astype(np.int32))
    check(np.argmax(t), np.int32(a.argmax()))
    out = wt.empty(5, dtype="int32")
    assert t.argmax(axis=0, out=out) is out
    check(out, a.argmax(axis=0).astype(np.int32))
    with pytest.raises(TypeError, match="not both"):
        t.argmax(0, dim=1)


def test_work_before_and_after(rng: np.random.Generator) -> None:
    a, b = random_array(rng, (40, 33)), random_array(rng, (40, 33))
    x, y = wt.asarray(a), wt.asarray(b)
    for axis in (0, 1):
        e = (a - b).argmax(axis=axis)
        check((x - y).argmax(axis=axis), e.astype(np.int32))
        check((x - y).argmax(axis=axis) * 2 + 1, (e * 2 + 1).astype(np.int32))
        labels = rng.integers(0, 33, e.shape, dtype=np.int32)
        check((x - y).argmax(axis=axis) == wt.asarray(labels), e == labels)
    assert dispatches(lambda: (x - y).argmax(axis=1)) == 1
    assert dispatches(lambda: (x * y + 1).argmin()) == 1
    assert dispatches(lambda: (x - y).argmax(axis=1) == 3) == 1
