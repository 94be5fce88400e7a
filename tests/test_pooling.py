"""Pooling against windows looked at one by one."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has, random_array, setting
from tolerances import check, near_sum
from wgtensor.nn import functional as F

Array = np.ndarray[Any, Any]


def pooled(
    x: Array,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    ceil_mode: bool,
    largest: bool,
    count_include_pad: bool = True,
) -> Array:
    """Window by window, in PyTorch's words."""
    n = len(kernel)
    space = x.shape[-n:]
    counts = []
    for i, (k, s, p, d) in enumerate(zip(kernel, stride, padding, dilation, strict=True)):
        room = space[i] + 2 * p - d * (k - 1) - 1
        count = (-(-room // s) if ceil_mode else room // s) + 1
        if ceil_mode and (count - 1) * s >= space[i] + p:
            count -= 1
        counts.append(count)
    out = np.empty((*x.shape[:-n], *counts), np.float64)
    for at in itertools.product(*map(range, counts)):
        places, size = [], 1
        for i, a in enumerate(at):
            first = a * stride[i] - padding[i]
            seen = first + np.arange(kernel[i]) * dilation[i]
            size *= min(first + kernel[i], space[i] + padding[i]) - first
            places.append(seen[(seen >= 0) & (seen < space[i])])
        inside = x[(..., *np.ix_(*places))]
        axes = tuple(range(x.ndim - n, x.ndim))
        if largest:
            out[(..., *at)] = inside.max(axis=axes)
        else:
            count = size if count_include_pad else math.prod(len(p) for p in places)
            out[(..., *at)] = inside.sum(axis=axes, dtype=np.float64) / count
    return out


POOLS = [
    ((2, 3, 8, 8), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((2, 3, 11, 14), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((1, 2, 10, 9), (3, 2), (1, 3), (1, 0), (2, 1)),
    ((3, 7, 5), (7, 5), (1, 1), (3, 2), (1, 1)),
    ((2, 4, 13, 10), (2, 4), (3, 3), (1, 2), (1, 1)),
    ((2, 5, 21), (4,), (3,), (2,), (1,)),
    ((5, 21), (3,), (2,), (0,), (3,)),
]


@pytest.mark.short
@pytest.mark.parametrize(("shape", "kernel", "stride", "padding", "dilation"), POOLS)
def test_pooling(
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    rng: np.random.Generator,
) -> None:
    n = len(kernel)
    largest = {1: F.max_pool1d, 2: F.max_pool2d}[n]
    mean = {1: F.avg_pool1d, 2: F.avg_pool2d}[n]
    for ceil_mode in (False, True):
        for dtype in ("float32", "int32", "uint32"):
            x = random_array(rng, shape, dtype)
            made = largest(x, kernel, stride, padding, dilation, ceil_mode)
            expected = pooled(x, kernel, stride, padding, dilation, ceil_mode, True)
            assert made.dtype == dtype
            check(made, expected.astype(dtype), name=f"max {ceil_mode}")
        x = random_array(rng, shape)
        ones = (1,) * n
        if any(x.shape[i - n] + 2 * padding[i] < kernel[i] for i in range(n)):
            continue
        for counted in (True, False):
            made = mean(x, kernel, stride, padding, ceil_mode, counted)
            args = kernel, stride, padding, ones, ceil_mode, False, counted
            expected, magnitude = pooled(x, *args), pooled(np.abs(x), *args)
            near_sum(made, expected, magnitude, terms=9, name=f"mean {ceil_mode} {counted}")


def test_pooling_defaults_and_special_values() -> None:
    x = np.arange(1, 31, dtype=np.float32).reshape(1, 1, 5, 6)
    check(F.max_pool2d(x, 2), np.array([[[[8, 10, 12], [20, 22, 24]]]], np.float32))
    check(F.avg_pool2d(x, 2), np.array([[[[4.5, 6.5, 8.5], [16.5, 18.5, 20.5]]]], np.float32))
    check(F.avg_pool1d(x[0, 0].astype(np.int32), 3), x[0, 0].reshape(5, 2, 3).mean(-1))
    x[0, 0, 1, 2], x[0, 0, 4, 5] = np.nan, -np.inf
    made = F.max_pool2d(x, (2, 3), padding=(1, 0))
    check(made, np.array([[[[3, 6], [np.nan, 18], [27, 29]]]], np.float32))
    lowest = np.full((1, 1, 4, 4), -np.inf, np.float32)
    check(F.max_pool2d(lowest, 2, padding=1), np.full((1, 1, 3, 3), -np.inf, np.float32))
    assert F.max_pool2d(np.ones((0, 2, 4, 4), np.float32), 2).shape == (0, 2, 2, 2)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "int64", "float64"])
def test_dtypes(dtype: str, rng: np.random.Generator) -> None:
    if not device_has(dtype):
        pytest.skip("the adapter has no such numbers")
    x = rng.integers(-60, 60, (2, 3, 8, 9)).astype(dtype)
    made = F.max_pool2d(x, 3, 2, 1)
    assert made.dtype == dtype
    check(made, pooled(x, (3, 3), (2, 2), (1, 1), (1, 1), False, True).astype(dtype))
    mean = F.avg_pool2d(x, (3, 2), 2, 1, True)
    assert mean.dtype == (dtype if dtype.startswith("float") else "float32")
    args: Any = ((3, 2), (2, 2), (1, 1), (1, 1), True, False)
    wide = x.astype(np.float64)
    near_sum(mean, pooled(wide, *args), pooled(abs(wide), *args), terms=6)


def test_pooling_errors() -> None:
    x = np.ones((1, 2, 5, 5), np.float32)
    with pytest.raises(wt.ShapeError, match=r"\[max_pool2d\].*does not fit.*\(5, 5\)"):
        F.max_pool2d(x, 6)
    with pytest.raises(ValueError, match="above half"):
        F.avg_pool2d(x, 2, padding=2)
    with pytest.raises(wt.ShapeError, match=r"\(C, L\).*\(1, 2, 5, 5\)"):
        F.max_pool1d(x, 2)
    with pytest.raises(wt.DTypeError, match="bool"):
        F.max_pool2d(x > 0, 2)


def test_pooling_above_the_largest_binding(rng: np.random.Generator) -> None:
    with setting(max_binding=65536, debug=True):
        device = wt.Device()
        device.synchronize()
    x = random_array(rng, (2, 3, 150, 160))
    t = wt.asarray(x, device=device)
    args: Any = ((3, 2), (2, 2), (1, 1))
    check(F.max_pool2d(t, *args), pooled(x, *args, (1, 1), False, True).astype(np.float32))
    magnitude = pooled(np.abs(x), *args, (1, 1), False, False)
    near_sum(F.avg_pool2d(t, *args), pooled(x, *args, (1, 1), False, False), magnitude, terms=6)


def test_the_first_of_equal_maxima_has_the_gradient() -> None:
    x = wt.asarray([[1.0, 1.0, 0.0, 2.0], [1.0, 0.0, 2.0, 2.0]]).requires_grad_()
    F.max_pool2d(x.reshape(1, 2, 4), 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[1, 0, 0, 1], [0, 0, 0, 0]]
    x.grad = None
    F.max_pool1d(x, 3, stride=1, padding=1).sum().backward()
    assert x.grad.tolist() == [[2, 0, 0, 2], [1, 0, 3, 0]]


def test_max_pool_has_second_derivatives(rng: np.random.Generator) -> None:
    if not device_has("float64"):
        pytest.skip("the adapter has no float64")
    x = wt.asarray(rng.permutation(40).reshape(1, 5, 8) / 7.0).requires_grad_()
    assert wt.autograd.gradcheck(lambda t: F.max_pool2d(t * t, 3, 2, 1), (x,))
    assert wt.autograd.gradgradcheck(lambda t: F.max_pool2d(t * t, 3, 2, 1), (x,))
