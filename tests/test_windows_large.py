"""A tensor above the adapter's own binding limit goes through every family.

300 MB on llvmpipe (128 MiB to a binding), 3 GB on NVIDIA (2 GiB). Values are multiples of 1/8 below
64, so that sums of them are exact and what is read back can be compared bit by bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from tolerances import check, near_sum

Array = np.ndarray[Any, Any]
COLUMNS = 2500
MEGA = 1_000_000


@pytest.fixture(scope="module")
def rows() -> int:
    """Of a matrix that is larger than a binding, and not larger than a buffer."""
    limits = wt.default_device().limits
    wanted = 3000 * MEGA if limits["max_binding"] > 1 << 30 else 300 * MEGA
    if limits["max_binding"] >= wanted:
        pytest.skip("this adapter binds whole buffers of that size")
    return min(wanted, limits["max_buffer"] // 4 * 3) // (4 * COLUMNS)


@pytest.fixture(scope="module")
def a(rows: int) -> Array:
    pattern = ((np.arange(rows * 7, dtype=np.int32) * 7919) % 1001).astype(np.float32) / 8 - 62.5
    return np.resize(pattern, (rows, COLUMNS))


@pytest.fixture(scope="module")
def t(a: Array) -> wt.Tensor:
    tensor = wt.asarray(a)
    limit = wt.default_device().limits["max_binding"]
    assert tensor.nbytes > limit
    return tensor


def test_elementwise(t: wt.Tensor, a: Array) -> None:
    check(t + t * 2, a * 3)
    check(t > 0, a > 0)


def test_copies(t: wt.Tensor, a: Array) -> None:
    check(t.T.copy(), a.T)
    check(t[::-1, ::-1].copy(), a[::-1, ::-1])
    check(t[-3:, -3:] + t[:3, :3], a[-3:, -3:] + a[:3, :3])


def test_assignment(t: wt.Tensor, a: Array) -> None:
    y = t.copy()
    y[1:, 1:] = t[:-1, :-1]
    got = y.numpy()
    check(got[1:, 1:], a[:-1, :-1])
    check(got[0], a[0])


def test_matmul(t: wt.Tensor, a: Array) -> None:
    rng = np.random.default_rng(0)
    w = rng.integers(-4, 5, (COLUMNS, 8)).astype(np.float32)
    near_sum(
        (t @ wt.asarray(w))[-100:],
        a[-100:] @ w.astype(np.float64),
        np.abs(a[-100:]) @ np.abs(w),
        terms=COLUMNS,
    )
    v = rng.integers(-4, 5, (8, a.shape[0])).astype(np.float32)
    exact = v.astype(np.float64) @ a[:, :50].astype(np.float64)
    near_sum(
        (wt.asarray(v) @ t)[:, :50],
        exact,
        np.abs(v).astype(np.float64) @ np.abs(a[:, :50]),
        terms=a.shape[0],
    )
