"""Cutting, repeating, turning: NumPy's elements, views where nothing moves, else a kernel each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wgtensor as wt
from helpers import DTYPES, arrays, dispatches, random_array
from tolerances import check

Array = np.ndarray[Any, Any]


# ---- cutting ------------------------------------------------------------------------------------


def test_split_and_unstack(rng: np.random.Generator) -> None:
    (a,), (t,) = arrays(rng, (6, 7))
    for how, axis in [(3, 0), ([2, 3], 1), ([4, 2, 9], 0), ((-2,), 1), (7, -1), ([], 0)]:
        for x, y in zip(wt.split(t, how, axis), np.split(a, how, axis), strict=True):
            check(x, y, name=f"{how} {axis}")
    for how, axis in [(4, 0), (5, 1), (9, 0), ([1], 1)]:
        for x, y in zip(wt.array_split(t, how, axis), np.array_split(a, how, axis), strict=True):
            check(x, y, name=f"{how} {axis}")
    for axis in (0, 1, -1):
        views = wt.unstack(t, axis=axis)
        assert isinstance(views, tuple)
        for x, y in zip(views, np.moveaxis(a, axis, 0), strict=True):
            check(x, y)
    assert dispatches(lambda: [*wt.split(t, 3), *wt.unstack(t), *wt.array_split(t, 4, 1)]) == 0
    for wrong, error in [
        (lambda: wt.split(t, 4), wt.ShapeError),
        (lambda: wt.split(t, 0), ValueError),
        (lambda: wt.array_split(t, -1), ValueError),
        (lambda: wt.split(t, 2.0), TypeError),
        (lambda: wt.split(t, 2, 2), IndexError),
        (lambda: wt.unstack(t[0, 0]), wt.ShapeError),
    ]:
        with pytest.raises(error):
            wrong()


# ---- axes and directions ------------------------------------------------------------------------


@pytest.mark.short
def test_axes_are_views(rng: np.random.Generator) -> None:
    (a,), (t,) = arrays(rng, (3, 4, 5, 2))
    for f, e in [
        (lambda: wt.moveaxis(t, 0, -1), np.moveaxis(a, 0, -1)),
        (lambda: wt.moveaxis(t, (0, 1), (-1, -2)), np.moveaxis(a, (0, 1), (-1, -2))),
        (lambda: wt.moveaxis(t, [3, 1], [0, 2]), np.moveaxis(a, [3, 1], [0, 2])),
        (lambda: wt.swapaxes(t, 0, -2), a.swapaxes(0, -2)),
        (lambda: t.swapaxes(1, 1), a),
        (lambda: wt.flip(t), np.flip(a)),
        (lambda: wt.flip(t, axis=-1), np.flip(a, -1)),
        (lambda: wt.flip(t, axis=(0, 2)), np.flip(a, (0, 2))),
        (lambda: wt.fliplr(t), np.fliplr(a)),
        (lambda: wt.flipud(t), np.flipud(a)),
        (lambda: wt.ravel(t), a.ravel()),
        (lambda: wt.diagonal(t), a.diagonal()),
        (lambda: wt.diagonal(t, 1, 2, 0), a.diagonal(1, 2, 0)),
        (lambda: t.diagonal(-2, -1, 1), a.diagonal(-2, -1, 1)),
        (lambda: wt.diagonal(t[::-1, :, ::2], 1, 0, 2), a[::-1, :, ::2].diagonal(1, 0, 2)),
        (lambda: wt.linalg.diagonal(t, offset=1), a.diagonal(1, -2, -1)),
    ]:
        assert dispatches(f) == 0
        check(f(), e)
        check(f() + 1, e + 1)
    for k in range(-5, 6):
        for axes in ((0, 1), (1, 0), (2, -1)):
            check(wt.rot90(t, k, axes), np.rot90(a, k, axes), name=f"{k} {axes}")
    for offset in (-9, -3, 3, 4, 9):
        check(wt.diagonal(t, offset), a.diagonal(offset), name=f"{offset}")
    waiting = t * 2
    check(wt.diagonal(waiting, 1, 1, 3), (a * 2).diagonal(1, 1, 3))
    for wrong, error in [
        (lambda: wt.moveaxis(t, (0, 1), 0), ValueError),
        (lambda: wt.moveaxis(t, (0, 0), (1, 2)), ValueError),
        (lambda: wt.swapaxes(t, 0, 4), IndexError),
        (lambda: wt.flip(t, axis=4), IndexError),
        (lambda: wt.rot90(t, 1, (1, 1)), ValueError),
        (lambda: wt.diagonal(t[0, 0, 0]), wt.ShapeError),
        (lambda: wt.diagonal(t, 0, 1, 1), ValueError),
        (lambda: wt.diagonal(t, 0, 4, 1), IndexError),
    ]:
        with pytest.raises(error):
            wrong()


@pytest.mark.parametrize("dtype", DTYPES)
def test_roll(dtype: str, rng: np.random.Generator) -> None:
    (a,), (t,) = arrays(rng, (5, 6, 3), dtype=dtype)
    for shift, axis in [
        (2, None),
        (-7, None),
        (1, 0),
        (-2, 1),
        (13, -1),
        ((1, 2), (0, 1)),
        ((1, 2, 4), (0, 0, 2)),
        (2, (0, 1)),
        ((1, -1), 0),
        (0, 1),
    ]:
        check(wt.roll(t, shift, axis=axis), np.roll(a, shift, axis), name=f"{shift} {axis}")
    check(wt.roll(t[:, :0], 1, axis=1), np.roll(a[:, :0], 1, 1))
    check(wt.roll(t.T, 2, axis=0), np.roll(a.T, 2, 0))
    if dtype != "bool":
        assert dispatches(lambda: wt.roll(t, 2, axis=1)) == 2
    with pytest.raises(ValueError, match="broadcast"):
        wt.roll(t, (1, 2), axis=(0, 1, 2))
    with pytest.raises(IndexError):
        wt.roll(t, 1, axis=3)


# ---- repeating ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_tile_and_repeat(dtype: str, rng: np.random.Generator) -> None:
    (a,), (t,) = arrays(rng, (2, 3, 4), dtype=dtype)
    for reps in [2, (2, 1), (1, 2, 3), (2, 1, 1, 2), 0, (3, 0, 1), (), (1, 1)]:
        check(wt.tile(t, reps), np.tile(a, reps), name=f"tile {reps}")
    check(wt.tile(t[0, 0, 0], 3), np.tile(a[0, 0, 0], 3))
    for count, axis in [
        (2, None),
        (3, 0),
        (2, -1),
        (0, 1),
        ([1, 2, 0], 1),
        ([2, 2, 5, 0], 2),
        ([3], 1),
        ([2, 2], 0),
    ]:
        check(wt.repeat(t, count, axis=axis), np.repeat(a, count, axis), name=f"{count} {axis}")
    check(t[:, ::-1].repeat([1, 2, 3], axis=1), a[:, ::-1].repeat([1, 2, 3], 1))
    check(t.repeat(2), a.repeat(2))
    check(wt.repeat(t, wt.asarray([1, 0, 2]), axis=1), a.repeat([1, 0, 2], 1))
    assert dispatches(lambda: wt.tile(t, (2, 3))) == 1
    assert dispatches(lambda: wt.repeat(t, 3, axis=1)) == 1
    if dtype != "bool":
        assert dispatches(lambda: wt.repeat(t, [2, 2, 1, 1], axis=2)) == 2
    for wrong, error in [
        (lambda: wt.tile(t, -1), ValueError),
        (lambda: wt.tile(t, 1.5), TypeError),
        (lambda: wt.repeat(t, -1), ValueError),
        (lambda: wt.repeat(t, [1, 2], axis=1), wt.ShapeError),
        (lambda: wt.repeat(t, 1.5), TypeError),
        (lambda: wt.repeat(t, 2, axis=3), IndexError),
    ]:
        with pytest.raises(error):
            wrong()


# ---- the same by chance -------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.data())
def test_chains(data: st.DataObject) -> None:
    """Functions on the results of others, on what waits and on what is computed."""
    draw = data.draw
    dtype = draw(st.sampled_from(["float32", "int32", "bool"]))
    shape = tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)))
    a: Array = random_array(np.random.default_rng(draw(st.integers(0, 99))), shape, dtype)
    t = wt.asarray(a)
    text = f"{dtype}{shape}"
    for _ in range(draw(st.integers(1, 4))):
        axis = draw(st.integers(-a.ndim, a.ndim - 1))
        kind = draw(
            st.sampled_from(["concat", "roll", "repeat", "tile", "flip", "swap", "pad", "stack"])
        )
        if kind == "concat":
            a, t = np.concatenate([a, a[::-1]], axis), wt.concat([t, t[::-1]], axis=axis)
        elif kind == "roll":
            by = draw(st.integers(-6, 6))
            a, t = np.roll(a, by, axis), wt.roll(t, by, axis=axis)
        elif kind == "repeat":
            counts = draw(
                st.lists(st.integers(0, 2), min_size=a.shape[axis], max_size=a.shape[axis])
            )
            a, t = np.repeat(a, counts, axis), wt.repeat(t, counts, axis=axis)
        elif kind == "tile":
            a, t = np.tile(a, (2, 1)), wt.tile(t, (2, 1))
        elif kind == "flip":
            a, t = np.flip(a, axis), wt.flip(t, axis=axis)
        elif kind == "swap":
            a, t = a.swapaxes(axis, 0), wt.swapaxes(t, axis, 0)
        elif kind == "pad":
            width = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in a.shape]
            a, t = np.pad(a, width), wt.pad(t, width)
        elif a.ndim < 5:
            a, t = np.stack([a, a], axis), wt.stack([t, t], axis=axis)
        if a.size > 20000:
            break
        text += f" {kind}({axis})"
        assert t.shape == a.shape, text
        if draw(st.integers(0, 3)) == 0:
            t.eval()
    check(t, a, name=text)


# ---- the rest -----------------------------------------------------------------------------------


def test_broadcast_arrays(rng: np.random.Generator) -> None:
    a, t = arrays(rng, (3, 1), (4,), ())
    for x, y in zip(wt.broadcast_arrays(*t), np.broadcast_arrays(*a), strict=True):
        check(x, y)
    assert dispatches(lambda: wt.broadcast_arrays(*t)) == 0
    with pytest.raises(wt.ShapeError):
        wt.broadcast_arrays(t[0], wt.zeros((2, 5)), t[1])


def test_where_and_reshapes_that_do_not_fit(rng: np.random.Generator) -> None:
    (a, b), (x, y) = arrays(rng, (4,), (4,))
    check(wt.where(x > 0, x, y), np.where(a > 0, a, b))
    check(wt.where(x > 0)[0], np.flatnonzero(a > 0).astype(np.int32))
    with pytest.raises(TypeError, match="two choices"):
        wt.where(x > 0, x)
    for shape, text in [((-2, 3), "not negative"), ((-1, -1), "one -1"), ((5, 5), "cannot")]:
        with pytest.raises(wt.ShapeError, match=text):
            x.reshape(shape)


def test_arrays_that_do_not_fit() -> None:
    for array, dtype in [
        (np.array([1, 2**31]), "int32"),
        (np.array([-1]), "uint32"),
        (np.array([2**32]), "uint32"),
        (np.array([2**31], np.uint32), "int32"),
        (np.array([3e9]), "int32"),
    ]:
        with pytest.raises(OverflowError, match="do not fit"):
            wt.asarray(array, dtype=dtype)
    with pytest.raises(ValueError, match="nan cannot become int32"):
        wt.asarray(np.array([np.nan], np.float32), dtype="int32")
    assert wt.asarray(np.array([2**31 - 1, -(2**31)]), dtype="int32").tolist()[0] == 2**31 - 1
    assert wt.asarray(np.zeros(0), dtype="int32").shape == (0,)
