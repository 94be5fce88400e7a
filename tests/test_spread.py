"""var, std and logsumexp: large means, large exponents, infinities, every axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import DTYPES, LAYOUTS, dispatches, random_array
from tolerances import check, near

Array = np.ndarray[Any, Any]

SIZES = [1, 2, 31, 33, 128, 257, 1023, 4097, 70_001]


def verify_var(a: Array, t: wt.Tensor, axis: Any = None, correction: float = 0) -> None:
    with np.errstate(all="ignore"):
        e = np.var(a.astype(np.float64), axis=axis, ddof=correction)
    name = f"{a.dtype}{a.shape} axis={axis} correction={correction}"
    near(wt.var(t, axis=axis, correction=correction), e, ops=8, name="var " + name)
    near(wt.std(t, axis=axis, correction=correction), np.sqrt(e), ops=8, name="std " + name)


@pytest.mark.short
@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.parametrize("dtype", DTYPES)
def test_var_over_axes(dtype: str, rng: np.random.Generator) -> None:
    a = random_array(rng, (3, 4, 5), dtype)
    t = wt.asarray(a)
    for axis in (None, 0, 1, -1, (0, 2), (0, 1, 2), ()):
        for correction in (0, 1, 1.5):
            if axis == () and correction:
                continue
            verify_var(a, t, axis, correction)
    assert wt.var(t, axis=1, keepdims=True).shape == (3, 1, 5)
    assert wt.std(t, keepdims=True).shape == (1, 1, 1)
    assert wt.var(t).dtype == "float32"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_var_of_layouts(layout: str, rng: np.random.Generator) -> None:
    a = random_array(rng, (6, 8, 10))
    for axis in (None, 0, 1, 2, (0, 2)):
        verify_var(a, LAYOUTS[layout](a), axis)


def test_var_of_sizes(rng: np.random.Generator) -> None:
    for n in SIZES:
        for shape, axis in [((n,), 0), ((3, n), 1), ((n, 20), 0)]:
            a = random_array(rng, shape)
            verify_var(a, wt.asarray(a), axis)


@pytest.mark.short
@pytest.mark.parametrize("mean", [0.0, 1e3, 1e6, -3e7])
def test_var_beside_a_large_mean(mean: float, rng: np.random.Generator) -> None:
    """E[x^2] - mean^2 would keep no digit, and a mean that is rounded costs several."""
    for n in (10, 1000, 100_000):
        a = (mean + rng.standard_normal((4, n)) * max(1, abs(mean) / 1e6)).astype(np.float32)
        for axis in (None, 1):
            verify_var(a, wt.asarray(a), axis, correction=1)
            verify_var(a + np.float32(0), wt.asarray(a) + 0, axis)


def test_var_of_constants_is_zero() -> None:
    for value in (0.1, 1e6 + 0.5, -3.3e7, 1e-20):
        for n in (1, 3, 1000):
            v = wt.full((2, n), value)
            assert wt.var(v, axis=1).numpy().max() <= 1e-13 * value**2
            assert wt.var(v, axis=1).numpy().min() >= 0
            assert not np.isnan(wt.std(v, axis=1).numpy()).any()


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
def test_var_of_too_few() -> None:
    """As NumPy: the divisor is never below zero."""
    one = wt.asarray([[3.0]])
    assert np.isnan(wt.var(one, axis=1, correction=1).item())
    assert wt.var([1.0, 3.0], correction=2).item() == np.inf
    assert wt.var([1.0, 3.0], correction=3).item() == np.inf
    assert np.isnan(wt.var(wt.zeros((0,))).item())
    assert np.isnan(wt.std(wt.zeros((3, 0)), axis=1).numpy()).all()
    assert wt.var(wt.zeros((3, 0)), axis=0).shape == (0,)
    assert wt.var(wt.asarray(5.0)).item() == 0
    assert wt.std([np.inf, 1.0]).item() != 0
    for value in (np.nan, np.inf, -np.inf):
        a = np.ones((3, 40), np.float32)
        a[1, 20] = value
        assert np.isnan(wt.var(a, axis=1).numpy()).tolist() == [False, True, False]


def test_var_arguments(rng: np.random.Generator) -> None:
    a = random_array(rng, (4, 5))
    t = wt.asarray(a)
    near(t.var(axis=0, ddof=1), a.astype(np.float64).var(axis=0, ddof=1), ops=8)
    near(t.std(1, correction=2), a.astype(np.float64).std(axis=1, ddof=2), ops=8)
    near(t.std(dim=0, correction=1), a.astype(np.float64).std(axis=0, ddof=1), ops=8)
    near(np.var(t, axis=1, ddof=1), a.astype(np.float64).var(axis=1, ddof=1), ops=8)
    near(np.std(t), a.astype(np.float64).std(), ops=8)
    near(wt.asarray([1, 2, 4]).var(dtype="float32"), np.var([1.0, 2.0, 4.0]), ops=8)
    for name in ("var", "std"):
        with pytest.raises(TypeError, match=rf"\[{name}\].*correction="):
            getattr(t, name)(dim=0)
        with pytest.raises(TypeError, match="not both"):
            getattr(t, name)(ddof=1, correction=0)
        with pytest.raises(TypeError, match=rf"\[{name}\] correction"):
            getattr(wt, name)(t, correction="1")
        with pytest.raises(TypeError, match=rf"\[{name}\] ddof must be a number"):
            getattr(t, name)(ddof="1")
        with pytest.raises(TypeError, match="not both"):
            getattr(wt, name)(t, ddof=1, correction=0)
        assert getattr(wt, name)(t, ddof=1).item() == getattr(wt, name)(t, correction=1).item()
        with pytest.raises(IndexError, match=rf"\[{name}\].*2 dimensions"):
            getattr(wt, name)(t, axis=2)
        with pytest.raises(ValueError, match=rf"\[{name}\]"):
            getattr(wt, name)(t, axis=(0, 0))


def log_sum_exp(a: Array, axis: Any = None) -> Array:
    x = a.astype(np.float64)
    top = x.max(axis=axis, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.asarray(
            np.log(np.exp(x - shift).sum(axis=axis)) + shift.reshape(np.sum(x, axis=axis).shape)
        )


def verify_lse(a: Array, t: wt.Tensor, axis: Any = None) -> None:
    e = log_sum_exp(a, axis)
    finite = np.where(np.isfinite(e), abs(e), 0)
    check(wt.logsumexp(t, axis=axis), e, allowed=2e-6 * (1 + finite), name=f"{a.shape} {axis}")


@pytest.mark.short
@pytest.mark.parametrize("dtype", DTYPES)
def test_logsumexp_over_axes(dtype: str, rng: np.random.Generator) -> None:
    a = random_array(rng, (3, 4, 5), dtype)
    for axis in (None, 0, 1, -1, (0, 2), (0, 1, 2), ()):
        verify_lse(a, wt.asarray(a), axis)
    assert wt.logsumexp(a, axis=1, keepdims=True).shape == (3, 1, 5)
    assert wt.logsumexp(a).dtype == "float32"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_logsumexp_of_layouts(layout: str, rng: np.random.Generator) -> None:
    a = random_array(rng, (6, 8, 10)) * np.float32(20)
    for axis in (None, 0, 1, 2, (0, 2)):
        verify_lse(a, LAYOUTS[layout](a), axis)


@pytest.mark.short
def test_logsumexp_neither_overflows_nor_vanishes(rng: np.random.Generator) -> None:
    for n in SIZES:
        for shift in (0.0, 1000.0, -1000.0, 3e38, -3e38):
            a = random_array(rng, (3, n)) + np.float32(shift)
            verify_lse(a, wt.asarray(a), 1)
            verify_lse(np.ascontiguousarray(a.T), wt.asarray(np.ascontiguousarray(a.T)), 0)
    rising = np.linspace(-1000, 1000, 5000, dtype=np.float32)
    verify_lse(rising, wt.asarray(rising))
    verify_lse(rising[::-1], wt.asarray(rising)[::-1])


@pytest.mark.short
@pytest.mark.parametrize("n", [1, 2, 5, 33, 300, 5000, 300_000])
def test_logsumexp_of_infinities(n: int) -> None:
    inf = np.inf
    a = np.zeros((6, n), np.float32)
    a[0] = -inf
    a[1], a[1, n // 2] = -inf, 3
    a[2, n - 1] = inf
    a[3, 0], a[3, n // 2] = -inf, inf
    a[4] = inf
    a[5, n // 3] = np.nan
    result = wt.logsumexp(a, axis=1).numpy()
    assert result[0] == -inf
    assert result[1] == 3
    assert (result[2:5] == inf).all()
    assert np.isnan(result[5])
    assert wt.logsumexp(wt.zeros((0,))).item() == -inf
    assert wt.logsumexp(wt.zeros((2, 0)), axis=1).tolist() == [-inf, -inf]
    assert wt.logsumexp(wt.asarray(2.5)).item() == 2.5


def test_dispatches(rng: np.random.Generator) -> None:
    x = wt.asarray(random_array(rng, (64, 64)))
    assert dispatches(lambda: x.var()) == 2
    assert dispatches(lambda: (x * 2 + 1).std(axis=1, correction=1) + 1) == 2
    assert dispatches(lambda: x.std(axis=0)) == 2
    assert dispatches(lambda: (x * 2).logsumexp(axis=0) - 1) == 1
