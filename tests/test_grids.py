"""Evenly spaced numbers, grids, triangles and diagonals, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import wgtensor as wt
from helpers import DTYPES, LAYOUTS, dispatches, random_array
from tolerances import check


@pytest.mark.short
def test_spaced_numbers() -> None:
    for start, stop, num in [(0, 1, 11), (-1, 1, 101), (3, 3, 4), (5, -2, 8), (0, 1, 1), (0, 1, 0)]:
        for endpoint in (True, False):
            e = np.linspace(start, stop, num, endpoint=endpoint, dtype=np.float32)
            made = wt.linspace(start, stop, num, endpoint=endpoint)
            check(made, e, name=f"{start} {stop} {num} {endpoint}")
            e = np.linspace(start, stop, num, endpoint=endpoint, dtype=np.int32)
            made = wt.linspace(start, stop, num, endpoint=endpoint, dtype="int32")
            check(made, e, name=f"{start} {stop} {num} {endpoint}")
    ends = wt.linspace(0.1, 0.7, 1000).numpy()[[0, -1]]
    np.testing.assert_array_equal(ends, np.array([0.1, 0.7], np.float32))
    assert wt.linspace(0, 1).shape == (50,)
    check(wt.logspace(-3, 4, 20), np.logspace(-3, 4, 20).astype(np.float32))
    check(wt.logspace(0, 8, 9, base=2, dtype="int32"), 2 ** np.arange(9, dtype=np.int32))
    check(wt.geomspace(1, 1e6, 13), np.geomspace(1, 1e6, 13).astype(np.float32))
    check(wt.geomspace(-8, -1, 4, dtype="int32"), np.array([-8, -4, -2, -1], np.int32))
    for wrong, error in [
        (lambda: wt.linspace(0, 1, -1), ValueError),
        (lambda: wt.linspace(0, 1, 2.5), TypeError),
        (lambda: wt.linspace("0", 1), TypeError),
        (lambda: wt.linspace(0, 1, dtype="bool"), wt.DTypeError),
        (lambda: wt.linspace(-1, 2, dtype="uint32"), OverflowError),
        (lambda: wt.linspace(0, 2**33, dtype="int32"), OverflowError),
        (lambda: wt.geomspace(0, 1), ValueError),
        (lambda: wt.geomspace(-1, 1), ValueError),
    ]:
        with pytest.raises(error):
            wrong()


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(indexing: str, rng: np.random.Generator) -> None:
    arrays = [random_array(rng, (n,), "int32") for n in (2, 3, 4, 1)]
    tensors = [wt.asarray(a) for a in arrays]
    for n in range(5):
        made = wt.meshgrid(*tensors[:n], indexing=indexing)
        expected = np.meshgrid(*arrays[:n], indexing=indexing)
        for x, y in zip(made, expected, strict=True):
            check(x, y, name=f"{n}")
    assert dispatches(lambda: wt.meshgrid(*tensors, indexing=indexing)) == 0
    check(wt.meshgrid(wt.asarray(3), tensors[1])[0], np.meshgrid(3, arrays[1])[0])
    with pytest.raises(ValueError, match="indexing"):
        wt.meshgrid(*tensors, indexing="ab")
    with pytest.raises(wt.ShapeError):
        wt.meshgrid(wt.zeros((2, 2)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangles_and_diagonals(dtype: str, rng: np.random.Generator) -> None:
    for shape in [(3, 5), (4, 4), (2, 5, 3), (1, 1), (0, 3), (3, 0)]:
        a = random_array(rng, shape, dtype)
        for layout in ("contiguous", "transposed"):
            t = LAYOUTS[layout](a)
            for k in (-9, -3, -1, 0, 1, 2, 9, 2**40, -(2**40)):
                near_k = max(min(k, 9), -9)
                name = f"{shape} {layout} {k}"
                check(wt.tril(t, k=k), np.tril(a, near_k), name=name)
                check(wt.triu(t, k=k), np.triu(a, near_k), name=name)
    t = wt.asarray(random_array(rng, (6, 7), dtype))
    assert dispatches(lambda: wt.tril(t)) == 1
    for n, m, k in [(3, None, 0), (3, 5, 1), (4, 2, -1), (0, 2, 0), (2, 3, 9)]:
        check(wt.tri(n, m, k=k, dtype=dtype), np.tri(n, m, k, dtype=dtype), name=f"{n} {m} {k}")
    row = random_array(rng, (4,), dtype)
    for k in (-3, 0, 2):
        check(wt.diag(wt.asarray(row), k=k), np.diag(row, k), name=f"{k}")
        check(wt.diag(wt.asarray(row)[::-1], k=k), np.diag(row[::-1], k), name=f"{k}")
        check(wt.diag(t, k=k), np.diag(t.numpy(), k), name=f"{k}")
    check(wt.diag(wt.asarray(row[:0])), np.diag(row[:0]))
    check(wt.identity(3, dtype=dtype), np.identity(3, dtype=dtype))
    for wrong, error in [
        (lambda: wt.tril(wt.zeros(3)), wt.ShapeError),
        (lambda: wt.diag(wt.zeros((2, 2, 2))), wt.ShapeError),
        (lambda: wt.diag(wt.zeros(())), wt.ShapeError),
        (lambda: wt.tri(-1), ValueError),
        (lambda: wt.tril(wt.zeros((2, 2)), k=0.5), TypeError),
    ]:
        with pytest.raises(error):
            wrong()


def test_nan_beyond_the_triangle() -> None:
    a = np.full((3, 3), np.nan, np.float32)
    check(wt.tril(wt.asarray(a)), np.tril(a))


def test_trace(rng: np.random.Generator) -> None:
    for dtype in ("int32", "float32"):
        a = random_array(rng, (3, 4, 5), dtype)
        t = wt.asarray(a)
        for args in [(), (1,), (-1, 1, 2), (0, 2, 0), (9,)]:
            e = np.trace(a.astype(np.float64), *args).astype(dtype)
            check(wt.trace(t, *args), e, allowed=1e-5, name=f"{args}")
            check(t.trace(*args), e, allowed=1e-5, name=f"{args}")
        e = np.trace(a.astype(np.float64), 1, -2, -1).astype(dtype)
        check(wt.linalg.trace(t, offset=1), e, allowed=1e-5)
    mask = wt.asarray(np.ones((3, 3), np.bool_))
    assert wt.trace(mask).item() == 3
    assert wt.linalg.trace(mask, dtype="float32").dtype == wt.float32
