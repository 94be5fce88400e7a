"""Cumulative sums, products, extrema: every axis, sizes around tiles and chunks, NaN, accuracy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import DTYPES, LAYOUTS, dispatches, random_array, setting
from tolerances import check, near, tolerance

Array = np.ndarray[Any, Any]

UFUNCS = {
    "cumulative_sum": np.add,
    "cumulative_prod": np.multiply,
    "cumulative_max": np.maximum,
    "cumulative_min": np.minimum,
}
OPS = list(UFUNCS)
SIZES = [1, 2, 3, 4, 5, 31, 32, 33, 127, 128, 129, 257, 512, 513, 1023, 2048, 2049, 4097, 9001]


def expect(op: str, a: Array, axis: int) -> Array:
    """NumPy's answer with wgtensor's dtypes: bools are summed and multiplied in int32."""
    dtype = a.dtype
    if op in ("cumulative_sum", "cumulative_prod"):
        dtype = np.dtype({"f": np.float64, "b": np.int32}.get(dtype.kind, dtype))
    return np.asarray(UFUNCS[op].accumulate(a, axis=axis, dtype=dtype))


def verify(op: str, a: Array, t: wt.Tensor, axis: int) -> None:
    result = getattr(wt, op)(t, axis=axis)
    e = expect(op, a, axis)
    name = f"{op} {a.dtype}{a.shape} axis={axis}"
    if result.dtype == "float32" and op in ("cumulative_sum", "cumulative_prod"):
        size = np.add.accumulate(np.abs(a.astype(np.float64)), axis=axis)
        if op == "cumulative_prod":
            size = np.abs(e) * a.shape[axis] / 4
        check(result, e, allowed=8 * tolerance("float32").term * size + 1e-37, name=name)
    else:
        check(result, e, name=name)
        assert result.dtype == str(e.dtype), name


def factors(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, op: str) -> Array:
    a = random_array(rng, shape, dtype)
    if op == "cumulative_prod" and dtype == "float32":
        return np.asarray(np.float32(1) + a / np.float32(a.size))
    return a


@pytest.mark.short
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_axes(op: str, dtype: str, rng: np.random.Generator) -> None:
    for shape in [(3, 4, 5), (2, 40, 33), (33, 3, 64)]:
        a = factors(rng, shape, dtype, op)
        for axis in (0, 1, 2, -1, -3):
            verify(op, a, wt.asarray(a), axis)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(op: str, layout: str, rng: np.random.Generator) -> None:
    for dtype in ("float32", "int32"):
        for shape in [(6, 8, 10), (5, 30, 16), (40, 41)]:
            a = factors(rng, shape, dtype, op)
            for axis in range(a.ndim):
                verify(op, a, LAYOUTS[layout](a), axis)


@pytest.mark.parametrize("op", OPS)
def test_sizes(op: str, rng: np.random.Generator) -> None:
    """Alone, as rows and as columns."""
    for n in SIZES:
        for shape, axis in [((n,), 0), ((5, n), 1), ((n, 5), 0), ((n, 20), 0), ((2, n, 3), 1)]:
            for dtype in ("float32", "int32"):
                a = factors(rng, shape, dtype, op)
                verify(op, a, wt.asarray(a), axis)


def test_many_rows(rng: np.random.Generator) -> None:
    for n in (*SIZES[:14], 70_001):
        a = random_array(rng, (n, 3), "int32")
        verify("cumulative_sum", a, wt.asarray(a), 1)
        b = random_array(rng, (3, n), "int32")
        verify("cumulative_sum", b, wt.asarray(b), 0)


@pytest.mark.short
@pytest.mark.parametrize("op", OPS)
def test_long_rows(op: str, rng: np.random.Generator) -> None:
    """Chunks and their totals: a row, a few rows, columns."""
    for shape, axis in [((600_001,), 0), ((3, 262_144), 1), ((100_000, 20), 0), ((300_000, 2), 0)]:
        a = factors(rng, shape, "int32", op)
        verify(op, a, wt.asarray(a), axis)
    a = factors(rng, (700_000,), "float32", op)
    verify(op, a, wt.asarray(a), 0)


@pytest.mark.slow
def test_very_long_rows() -> None:
    """llvmpipe ends the loops of an invocation after 65,535 turns in all, without a word."""
    n = 2**24 + 5
    ones = wt.cumulative_sum(wt.ones(n, dtype="int32")).numpy()
    assert (ones == np.arange(1, n + 1, dtype=np.int32)).all()
    rising = wt.cumulative_max(wt.arange(n) ^ 1).numpy()
    assert (rising == np.maximum.accumulate(np.arange(n, dtype=np.int32) ^ 1)).all()
    far = wt.broadcast_to(wt.ones(1, dtype="uint32"), (2**28 + 1,))
    with setting(max_fusion=1):
        total = wt.cumulative_sum(far[: 2**25])[-3:].tolist()
    assert total == [2**25 - 2, 2**25 - 1, 2**25]


@pytest.mark.parametrize("n", [1, 5, 32, 33, 700, 70_000])
def test_a_first_place_for_nothing(n: int, rng: np.random.Generator) -> None:
    for shape, axis in [((n,), 0), ((3, n), 1), ((n, 3), 0), ((n, 20), 0)]:
        a = random_array(rng, shape, "int32")
        t = wt.asarray(a)
        check(
            wt.cumulative_sum(t, axis=axis, include_initial=True),
            np.cumulative_sum(a, axis=axis, include_initial=True, dtype=np.int32),
        )
        check(
            wt.cumulative_prod(t * 2 - 1, axis=axis, include_initial=True) + 1,
            np.cumulative_prod(a * 2 - 1, axis=axis, include_initial=True, dtype=np.int32) + 1,
        )


@pytest.mark.short
@pytest.mark.parametrize("n", [3, 8, 33, 300, 5000, 200_000])
def test_nan_and_infinity_stay(n: int) -> None:
    for position in {0, 1, n // 2, n - 1}:
        for value in (np.nan, np.inf, -np.inf):
            a = np.ones((2, n), np.float32)
            a[0, position] = value
            t = wt.asarray(a)
            for op in OPS:
                check(getattr(wt, op)(t, axis=1), UFUNCS[op].accumulate(a, axis=1))
    both = np.array([1, np.inf, 2, -np.inf, 3, np.inf], np.float32)
    check(wt.cumulative_sum(both), [1, np.inf, np.inf, np.nan, np.nan, np.nan])
    zeros = np.array([2, 0, np.inf, 1], np.float32)
    check(wt.cumulative_prod(zeros), [2, 0, np.nan, np.nan])
    low = np.full(50, -np.inf, np.float32)
    check(wt.cumulative_max(low), low)
    check(wt.cumulative_min(-low), -low)


def test_integers_wrap() -> None:
    big = np.array([2**31 - 1, 1, 5, -7], np.int32)
    check(wt.cumulative_sum(big), np.cumsum(big, dtype=np.int32))
    check(wt.cumulative_prod(big), np.cumprod(big, dtype=np.int32))
    check(wt.cumulative_sum(np.array([2**32 - 1, 2, 3], np.uint32)), np.array([2**32 - 1, 1, 4]))
    ends = np.array([2**32 - 1, 0, 5], np.uint32)
    check(wt.cumulative_min(ends), np.array([2**32 - 1, 0, 0], np.uint32))
    low = np.array([-(2**31), 5, -1], np.int32)
    check(wt.cumulative_max(low), np.array([-(2**31), 5, 5], np.int32))


@pytest.mark.slow
def test_sums_are_as_exact_as_pairwise_ones(rng: np.random.Generator) -> None:
    """Adding one by one in float32, the last of these sums is some hundred units off."""
    n = 4_000_000
    a = rng.random(n, dtype=np.float32)
    exact = np.cumsum(a, dtype=np.float64)
    for shape, axis in [((n,), 0), ((n, 1), 0)]:
        result = wt.cumulative_sum(a.reshape(shape), axis=axis).numpy().reshape(-1)
        units = abs(result - exact) / np.spacing(exact.astype(np.float32))
        assert units.max() < 8
    assert abs(result[-1] - math.fsum(a)) <= 3 * np.spacing(result[-1])
    ones = wt.cumulative_sum(wt.ones(2**24)).numpy()
    assert (ones == np.arange(1, 2**24 + 1)).all()


def test_runs_agree_to_the_bit(rng: np.random.Generator) -> None:
    for shape in [(300, 1111), (2, 300_000), (50_000, 20)]:
        a = random_array(rng, shape)
        for axis in (0, 1):
            first = wt.cumulative_sum(wt.asarray(a) * 1.5, axis=axis).numpy()
            for _ in range(2):
                again = wt.cumulative_sum(wt.asarray(a) * 1.5, axis=axis).numpy()
                assert np.array_equal(first, again)


@pytest.mark.short
def test_empty_and_0d() -> None:
    for op in OPS:
        function = getattr(wt, op)
        assert function(wt.zeros((0,))).shape == (0,)
        assert function(wt.zeros((3, 0, 2)), axis=1).shape == (3, 0, 2)
        assert function(wt.zeros((3, 0, 2)), axis=0).shape == (3, 0, 2)
        assert function(wt.asarray(4.0)).tolist() == [4.0]
    check(wt.cumulative_sum(wt.zeros((2, 0)), axis=1, include_initial=True), [[0.0], [0.0]])
    check(wt.cumulative_prod(wt.zeros((2, 0)), axis=1, include_initial=True), [[1.0], [1.0]])
    assert wt.cumulative_sum(wt.zeros((0, 3)), axis=1, include_initial=True).shape == (0, 4)
    assert wt.cumulative_sum(wt.zeros((0,), dtype="bool")).dtype == "int32"


def test_errors() -> None:
    t = wt.zeros((2, 3))
    for op in OPS:
        function = getattr(wt, op)
        with pytest.raises(ValueError, match=rf"\[{op}\].*\(2, 3\) needs an axis"):
            function(t)
        for axis in (2, -3):
            with pytest.raises(IndexError, match=rf"\[{op}\].*2 dimensions"):
                function(t, axis=axis)
        for bad in (1.0, (0, 1), "0"):
            with pytest.raises(TypeError, match=rf"\[{op}\]"):
                function(t, axis=bad)


def test_methods_and_numpys_functions(rng: np.random.Generator) -> None:
    a = random_array(rng, (4, 5), "int32")
    t = wt.asarray(a)
    check(t.cumsum(), a.cumsum(dtype=np.int32))
    check(t.cumsum(1), a.cumsum(axis=1, dtype=np.int32))
    check(t.cumprod(dim=0), a.cumprod(axis=0, dtype=np.int32))
    near(t.cumsum(0, "float32"), a.cumsum(axis=0).astype(np.float32))
    check(np.cumsum(t, axis=1), a.cumsum(axis=1, dtype=np.int32))
    check(np.add.accumulate(t), np.add.accumulate(a, dtype=np.int32))
    check(np.multiply.accumulate(t, axis=1), np.multiply.accumulate(a, axis=1, dtype=np.int32))
    check(np.maximum.accumulate(t, axis=-1), np.maximum.accumulate(a, axis=-1))
    check(np.minimum.accumulate(t), np.minimum.accumulate(a))
    out = wt.empty((4, 5), dtype="int32")
    assert t.cumsum(axis=0, out=out) is out
    check(out, a.cumsum(axis=0, dtype=np.int32))
    assert wt.cumulative_sum(t > 0, axis=0).dtype == "int32"
    assert wt.cumulative_max(t > 0, axis=0).dtype == "bool"
    assert wt.cumulative_sum(t, axis=0, dtype="float32").dtype == "float32"
    with pytest.raises(wt.UnsupportedError, match=r"\[subtract.accumulate\]"):
        np.subtract.accumulate(t)
    with pytest.raises(wt.ShapeError, match=r"\[add.accumulate\]"):
        np.add.accumulate(wt.asarray(1))


def test_work_before_and_after(rng: np.random.Generator) -> None:
    for shape in [(16, 16), (5, 33), (3, 1500), (2, 70_001)]:
        a, b = random_array(rng, shape, "int32"), random_array(rng, shape, "int32")
        x, y = wt.asarray(a), wt.asarray(b)
        e = (a * b + 1).cumsum(axis=1, dtype=np.int32)
        check(wt.cumulative_sum(x * y + 1, axis=1) * y - x, e * b - a)
        check(wt.cumulative_sum(x, axis=1) * x, a.cumsum(axis=1, dtype=np.int32) * a)
        check(wt.cumulative_sum(x, axis=0) - x[::-1], a.cumsum(axis=0, dtype=np.int32) - a[::-1])
        check(wt.cumulative_sum(x, axis=1).sum(axis=0), a.cumsum(axis=1).sum(0, dtype=np.int32))
    s = random_array(rng, (16, 16), "int32")
    t = wt.asarray(s)
    check(wt.cumulative_sum(t, axis=1) + t.T, s.cumsum(axis=1, dtype=np.int32) + s.T)
    twice = wt.cumulative_sum(wt.cumulative_sum(t, axis=0), axis=1)
    check(twice, s.cumsum(axis=0).cumsum(axis=1, dtype=np.int32))


def test_dispatches(rng: np.random.Generator) -> None:
    x = wt.asarray(random_array(rng, (64, 64)))
    y = wt.asarray(random_array(rng, (64, 64)))
    assert dispatches(lambda: wt.cumulative_sum(x * y, axis=1)) == 1
    assert dispatches(lambda: wt.cumulative_sum(x * y, axis=1) * 2 + x) == 1
    assert dispatches(lambda: wt.cumulative_sum(x * y, axis=0)) == 1
    assert dispatches(lambda: wt.cumulative_max(x[0])) == 1
    assert dispatches(lambda: wt.cumulative_sum(x, axis=1, include_initial=True)) == 1
    assert dispatches(lambda: wt.cumulative_sum(wt.ones(2**20))) == 3


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32"])
@pytest.mark.parametrize("shape", [(2048,), (3, 4100), (150_000,), (2, 400_004)])
def test_strips_of_subgroups(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    """Kernels for GPUs, of rows whose elements come four at a time: tiles and blocks of tiles."""
    with setting(kernels="gpu"):
        device = wt.Device()
        device.synchronize()
    a = rng.integers(0, 4, shape).astype(dtype)
    for op in ("cumulative_sum", "cumulative_max", "cumulative_min"):
        t = wt.asarray(a, device=device)
        e = UFUNCS[op].accumulate(a, axis=-1, dtype=a.dtype)
        np.testing.assert_array_equal(getattr(wt, op)(t, axis=-1).numpy(), e)
        part = getattr(wt, op)(t[..., 4:] + 1, axis=-1) * 2  # computed before and after
        e = UFUNCS[op].accumulate(a[..., 4:] + np.array(1, dtype), axis=-1, dtype=a.dtype)
        np.testing.assert_array_equal(part.numpy(), e * np.array(2, dtype))
