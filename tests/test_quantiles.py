"""Medians, quantiles, percentiles by each of NumPy's methods; topk and partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sort_references as reference
import wgtensor as wt
from helpers import ALL_DTYPES, LAYOUTS, device_has, numpy_dtype, same_bits, setting
from tolerances import check

METHODS = (
    *("linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased"),
    *("normal_unbiased", "inverted_cdf", "averaged_inverted_cdf", "closest_observation"),
    "interpolated_inverted_cdf",
)
CHOOSING = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


def close(actual: Any, expected: Any, a: reference.Array, name: str = "") -> None:
    """Within a few roundings of the largest element: what is between two may cancel."""
    e = np.asarray(expected)
    check(actual, e, allowed=4 * 2.0**-24 * np.abs(a).max(), name=name)


Q = [0.0, 0.1, 0.25, 0.5, 0.61, 0.75, 0.999, 1.0]


@pytest.mark.parametrize("method", METHODS)
def test_methods(method: Any, rng: np.random.Generator) -> None:
    for n in (1, 2, 3, 4, 5, 8, 33, 100, 1001):
        a = rng.standard_normal((3, n)).astype(np.float32)
        e = np.quantile(a.astype(np.float64), Q, axis=1, method=method)
        close(wt.quantile(a, Q, axis=1, method=method), e, a, name=f"{method} {n}")
        nan = a.copy()
        nan[:, 1::3] = np.nan
        e = np.nanquantile(nan.astype(np.float64), Q, axis=1, method=method)
        close(wt.nanquantile(nan, Q, axis=1, method=method), e, a, name=f"nan {method} {n}")
    i = rng.integers(-100, 100, 50).astype(np.int32)
    r = wt.quantile(i, 0.3, method=method)
    close(r, np.quantile(i, 0.3, method=method), i)
    assert r.dtype == ("int32" if method in CHOOSING else "float32")


@pytest.mark.parametrize("function", ["median", "nanmedian"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_axes(function: str, layout: str, rng: np.random.Generator) -> None:
    a = rng.standard_normal((4, 6, 9)).astype(np.float32)
    t = LAYOUTS[layout](a)
    for axis in (None, 0, 1, -1, (0, 2), (1, 0), (0, 1, 2)):
        for keepdims in (False, True):
            e = np.asarray(getattr(np, function)(a.astype(np.float64), axis, keepdims=keepdims))
            close(getattr(wt, function)(t, axis, keepdims=keepdims), e, a)
            if function == "median":
                e = np.percentile(a.astype(np.float64), [20, 70], axis, keepdims=keepdims)
                close(wt.percentile(t, [20, 70], axis, keepdims=keepdims), e, a)
            else:
                e = np.nanpercentile(a.astype(np.float64), 33, axis, keepdims=keepdims)
                close(wt.nanpercentile(t, 33, axis, keepdims=keepdims), e, a)


def test_nan_and_infinities() -> None:
    inf, nan = np.inf, np.nan
    a = np.array([[1, nan, 3], [1, 2, 3], [nan, nan, nan], [-inf, 4, inf]], np.float32)
    check(wt.median(a, 1), np.array([nan, 2, nan, 4], np.float32))
    check(wt.nanmedian(a, 1), np.array([2, 2, nan, 4], np.float32))
    check(wt.quantile([inf, inf, 1.0], [0.75, 0.5]), np.array([inf, inf], np.float32))
    check(wt.quantile([1.0, inf], 0.0), np.array(1, np.float32))
    check(wt.quantile(a, 0.9, axis=1, method="lower"), np.array([nan, 2, nan, 4], np.float32))
    check(wt.median([3e38, 3e38]), np.array(3e38, np.float32))


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_dtypes(dtype: str, rng: np.random.Generator) -> None:
    if not device_has(dtype):
        pytest.skip("the adapter has no such dtype")
    a = rng.integers(0, 2 if dtype == "bool" else 50, 41).astype(numpy_dtype(dtype))
    r = wt.median(a)
    assert r.dtype == (dtype if "float" in dtype else "float32")
    check(r.astype("float32"), np.median(a.astype(np.float32)))
    check(wt.quantile(a, 0.2, method="higher"), reference.sort(a)[8])


def test_shapes_and_errors() -> None:
    x = wt.ones((2, 5))
    assert wt.quantile(x, [[0.5]][0]).shape == (1,)
    assert wt.quantile(x, [], axis=1).shape == (0, 2)
    assert wt.quantile(x, wt.asarray([0.5, 0.25]), axis=0, keepdims=True).shape == (2, 1, 5)
    assert np.isnan(wt.median(wt.zeros(0)).item())
    assert wt.median(wt.zeros((0, 3)), axis=1).shape == (0,)
    assert np.isnan(wt.nanquantile(wt.zeros((2, 0)), 0.5, axis=1).numpy()).all()
    for wrong in (1.5, -0.1, float("nan"), [[0.5]]):
        with pytest.raises(ValueError, match=r"^\[quantile\] q "):
            wt.quantile(x, wrong)
    with pytest.raises(ValueError, match="method"):
        wt.quantile(x, 0.5, method="best")
    with pytest.raises(IndexError):
        wt.median(x, axis=2)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_topk(dtype: str, rng: np.random.Generator) -> None:
    if not device_has(dtype):
        pytest.skip("the adapter has no such dtype")
    for shape, axis in [((40,), 0), ((3, 300), 1), ((50, 4), 0), ((20_000,), 0)]:
        a = reference.disorder(rng, shape, dtype)
        for k in {0, 1, 5, min(a.shape[axis], 1000)}:
            for largest in (True, False):
                order = reference.argsort(a, axis, largest).take(range(k), axis)
                values, places = wt.topk(wt.asarray(a), k, axis=axis, largest=largest)
                check(places, order)
                same_bits(values, np.take_along_axis(a, order, axis))


@pytest.mark.parametrize("kernels", ["gpu", "software"])
def test_topk_of_long_rows(kernels: str, rng: np.random.Generator) -> None:
    """GPUs choose from tiles, whose equal elements keep their order."""
    with setting(kernels=kernels):
        device = wt.Device()
        device.synchronize()
    for shape in [(300_001,), (3, 40_000), (2, 8193)]:
        a = rng.integers(0, 1000, shape).astype(np.float32)
        a[..., 7::1000] = np.nan
        t = wt.asarray(a, device=device)
        for k, largest in [(1, True), (10, False), (100, True), (128, False), (500, True)]:
            order = reference.argsort(a, -1, largest)[..., :k]
            values, places = wt.topk(t, k, largest=largest)
            check(places, order)
            check(values, np.take_along_axis(a, order, -1))
    with pytest.raises(ValueError, match=r"^\[topk\] "):
        wt.topk(t, 40_001)


def test_partitions(rng: np.random.Generator) -> None:
    a = rng.integers(0, 100, (4, 60)).astype(np.int32)
    for kth in (0, 17, -1, [3, 40]):
        p = wt.partition(a, kth).numpy()
        check(p[:, np.asarray(kth)], np.partition(a, kth)[:, np.asarray(kth)])
        check(np.take_along_axis(a, wt.argpartition(a, kth).numpy(), -1), p)
    assert wt.partition(a, 5, axis=None).shape == (240,)
    check(wt.partition(a, 2, axis=0)[2], np.sort(a, axis=0)[2])
    for function in (wt.partition, wt.argpartition):
        with pytest.raises(ValueError, match="kth"):
            function(a, 60)


def test_quantiles_without_nan_weigh_in_float64(rng: np.random.Generator) -> None:
    if not device_has("float64"):
        pytest.skip("no float64")
    a = rng.standard_normal((3, 7))
    a[1, 2] = np.nan
    got = wt.nanquantile(wt.asarray(a), [0.3, 0.77], axis=1).numpy()
    np.testing.assert_allclose(got, np.nanquantile(a, [0.3, 0.77], axis=1), rtol=1e-14)


def test_tensor_methods(rng: np.random.Generator) -> None:
    a = rng.standard_normal((4, 5)).astype("float32")
    x = wt.asarray(a)
    for q in (0.3, [0.1, 0.9]):
        e = np.quantile(a, q, axis=1, keepdims=True)
        np.testing.assert_allclose(x.quantile(q, 1, True).numpy(), e, rtol=1e-5)
        np.testing.assert_allclose(x.nanquantile(q).numpy(), np.quantile(a, q), rtol=1e-5)
    e = np.quantile(a, 0.5, axis=0, method="lower")
    np.testing.assert_array_equal(x.quantile(0.5, dim=0, method="lower").numpy(), e)
    for q, error, text in [
        (1.5, ValueError, r"between 0 and 1, not 1\.5$"),
        (np.linspace(0, 2, 2000), ValueError, r"between 0 and 1, not 1\.0"),
        (10**400, ValueError, "between 0 and 1"),
        (None, TypeError, "a number or a vector"),
        ("a", TypeError, "a number or a vector"),
    ]:
        with pytest.raises(error, match=r"^\[quantile\] .*" + text):
            x.quantile(q)


@pytest.mark.skipif(not device_has("float64"), reason="no float64")
def test_weights_of_float64_are_exact(rng: np.random.Generator) -> None:
    a = 10 * rng.standard_normal((3, 99))
    a[1, 7] = np.nan
    for axis in (None, 1):
        for q in (0.7654321, [0.1, 0.3]):
            made = wt.nanquantile(wt.asarray(a), q, axis=axis)
            np.testing.assert_allclose(made.numpy(), np.nanquantile(a, q, axis=axis), rtol=1e-14)
