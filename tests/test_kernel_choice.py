"""The kernels for GPUs and those for software adapters, each on whatever adapter there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import random_array, setting
from tolerances import check, near, near_sum

pytestmark = pytest.mark.limits

Array = np.ndarray[Any, Any]

SIZES = [1, 5, 31, 33, 64, 127, 129, 257, 1023, 1024, 4097, 70_001]


@pytest.fixture(scope="module", params=["gpu", "software"])
def device(request: pytest.FixtureRequest) -> wt.Device:
    with setting(kernels=request.param):
        device = wt.Device()
        device.synchronize()
    return device


def arrays(rng: np.random.Generator) -> list[tuple[Array, int]]:
    out = []
    for n in SIZES:
        for shape, axis in [((n,), 0), ((5, n), 1), ((n, 5), 0), ((n, 64), 0), ((n, 4), 0)]:
            out.append((random_array(rng, shape, "int32"), axis))
    out.append((random_array(rng, (3000, 260), "int32"), 0))
    out.append((random_array(rng, (260, 3000), "int32"), 1))
    out.append((random_array(rng, (20, 40_000), "int32"), 0))
    return out


def test_reductions(device: wt.Device, rng: np.random.Generator) -> None:
    for a, axis in arrays(rng):
        name = f"{a.shape} axis={axis}"
        t = wt.asarray(a, device=device)
        check(t.sum(axis=axis), a.sum(axis=axis, dtype=np.int32), name=name)
        check((t * 2).max(axis=axis) + 1, a.max(axis=axis) * 2 + 1, name=name)
        check(t.argmin(axis=axis), a.argmin(axis=axis).astype(np.int32), name=name)
        check((t > 48).any(axis=axis), (a > 48).any(axis=axis), name=name)
        near(t.var(axis=axis), a.astype(np.float64).var(axis=axis), ops=8, name=name)


def test_sums(device: wt.Device, rng: np.random.Generator) -> None:
    a = rng.random(3_000_000, dtype=np.float32)
    t = wt.asarray(a, device=device)
    for shape, axis in [((-1,), 0), ((3, -1), 1), ((-1, 3), 0), ((-1, 8), 0), ((1000, -1), 0)]:
        x = a.reshape(shape)
        exact = np.asarray(x.sum(axis=axis, dtype=np.float64))
        result = t.reshape(x.shape).sum(axis=axis).numpy()
        assert (abs(result - exact) <= 3 * np.spacing(exact.astype(np.float32))).all(), shape
    assert wt.ones(10**8, device=device).sum().item() == 10**8


def test_scans(device: wt.Device, rng: np.random.Generator) -> None:
    for a, axis in arrays(rng):
        name = f"{a.shape} axis={axis}"
        t = wt.asarray(a, device=device)
        check(wt.cumulative_sum(t, axis=axis), a.cumsum(axis=axis, dtype=np.int32), name=name)
        check(wt.cumulative_max(t, axis=axis), np.maximum.accumulate(a, axis=axis), name=name)


@pytest.mark.parametrize("shape", [(3, 5, 7), (33, 64, 65), (130, 100, 20), (1, 300, 64)])
def test_products(device: wt.Device, shape: tuple[int, int, int], rng: np.random.Generator) -> None:
    m, k, n = shape
    a, b = random_array(rng, (m, k)), random_array(rng, (k, n))
    result = wt.asarray(a, device=device) @ wt.asarray(b, device=device)
    size = np.abs(a).astype(np.float64) @ np.abs(b)
    near_sum(result, a.astype(np.float64) @ b, size, terms=k)


def test_convolutions(device: wt.Device, rng: np.random.Generator) -> None:
    for shape, kernel, options in [
        ((2, 8, 20, 22), (72, 8, 3, 3), {"padding": 1}),
        ((1, 70, 18, 18), (130, 70, 3, 2), {"stride": 2}),
        ((2, 12, 9, 40), (8, 6, 1, 4), {"groups": 2, "dilation": (1, 2)}),
        ((3, 4, 16, 16), (33, 4, 1, 1), {}),
        ((3, 4, 5, 6), (33, 4, 5, 6), {}),
    ]:
        x, w = random_array(rng, shape, "int32"), random_array(rng, kernel, "int32")
        t, u = wt.asarray(x, device=device), wt.asarray(w, device=device)
        last = wt.asarray(np.ascontiguousarray(x.transpose(0, 2, 3, 1)), device=device)
        expected = convolved(x, w, **options)
        check(wt.nn.functional.conv2d(t, u, **options), expected, name=f"{shape} {kernel}")
        moved = last.permute((0, 3, 1, 2))
        check(wt.nn.functional.conv2d(moved, u, **options), expected, name=f"{shape} {kernel}")


def convolved(
    x: Array, w: Array, stride: int = 1, padding: int = 0, dilation: Any = (1, 1), groups: int = 1
) -> Array:
    """Place by place of the kernel."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    own, (kh, kw), (dh, dw) = w.shape[1], w.shape[2:], dilation
    rows = (x.shape[2] - dh * (kh - 1) - 1) // stride + 1
    columns = (x.shape[3] - dw * (kw - 1) - 1) // stride + 1
    total = 0
    for i, j in np.ndindex(kh, kw):
        seen = x[:, :, i * dh :, j * dw :][:, :, ::stride, ::stride][:, :, :rows, :columns]
        parts = [
            np.einsum("nchw,oc->nohw", seen[:, g * own : (g + 1) * own], part[:, :, i, j])
            for g, part in enumerate(np.split(w, groups))
        ]
        total = total + np.concatenate(parts, 1)
    return np.asarray(total)
