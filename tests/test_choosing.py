"""Choices by conditions and numbers, and indices of shapes, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import tensor


def same(t: Any, a: Any) -> None:
    if isinstance(a, tuple):
        assert len(t) == len(a)
        for x, y in zip(t, a, strict=True):
            same(x, y)
        return
    assert t.shape == np.shape(a)
    np.testing.assert_array_equal(t.numpy(), a)


@pytest.mark.parametrize("mode", ["raise", "clip", "wrap"])
def test_choose(mode: str, rng: np.random.Generator) -> None:
    choices = [rng.random((4, 3), "float32"), np.arange(3, dtype="float32"), np.float32(7)]
    a = rng.integers(0, 3, (4, 3))
    wild = a if mode == "raise" else a * 5 - 4
    for index in (wild, wild[:, :1], wild[0]):
        expected = np.choose(index, choices, mode=mode)
        same(wt.choose(tensor(index), choices, mode=mode), expected)
        same(wt.choose(index, choices, mode=mode), expected)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        wt.choose(tensor([3]), choices).numpy()
    with pytest.raises(ValueError, match="choice"):
        wt.choose([0], [])


def test_compress_and_extract(rng: np.random.Generator) -> None:
    x = rng.random((4, 5, 3)).astype("float32")
    for axis, n in ((0, 4), (1, 5), (2, 2), (-1, 0), (None, 50)):
        c = rng.random(n) < 0.5
        same(wt.compress(tensor(c), x, axis), np.compress(c, x, axis))
        same(wt.compress(c, tensor(x), axis), np.compress(c, x, axis))
    same(wt.extract(x > 0.5, tensor(x)), np.extract(x > 0.5, x))
    with pytest.raises(IndexError, match="axis 2 with size 3"):
        wt.compress([True] * 4, x, 2)


def test_place(rng: np.random.Generator) -> None:
    for dtype in ("float32", "uint8"):
        x = rng.integers(0, 90, (4, 5)).astype(dtype)
        mask = rng.random((4, 5)) < 0.6
        for values in ([1, 2, 3], [7], np.arange(30)):
            t, e = tensor(x), x.copy()
            wt.place(t, tensor(mask), values)
            np.place(e, mask, np.asarray(values, dtype))
            same(t, e)
    with pytest.raises(ValueError, match="value"):
        wt.place(t, mask, [])
    with pytest.raises(wt.ShapeError, match="mask"):
        wt.place(t, mask[0], [1])


def test_select(rng: np.random.Generator) -> None:
    x = rng.random((4, 5)).astype("float32")
    conditions = [x > 0.8, x > 0.5, x[:1] > 0.2]
    choices = [x * 2, x + 1, np.float32(9)]
    same(wt.select(conditions, choices, -1), np.select(conditions, choices, -1))
    with pytest.raises(ValueError, match="1 choices for 3 conditions"):
        wt.select(conditions, choices[:1])


def test_ix(rng: np.random.Generator) -> None:
    x = rng.random((5, 6)).astype("float32")
    t = tensor(x)
    rows, columns, mask = [3, 1], [0, 5, -1], rng.random(6) < 0.5
    same(t[wt.ix_(rows, columns)], x[np.ix_(rows, columns)])
    same(t[wt.ix_(tensor(rows), tensor(mask))], x[np.ix_(rows, mask)])
    t[wt.ix_(rows, columns)] = 0
    x[np.ix_(rows, columns)] = 0
    same(t, x)


def test_indices_of_shapes(rng: np.random.Generator) -> None:
    shape = (3, 4, 5)
    flat = rng.integers(0, 60, (2, 7))
    many = np.unravel_index(flat, shape)
    for view in (lambda a: a, tensor):
        same(wt.unravel_index(view(flat), shape), many)
        same(wt.ravel_multi_index([view(m) for m in many], shape), flat)
        for mode in ("clip", "wrap"):
            wild = tuple(m * 7 - 9 for m in many)
            same(
                wt.ravel_multi_index([view(m) for m in wild], shape, mode=mode),
                np.ravel_multi_index(wild, shape, mode=mode),
            )
    same(wt.unravel_index(tensor(7), 9), np.unravel_index(7, 9))
    with pytest.raises(IndexError, match="size 60"):
        wt.unravel_index(tensor([60]), shape)[0].numpy()
    with pytest.raises(IndexError, match="axis 1 with size 4"):
        wt.ravel_multi_index([0, 4, 0], shape)
    same(wt.diag_indices(4, 3), np.diag_indices(4, 3))
    for k in (-1, 0, 2):
        same(wt.tril_indices(4, k, 5), np.tril_indices(4, k, 5))
        same(wt.triu_indices(4, k, 5), np.triu_indices(4, k, 5))
    with pytest.raises(ValueError, match="2 indices for 3 dimensions"):
        wt.ravel_multi_index([0, 1], shape)
