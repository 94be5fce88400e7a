"""Long work is cut: no dispatch and no submission takes longer than what drivers stand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import wgtensor as wt
from helpers import dispatches, setting


def submits(make: Callable[[], object]) -> int:
    wt.synchronize()
    before = wt.stats()["submits"]
    make()
    return wt.stats()["submits"] - before


@pytest.fixture
def square() -> wt.Tensor:
    return wt.full((256, 256), 1 / 256).eval()


def test_submissions_are_short(square: wt.Tensor) -> None:
    """Much work goes in several submissions, however few dispatches it is."""

    def chain() -> None:
        y = square
        for _ in range(20):
            y = y @ square
        y.eval()

    with setting(dispatch_ms=0):
        few = submits(chain)
    with setting(dispatch_ms=1):
        many = submits(chain)
    assert few <= 2
    if wt.default_device().type == "cpu":
        assert many >= 20
    else:
        assert many >= few


def test_submissions_grow_while_there_is_work() -> None:
    """Up to four times as long: between two of them a device pauses."""
    operations, usual = 1920, 48

    def chain() -> None:
        y = wt.zeros(64).eval()
        for _ in range(operations):
            y = y + 1
        assert y.numpy()[0] == operations

    with setting(max_fusion=1, submit_dispatches=usual):
        chain()  # kernels are compiled
        assert operations / usual / 4 <= submits(chain) <= operations / usual * 0.9


def test_long_products_are_cut(rng: np.random.Generator) -> None:
    """By rows and columns, which changes no sum."""
    a = rng.integers(-9, 9, (300, 70)).astype(np.float32)
    b = rng.integers(-9, 9, (70, 260)).astype(np.float32)
    c = rng.integers(-9, 9, 260).astype(np.float32)
    expected = np.maximum(a @ b + c, 0)
    counts = []
    for i, ms in enumerate((0, 1)):
        with setting(dispatch_ms=ms):
            x, y, z = (wt.asarray(t[: t.shape[0] - i] if t is a else t) for t in (a, b, c))
            counts.append(dispatches(lambda x=x, y=y, z=z: wt.relu(x @ y + z)))
            np.testing.assert_array_equal(wt.relu(x @ y + z).numpy(), expected[: 300 - i])
            if i:
                assert "parts" in wt.explain(wt.relu(x @ y + z)) or counts[1] == 1
    assert counts[0] == 1
    if wt.default_device().type == "cpu":
        assert 2 <= counts[1] <= 8


def test_long_products_of_batches_and_views_are_cut(rng: np.random.Generator) -> None:
    a = rng.integers(-9, 9, (5, 64, 150)).astype(np.float32)
    b = rng.integers(-9, 9, (100, 64)).astype(np.float32)
    with setting(dispatch_ms=1):
        y = wt.asarray(a).transpose(0, 2, 1)[:, ::-1] @ wt.asarray(b).T
        np.testing.assert_array_equal(y.numpy(), a.transpose(0, 2, 1)[:, ::-1] @ b.T)
        x = rng.integers(-5, 5, (2, 8, 40, 40)).astype(np.float32)
        w = rng.integers(-5, 5, (16, 8, 3, 3)).astype(np.float32)
        cut = wt.nn.functional.conv2d(x, w, padding=1).numpy()
    with setting(dispatch_ms=0):
        whole = wt.nn.functional.conv2d(wt.asarray(x) + 0, w, padding=1).numpy()
    np.testing.assert_array_equal(cut, whole)


def test_long_elementwise_kernels_are_cut(rng: np.random.Generator) -> None:
    a = rng.random((1001, 997), dtype=np.float32)
    with setting(dispatch_ms=1):
        x = wt.asarray(a)
        y, mask = wt.sqrt(x.T[::2] * 2 + 1), x > 0.5
        np.testing.assert_allclose(y.numpy(), np.sqrt(a.T[::2] * 2 + 1), rtol=1e-6)
        np.testing.assert_array_equal(mask.numpy(), a > 0.5)
        x *= 3
        x += 1
        np.testing.assert_allclose(x.numpy(), a * 3 + 1, rtol=1e-6)
        small = wt.asarray((a * 100).astype(np.int8)) + np.int8(1)
        np.testing.assert_array_equal(small.numpy(), (a * 100).astype(np.int8) + np.int8(1))
        picked = wt.take(wt.asarray(a), wt.asarray(np.arange(500, 0, -1, dtype=np.int32)), 0) + 1
        np.testing.assert_array_equal(picked.numpy(), a[np.arange(500, 0, -1)] + 1)
        ones = wt.random.uniform((1_000_001,))
        assert 0 <= ones.min().item() <= ones.max().item() < 1


def test_long_folds_are_cut(rng: np.random.Generator) -> None:
    """Reductions and softmax of much work: the fold of the parts is that of the whole."""
    a = rng.integers(-9, 9, (1200, 900)).astype(np.float32)
    counts = {}
    for ms in (0, 1):
        with setting(dispatch_ms=ms):
            x = wt.asarray(a)
            for name, make, expected in (
                ("rows", lambda x=x: (x * 2 + 1).sum(axis=1), (a * 2 + 1).sum(1)),
                ("columns", lambda x=x: (x * x).max(axis=0), (a * a).max(0)),
                ("all", lambda x=x: wt.abs(x).sum(), np.abs(a).sum()),
                ("any", lambda x=x: (x > 7).any(axis=1), (a > 7).any(1)),
                ("argmax", lambda x=x: x.argmax(axis=1), a.argmax(1)),
                ("mean", lambda x=x: (x - 1).mean(axis=(0, 1)), (a - 1).mean(dtype=np.float64)),
            ):
                counts[name, ms] = dispatches(make)
                np.testing.assert_allclose(make().numpy(), expected, rtol=1e-6)
            p = wt.softmax(x * 0.1, axis=1)
            counts["softmax", ms] = dispatches(lambda x=x: wt.softmax(x * 0.1, axis=1))
            e = np.exp(a.astype(np.float64) * 0.1)
            np.testing.assert_allclose(p.numpy(), e / e.sum(1, keepdims=True), rtol=1e-5)
            n = wt.nn.functional.layer_norm(x, (900,))
            z = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
            np.testing.assert_allclose(n.numpy(), z, rtol=1e-4, atol=1e-5)
    if wt.default_device().type == "cpu":
        names = {name for name, _ in counts}
        assert {n for n in names if counts[n, 1] > counts[n, 0]} >= {"rows", "columns", "softmax"}


def test_what_takes_a_second_by_default() -> None:
    """On one core of a CPU a product of this size does: each of its parts is a submission."""
    if wt.default_device().type != "cpu":
        pytest.skip("GPUs are faster by orders of magnitude")
    x = wt.full((1700, 1700), 1 / 1700).eval()
    made: list[wt.Tensor] = []

    def product() -> wt.Tensor:
        made.append(x @ x)
        return made[0]

    assert submits(lambda: dispatches(product)) >= 2
    assert "in 4 parts" in wt.explain(x @ x)
    assert abs(made[0][-1, -1].item() - 1 / 1700) < 1e-8
