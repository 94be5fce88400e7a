"""Gradients of places that are data: lookups, assignments and folds, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has, dispatches

pytestmark = pytest.mark.skipif(not device_has("float64"), reason="differences need float64")

I = np.array([2, 0, 2, -1])  # noqa: E741
ROWS, COLUMNS = np.array([[0], [2]]), np.array([1, 1, -2])
MASK = np.array([True, False, True])
IDS = np.array([1, 0, 1, 3, 1])


def real(*shape: int, seed: int = 0) -> wt.Tensor:
    rng = np.random.default_rng([seed, *shape])
    return wt.asarray(rng.standard_normal(shape)).requires_grad_()


def stored(x: wt.Tensor, key: Any, v: Any) -> wt.Tensor:
    y = x * 1
    y[key] = v
    return y


def folded(ufunc: np.ufunc, x: wt.Tensor, key: Any, v: Any) -> wt.Tensor:
    y = x * 1
    ufunc.at(y, key, v)
    return y


READS: dict[str, tuple[Callable[[wt.Tensor], wt.Tensor], tuple[int, ...]]] = {
    "rows": (lambda x: x[wt.asarray(I)], (3, 2)),
    "host rows": (lambda x: x[I], (3, 2)),
    "columns": (lambda x: x[:, wt.asarray(I)], (2, 3)),
    "together": (lambda x: x[wt.asarray(ROWS), wt.asarray(COLUMNS)], (3, 4, 2)),
    "apart": (lambda x: x[ROWS, :, COLUMNS], (3, 2, 4)),
    "with slices": (lambda x: x[::-1, None, wt.asarray(I)], (2, 3)),
    "mask": (lambda x: x[wt.asarray(MASK)], (3, 2)),
    "mask of all": (lambda x: x[x.detach() > x.detach().mean()], (3, 2)),
    "mask and slices": (lambda x: x[::-1, wt.asarray(MASK), None], (2, 3, 2)),
    "mask and an integer": (lambda x: x[1, :, wt.asarray(MASK)], (2, 2, 3)),
    "mask and indices": (lambda x: x[wt.asarray(MASK), wt.asarray([1, 1])], (3, 2)),
    "mask of a number": (lambda x: x[wt.asarray(True)], (3, 2)),
    "of a view": (lambda x: x.T[wt.asarray(I)], (2, 3)),
    "take": (lambda x: wt.take(x, wt.asarray(I) * 2, mode="wrap"), (2, 3)),
    "take clip": (lambda x: wt.take(x, wt.asarray(I) * 2, axis=1, mode="clip"), (2, 3)),
    "along": (lambda x: wt.take_along_axis(x, wt.asarray([[1, 1, 0]]), 1), (4, 2)),
    "along each": (lambda x: wt.take_along_axis(x, wt.asarray([[1, 1], [0, 2]]), 1), (2, 3)),
    "along many": (lambda x: wt.take_along_axis(x, wt.asarray([[1], [0]]), 1), (1, 3)),
    "segment_sum": (lambda x: wt.segment_sum(x, wt.asarray(IDS), 4), (5, 2)),
    "segment_mean": (lambda x: wt.segment_mean(x, IDS, 4), (5,)),
    "segment_max": (lambda x: wt.segment_max(x, wt.asarray(IDS), 4)[:2], (5, 2)),
    "segment_min": (lambda x: wt.segment_min(x, IDS, 4)[:2], (5,)),
}


@pytest.mark.parametrize("name", READS)
def test_reads_and_segments(name: str) -> None:
    make, shape = READS[name]
    assert wt.autograd.gradcheck(make, [real(*shape)])
    assert wt.autograd.gradgradcheck(lambda x: make(x * x), [real(*shape)])


WRITES: dict[str, tuple[Callable[..., wt.Tensor], tuple[int, ...], tuple[int, ...]]] = {
    "rows": (lambda x, v: stored(x, wt.asarray(I), v), (3, 2), (4, 2)),
    "few of many rows": (lambda x, v: stored(x, wt.asarray(I), v), (12, 2), (4, 2)),
    "broadcast": (lambda x, v: stored(x, wt.asarray(I), v), (3, 2), (1, 4, 1)),
    "apart": (lambda x, v: stored(x, (ROWS, slice(None), COLUMNS), v), (3, 2, 4), (2, 3, 2)),
    "one": (lambda x, v: stored(x, wt.asarray(I), v), (3, 2), ()),
    "mask": (lambda x, v: stored(x, wt.asarray(MASK), v), (3, 2), (1, 2)),
    "counted": (lambda x, v: stored(x, wt.asarray(MASK), v), (3, 2), (2, 2)),
    "scatter": (lambda x, v: wt.scatter(x, 0, wt.asarray([[0, 1], [0, 2]]), v), (3, 2), (2, 2)),
    "scatter_add": (
        lambda x, v: wt.scatter_add(x, 0, wt.asarray([[0, 1], [0, 2]]), v),
        (3, 2),
        (2, 2),
    ),
    "index_add": (lambda x, v: wt.index_add(x, 1, wt.asarray(I), v, alpha=3), (2, 3), (2, 4)),
    "add.at": (lambda x, v: folded(np.add, x, (slice(1), wt.asarray(I)), v), (2, 3), (4,)),
    "maximum.at": (lambda x, v: folded(np.maximum, x, wt.asarray(I), v), (3, 2), (4, 2)),
    "minimum.at": (lambda x, v: folded(np.minimum, x, wt.asarray(I), v), (3, 2), (4, 1)),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str) -> None:
    make, shape, value = WRITES[name]
    operands = [real(*shape), real(*value, seed=1)]
    assert wt.autograd.gradcheck(make, operands)
    assert wt.autograd.gradgradcheck(lambda x, v: make(x * x, v * v), operands)


def test_what_a_mask_selects_is_written_back() -> None:
    """Its places differ: nothing is added up or sorted."""
    x = wt.ones(5000, requires_grad=True)
    mask = wt.arange(5000) % 3 == 0
    mask.eval()

    def gradient() -> wt.Tensor:
        x.grad = None
        (x[mask] * 2).sum().backward()
        assert x.grad is not None
        return x.grad

    assert dispatches(gradient) <= 5
    assert gradient().tolist() == np.where(np.arange(5000) % 3 == 0, 2.0, 0.0).tolist()
    for dtype in ("bfloat16", "float16"):
        half = wt.ones((4, 2), dtype=dtype, requires_grad=True)
        (half[wt.asarray([True, False, False, True])] * 3).sum().backward()
        assert half.grad is not None
        assert half.grad.tolist() == [[3, 3], [0, 0], [0, 0], [3, 3]]


def test_the_last_write_has_the_gradient() -> None:
    x, v = wt.zeros(2).requires_grad_(), wt.asarray([1.0, 2.0, 3.0]).requires_grad_()
    stored(x, wt.asarray([0, 0, 0]), v).sum().backward()
    assert v.grad is not None
    assert v.grad.tolist() == [0, 0, 1]
    assert x.grad is not None
    assert x.grad.tolist() == [0, 1]


def test_equal_extrema_share_the_gradient() -> None:
    x = wt.asarray([1.0, 5.0]).requires_grad_()
    v = wt.asarray([5.0, 1.0, 1.0, 5.0]).requires_grad_()
    folded(np.maximum, x, wt.asarray([1, 0, 0, 1]), v).backward(wt.asarray([1.0, 1.0]))
    assert x.grad is not None
    assert v.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [1 / 3, 1 / 3])
    np.testing.assert_allclose(v.grad.numpy(), [1 / 3] * 4)


def test_an_embedding_learns_the_same_bits_every_time() -> None:
    rng = np.random.default_rng(0)
    ids = wt.asarray(rng.integers(0, 30, (400,)))
    grads = []
    for _ in range(3):
        w = wt.asarray(np.ones((30, 16), "float32")).requires_grad_()
        (
            wt.take(w, ids, axis=0) * wt.asarray(rng.random((400, 16), "float32") * 0 + 0.1)
        ).sum().backward()
        assert w.grad is not None
        grads.append(w.grad.numpy())
    for g in grads[1:]:
        np.testing.assert_array_equal(g, grads[0])
    np.testing.assert_allclose(grads[0][:, 0], np.bincount(ids.numpy(), minlength=30) * 0.1, 1e-5)
