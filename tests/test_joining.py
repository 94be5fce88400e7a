"""concat, stack and their kin: NumPy's elements, one kernel for each piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import DTYPES, LAYOUTS, arrays, device_has, dispatches, random_array
from tolerances import check, near

Array = np.ndarray[Any, Any]


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
