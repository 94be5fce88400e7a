"""More than 65,535 workgroups in a dimension, and results of tens of millions of elements."""

from __future__ import annotations

import numpy as np
import pytest

import wgtensor as wt
from tolerances import check, near, near_sum

ROWS = 2_200_000


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(0).random((ROWS, 4), dtype=np.float32)


def test_rows(rows: np.ndarray) -> None:
    t = wt.asarray(rows)
    check(t[:, :2] + 1, rows[:, :2] + np.float32(1))
    check(t[:, :3] > 0.5, rows[:, :3] > 0.5)
    check(t.T.copy(), rows.T)


def test_softmax(rows: np.ndarray) -> None:
    e = np.exp(rows[:, :3].astype(np.float64))
    near(wt.asarray(rows)[:, :3].softmax(axis=-1), e / e.sum(axis=1, keepdims=True), ops=4)


def test_reductions(rows: np.ndarray) -> None:
    t = wt.asarray(rows).reshape(-1, 1)[::-1]
    outputs = wt.asarray(np.zeros((8, 1), np.float32)) + t[: 17 * (1 << 19)].reshape(1, -1)
    check(outputs.max(axis=0), rows.reshape(-1)[::-1][: 17 * (1 << 19)])
    single = wt.arange(17_000_000).reshape(-1, 1).sum(axis=1)
    check(single, np.arange(17_000_000, dtype=np.int32))
    near_sum(wt.asarray(rows).sum(axis=0), rows.sum(0, np.float64), rows.sum(0), terms=ROWS)


def test_batches_of_products() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(-5, 5, (70_000, 2, 3), dtype=np.int32)
    b = rng.integers(-5, 5, (70_000, 3, 2), dtype=np.int32)
    check(wt.asarray(a) @ wt.asarray(b), a @ b)


def test_bools() -> None:
    n = 60_000_000
    even = wt.arange(n) % 2 == 0
    assert even.sum().item() == n // 2
    host = even.numpy()
    assert host[:3].tolist() == [True, False, True]
    assert int(np.count_nonzero(host)) == n // 2


def test_reductions_longer_than_a_loop_may_be() -> None:
    """llvmpipe ends the loops of an invocation after 65,535 turns in all, without a word."""
    n = 2**30 + 1
    assert wt.ones(n).sum().item() == 2**30
    assert wt.arange(n).max().item() == 2**30
    wide = wt.broadcast_to(wt.ones(1, dtype="int32"), (2**28, 3))
    assert wide.sum(axis=0).tolist() == [2**28] * 3


def test_matmul_with_a_long_shared_axis() -> None:
    for k in (70_001, 1_200_000):
        x = np.ones((2, k), np.float32)
        assert (wt.asarray(x) @ wt.asarray(x).T).tolist() == [[k, k], [k, k]]


def test_softmax_of_a_long_row() -> None:
    p = wt.softmax(np.zeros((1, 17_000_001), np.float32)).numpy()
    np.testing.assert_allclose(p.sum(dtype=np.float64), 1, rtol=1e-6)
