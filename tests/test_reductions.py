"""Sums, products, extrema, truth, counts: axes, sizes around every split, layouts, wrapping
integers, NaN, accuracy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import LAYOUTS, dispatches, random_array
from tolerances import check, near, near_sum

Array = np.ndarray[Any, Any]

OPS = ["sum", "prod", "max", "min", "mean", "any", "all", "count_nonzero"]
SIZES = [1, 2, 31, 32, 33, 64, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4097]


def expect(op: str, a: Array, axis: Any = None, keepdims: bool = False) -> Array:
    """NumPy's answer with wgtensor's dtypes: sums of bools are int32, means float32."""
    function = getattr(np, op)
    if op == "mean":
        return np.asarray(function(a.astype(np.float64), axis=axis, keepdims=keepdims))
    if op == "count_nonzero":
        return np.asarray(function(a, axis=axis, keepdims=keepdims), np.int32)
    if op in ("sum", "prod"):
        wide = {"f": np.float64, "b": np.int32}.get(a.dtype.kind, a.dtype)
        return np.asarray(function(a, axis=axis, keepdims=keepdims, dtype=wide))
    return np.asarray(function(a, axis=axis, keepdims=keepdims))


def verify(op: str, a: Array, t: wt.Tensor, axis: Any = None, keepdims: bool = False) -> None:
    result = getattr(wt, op)(t, axis=axis, keepdims=keepdims)
    name = f"{op} {a.dtype}{a.shape} axis={axis}"
    expected = expect(op, a, axis, keepdims)
    if op in ("sum", "mean") and result.dtype == "float32":
        terms = a.size // max(expected.size, 1)
        magnitude = np.asarray(
            getattr(np, op)(np.abs(a.astype(np.float64)), axis=axis, keepdims=keepdims)
        )
        near_sum(result, expected, magnitude, terms=terms, name=name)
    elif op == "prod" and result.dtype == "float32":
        near(result, expected, ops=a.size // max(expected.size, 1), name=name)
    else:
        check(result, expected, name=name)
        assert result.dtype == str(expected.dtype), name


@pytest.mark.short
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32", "bool"])
def test_axes(dtype: str, rng: np.random.Generator) -> None:
    a = random_array(rng, (3, 4, 5, 6), dtype)
    t = wt.asarray(a)
    for axis in [None, 0, 1, -1, (0, 1), (1, 3), (0, 2), (-1, 0), (0, 1, 2, 3), (), (1, 2)]:
        for op in OPS:
            verify(op, a, t, axis)
    for op in OPS:
        verify(op, a, t, (1, 2), keepdims=True)
        verify(op, a, t, None, keepdims=True)
        verify(op, a, t, -2, keepdims=True)


def test_methods_take_numpy_arguments(rng: np.random.Generator) -> None:
    a = random_array(rng, (4, 5), "int32")
    t = wt.asarray(a)
    check(t.sum(1, keepdims=True), a.sum(1, keepdims=True, dtype=np.int32))
    check(t.max(axis=0), a.max(axis=0))
    check(t.sum(dim=1), a.sum(1, dtype=np.int32))
    near_sum(t.sum(dtype="float32"), a.sum(), abs(a).sum(), terms=20)
    near_sum(wt.mean(t, axis=0), a.mean(axis=0), abs(a).mean(axis=0), terms=4)


@pytest.mark.parametrize("op", ["sum", "max", "prod", "any", "all"])
def test_sizes(op: str, rng: np.random.Generator) -> None:
    """Alone, as rows and as columns."""
    for n in SIZES:
        for shape, axis in [((n,), 0), ((5, n), 1), ((n, 5), 0), ((n, 64), 0), ((2, n, 3), 1)]:
            a = random_array(rng, shape)
            if op == "prod":
                a = np.float32(1) + a / np.float32(n)
            if op in ("any", "all"):
                a = rng.random(shape) < (1 / n if op == "any" else 1 - 1 / n)
            verify(op, a, wt.asarray(a), axis)


def test_outputs_around_every_size(rng: np.random.Generator) -> None:
    for n in SIZES:
        for shape, axis in [((n, 3), 1), ((3, n), 0), ((20, n), 0)]:
            a = random_array(rng, shape, "int32")
            verify("sum", a, wt.asarray(a), axis)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(op: str, layout: str, rng: np.random.Generator) -> None:
    for dtype in ("float32", "int32", "bool"):
        a = random_array(rng, (6, 8, 10), dtype)
        t = LAYOUTS[layout](a)
        for axis in (None, 0, 1, 2, (0, 2)):
            verify(op, a, t, axis)


def test_broadcast_inputs(rng: np.random.Generator) -> None:
    a = random_array(rng, (4, 1, 6))
    t = wt.asarray(a).broadcast_to((3, 4, 5, 6))
    full = np.broadcast_to(a, (3, 4, 5, 6))
    for axis in (None, 0, 2, (0, 2), (1, 3), 3):
        for op in ("sum", "max"):
            verify(op, full, t, axis)


@pytest.mark.short
def test_one_million(rng: np.random.Generator) -> None:
    a = random_array(rng, (1000, 1000))
    t = wt.asarray(a)
    for axis in (None, 0, 1):
        verify("sum", a, t, axis)
    verify("max", a, t)
    verify("min", a.T, t.T, 0)
    shifted = a + np.float32(100)
    verify("mean", shifted, wt.asarray(shifted))


@pytest.mark.slow
def test_sixteen_million(rng: np.random.Generator) -> None:
    """One axis of 16M elements, and sums whose naive order would lose half of them."""
    n = 1 << 24
    ones = wt.ones((n,)).eval()
    assert ones.sum().item() == n
    assert (ones * 0.1).sum().item() == pytest.approx(n * 0.1, rel=1e-5)
    a = rng.standard_normal(n, dtype=np.float32)
    t = wt.asarray(a)
    verify("sum", a, t)
    verify("max", a, t)
    verify("sum", a.reshape(-1, 4), t.reshape(-1, 4), 0)
    verify("max", a.reshape(4, -1), t.reshape(4, -1), 1)
    integers = wt.arange(n)
    assert integers.sum().item() == int(np.arange(n, dtype=np.int32).sum(dtype=np.int32))
    assert integers.max().item() == n - 1


@pytest.mark.short
def test_integers_wrap() -> None:
    big = np.array([2**31 - 1, 1, 5], np.int32)
    assert wt.asarray(big).sum().item() == -(2**31) + 5
    assert wt.asarray(np.array([2**32 - 1, 2], np.uint32)).sum().item() == 1
    assert wt.asarray(np.array([-(2**31), 5], np.int32)).min().item() == -(2**31)
    assert wt.asarray(np.array([-(2**31), -5], np.int32)).max().item() == -5
    assert wt.asarray(np.array([2**32 - 1, 5], np.uint32)).max().item() == 2**32 - 1
    assert wt.asarray(np.array([2**31, 2**31 + 7], np.uint32)).min().item() == 2**31
    odd = np.arange(1, 80, 2, dtype=np.int32)
    assert wt.asarray(odd).prod().item() == int(np.prod(odd, dtype=np.int32))
    assert wt.asarray(odd.astype(np.uint32)).prod().item() == int(np.prod(odd, dtype=np.uint32))
    assert wt.asarray([True, True]).prod().dtype == "int32"


@pytest.mark.short
@pytest.mark.parametrize("n", [3, 8, 33, 300, 5000])
def test_nan_and_infinity(n: int) -> None:
    for position in {0, 1, n // 2, n - 1}:
        for value in (np.nan, np.inf, -np.inf):
            row = np.ones(n, np.float32)
            row[position] = value
            a = np.stack([row, np.zeros_like(row), -row])
            for op in ("sum", "max", "min", "mean", "any", "all", "count_nonzero"):
                verify(op, a, wt.asarray(a), 1)
                verify(op, np.ascontiguousarray(a.T), wt.asarray(np.ascontiguousarray(a.T)), 0)
    a = np.full(n, -np.inf, np.float32)
    assert wt.asarray(a).max().item() == -np.inf
    assert wt.asarray(-a).min().item() == np.inf
    a[0] = np.inf
    assert np.isnan(wt.asarray(a).sum().item())


def test_negative_zero() -> None:
    a = np.full((4, 40), -0.0, np.float32)
    t = wt.asarray(a)
    for op in ("max", "min", "sum"):
        assert getattr(wt, op)(t, axis=1).tolist() == [0.0] * 4
    mixed = np.array([-0.0, 1.0, -1.0], np.float32)
    assert wt.asarray(mixed).max().item() == 1
    assert np.signbit(wt.max(t, axis=1).numpy()).all()


@pytest.mark.short
def test_empty() -> None:
    e = wt.zeros((3, 0, 4))
    check(wt.sum(e, axis=1), np.zeros((3, 4), np.float32))
    check(wt.sum(e), np.float32(0))
    check(wt.sum(e, axis=0), np.zeros((0, 4), np.float32))
    check(wt.max(e, axis=0), np.zeros((0, 4), np.float32))
    check(wt.sum(e, axis=1, keepdims=True), np.zeros((3, 1, 4), np.float32))
    assert np.isnan(wt.mean(e, axis=1).numpy()).all()
    assert np.isnan(wt.mean(e).item())
    assert wt.sum(wt.zeros((0,), dtype="bool")).dtype == "int32"
    check(wt.prod(e, axis=1), np.ones((3, 4), np.float32))
    check(wt.any(e, axis=1), np.zeros((3, 4), np.bool_))
    check(wt.all(e, axis=1), np.ones((3, 4), np.bool_))
    check(wt.count_nonzero(e, axis=(0, 1)), np.zeros(4, np.int32))
    for op in (wt.max, wt.min):
        for axis in (None, 1, (0, 1)):
            with pytest.raises(ValueError, match=r"zero elements.*\(3, 0, 4\)"):
                op(e, axis=axis)
    s = wt.asarray(np.float32(3))
    for op in (wt.any, wt.all, wt.count_nonzero):
        assert op(s).item() == 1
        assert op(s, axis=()).item() == 1
    for op in (wt.sum, wt.prod, wt.max, wt.min, wt.mean):
        assert op(s).item() == 3
        assert op(s, axis=()).item() == 3
    assert s.sum(keepdims=True).shape == ()


def test_axes_that_are_none() -> None:
    t = wt.zeros((2, 3))
    for op in OPS:
        for axis in (2, -3, (0, 2)):
            with pytest.raises(IndexError, match=rf"\[{op}\].*2 dimensions"):
                getattr(wt, op)(t, axis=axis)
        with pytest.raises(ValueError, match=rf"\[{op}\].*repeated"):
            getattr(wt, op)(t, axis=(0, -2))
        with pytest.raises(TypeError, match=rf"\[{op}\]"):
            getattr(wt, op)(t, axis=1.0)


def test_truth_of_all_and_any(rng: np.random.Generator) -> None:
    """max and min of bools are any and all."""
    a = rng.random((50, 37)) < 0.03
    t = wt.asarray(a)
    check(wt.max(t, axis=1), a.any(axis=1))
    check(wt.min(t, axis=0), a.all(axis=0))
    check(wt.max(wt.logical_not(t), axis=0), (~a).any(axis=0))
    zero = np.array([0.0, -0.0, 1e-3, np.nan, np.inf], np.float32)
    check(wt.any(zero.reshape(5, 1), axis=1), [False, False, True, True, True])
    check(wt.all(zero.reshape(5, 1), axis=1), [False, False, True, True, True])


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 7, 8, 31, 33, 1001])
def test_bools_share_words(rows: int, rng: np.random.Generator) -> None:
    """Results of one byte, with epilogues, beside results of other dtypes, long rows and short."""
    for columns in (1, 3, 40, 700):
        a = random_array(rng, (rows, columns))
        x = wt.asarray(a)
        check((x > 2).any(axis=1), (a > 2).any(axis=1), name=f"{rows} x {columns}")
        check((x.T > -2).all(axis=0), (a > -2).all(axis=1))
        check(wt.logical_not((x > 2).any(axis=1)), ~(a > 2).any(axis=1))
        total = a.astype(np.float64).sum(axis=1)
        sums = x.sum(axis=1)
        positive = sums > 0
        wt.eval(sums, positive)
        near_sum(sums, total, abs(a).sum(axis=1), terms=columns)
        check(positive, sums.numpy() > 0)
    tall = rng.random((rows, 300_000 if rows < 100 else 3000)) < 1e-5
    check(wt.asarray(tall).any(axis=1), tall.any(axis=1))
    check(wt.asarray(np.ascontiguousarray(tall.T)).any(axis=0), tall.any(axis=1))


@pytest.mark.parametrize("shape", [(8, 16), (40, 48), (7, 5), (3, 4100), (4100, 3)])
def test_work_before_and_after(shape: tuple[int, int], rng: np.random.Generator) -> None:
    """Prologue and epilogue, which read the same tensors in more than one way."""
    a, b = random_array(rng, shape), random_array(rng, shape)
    x, y = wt.asarray(a), wt.asarray(b)
    n = shape[1]
    for axis, bias in itertools.product((0, 1), (0.5,)):
        e = (a.astype(np.float64) * b + bias).sum(axis=axis)
        magnitude = (np.abs(a.astype(np.float64) * b) + bias).sum(axis=axis)
        result = (x * y + bias).sum(axis=axis)
        near_sum(result, e, magnitude, terms=shape[axis])
        other = x[0] if axis == 0 else x[:, 0]
        host = a[0] if axis == 0 else a[:, 0]
        result = wt.abs((x * y + bias).sum(axis=axis) * 0.25 - other)
        near_sum(result, np.abs(e * 0.25 - host), magnitude + abs(host), terms=shape[axis])
    centred = x - x.mean(axis=1, keepdims=True)
    near_sum(
        centred,
        a - a.mean(axis=1, keepdims=True, dtype=np.float64),
        np.broadcast_to(np.abs(a).max(axis=1, keepdims=True), shape),
        terms=n,
    )
    counts = (x > y).sum(axis=0)
    check(counts, (a > b).sum(axis=0).astype(np.int32))


def test_a_product_summed_over_rows_beside_its_column(rng: np.random.Generator) -> None:
    """One kernel reads a computed value four at a time and one at a time."""
    a, b = random_array(rng, (8, 16)), random_array(rng, (16, 12))
    y = wt.asarray(a) @ wt.asarray(b)
    e = a.astype(np.float64) @ b
    result = y.sum(axis=1) + y[:, 0]
    near_sum(result, e.sum(axis=1) + e[:, 0], np.abs(e).sum(axis=1) * 4, terms=200)
    result = y.sum(axis=0) + y[0]
    near_sum(result, e.sum(axis=0) + e[0], np.abs(e).sum(axis=0) * 4, terms=200)


def test_reductions_of_reductions(rng: np.random.Generator) -> None:
    a = random_array(rng, (6, 7, 8))
    t = wt.asarray(a)
    result = (t.sum(axis=2) * 2).max(axis=1) - t.max(axis=(0, 1)).sum()
    e = (a.sum(axis=2, dtype=np.float64) * 2).max(axis=1) - a.max(axis=(0, 1)).sum()
    np.testing.assert_allclose(result.numpy(), e, rtol=1e-5, atol=1e-5)
    total = t.sum()
    spread = t - total / t.size
    np.testing.assert_allclose(spread.numpy(), a - a.mean(dtype=np.float64), rtol=1e-5, atol=1e-5)


def test_runs_agree_to_the_bit(rng: np.random.Generator) -> None:
    a = random_array(rng, (300, 1111))
    t = wt.asarray(a)
    for axis in (None, 0, 1):
        first = (t * 1.5).sum(axis=axis).numpy()
        for _ in range(3):
            again = (wt.asarray(a) * 1.5).sum(axis=axis).numpy()
            assert np.array_equal(first, again)


@pytest.mark.slow
def test_sums_are_as_exact_as_pairwise_ones(rng: np.random.Generator) -> None:
    """Adding 10^7 positive numbers one by one is some hundred units in the last place off."""
    a = rng.random(10**7, dtype=np.float32)
    for shape, axis in [((10**7,), None), ((10**7, 1), 0), ((5, 2 * 10**6), 1), ((10**6, 10), 0)]:
        x = a.reshape(shape)
        result = np.atleast_1d(wt.asarray(x).sum(axis=axis).numpy())
        rows = [x.reshape(-1)] if axis is None else list(np.moveaxis(x, axis, -1))
        exact = np.array([math.fsum(row) for row in rows])
        assert (abs(result - exact) <= 3 * np.spacing(exact.astype(np.float32))).all(), shape
    mixed = a - np.float32(0.5)
    off = abs(wt.asarray(mixed).sum().item() - math.fsum(mixed))
    assert off <= 4e-9 * math.fsum(abs(mixed))


def test_the_sum_of_many_ones_is_exact() -> None:
    assert wt.ones(10**8).sum().item() == 10**8
    assert wt.ones((1000, 10**5)).sum(axis=(0, 1)).item() == 10**8
    assert wt.ones(10**8).mean().item() == 1
    assert (wt.arange(10**8) >= 0).sum().item() == 10**8
    tall = wt.ones((3 * 10**7, 3)).sum(axis=0)
    assert tall.tolist() == [3e7] * 3


def test_methods_and_ufuncs(rng: np.random.Generator) -> None:
    a = random_array(rng, (4, 5), "int32")
    t = wt.asarray(a)
    check(t.prod(axis=0), a.prod(axis=0, dtype=np.int32))
    near(t.prod(1, "float32"), a.astype(np.float32).prod(axis=1), ops=5)
    check((t > 40).any(axis=1, keepdims=True), (a > 40).any(axis=1, keepdims=True))
    check((t > -40).all(dim=0), (a > -40).all(axis=0))
    check(np.multiply.reduce(t), a.prod(axis=0, dtype=np.int32))
    check(np.logical_and.reduce(t, axis=1), a.all(axis=1))
    check(np.logical_or.reduce(t, axis=None), a.any())
    out = wt.empty(5, dtype="bool")
    assert np.any(t, axis=0, out=out) is out
    check(out, a.any(axis=0))
    check(np.all(t), a.all())
    check(np.prod(t, axis=1), a.prod(axis=1, dtype=np.int32))


def test_dispatches(rng: np.random.Generator) -> None:
    x = wt.asarray(random_array(rng, (64, 64)))
    y = wt.asarray(random_array(rng, (64, 64)))
    assert dispatches(lambda: (x * y).sum(axis=0)) == 1
    assert dispatches(lambda: wt.relu((x * y).sum(axis=1) * 2 + 1)) == 1
    assert dispatches(lambda: (x - y).mean(axis=(0, 1))) == 1
    assert dispatches(lambda: (x > 0).any()) == 1
    assert dispatches(lambda: (x > y).all(axis=1)) == 1
    assert dispatches(lambda: x.sum(axis=1) > y.max(axis=1)) == 2
    assert dispatches(lambda: wt.count_nonzero(x * y - 1, axis=0)) == 1
