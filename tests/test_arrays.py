"""Arrays in and out: layouts, dtypes, foreign data, sequences, pickles, async reads."""

from __future__ import annotations

import array
import asyncio
import copy
import pickle
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has, is_tensor

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.short


# ---- arrays in ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [">f4", ">i4", ">u4", "<f4"])
def test_byte_order(dtype: str) -> None:
    a = np.arange(5).astype(dtype)
    t = wt.asarray(a)
    assert t.dtype == a.dtype.newbyteorder("=")
    assert t.tolist() == [0, 1, 2, 3, 4]
    assert (wt.zeros(5, dtype=a.dtype.newbyteorder("=")) + a).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint8", "float16", "int16", "uint64"])
def test_nothing_is_narrowed_in_silence(dtype: str) -> None:
    a = np.arange(3).astype(dtype)
    if device_has(dtype):
        assert wt.asarray(a).dtype == wt.asarray([a, a]).dtype == dtype
    else:
        with pytest.raises(wt.DTypeError, match=rf"\[asarray\].*{dtype}.*dtype="):
            wt.asarray(a)
        with pytest.raises(wt.DTypeError, match=rf"\[asarray\].*{dtype}"):
            wt.asarray([a, a])
    assert wt.asarray(a, dtype="float32").tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[::-1, ::2],
        lambda a: np.broadcast_to(a[:, :1], (2, 5)),
        lambda a: np.asfortranarray(a),
        lambda a: a[:0],
        lambda a: memoryview(np.ascontiguousarray(a)),
        lambda a: a[0, 0],
        lambda a: np.array(7, np.float32),
        lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, axis=1),
    ],
)
def test_layouts(make: Any, a: Array) -> None:
    is_tensor(wt.asarray(make(a)), np.asarray(make(a)))


def test_the_copy_is_made_at_the_call(a: Array) -> None:
    expected = a.copy()
    t = wt.asarray(a)
    a[:] = 0
    is_tensor(t, expected)


def test_buffers() -> None:
    assert wt.asarray(array.array("f", [1, 2])).dtype == wt.float32
    assert wt.asarray(array.array("i", [1, 2])).tolist() == [1, 2]
    assert wt.asarray(memoryview(array.array("I", [3]))).dtype == wt.uint32
    assert (wt.ones(2) + array.array("f", [1, 2])).tolist() == [2, 3]
    assert wt.asarray(array.array("h", [-1, 2])).dtype == wt.int16
    if device_has("float64"):
        assert wt.asarray(array.array("d", [1, 2])).dtype == wt.float64
    for raw in (b"ab", bytearray(b"ab"), memoryview(b"ab")):
        assert wt.asarray(raw, dtype="int32").tolist() == [97, 98]
        assert wt.asarray(raw).dtype == wt.uint8
        assert wt.asarray(raw).tolist() == [97, 98]


class OnlyDLPack:
    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class ElsewhereDLPack(OnlyDLPack):
    def __dlpack__(self, **kwargs: Any) -> Any:
        raise BufferError("memory of another device")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


def test_dlpack(a: Array) -> None:
    is_tensor(wt.asarray(OnlyDLPack(a)), a)
    is_tensor(wt.ones((2, 3)) + OnlyDLPack(a), a + 1)
    with pytest.raises(wt.UnsupportedError, match=r"\[asarray\].*ElsewhereDLPack"):
        wt.asarray(ElsewhereDLPack(a))


