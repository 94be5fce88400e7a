"""Reductions whose results share words: the kernel that folds also rounds and packs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import setting

Array = np.ndarray[Any, Any]
SHAPES = [(1, 5), (2, 7), (3, 300), (4, 1), (5, 33), (65, 40), (7,), (40, 1001), (3, 5, 7)]


def device(kernels: str) -> wt.Device:
    with setting(kernels=kernels, debug=True):
        return wt.Device()


@pytest.fixture(scope="module", params=["gpu", "software"])
def where(request: pytest.FixtureRequest) -> wt.Device:
    return device(request.param)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_every_axis(
    where: wt.Device, shape: tuple[int, ...], dtype: str, rng: np.random.Generator
) -> None:
    a = rng.integers(-3, 4, shape).astype(dtype)
    x = wt.asarray(a, device=where).eval()
    for axis in (None, *range(len(shape))):
        np.testing.assert_array_equal(x.max(axis).numpy(), a.max(axis))
        total = x.sum(axis).astype(dtype)
        want = a.astype(np.int64).sum(axis).astype(dtype)  # exact in float16, wraps in int8
        np.testing.assert_array_equal(total.numpy(), want)
        positive = (x.sum(axis) > 0).numpy()
        np.testing.assert_array_equal(positive, a.astype(np.int64).sum(axis) > 0)


def test_one_kernel(rng: np.random.Generator) -> None:
    d = device("gpu")
    x = wt.asarray(rng.standard_normal((64, 256)).astype(np.float16), device=d).eval()
    v = wt.asarray(rng.standard_normal(256).astype(np.float16), device=d).eval()
    makes = (lambda: x @ v, lambda: x.sum(1), lambda: x.mean(1), lambda: x.max(1) * 2 + 1)
    for make in makes:
        result = make()
        assert wt.explain(result).startswith("1 kernel\n")
        del result


def test_several_results_of_one_fold(where: wt.Device, rng: np.random.Generator) -> None:
    """More bits than a word has: those that fit share the kernel, or each has its own."""
    a = rng.integers(-9, 10, (13, 50)).astype(np.float32)
    x = wt.asarray(a, device=where).eval()
    total = x.sum(1)
    results = [
        total,
        total.astype("float16"),
        (total * 2).astype("float16"),
        (total + 1).astype("float16"),
        total > 0,
        total.astype("int8"),
        total.astype("int16"),
    ]
    wt.eval(*results)
    s = a.sum(1)
    wanted = [s, s, s * 2, s + 1, s > 0, s.astype(np.int8), s.astype(np.int16)]
    for got, want in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(got.numpy(), want.astype(got.numpy().dtype))


def test_rounding_and_range(where: wt.Device) -> None:
    a = np.full((5, 3), 30000, np.float16)
    assert np.isposinf(wt.asarray(a, device=where).sum(1).numpy()).all()
    b = np.array([[2048, 1], [2048, 3], [1, 2.0**-11], [2.0**-24, 2.0**-24]], np.float16)
    expected = b.astype(np.float64).sum(1).astype(np.float16)
    np.testing.assert_array_equal(wt.asarray(b, device=where).sum(1).numpy(), expected)


def test_parts(rng: np.random.Generator) -> None:
    a = rng.integers(-2, 3, (300, 70)).astype(np.float16)
    with setting(max_binding=4096):
        d = wt.Device()
        x = wt.asarray(a, device=d)
        for axis in (None, 0, 1):
            np.testing.assert_array_equal(x.sum(axis).numpy(), a.astype(np.float64).sum(axis))
            np.testing.assert_array_equal((x.max(axis) > 1).numpy(), a.max(axis) > 1)
