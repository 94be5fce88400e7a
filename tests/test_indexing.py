"""Indexing by arrays and masks against NumPy: get, set, take and what is made of them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import wgtensor as wt
from helpers import tensor
from random_keys import keys, on_device, shapes

pytestmark = pytest.mark.limits

EXAMPLES = int(os.environ.get("WGTENSOR_INDEX_EXAMPLES", "300"))
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32"]
WIDE = [d for d in ("int64", "uint64", "float64") if wt._core.has_dtype(getattr(wt, d), None)]
INTEGERS = [d for d in DTYPES + WIDE if "int" in d]

examples = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def values(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    return rng.integers(0, 100, shape).astype(dtype)


def same(t: wt.Tensor, a: Any) -> None:
    a = np.asarray(a)
    assert t.shape == a.shape
    np.testing.assert_array_equal(t.numpy(), a)


@examples
@given(st.data())
def test_get(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    key = data.draw(keys(shape))
    dtype = data.draw(st.sampled_from(DTYPES))
    x = values(shape, dtype)
    try:
        expected = x[key]
    except IndexError:
        assume(False)
    t = tensor(x)
    if data.draw(st.booleans()):
        t = wt.logical_not(wt.logical_not(t)) if dtype == "bool" else t + 0  # pending
    same(t[on_device(key, data.draw(st.lists(st.booleans(), max_size=4)))], expected)


@examples
@given(st.data())
def test_set(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    key = data.draw(keys(shape))
    dtype = data.draw(st.sampled_from(DTYPES))
    x = values(shape, dtype)
    try:
        selected = x[key].shape
    except IndexError:
        assume(False)
    fitted = tuple(1 if data.draw(st.integers(0, 3)) == 0 else n for n in selected)
    fitted = fitted[data.draw(st.integers(0, len(fitted))) :]
    v: Any = values(fitted, dtype, 1)
    if data.draw(st.integers(0, 3)) == 0:
        v = True if dtype == "bool" else 7
    t = tensor(x)
    before = t[...]
    x0 = x.copy()
    x[key] = v
    device_key = on_device(key, data.draw(st.lists(st.booleans(), max_size=4)))
    t[device_key] = tensor(v) if isinstance(v, np.ndarray) and data.draw(st.booleans()) else v
    same(t, x)
    same(before, x0)


@pytest.mark.parametrize("dtype", DTYPES + WIDE)
def test_dtypes(dtype: str) -> None:
    x = values((7, 5, 6), dtype)
    t = tensor(x)
    rows, columns = np.array([[0, -1], [3, 3]]), np.array([4, -5])
    same(t[tensor(rows), tensor(columns)], x[rows, columns])
    same(wt.take(t.T[::-1], tensor(rows), axis=1), np.take(x.T[::-1], rows, axis=1))
    mask = values((7, 5), "bool")
    same(t[tensor(mask)], x[mask])
    for index in (rows, np.arange(6), mask):
        for v in (values(x[index].shape, dtype, 3), x[0, 0, 0]):
            x1, t1 = x.copy(), t.__copy__()
            x1[index] = v
            t1[tensor(index)] = tensor(v)
            same(t1, x1)
    same(t, x)


def test_bfloat16() -> None:
    x = values((9, 4), "float32")
    t = wt.asarray(x, dtype="bfloat16")
    same(wt.take(t, tensor([8, -9, 3]), axis=0).astype("float32"), x[[8, -9, 3]])
    t[tensor([1, 1, 7])] = tensor(x[:3])
    x[[1, 1, 7]] = x[:3].copy()
    same(t.astype("float32"), x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_of_indices(dtype: str) -> None:
    x = values((100, 3), "int32")
    i = np.array([0, 99, 7, 7], dtype)
    for key in (i, -i // 2) if dtype.startswith("int") else (i,):
        same(tensor(x)[tensor(key)], x[key])
        same(tensor(x)[key], x[key])
        same(tensor(x)[tensor(key) // 2 + 1], x[key // 2 + 1])


@pytest.mark.parametrize("mode", ["clip", "wrap"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_modes(mode: str, dtype: str) -> None:
    low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max)
    i = np.array([0, 1, 99, 100, low, high, low // 2, high // 3], dtype)
    for size in (300, 7, 1):
        wide = [int(v) for v in i]
        expected = [min(max(v, 0), size - 1) if mode == "clip" else v % size for v in wide]
        same(wt.take(wt.arange(size), tensor(i), mode=mode), expected)
        same(wt.take(wt.arange(size), i, mode=mode), expected)


def test_take_fuses() -> None:
    table, rows = tensor(values((50, 64), "float32")), tensor([1, 2, 3])
    y = (wt.take(table, rows * 2, axis=0) * 2).sum(axis=1)
    assert wt.explain(y).startswith("1 kernel\n")
    same(y, (values((50, 64), "float32")[[2, 4, 6]] * 2).sum(axis=1))
    logits, labels = values((50, 64), "float32"), np.arange(50)[:, None]
    loss = -wt.take_along_axis(wt.log_softmax(tensor(logits)), tensor(labels)).mean()
    assert wt.explain(loss).startswith("2 kernels\n")


@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_take_along_axis(axis: int | None) -> None:
    x = values((4, 5, 6), "float32")
    rng = np.random.default_rng(1)
    if axis is None:
        i = rng.integers(-120, 120, 9)
    else:
        shape = [4, 5, 6]
        shape[axis] = 3
        i = rng.integers(-x.shape[axis], x.shape[axis], shape)
    same(wt.take_along_axis(tensor(x), tensor(i), axis), np.take_along_axis(x, i, axis))
    same(wt.take_along_axis(tensor(x), i, axis), np.take_along_axis(x, i, axis))
    if axis is not None:  # the other axes broadcast
        i = np.moveaxis(np.take(np.moveaxis(i, axis, -1), [0], 0), -1, axis)
        same(wt.take_along_axis(tensor(x), tensor(i), axis), np.take_along_axis(x, i, axis))


def test_the_last_write_wins() -> None:
    n, bins = 10_000, 7
    i = np.random.default_rng(0).integers(0, bins, n)
    for dtype in ("float32", "uint8"):
        for size in (bins, 4 * n):
            t = wt.zeros(size, dtype=dtype)
            t[tensor(i)] = wt.arange(n).astype(dtype)
            x = np.zeros(size, dtype)
            x[i] = np.arange(n).astype(dtype)
            same(t, x)


def test_empty_axes() -> None:
    x = np.empty((0, 3), "float32")
    t = tensor(x)
    same(t[tensor(np.empty(0, "int32"))], x[np.empty(0, "int32")])
    same(t[wt.zeros((0, 3), dtype="bool")], x[np.zeros((0, 3), bool)])
    same(wt.take(t, [], axis=1), np.take(x, np.empty(0, int), axis=1))
    for indices in ([0], tensor([0])):
        with pytest.raises(IndexError, match="size 0"):
            wt.take(t, indices, axis=0)


@pytest.mark.parametrize("dtype", ["float32", "uint8", "float16", "int32"])
@pytest.mark.parametrize("columns", [1, 4, 5, 8, 64])
def test_rows_in_fours(dtype: str, columns: int) -> None:
    """Rows that begin on multiples of four, that do not, and those read both ways."""
    x = values((9, 3, columns + 8), dtype)
    i = np.array([8, 0, -9, 3, 3])
    for start in (0, 1, 4):
        a = x[:, :, start : start + columns]
        t = tensor(x)[:, :, start : start + columns]
        for s, b in ((t, a), (t + 1, a + np.array(1, dtype))):
            same(s[tensor(i)], b[i])
            same(s[tensor(i), 1] + 1, b[i, 1] + np.array(1, dtype))
            same(s[tensor(i)] + s[:5], b[i] + b[:5])
            total = s[tensor(i)].astype("float32").sum(axis=2)
            same(total, b[i].astype("float32").sum(axis=2))


def test_methods() -> None:
    x = values((4, 5), "float32")
    t = tensor(x)
    same(t.take([3, -1]), x.take([3, -1]))
    same(t.take(tensor([9]), axis=1, mode="clip"), x.take([9], axis=1, mode="clip"))
    t.put([0, -1], [7, 8])
    x.put([0, -1], [7, 8])
    same(t, x)


def test_a_mask_on_the_device_that_selects_nothing() -> None:
    x = np.zeros((1, 0, 1, 1), "float32")
    t = wt.asarray(x)
    key = (slice(None), np.array([0]), 0)
    assert t[(*key, wt.asarray(np.array(False)))].shape == x[(*key, np.array(False))].shape
    with pytest.raises(IndexError, match="no index is in bounds for axis 1 with size 0"):
        t[(*key, wt.asarray(np.array(True)))].numpy()
    with pytest.raises(IndexError, match="index -3 is out of bounds for axis 0 with size 2"):
        wt.ones((2, 2))[[-3, 1], wt.asarray([True, True])].numpy()