def test_array_protocol(a: Array) -> None:
    class Wrapped:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
            return a

    class Broken:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
            raise TypeError("lies on a GPU")

    is_tensor(wt.asarray(Wrapped()), a)
    is_tensor(wt.ones((2, 3)) * Wrapped(), a)
    with pytest.raises(wt.DTypeError, match=r"\[asarray\].*Broken.*lies on a GPU"):
        wt.asarray(Broken())


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, "int32", 1),
        (1.5, "float32", 1.5),
        (True, "bool", True),
        ([1, 2], "int32", [1, 2]),
        ((1, 2.5), "float32", [1, 2.5]),
        ([True, False], "bool", [True, False]),
        ([], "float32", []),
        (range(3), "int32", [0, 1, 2]),
        ([[1, 2], [3, 4]], "int32", [[1, 2], [3, 4]]),
        (np.float64(2.5), "float32", 2.5),
        (np.uint32(7), "uint32", 7),
        ([np.float64(1), 2], "float32", [1, 2]),
        ([np.zeros(2, np.float32), np.ones(2, np.float32)], "float32", [[0, 0], [1, 1]]),
        ([1e300], "float32", [np.inf]),
    ],
)
def test_numbers_and_sequences(value: Any, dtype: str, expected: Any) -> None:
    t = wt.asarray(value)
    assert t.dtype == dtype
    assert t.tolist() == expected


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, wt.DTypeError),
        ("text", wt.DTypeError),
        (["a", "b"], wt.DTypeError),
        ({1, 2}, wt.DTypeError),
        ({"a": 1}, wt.DTypeError),
        (object(), wt.DTypeError),
        ([None], wt.DTypeError),
        (1j, wt.DTypeError),
        (np.array(["a"]), wt.DTypeError),
        (np.array([1j]), wt.DTypeError),
        (np.array([None]), wt.DTypeError),
        (np.array([(1, 2)], dtype="i4,i4"), wt.DTypeError),
        (np.array(["2020-01-01"], "M8[D]"), wt.DTypeError),
        ([[1], [1, 2]], wt.ShapeError),
        ([2**40], OverflowError),
        (2**70, OverflowError),
        (np.zeros((1,) * 13, np.float32), wt.ShapeError),
    ],
)
def test_foreign_objects_are_typed_errors(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^\[asarray\]"):
        wt.asarray(value)
    assert wt.asarray(1).item() == 1


@pytest.mark.parametrize(
    ("value", "dtype"),
    [([-1], "uint32"), ([2**32], "uint32"), ([2**31], "int32")],
)
def test_numbers_that_do_not_fit_the_dtype_asked_for(value: Any, dtype: str) -> None:
    with pytest.raises(OverflowError, match=rf"\[asarray\].*{dtype}"):
        wt.asarray(value, dtype=dtype)


def test_dtypes_asked_for() -> None:
    assert wt.asarray([1.7, -1.7], dtype="int32").tolist() == [1, -1]
    assert wt.asarray([0, 2], dtype=bool).tolist() == [False, True]
    assert wt.asarray([1], dtype=float).dtype == wt.float32
    assert wt.asarray(np.ones(2), dtype=wt.int32).dtype == wt.int32
    assert wt.asarray([1.5, 2], dtype="float16").dtype == wt.float16
    with pytest.raises(wt.DTypeError, match=r"complex64.*there are"):
        wt.asarray([1], dtype="complex64")


# ---- sequences of tensors ----------------------------------------------------------------------


def test_sequences_of_tensors_are_stacked(a: Array, t: wt.Tensor) -> None:
    is_tensor(wt.asarray([t, t + 1]), np.array([a, a + 1]))
    is_tensor(wt.asarray((t[0], a[1], [7, 8, 9])), [a[0], a[1], [7, 8, 9]])
    is_tensor(wt.asarray([[t[0, 0], 5], [1.5, t[1, 2]]]), [[1, 5], [1.5, 6]])
    losses = [t.sum(), t.mean(), 3.0]
    is_tensor(wt.asarray(losses), [21, 3.5, 3])
    flags = wt.asarray([t[0] > 1, t[1] > 5])
    assert flags.dtype == wt.bool
    assert flags.tolist() == [[False, True, True], [False, False, True]]
    mixed = wt.asarray([wt.ones(2, dtype="int32"), wt.ones(2)])
    assert mixed.dtype == wt.float32
    assert wt.asarray([t, t], dtype="int32").dtype == wt.int32
    with pytest.raises(wt.ShapeError, match=r"\[asarray\].*\(2, 3\).*\(3,\)"):
        wt.asarray([t, t[0]])


# ---- arrays out --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 3, 100_000])
def test_arrays_out_are_the_callers_own(n: int) -> None:
    t = wt.ones(n)
    for a in (t.numpy(), np.asarray(t), np.array(t)):
        assert a.flags.writeable
        a += 1
        a.sort()
    assert t.sum().item() == n


def test_large_arrays_outlive_their_tensor() -> None:
    a = wt.arange(200_000).numpy()
    for _ in range(5):
        wt.zeros(200_000).numpy()
    np.testing.assert_array_equal(a, np.arange(200_000))


def test_array_of_another_dtype(t: wt.Tensor, a: Array) -> None:
    assert np.asarray(t, dtype="float64").dtype == np.float64
    with pytest.raises(ValueError, match=r"\[array\].*copy=False"):
        np.asarray(t, copy=False)
    assert np.concatenate([t, t]).shape == (4, 3)


def test_scalars_out() -> None:
    t = wt.asarray([[1, 2], [3, 4]])
    assert t.tolist() == [[1, 2], [3, 4]]
    assert t.item(1, 0) == 3
    assert type(t.sum().item()) is int
    assert int(wt.asarray(3.7)) == 3
    assert float(wt.asarray([2])) == 2.0
    assert list(range(10))[wt.asarray(4)] == 4
    assert bool(wt.asarray([[True]]))
    assert wt.asarray(True).item() is True


# ---- copies, pickles, async --------------------------------------------------------------------


def test_copies(a: Array, t: wt.Tensor) -> None:
    shallow, deep, dense = copy.copy(t), copy.deepcopy(t), t.copy()
    t += 1
    for other in (shallow, deep, dense):
        is_tensor(other, a)
    nested = copy.deepcopy({"w": [t, t]})
    assert nested["w"][0] is nested["w"][1]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("value", [[1.5, -2], [[1, 2]], [True], [], 3.0])
def test_pickle(value: Any, protocol: int) -> None:
    t = wt.asarray(value)
    r = pickle.loads(pickle.dumps({"t": t, "d": t.dtype}, protocol))
    assert r["t"].tolist() == value
    assert (r["t"].shape, r["t"].dtype) == (t.shape, t.dtype)
    assert r["d"] is t.dtype


def test_reads_do_not_block_the_loop(a: Array) -> None:
    async def main() -> list[Array]:
        device = await wt.Device.create_async(str(wt.default_device()))
        t = wt.asarray(a, device=device)
        first = t.numpy_async()
        t += 1  # the call is what counts
        return list(await asyncio.gather(first, t.numpy_async(), (t * 2).numpy_async()))

    before, after, twice = asyncio.run(main())
    np.testing.assert_array_equal(before, a)
    np.testing.assert_array_equal(after, a + 1)
    np.testing.assert_array_equal(twice, 2 * a + 2)


def test_create_async_errors() -> None:
    with pytest.raises(wt.DeviceNotFoundError, match="no such thing"):
        asyncio.run(wt.Device.create_async("no such thing"))


def test_reductions_of_arrays_into_tensors() -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    for f in (np.max, np.sum, np.prod, np.min):
        out = wt.ones(3)
        assert f(a, axis=0, out=out) is out
        assert out.tolist() == f(a, axis=0).tolist()
    out = wt.zeros((1, 3))
    np.sum(a, axis=0, keepdims=True, out=out)
    assert out.tolist() == [[3, 5, 7]]
    assert np.add.reduce(wt.asarray(a), axis=0, where=True).tolist() == [3, 5, 7]
