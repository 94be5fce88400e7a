"""bincount, histogram, one_hot, embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
import wgtensor.nn.functional as F
from helpers import device_has, tensor


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint32", "int64"])
def test_bincount(dtype: str, rng: np.random.Generator) -> None:
    if not device_has(dtype):
        pytest.skip("no 64 bits")
    x = rng.integers(0, 2 if dtype == "bool" else 100, 3000).astype(dtype)
    w = rng.integers(0, 9, 3000).astype("float32")
    for a in (x, x[:1], x[:0]):
        t, v = tensor(a), w[: a.size]
        counted = a.astype("int64")
        for least in (0, 7, 200):
            r = wt.bincount(t, minlength=least)
            assert r.dtype == wt.int32
            np.testing.assert_array_equal(r.numpy(), np.bincount(counted, minlength=least))
            r = wt.bincount(t, tensor(v), least)
            assert r.dtype == wt.float32
            np.testing.assert_array_equal(r.numpy(), np.bincount(counted, v, least))
        np.testing.assert_array_equal(
            wt.bincount(t, length=128).numpy(), np.bincount(counted, minlength=128)
        )


def test_bincount_errors() -> None:
    with pytest.raises(ValueError, match="-3"):
        wt.bincount(tensor([1, -3]))
    with pytest.raises(wt.ShapeError, match=r"\(1, 2\)"):
        wt.bincount(tensor([[1, 3]]))
    with pytest.raises(wt.DTypeError, match="float32"):
        wt.bincount(tensor([1.0]))
    with pytest.raises(wt.ShapeError, match="weights"):
        wt.bincount(tensor([1]), [1.0, 2.0])
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 4"):
        wt.bincount(tensor([1, 5]), length=4).numpy()


def same_histogram(x: Any, *args: Any, **kwargs: Any) -> None:
    counts, edges = wt.histogram(tensor(x), *args, **kwargs)
    e_counts, e_edges = np.histogram(x, *args, **kwargs)
    if e_counts.dtype.kind == "f":
        np.testing.assert_allclose(counts.numpy(), e_counts, rtol=1e-5)
    else:
        np.testing.assert_array_equal(counts.numpy(), e_counts)
    np.testing.assert_allclose(edges.numpy(), e_edges, rtol=1e-6)


@pytest.mark.parametrize("bins", [1, 2, 7, 10, 100, [0.0, 0.1, 0.5, 0.5, 2.0], [-1.0, 0.25]])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float64"])
def test_histogram(bins: Any, dtype: str, rng: np.random.Generator) -> None:
    if not device_has(dtype):
        pytest.skip("no 64 bits")
    x = (rng.random((40, 50)) * (1 if dtype.startswith("f") else 30)).astype(dtype)
    same_histogram(x, bins)
    same_histogram(x, bins, (0.25, 8.5))
    same_histogram(x, bins, density=True)
    w = rng.integers(0, 9, x.shape).astype("float32")
    same_histogram(x, bins, weights=w)
    same_histogram(x[:0], 3)
    same_histogram(np.full(5, 3, dtype), bins if isinstance(bins, int) else 4)


def test_edges_of_bins() -> None:
    x = np.array([0, 1, 1, 2, 3, 4, 4, 5, -1, 9], "float32")
    same_histogram(x, [0, 1, 2, 4])
    same_histogram(x, 4, (0, 4))
    counts, _ = wt.histogram(tensor([0.5, np.nan, np.inf, -np.inf]), 2, (0, 1))
    assert counts.tolist() == [0, 1]
    for bad in (0, -1):
        with pytest.raises(ValueError, match="bin"):
            wt.histogram(x, bad)
    with pytest.raises(ValueError, match="ascends"):
        wt.histogram(x, [1, 0])
    with pytest.raises(ValueError, match="range"):
        wt.histogram(x, 3, (1, 0))
    with pytest.raises(ValueError, match="range"):
        wt.histogram(tensor([np.nan, 1.0]))
    with pytest.raises(ValueError, match=r"^\[histogram\] 'any' is no rule; there are auto, "):
        wt.histogram(x, "any")
    with pytest.raises(TypeError, match=r"^\[histogram\] the rule 'auto' takes no weights"):
        wt.histogram(x, "auto", weights=x)
    with pytest.raises(TypeError, match=r"^\[histogram2d\] bins are a number or edges"):
        wt.histogram2d(x, x, "auto")
    with pytest.raises(ValueError, match="range"):
        wt.histogram_bin_edges([np.nan, 1.0], "auto")


RULES = ["auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges"]


@pytest.mark.filterwarnings("ignore:The number of bins")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "bool"])
def test_rules_for_the_number_of_bins(rule: str, dtype: str, rng: np.random.Generator) -> None:
    x = (rng.gamma(2, 9, 700) % (2 if dtype == "bool" else 99)).astype(dtype)
    wide = x.astype("uint8" if dtype == "bool" else "float32" if dtype == "float16" else dtype)
    for given, ends in ((x, None), (x, (3, 40)), (x[:1], None), (x[:0], None)):
        expected = np.histogram_bin_edges(wide[: given.size], rule, ends)
        edges = wt.histogram_bin_edges(tensor(given), rule, ends)
        tolerance = 1e-3 if dtype == "float16" else 1e-6
        np.testing.assert_allclose(edges.numpy(), expected, rtol=tolerance)
        counts, same = wt.histogram(tensor(given), rule, ends)
        assert counts.shape == (edges.size - 1,)
        assert same.tolist() == edges.tolist()


POINTS = np.random.default_rng(11).standard_normal((500, 3)).astype("float32")


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weights", [None, np.linspace(0, 1, 500, dtype="float32")])
@pytest.mark.parametrize(
    ("bins", "ends"),
    [
        (4, None),
        ([2, 3, 5], None),
        ([2, [-1.0, 0.0, 2.0], 3], [(-1, 1), None, (0, 2)]),
    ],
)
def test_histograms_of_points(bins: Any, ends: Any, weights: Any, density: bool) -> None:
    for given in (POINTS, [POINTS[:, i] for i in range(3)]):
        mine = tensor(given) if isinstance(given, np.ndarray) else [tensor(c) for c in given]
        counts, edges = wt.histogramdd(mine, bins, ends, density, weights)
        expected, e_edges = np.histogramdd(POINTS, bins, ends, density, weights)
        np.testing.assert_allclose(counts.numpy(), expected, rtol=1e-4, atol=1e-6)
        for a, b in zip(edges, e_edges, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-6)


@pytest.mark.parametrize(
    "bins", [5, [3, 4], [-1.0, 0.0, 0.5, 2.0], [[-1.0, 1.0, 2.0], 4], [[0.0, 1.0], [-1.0, 0.0]]]
)
def test_histogram_of_pairs(bins: Any) -> None:
    x, y = POINTS[:, 0], (10 * POINTS[:, 1]).astype("int32")
    made = wt.histogram2d(tensor(x), tensor(y), bins)
    for a, b in zip(made, np.histogram2d(x, y, bins), strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-6)
    assert made[0].dtype == wt.int32


def test_histogramdd_errors() -> None:
    with pytest.raises(wt.ShapeError, match=r"^\[histogramdd\] points are rows"):
        wt.histogramdd(wt.ones(3))
    with pytest.raises(ValueError, match=r"^\[histogramdd\] 2 bins and 3 ranges for 3 axes"):
        wt.histogramdd(tensor(POINTS), [1, 2])
    with pytest.raises(wt.ShapeError, match=r"^\[histogram2d\] coordinates of shapes"):
        wt.histogram2d(wt.ones(3), wt.ones(4))
    with pytest.raises(wt.ShapeError, match=r"^\[histogram2d\] 2 weights for 3 points"):
        wt.histogram2d(wt.ones(3), wt.ones(3), weights=[1, 2])


def test_one_hot() -> None:
    labels = np.array([[0, 2], [1, 1]])
    for t in (labels, tensor(labels), wt.asarray(labels, dtype="uint8")):
        r = F.one_hot(t, 3)
        assert r.dtype == wt.float32
        np.testing.assert_array_equal(r.numpy(), labels[..., None] == np.arange(3))
        np.testing.assert_array_equal(
            F.one_hot(t, 3, axis=0, dtype="bool").numpy(),
            labels == np.arange(3)[:, None, None],
        )
    with pytest.raises(wt.DTypeError, match="float32"):
        F.one_hot(wt.ones(2), 3)
    with pytest.raises(ValueError, match="-2"):
        F.one_hot(labels, -2)


def test_embedding(rng: np.random.Generator) -> None:
    w, ids = rng.random((20, 6), "float32"), rng.integers(0, 20, (3, 4))
    np.testing.assert_array_equal(F.embedding(tensor(ids), tensor(w)).numpy(), w[ids])
    np.testing.assert_array_equal(F.embedding(ids, w).numpy(), w[ids])
    leaf = tensor(w).requires_grad_()
    F.embedding(tensor(ids), leaf).sum().backward()
    assert leaf.grad is not None
    count = np.bincount(ids.ravel(), minlength=20)[:, None]
    np.testing.assert_array_equal(leaf.grad.numpy(), np.broadcast_to(count, (20, 6)))
    with pytest.raises(wt.ShapeError, match=r"\(6,\)"):
        F.embedding(ids, w[0])
    with pytest.raises(IndexError, match="index 20 is out of bounds for axis 0 with size 20"):
        F.embedding(tensor([20]), tensor(w)).numpy()


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_negative_elements_count_from_no_end(dtype: str) -> None:
    if not device_has(dtype):
        pytest.skip("no 64 bits")
    x = tensor(np.array([-1, 0, 2], dtype))
    for weights in (None, tensor(np.ones(3, "float32"))):
        counts = wt.bincount(x, weights, length=3)
        with pytest.raises(IndexError, match=r"\[bincount\] index"):
            counts.numpy()
        assert counts.tolist() == [1, 0, 1]
