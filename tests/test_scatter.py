"""Writing and folding into places that are data, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has, setting, tensor

pytestmark = pytest.mark.limits

DTYPES = [
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64"),
]
UFUNCS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
# sizes around the 32 rows of a block, of one level, two, and three
COUNTS = [1, 2, 31, 32, 33, 511, 513, 9000]


def small(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Values whose sums and products are exact."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    return rng.integers(0, 3, shape).astype(dtype)


def same(t: wt.Tensor, a: Any) -> None:
    a = np.asarray(a)
    assert t.shape == a.shape
    assert str(t.dtype) == a.dtype.name
    np.testing.assert_array_equal(t.numpy(), a)


@pytest.mark.parametrize("fold", UFUNCS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_ufunc_at(fold: str, dtype: str, rng: np.random.Generator) -> None:
    if not device_has(dtype):
        pytest.skip("no 64 bits")
    x = small((9, 4, 5), dtype, rng)
    rows, columns = rng.integers(-9, 9, (7, 1)), rng.integers(-5, 5, (3,))
    mask = rng.random((9, 4)) < 0.5
    for key in (rows[:, 0], (slice(None, None, -2), [0, 1, 1, -1]), (rows, slice(1, 3), columns)):
        v = small(x[key].shape, dtype, rng)
        for value in (v, v[..., :1], v.flat[0]):
            t, e = tensor(x), x.copy()
            UFUNCS[fold].at(e, key, value)
            UFUNCS[fold].at(t, key, tensor(value))
            same(t, e)
    t, e = tensor(x), x.copy()
    UFUNCS[fold].at(e, mask, x[0, 0])
    UFUNCS[fold].at(t, tensor(mask), tensor(x[0, 0]))
    same(t, e)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("segments", [1, 2, 40, 3000])
def test_segments(count: int, segments: int, rng: np.random.Generator) -> None:
    ids = rng.integers(0, segments, count)
    for shape in ((count,), (count, 3)):
        v = rng.integers(-50, 50, shape).astype("float32")
        start = {"sum": 0.0, "max": -np.inf, "min": np.inf}
        for fold, first in start.items():
            e = np.full((segments, *shape[1:]), first, "float32")
            UFUNCS[fold].at(e, ids, v)
            f = getattr(wt, f"segment_{fold}")
            same(f(tensor(v), tensor(ids), segments), e)
            same(f(v, ids, segments), e)
        total = np.zeros((segments, *shape[1:]))
        np.add.at(total, ids, v)
        n = np.bincount(ids, minlength=segments).reshape(-1, *(1,) * (len(shape) - 1))
        mean = wt.segment_mean(tensor(v), tensor(ids), segments)
        np.testing.assert_allclose(mean.numpy(), total / np.maximum(n, 1), rtol=1e-6, atol=1e-6)


def test_narrow_integers_wrap_as_with_add_at() -> None:
    for dtype in ("int8", "uint8", "int16"):
        v = np.full(700, 113, dtype)
        ids = np.arange(700) % 3
        e = np.zeros(3, dtype)
        np.add.at(e, ids, v)
        same(wt.segment_sum(v, ids, 3), e)
        same(wt.index_add(np.zeros(3, dtype), 0, tensor(ids), v), e)


def test_nan_wins_and_segments_without_rows(rng: np.random.Generator) -> None:
    v = np.array([1, np.nan, 3, -np.inf, 5], "float32")
    ids = np.array([0, 0, 2, 2, 4])
    same(wt.segment_max(v, ids, 5), np.array([np.nan, -np.inf, 3, -np.inf, 5], "float32"))
    same(wt.segment_min(v, ids, 5), np.array([np.nan, np.inf, -np.inf, np.inf, 5], "float32"))
    i = wt.asarray([7], dtype="int16")
    assert wt.segment_max(i, [1], 3).tolist() == [-(2**15), 7, -(2**15)]
    assert wt.segment_prod(i, [1], 3).tolist() == [1, 7, 1]
    assert wt.segment_sum(tensor([True] * 4), [1, 1, 0, 1], 2).tolist() == [1, 3]
    assert wt.segment_mean(tensor([1, 2]), [0, 0], 2).tolist() == [1.5, 0]
    same(wt.segment_sum(wt.zeros((0, 3)), wt.zeros(0, dtype="int32"), 2), np.zeros((2, 3), "f4"))
    same(wt.segment_sum(wt.zeros((0, 3)), [], 0), np.zeros((0, 3), "f4"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("bins", [1, 100, 20_000])
def test_sums_are_the_same_bits_every_time(dtype: str, bins: int, rng: np.random.Generator) -> None:
    v = tensor(rng.standard_normal(50_000).astype("float32")).astype(dtype)
    ids = tensor(rng.integers(0, bins, 50_000))
    runs = [wt.scatter_add(wt.zeros(bins, dtype=dtype), 0, ids, v).numpy() for _ in range(10)]
    for r in runs[1:]:
        np.testing.assert_array_equal(r.view(np.uint8), runs[0].view(np.uint8))
    exact = np.zeros(bins)
    np.add.at(exact, ids.numpy(), v.numpy().astype("float64"))
    size = np.zeros(bins)
    np.add.at(size, ids.numpy(), np.abs(v.numpy().astype("float64")))
    rounding = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}[dtype]
    error = np.abs(runs[0].astype("float64") - exact)
    assert (error <= rounding * np.abs(exact) + 2.0**-20 * size).all()


@pytest.mark.parametrize("reduce", [None, "add", "multiply", "amax", "amin"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scatter(reduce: str | None, axis: int, rng: np.random.Generator) -> None:
    x = rng.integers(1, 9, (6, 5, 4)).astype("float32")
    shape = [4, 3, 2]
    shape[axis] = 8
    index = rng.integers(-x.shape[axis], x.shape[axis], shape)
    src = rng.integers(1, 4, [n + 1 for n in shape]).astype("float32")
    expected = x.copy()
    for place in np.ndindex(*shape):
        at = list(place)
        at[axis] = index[place]
        old, new = expected[tuple(at)], src[place]
        folded = {"add": old + new, "multiply": old * new, "amax": max(old, new)}
        folded["amin"] = min(old, new)
        expected[tuple(at)] = new if reduce is None else folded[reduce]
    t = tensor(x)
    for i in (index, tensor(index)):
        same(wt.scatter(t, axis, i, tensor(src), reduce=reduce), expected)
    same(t, x)
    if reduce == "add":
        same(wt.scatter_add(t, axis, index, src), expected)
    one = wt.scatter(t, axis, index, 2.0, reduce=reduce)
    same(one, wt.scatter(t, axis, index, wt.full(shape, 2.0), reduce=reduce).numpy())


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_index_add(axis: int, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, (6, 5, 4)).astype("float32")
    i = rng.integers(0, x.shape[axis], 7)
    v = rng.integers(0, 9, np.take(x, i, axis).shape).astype("float32")
    e = x.copy()
    np.add.at(e, (slice(None),) * (axis % 3) + (i,), 2 * v)
    same(wt.index_add(x, axis, tensor(i), v, alpha=2), e)
    same(wt.index_add(tensor(x), axis, i, tensor(v), alpha=2), e)


def test_put(rng: np.random.Generator) -> None:
    for mode in ("raise", "clip", "wrap"):
        for values in ([9.0, 8.0], 7.0, np.arange(9.0), []):
            for view in (lambda i: i, tensor):
                x = rng.random((4, 5)).astype("float32")
                i = rng.integers(-20, 20, (2, 3)) * (1 if mode == "raise" else 7)
                t = tensor(x)
                before = t[:]
                wt.put(t, view(i), values, mode=mode)
                same(before, x)
                np.put(x, i, values, mode=mode)
                same(t, x)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_put_along_axis(axis: int | None, rng: np.random.Generator) -> None:
    x = rng.random((4, 5, 6)).astype("float32")
    shape = [4, 5, 6]
    if axis is None:
        shape = [9]
    else:
        shape[axis] = 3
    n = x.size if axis is None else x.shape[axis]
    i = np.argsort(rng.random((*shape, n)), axis=-1)[..., 0]
    if axis is not None:
        i = np.take(i, [0], axis=(axis + 1) % 3)  # broadcasts
    for values in (rng.random(shape).astype("float32"), 3.0):
        v = values if axis is None else np.broadcast_to(values, shape)
        t, e = tensor(x), x.copy()
        np.put_along_axis(e, i if axis is None else np.broadcast_to(i, shape), v, axis)
        wt.put_along_axis(t, tensor(i), values, axis)
        same(t, e)


def test_faults_and_errors() -> None:
    t = wt.zeros((4, 3))
    with pytest.raises(IndexError, match=r"\[segment_sum\] index 4 is .* axis 0 with size 4"):
        wt.segment_sum(t, tensor([0, 1, 4, 2]), 4).numpy()
    with pytest.raises(IndexError, match=r"\[segment_sum\] index 4 is"):
        wt.segment_sum(t, [0, 1, 4, 2], 4)
    with pytest.raises(IndexError, match=r"\[segment_sum\] index 1 is .* axis 0 with size 1"):
        wt.segment_sum(t, tensor([0, 0, 1, 0]), 1).numpy()
    with pytest.raises(IndexError, match=r"\[scatter_add\] index -5 is"):
        wt.scatter_add(t, 0, tensor([[-5, 0, 0]]), 1.0).numpy()
    np.add.at(t, (0, tensor([9])), 1)
    with pytest.raises(IndexError, match=r"\[add.at\] index 9 is out of bounds for axis 1"):
        t.numpy()
    with pytest.raises(IndexError, match="size 0"):
        wt.segment_sum(t, [0, 0, 0, 0], 0)
    with pytest.raises(wt.ShapeError, match=r"\(4, 3\).*\(2,\)"):
        wt.segment_sum(t, [0, 1], 4)
    with pytest.raises(wt.ShapeError, match="src of shape"):
        wt.scatter(t, 0, [[0, 1, 2]], wt.ones((1, 2)))
    with pytest.raises(wt.ShapeError, match="axis 1"):
        wt.scatter(t, 0, [[0, 1, 2, 3]], 1.0)
    with pytest.raises(ValueError, match="reduce must be"):
        wt.scatter(t, 0, [[0]], 1.0, reduce="mode")
    with pytest.raises(ValueError, match="num_segments"):
        wt.segment_sum(t, [0, 1, 1, 1], -1)
    with pytest.raises(TypeError, match="put"):
        wt.put(np.zeros(3), [0], 1)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int8", "bool"])
def test_many_integers_into_few_places(dtype: str, rng: np.random.Generator) -> None:
    """Kernels for GPUs have copies of the places."""
    with setting(kernels="gpu"):
        device = wt.Device()
        device.synchronize()
    low = 0 if dtype == "uint32" else -100
    for places, columns in ((1, 1), (3, 2), (300, 1)):
        v = rng.integers(low, 100, (20_000, columns)).astype(dtype)
        ids = rng.integers(-places, places, len(v)).astype(np.int32)
        for fold in ("sum", "max", "min"):
            x = rng.integers(low, 100, (places, columns)).astype(dtype)
            t = wt.asarray(x, device=device)
            UFUNCS[fold].at(x, ids, v)
            UFUNCS[fold].at(t, wt.asarray(ids, device=device), wt.asarray(v, device=device))
            same(t, x)
    t = wt.zeros(3, dtype="int32", device=device)
    wrong = np.full(5000, 1, np.int32)
    wrong[[7, 4999]] = 3, -4
    np.add.at(t, wt.asarray(wrong, device=device), 1)
    with pytest.raises(IndexError, match=r"\[add.at\] index (3|-4) is"):
        t.numpy()
    assert t.tolist() == [0, 4998, 0]
