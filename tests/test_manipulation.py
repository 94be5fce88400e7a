"""Joining, cutting, repeating, turning: NumPy's elements, views where nothing moves, one kernel for
each piece where something does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wgtensor as wt
from helpers import DTYPES, LAYOUTS, device_has, dispatches, random_array
from tolerances import check, near

Array = np.ndarray[Any, Any]


def arrays(rng: np.random.Generator, *shapes: tuple[int, ...], dtype: str = "float32") -> Any:
    made = [random_array(rng, s, dtype) for s in shapes]
    return made, [wt.asarray(a) for a in made]


# ---- concat and stack ---------------------------------------------------------------------------


@pytest.mark.short
@pytest.mark.parametrize("dtype", DTYPES)
def test_concat(dtype: str, rng: np.random.Generator) -> None:
    for axis in (0, 1, 2, -1, -3):
        shapes = [[3, 5, 4] for _ in range(4)]
        for i, s in enumerate(shapes):
            s[axis] = (1, 0, 7, 2)[i]
        a, t = arrays(rng, *map(tuple, shapes), dtype=dtype)
        check(wt.concat(t, axis=axis), np.concatenate(a, axis), name=f"{axis}")
    a, t = arrays(rng, (2, 3), (4,), (), dtype=dtype)
    check(wt.concat(t, axis=None), np.concatenate(a, axis=None))
    check(wt.concatenate((t[0], t[0])), np.concatenate((a[0], a[0])))
    check(wt.concat([t[1]]), a[1])
    check(wt.concat([t[0][:0], t[0][:0]], axis=1), np.concatenate([a[0][:0]] * 2, 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", ["contiguous", "transposed", "negative", "pending"])
def test_pieces_are_views(dtype: str, left: str, right: str, rng: np.random.Generator) -> None:
    a, b = random_array(rng, (5, 6), dtype), random_array(rng, (5, 6), dtype)
    x, y = LAYOUTS[left](a), LAYOUTS[right](b)
    check(wt.concat([x, y, x[1:, ::-1]]), np.concatenate([a, b, a[1:, ::-1]]))
    check(wt.concat([x, y[:, 2:3]], axis=1), np.concatenate([a, b[:, 2:3]], 1))
    check(wt.stack([x, y], axis=-1), np.stack([a, b], -1))


def test_dtypes_promote(rng: np.random.Generator) -> None:
    a, b = random_array(rng, (3,), "int32"), random_array(rng, (3,))
    made = wt.concat([wt.asarray(a), wt.asarray(b), wt.asarray(a > 0)])
    assert made.dtype == wt.float32
    check(made, np.concatenate([a, b, a > 0]).astype(np.float32))
    assert wt.stack([wt.asarray(a), wt.asarray(a > 0)]).dtype == wt.int32
    assert wt.concat([wt.asarray(a), [1, 2]]).dtype == wt.int32
    assert wt.concat([wt.asarray([1], dtype="int8"), wt.zeros(2, dtype="uint8")]).dtype == wt.int16
    if device_has("int64"):
        assert wt.concat([wt.asarray(a), wt.zeros(2, dtype="uint32")]).dtype == wt.int64
        with pytest.raises(wt.DTypeError, match=r"\[concat\].*int32.*uint64"):
            wt.concat([wt.asarray(a), wt.zeros(2, dtype="uint64")])


def test_each_piece_is_one_kernel(rng: np.random.Generator) -> None:
    """Elementwise work is done where it is placed, and no piece is copied twice."""
    (a, b), (x, y) = arrays(rng, (40, 30), (40, 30))
    assert dispatches(lambda: wt.concat([x, y, x], axis=1)) == 3
    assert dispatches(lambda: wt.concat([x * 2 + 1, wt.relu(y), x.T.reshape(40, 30)])) == 4
    assert dispatches(lambda: wt.stack([x, x + y], axis=1)) == 2
    assert dispatches(lambda: wt.concat([x])) == 0
    assert dispatches(lambda: wt.concat([x, y]).sum()) == 3
    text = wt.explain(wt.concat([x * 2, y]))
    assert text.count("assign") == 2
    assert "not fused" not in text
    check(wt.concat([x * 2, y], axis=1), np.concatenate([a * 2, b], 1))


def test_memory_is_not_doubled() -> None:
    n = 1 << 20
    x = wt.zeros(n).copy().eval()
    wt.synchronize()
    before = wt.stats()["live_bytes"]
    made = wt.concat([x + 1, x * 2, x, x]).eval()
    wt.synchronize()
    assert wt.stats()["live_bytes"] - before <= made.nbytes * 1.125


@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_many_pieces(dtype: str, rng: np.random.Generator) -> None:
    parts, t = arrays(rng, *[(3, i % 4) for i in range(200)], dtype=dtype)
    check(wt.concat(t, axis=1), np.concatenate(parts, 1))
    same = [t[3]] * 200
    check(wt.concat(same), np.concatenate([parts[3]] * 200))
    check(wt.stack(same), np.stack([parts[3]] * 200))


def test_pieces_that_others_read(rng: np.random.Generator) -> None:
    """Values that wait, with readers before and after; what changes later is no piece."""
    (a,), (x,) = arrays(rng, (6, 4))
    waiting = x * 3
    reader = waiting + 1
    made = wt.concat([waiting, reader, waiting.T.reshape(6, 4)])
    expected = np.concatenate([a * 3, a * 3 + 1, (a * 3).T.reshape(6, 4)])
    later = waiting - 1
    waiting += 100
    x[0] = 7
    near(made, expected, ops=4)
    near(later, a * 3 - 1, ops=4)
    near(reader, a * 3 + 1, ops=4)
    near(waiting, a * 3 + 100, ops=4)
    expected = made.numpy()
    part = made[2:5]
    made[3] = 0
    made *= 2
    check(part, expected[2:5])
    expected[3] = 0
    check(made, expected * 2)
    again = wt.concat([made, made])
    again[0] = made[1]
    both = np.concatenate([expected * 2] * 2)
    both[0] = both[1]
    check(again, both)
    check(made, expected * 2)


def test_concat_errors() -> None:
    t = wt.zeros((2, 3))
    for wrong, error, text in [
        (lambda: wt.concat([]), ValueError, "tensor or more"),
        (lambda: wt.concat([wt.zeros(()), wt.zeros(())]), wt.ShapeError, "axis=None"),
        (lambda: wt.concat([t, wt.zeros((2, 4))]), wt.ShapeError, r"\(2, 3\) and \(2, 4\)"),
        (lambda: wt.concat([t, wt.zeros(3)]), wt.ShapeError, "differ"),
        (lambda: wt.concat([t, t], axis=2), IndexError, "axis 2"),
        (lambda: wt.concat(t[0, 0]), TypeError, "0-d"),
        (lambda: wt.concat(3), TypeError, "sequence"),
        (lambda: wt.stack([t, t.T]), wt.ShapeError, "one shape"),
        (lambda: wt.stack([t, t], axis=4), IndexError, "axis"),
        (lambda: wt.concat([t, t], axis=1.0), TypeError, "integer"),
    ]:
        with pytest.raises(error, match=text):
            wrong()
    own = wt.Device()
    with pytest.raises(wt.DeviceMismatchError, match=r"\[concat\]"):
        wt.concat([t, wt.zeros((2, 3), device=own)])
    with pytest.raises(wt.DeviceMismatchError, match=r"device="):
        wt.asarray([t, wt.zeros((2, 3), device=own)])
    with pytest.raises(wt.DeviceMismatchError, match=r"device="):
        wt.asarray([[t, t], [t, wt.zeros((2, 3), device=own)]])
    moved = wt.asarray([t, wt.ones((2, 3), device=own)], device=own)
    assert moved.device == own
    assert moved.sum().item() == 6


def test_nested_sequences_of_tensors(rng: np.random.Generator) -> None:
    (a, b), (x, y) = arrays(rng, (3,), (3,))
    check(wt.asarray([[x, y], [y, x]]), np.array([[a, b], [b, a]]))
    check(wt.asarray([x[0], 2, x[1]]), np.array([a[0], 2, a[1]], np.float32))
    check(wt.asarray([x > 0, y > 0]), np.array([a > 0, b > 0]))
    assert wt.asarray([wt.ones(()), 1], dtype="bool").tolist() == [True, True]


def test_numpy_stacks(rng: np.random.Generator) -> None:
    for shape in [(4,), (2, 3), (2, 3, 4), ()]:
        a, t = arrays(rng, shape, shape)
        check(wt.hstack(t), np.hstack(a), name=f"hstack {shape}")
        check(wt.vstack(t), np.vstack(a), name=f"vstack {shape}")
        check(wt.dstack(t), np.dstack(a), name=f"dstack {shape}")
        for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
            check(getattr(wt, name)(t[0]), getattr(np, name)(a[0]), name=f"{name} {shape}")
            several = getattr(wt, name)(*t)
            assert isinstance(several, tuple)
            assert len(several) == 2


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
