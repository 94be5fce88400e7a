"""A tensor above the adapter's own binding limit goes through every family.

300 MB on llvmpipe (128 MiB to a binding), 3 GB on NVIDIA (2 GiB). Values are multiples of 1/8 below
64, so that sums of them are exact and what is read back can be compared bit by bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from tolerances import check, near, near_sum

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


def test_reductions(t: wt.Tensor, a: Array) -> None:
    """Every partial sum is a multiple of 1/8; rows and columns add up to less than 2^21."""
    check(t.sum(axis=1), a.sum(1, np.float64).astype(np.float32))
    total = a.sum(dtype=np.float64)
    near_sum(t.sum(), total, np.abs(a).sum(dtype=np.float64), terms=a.size)
    near_sum(t.T.sum(axis=1), a.sum(0, np.float64), np.abs(a).sum(0, np.float64), terms=len(a))
    check(t.max(axis=0), a.max(0))
    check(wt.argmin(t, axis=1), a.argmin(1).astype(np.int32))
    check(wt.any(t > 62, axis=1), (a > 62).any(1))


def test_softmax(t: wt.Tensor, a: Array) -> None:
    p = wt.softmax(t, axis=-1)
    for rows in (slice(0, 50), slice(-50, None)):
        e = np.exp(a[rows].astype(np.float64) - a[rows].max(1, keepdims=True))
        near(p[rows], e / e.sum(1, keepdims=True), ops=4)
    q = wt.softmax(t.reshape(-1) / 64)
    near(q.sum(), 1, ops=8)


def test_scan(t: wt.Tensor, a: Array) -> None:
    check(wt.cumulative_sum(t, axis=1)[-9:], np.cumsum(a[-9:], 1))
    ones = wt.cumulative_sum((t.reshape(-1) == t.reshape(-1)).astype("int32"))
    check(ones[-5:], np.arange(a.size - 4, a.size + 1, dtype=np.int32))
