"""Softmax: row sizes around every form of the kernel, any axis, masked rows, and huge values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import LAYOUTS, dispatches, random_array
from tolerances import check, tolerance

Array = np.ndarray[Any, Any]

SIZES = [
    1,
    2,
    3,
    4,
    7,
    8,
    9,
    31,
    32,
    33,
    36,
    127,
    128,
    129,
    256,
    1000,
    1023,
    1024,
    1025,
    4095,
    4096,
]
SIZES += [4097, 5000, 8192, 8193]


def expect(a: Array, axis: int = -1) -> Array:
    """In float64; a row of nothing but -inf gives zeros, a row with NaN or +inf gives NaN."""
    x = a.astype(np.float64)
    top = x.max(axis=axis, keepdims=True)
    e = np.exp(x - np.where(top == -np.inf, 0, top))
    total = e.sum(axis=axis, keepdims=True)
    return np.asarray(np.where(total == 0, 0, e / total))


def verify(result: wt.Tensor, expected: Array, a: Array, name: str = "") -> None:
    """exp of a difference x carries an error of x units in the last place."""
    spread = np.where(np.isfinite(a), np.abs(a), 0).max(initial=1)
    t = tolerance("float32")
    check(
        result,
        expected,
        allowed=(4 * t.relative + t.term * min(2 * spread, 200)) * np.abs(expected) + 1e-37,
        name=name,
    )


@pytest.mark.parametrize("size", SIZES)
def test_row_sizes(size: int, rng: np.random.Generator) -> None:
    for rows in (1, 3, 40):
        if rows * size > 100_000:
            continue
        a = random_array(rng, (rows, size)) * np.float32(3)
        verify(wt.asarray(a).softmax(axis=-1), expect(a), a, f"{rows} x {size}")


@pytest.mark.short
@pytest.mark.parametrize("size", [5, 33, 1024, 5000])
def test_rows(size: int, rng: np.random.Generator) -> None:
    a = random_array(rng, (7, size)) * np.float32(5)
    result = wt.softmax(wt.asarray(a))
    verify(result, expect(a), a)
    np.testing.assert_allclose(result.sum(axis=1).numpy(), 1, rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("shape", [(5, 6, 7), (33, 4, 16), (2, 130, 3)])
def test_axes(axis: int, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    a = random_array(rng, shape)
    verify(wt.softmax(wt.asarray(a), axis=axis), expect(a, axis), a)
    verify(wt.softmax(wt.asarray(a) * 2 - 1, axis=axis) * 3, expect(a * 2 - 1, axis) * 3, a)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, rng: np.random.Generator) -> None:
    for shape in [(6, 8, 12), (5, 7, 9), (3, 40, 36)]:
        a = random_array(rng, shape)
        verify(LAYOUTS[layout](a).softmax(axis=-1), expect(a), a, layout)
        verify(LAYOUTS[layout](a).softmax(axis=1), expect(a, 1), a, layout)


@pytest.mark.short
@pytest.mark.parametrize("size", [3, 8, 33, 200, 1500, 4100, 9000])
def test_masked_rows(size: int, rng: np.random.Generator) -> None:
    """-inf masks: some elements, all but one, all."""
    a = random_array(rng, (6, size))
    a[1, ::2] = -np.inf
    a[2] = -np.inf
    a[2, size - 1] = 3
    a[3] = -np.inf
    a[4, 0] = -np.inf
    a[5] = -3.0e38
    verify(wt.asarray(a).softmax(axis=-1), expect(a), np.ones(1), str(size))
    mask = np.isinf(a)
    b = random_array(rng, a.shape)
    low = wt.asarray(np.float32(-np.inf))
    masked = wt.where(wt.asarray(mask), low, wt.asarray(b)).softmax(axis=-1)
    verify(masked, expect(np.where(mask, np.float32(-np.inf), b)), b)


@pytest.mark.short
@pytest.mark.parametrize("size", [4, 40, 1500, 9000])
def test_nan_and_infinity(size: int) -> None:
    a = np.zeros((4, size), np.float32)
    a[0, 1], a[1, 2] = np.nan, np.inf
    a[2, size - 1] = -np.inf
    result = wt.asarray(a).softmax(axis=-1).numpy()
    assert np.isnan(result[0]).all()
    assert np.isnan(result[1]).any()
    check(result[2:], expect(a)[2:], allowed=1e-6)


def test_huge_values(rng: np.random.Generator) -> None:
    for size in (6, 33, 5000):
        a = random_array(rng, (3, size)) * np.float32(1000)
        a[0] += np.float32(1e6)
        a[1] -= np.float32(1e6)
        verify(wt.asarray(a).softmax(axis=-1), expect(a), np.full(1, 300.0))
        b = np.full((2, size), 3.4e38, np.float32)
        b[1] = -3.4e38
        verify(wt.asarray(b).softmax(axis=-1), np.full((2, size), 1 / size), np.ones(1))


def test_prologue_and_epilogue(rng: np.random.Generator) -> None:
    for shape in [(5, 8), (4, 33), (3, 1500), (2, 9001), (16, 16)]:
        a, b = random_array(rng, shape), random_array(rng, shape)
        x, y = wt.asarray(a), wt.asarray(b)
        e = expect(a * b + 1)
        got = ((x * y + 1).softmax(axis=-1) * y - x).numpy()
        np.testing.assert_allclose(got, e * b - a, rtol=1e-5, atol=1e-6)
        got = (x.softmax(axis=-1) * x).numpy()
        np.testing.assert_allclose(got, expect(a) * a, rtol=1e-5, atol=1e-6)
        assert dispatches(lambda x=x, y=y: (x * y + 1).softmax(axis=-1) * y - x) == 1
    s = random_array(rng, (16, 16))
    t = wt.asarray(s)
    np.testing.assert_allclose(
        (t.softmax(axis=-1) * t.T).numpy(), expect(s) * s.T, rtol=1e-5, atol=1e-6
    )
    p = t @ t
    np.testing.assert_allclose(
        (p.softmax(axis=-1) + p.T).numpy(), expect(s @ s) + (s @ s).T, rtol=1e-4, atol=1e-4
    )


def test_log_loss_from_softmax(rng: np.random.Generator) -> None:
    a = random_array(rng, (32, 10))
    onehot = np.eye(10, dtype=np.float32)[rng.integers(0, 10, 32)]
    p = wt.asarray(a).softmax(axis=-1)
    loss = -(wt.asarray(onehot) * p.log()).sum(axis=1).mean()
    expected = -(onehot * np.log(expect(a))).sum(axis=1).mean()
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def expect_log(a: Array, axis: int = -1) -> Array:
    x = a.astype(np.float64)
    top = x.max(axis=axis, keepdims=True)
    shifted = x - np.where(top == -np.inf, 0, top)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return np.asarray(shifted - np.where(np.isneginf(total), 0, total))


@pytest.mark.short
@pytest.mark.parametrize("size", [1, 3, 8, 33, 200, 1500, 4100, 9000])
def test_log_softmax(size: int, rng: np.random.Generator) -> None:
    """Where softmax vanishes its logarithm does not; rows of -inf stay what they are."""
    for scale in (1, 30, 1000):
        a = random_array(rng, (6, size)) * np.float32(scale)
        a[1, ::2] = -np.inf
        a[2] = -np.inf
        for axis in (0, 1):
            e = expect_log(a, axis)
            allowed = 3e-6 + 3e-7 * np.where(np.isfinite(e), abs(e), 0)
            check(wt.log_softmax(a, axis=axis), e, allowed=allowed, name=f"{size} x{scale}")
    x = wt.asarray(random_array(rng, (4, size)))
    check((x * 2).log_softmax(dim=1) + 1, expect_log(x.numpy() * 2) + 1, allowed=2e-5)
    assert dispatches(lambda: (x * 2).log_softmax(axis=-1) + 1) == 1
    b = np.zeros((2, size), np.float32)
    b[0, size // 2] = np.nan
    result = wt.log_softmax(b).numpy()
    assert np.isnan(result[0]).all()
    np.testing.assert_allclose(result[1], -np.log(size), rtol=1e-6, atol=1e-6)


def test_other_dtypes_and_shapes(rng: np.random.Generator) -> None:
    a = random_array(rng, (4, 5), "int32")
    verify(wt.asarray(a).softmax(axis=-1), expect(a), a)
    b = random_array(rng, (4, 5), "bool")
    verify(wt.asarray(b).softmax(axis=0), expect(b, 0), np.ones(1))
    assert wt.softmax(wt.zeros((0, 4))).shape == (0, 4)
    assert wt.softmax(wt.zeros((4, 0))).shape == (4, 0)
    assert wt.softmax(wt.zeros((1,))).tolist() == [1.0]
    check(wt.zeros((3, 4)).softmax(axis=1), np.full((3, 4), 0.25, np.float32))
    for bad in (2, -3):
        with pytest.raises(IndexError, match=r"softmax.*2 dimensions"):
            wt.softmax(wt.zeros((3, 4)), axis=bad)
