"""Every dtype through NumPy, DLPack, buffers and pickle, and as another dtype: bit by bit."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import ALL_DTYPES, LAYOUTS, device_has, numpy_dtype, same_bits, special_values

Array = np.ndarray[Any, Any]
DTYPES = [d for d in ALL_DTYPES if device_has(d)]


def elements(dtype: str, shape: tuple[int, ...]) -> Array:
    """Special values, repeated to a shape."""
    return np.resize(special_values(dtype), shape)


def through_dlpack(t: wt.Tensor) -> Array:
    array, dtype = wt._dlpack.read(t)
    return array.view(dtype.numpy)


WAYS: dict[str, Callable[[wt.Tensor], Any]] = {
    "numpy": lambda t: t.numpy(),
    "asarray": np.asarray,
    "dlpack": through_dlpack,
    "dlpack and back": lambda t: wt.from_dlpack(Only(t)),
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
    "old pickle": lambda t: pickle.loads(pickle.dumps(t, protocol=2)),
    "deepcopy": copy.deepcopy,
    "copy": lambda t: t.copy(),
    "tensor of array": lambda t: wt.asarray(np.asarray(t)),
    "bytes": lambda t: wt.asarray(t.numpy().tobytes()).view(t.dtype).reshape(t.shape),
}


class Only:
    """Shows the DLPack protocol of an object alone."""

    def __init__(self, of: Any, device: tuple[int, int] = (1, 0), **forced: Any) -> None:
        self.of, self.device, self.forced = of, device, forced
        self.asked: list[dict[str, Any]] = []

    def __dlpack__(self, **options: Any) -> Any:
        self.asked.append(options)
        return self.of.__dlpack__(**{**options, **self.forced})

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trips(dtype: str, layout: str, way: str) -> None:
    a = elements(dtype, (3, 5, 7))
    same_bits(WAYS[way](LAYOUTS[layout](a)), a)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (5,)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_small_shapes(dtype: str, shape: tuple[int, ...]) -> None:
    a = elements(dtype, shape)
    for way in WAYS:
        if way != "bytes" or (a.size and shape):
            same_bits(WAYS[way](wt.asarray(a)), a)


@pytest.mark.parametrize(
    "dtype", [d for d in DTYPES if d not in ("bool", "int8", "uint8", "bfloat16")]
)
def test_big_endian(dtype: str) -> None:
    a = elements(dtype, (4, 9))
    swapped = a.astype(np.dtype(dtype).newbyteorder(">"))
    swapped.view(f"u{a.itemsize}")[...] = a.view(f"u{a.itemsize}").byteswap()
    same_bits(wt.asarray(swapped), a)
    same_bits(wt.asarray(swapped[::-1, 1::2]), a[::-1, 1::2])


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bfloat16"])
def test_buffers(dtype: str) -> None:
    a = elements(dtype, (4, 6))
    same_bits(wt.asarray(memoryview(a)), a)
    same_bits(wt.asarray(memoryview(a)[::-2]), a[::-2])
    view = memoryview(wt.asarray(a).numpy())
    assert view.format == memoryview(a).format
    assert bytes(view) == a.tobytes()


# ---- DLPack --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bfloat16"])
def test_numpy_takes_capsules_and_gives_them(dtype: str) -> None:
    a = elements(dtype, (3, 4))
    t = wt.asarray(a)
    taken = np.from_dlpack(t.T)
    same_bits(taken, a.T)
    same_bits(wt.from_dlpack(a), a)
    same_bits(wt.from_dlpack(a[::-1, ::2].T), a[::-1, ::2].T)
    same_bits(wt.from_dlpack(Only(a)), a)
    same_bits(wt.asarray(Only(a)), a)


def name_of(capsule: Any) -> str:
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return str(get(capsule).decode())


def test_versions() -> None:
    t = wt.ones(3)
    assert t.__dlpack_device__() == (1, 0)
    assert name_of(t.__dlpack__()) == "dltensor"
    assert name_of(t.__dlpack__(max_version=(0, 8))) == "dltensor"
    assert name_of(t.__dlpack__(max_version=(1, 0))) == "dltensor_versioned"
    assert name_of(t.__dlpack__(max_version=(2, 3), dl_device=(1, 0), copy=True, stream=None))
    for version in (None, (1, 0)):
        capsule = t.__dlpack__(max_version=version)
        array, dtype = wt._core.from_dlpack(capsule)
        assert dtype == wt.float32
        assert array.tolist() == [1, 1, 1]
        assert name_of(capsule).startswith("used_dltensor")
        with pytest.raises(BufferError, match="used before"):
            wt._core.from_dlpack(capsule)


def test_what_dlpack_refuses() -> None:
    t = wt.ones(3)
    with pytest.raises(BufferError, match=r"\[dlpack\].*\(2, 0\)"):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="copy=False"):
        t.__dlpack__(copy=False)
    with pytest.raises(ValueError, match="stream"):
        t.__dlpack__(stream=1)
    with pytest.raises(BufferError, match=r"\[from_dlpack\].*copy=False"):
        wt.from_dlpack(np.ones(3, np.float32), copy=False)
    with pytest.raises(TypeError, match=r"\[from_dlpack\].*list"):
        wt.from_dlpack([1, 2])
    with pytest.raises(wt.DTypeError, match=r"\[from_dlpack\].*code 5 of 64 bits"):
        wt.from_dlpack(np.ones(2, np.complex64))
    assert wt.from_dlpack(t, copy=False) is t
    copied = wt.from_dlpack(t, copy=True)
    copied[0] = 5
    assert t.tolist() == [1, 1, 1]


def test_memory_elsewhere_is_asked_for_on_the_host() -> None:
    a = np.arange(3, dtype=np.float32)
    gpu = Only(a, device=(2, 0))
    same_bits(wt.from_dlpack(gpu), a)
    assert gpu.asked == [{"max_version": (1, 0), "dl_device": (1, 0)}]

    class Old(Only):
        def __dlpack__(self, **options: Any) -> Any:
            if options:
                raise TypeError("no such argument")
            return self.of.__dlpack__()

    same_bits(wt.from_dlpack(Old(a)), a)
    with pytest.raises(BufferError, match=r"device \(2, 0\)"):
        wt.from_dlpack(Old(a, device=(2, 0)))


def test_read_only_memory() -> None:
    a = np.arange(4, dtype=np.int16)
    a.flags.writeable = False
    same_bits(wt.from_dlpack(a), a)
    same_bits(wt.asarray(a), a)
    taken = np.from_dlpack(wt.asarray(a))
    taken[0] = 7  # the capsule's own memory
    assert a[0] == 0


def test_capsules_own_their_memory() -> None:
    """Consumed, unused and refused ones: each gives back what it holds, once."""
    a = np.arange(1000, dtype=np.float32)
    before = sys.getrefcount(a)
    for _ in range(200):
        wt.from_dlpack(a)
        wt._core.from_dlpack(a.__dlpack__())
        wt._core.to_dlpack(a, wt.float32, True)
        wt._core.to_dlpack(a, wt.float32, False)
        wt._core.from_dlpack(wt._core.to_dlpack(a, wt.float32, True))
    kept = [wt._core.from_dlpack(wt._core.to_dlpack(a, wt.float32, v))[0] for v in (True, False)]
    gc.collect()
    assert sys.getrefcount(a) == before + 2
    for k in kept:
        same_bits(k, a)
    del kept, k
    gc.collect()
    assert sys.getrefcount(a) == before


def test_the_array_outlives_the_tensor() -> None:
    a = np.arange(100_000).astype(np.int16)  # large enough to be handed out where it was read
    taken = np.from_dlpack(wt.asarray(a) + 0)
    gc.collect()
    wt.zeros(200_000, dtype="int16").eval()
    same_bits(taken, a)


# ---- the namespace -------------------------------------------------------------------------------


def test_namespace_info() -> None:
    info = wt.ones(1).__array_namespace__().__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 12,
    }
    assert info.default_device() == wt.default_device()
    assert info.devices() == wt.devices()
    assert info.default_dtypes() == {
        "real floating": wt.float32,
        "integral": wt.int32,
        "indexing": wt.int32,
    }
    assert list(info.dtypes()) == DTYPES
    assert list(info.dtypes(device=wt.default_device(), kind=("bool", "real floating"))) == [
        d for d in DTYPES if d == "bool" or "float" in d
    ]
    for name, dtype in info.dtypes(kind="numeric").items():
        assert wt.zeros(1, dtype=dtype).dtype == name


# ---- bitcast -------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", DTYPES)
def test_bitcast(source: str, layout: str) -> None:
    a = elements(source, (3, 8, 16))
    for to in DTYPES:
        expected = np.ascontiguousarray(a).view(numpy_dtype(to))
        if to == "bool":
            expected = np.ascontiguousarray(a).view(np.uint8) != 0
        same_bits(LAYOUTS[layout](a).view(to), expected)
        same_bits(wt.bitcast(LAYOUTS[layout](a), to), expected)


def test_bitcast_shares_memory_and_not_writes() -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = wt.asarray(a)
    bits = x.view("int32")
    same_bits((bits + x.view("int32")) * 1 + 0 * x.astype("int32"), a.view(np.int32) * 2)
    x[0] = 7
    bits[1] = 0
    x += 1
    expected = a.view(np.int32).copy()
    expected[1] = 0
    same_bits(bits, expected)
    assert x.tolist()[0] == [8] * 4


def test_bitcast_of_results_and_views() -> None:
    a = np.arange(-20, 20, dtype=np.int16).reshape(5, 8)
    x = wt.asarray(a)
    same_bits((x * 3).view("int8"), (a * np.int16(3)).view(np.int8))
    same_bits(x[1:, 2:6].view("int32"), np.ascontiguousarray(a[1:, 2:6]).view(np.int32))
    same_bits(x[1:, 1:5].view("int32"), np.ascontiguousarray(a[1:, 1:5]).view(np.int32))
    same_bits(x[::2].view("uint8")[:, 3::5], a[::2].view(np.uint8)[:, 3::5])
    same_bits(x[:, :1].view("uint8"), np.ascontiguousarray(a[:, :1]).view(np.uint8))
    same_bits(x.sum(axis=0).view("uint16"), a.sum(axis=0, dtype=np.int32).view(np.uint16))
    same_bits(wt.full((2, 2), 1).view("int8"), np.ones((2, 2), np.int32).view(np.int8))
    same_bits(x.view("uint16") + 1, a.view(np.uint16) + np.uint16(1))


def test_bitcast_of_no_elements_and_of_one() -> None:
    assert wt.zeros((0, 4), dtype="int8").view("int32").shape == (0, 1)
    assert wt.zeros((4, 0), dtype="int8").view("int32").shape == (4, 0)
    assert wt.asarray(1.0).view("int32").item() == 0x3F800000
    t = wt.ones(3)
    assert t.view("float32") is not None
    assert wt.bitcast(np.float32(2.0), "int32").item() == 0x40000000


def test_bitcast_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"\[view\] int8 of shape \(2, 3\) as int16: .*3 bytes"):
        wt.zeros((2, 3), dtype="int8").view("int16")
    with pytest.raises(ValueError, match=r"\[view\] int32 of shape \(\) as int8"):
        wt.zeros((), dtype="int32").view("int8")
    if not device_has("float64"):
        with pytest.raises(wt.DTypeError, match=r"\[view\].*float64"):
            wt.zeros(2).view("float64")


def test_scalars_of_ml_dtypes() -> None:
    """As weak as NumPy's: floats become the default float, and keep their value."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    scalar = ml_dtypes.bfloat16(-7.875)
    assert wt.asarray(scalar).dtype == "float32"
    assert wt.asarray(scalar).item() == -7.875
    assert wt.concat([wt.ones(1), wt.asarray(scalar).reshape(1)]).tolist() == [1, -7.875]
