"""Bad input: a typed error at the call, with operation and values; the next operation works."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has

F = wt.ones((2, 3))
I = wt.full((2, 3), 2)  # noqa: E741
U = wt.full((2, 3), 2, dtype="uint32")
B = wt.full((2, 3), True)
E = wt.zeros((0, 3))


@pytest.fixture(autouse=True)
def _the_next_operation_works() -> Iterator[None]:
    yield
    assert (wt.asarray(np.array([1, 2], np.int32)) * 3 + 1).tolist() == [4, 7]


class Raised:
    """What every error must be."""

    def __init__(self, kind: type[Exception], *parts: str) -> None:
        self.kind, self.parts = kind, parts

    def by(self, call: Callable[[], Any]) -> None:
        with pytest.raises(self.kind) as caught:
            call()
        assert caught.type is self.kind, f"{caught.type} is not {self.kind} itself"
        text = str(caught.value)
        for part in self.parts:
            assert part in text, f"{part!r} is not in {text!r}"


def setitem(t: wt.Tensor, key: Any, value: Any) -> None:
    t.copy()[key] = value


SHAPES: list[tuple[str, Callable[[], Any], Raised]] = [
    ("add", lambda: F + wt.ones((4, 5)), Raised(wt.ShapeError, "[add]", "(2, 3)", "(4, 5)")),
    ("where", lambda: wt.where(B, F, wt.ones(4)), Raised(wt.ShapeError, "[where]", "(4,)")),
    ("matmul", lambda: F @ F, Raised(wt.ShapeError, "[matmul]", "(2, 3)", "3 columns", "2 rows")),
    ("matmul 0-d", lambda: F @ wt.ones(()), Raised(wt.ShapeError, "[matmul]", "()")),
    (
        "matmul batch",
        lambda: wt.ones((2, 3, 4)) @ wt.ones((5, 4, 2)),
        Raised(wt.ShapeError, "[matmul]", "(2,)", "(5,)"),
    ),
    ("reshape", lambda: F.reshape(4), Raised(wt.ShapeError, "[reshape]", "(2, 3)", "(4,)")),
    ("reshape -1 -1", lambda: F.reshape(-1, -1), Raised(wt.ShapeError, "[reshape]", "(-1, -1)")),
    ("reshape -2", lambda: F.reshape(-2), Raised(wt.ShapeError, "[reshape]", "-2")),
    ("reshape -1 of 0", lambda: E.reshape(0, -1), Raised(wt.ShapeError, "[reshape]", "(0, -1)")),
    (
        "reshape huge",
        lambda: F.reshape(2**40, 2**40, -1),
        Raised(wt.ShapeError, "[reshape]", str(2**40)),
    ),
    ("broadcast_to", lambda: F.broadcast_to((3, 3)), Raised(wt.ShapeError, "[broadcast_to]")),
    ("broadcast_to less", lambda: F.broadcast_to(3), Raised(wt.ShapeError, "(2, 3)", "(3,)")),
    ("squeeze", lambda: wt.squeeze(F, axis=0), Raised(ValueError, "[squeeze]", "0", "(2, 3)")),
    (
        "setitem",
        lambda: setitem(F, 0, np.ones(4, "f4")),
        Raised(wt.ShapeError, "[setitem]", "(4,)"),
    ),
    ("setitem ndim", lambda: setitem(F, 0, wt.ones((2, 3))), Raised(wt.ShapeError, "[setitem]")),
    ("out", lambda: wt.add(F, F, out=wt.ones(3)), Raised(wt.ShapeError, "[add]", "(3,)", "(2, 3)")),
    (
        "in place",
        lambda: F.copy().__iadd__(wt.ones((4, 2, 3))),
        Raised(wt.ShapeError, "[add]", "(4, 2, 3)", "(2, 3)"),
    ),
    (
        "broadcast_shapes",
        lambda: wt.broadcast_shapes((2,), (3,)),
        Raised(wt.ShapeError, "[broadcast_shapes]", "(2,)", "(3,)"),
    ),
    ("ragged", lambda: wt.asarray([[1], [1, 2]]), Raised(wt.ShapeError, "[asarray]", "list")),
    ("13 dimensions", lambda: wt.ones((1,) * 13), Raised(wt.ShapeError, "[ones]", "12")),
    ("13 by index", lambda: wt.ones((1,) * 12)[None], Raised(wt.ShapeError, "12 dimensions")),
    ("mT", lambda: wt.ones(3).mT, Raised(ValueError, "[mT]", "(3,)")),
    (
        "matrix_transpose",
        lambda: wt.matrix_transpose(wt.ones(3)),
        Raised(ValueError, "[matrix_transpose]", "(3,)"),
    ),
]

AXES: list[tuple[str, Callable[[], Any], Raised]] = [
    ("sum", lambda: wt.sum(F, axis=2), Raised(IndexError, "[sum]", "axis 2", "2 dimensions")),
    ("sum negative", lambda: F.sum(axis=-3), Raised(IndexError, "[sum]", "-3")),
    ("sum twice", lambda: F.sum(axis=(0, 0)), Raised(ValueError, "[sum]", "0", "repeated")),
    ("sum twice negative", lambda: F.sum(axis=(0, -2)), Raised(ValueError, "[sum]", "repeated")),
    ("sum huge", lambda: F.sum(axis=2**70), Raised(IndexError, "[sum]", str(2**70))),
    ("max text", lambda: wt.max(F, axis="x"), Raised(TypeError, "[max]", "'x'")),
    ("mean float", lambda: wt.mean(F, axis=1.5), Raised(TypeError, "[mean]", "1.5")),
    ("softmax", lambda: wt.softmax(F, axis=2), Raised(IndexError, "[softmax]", "2")),
    ("permute", lambda: wt.permute_dims(F, (0, 2)), Raised(IndexError, "[permute_dims]", "2")),
    ("permute twice", lambda: wt.permute_dims(F, (0, 0)), Raised(ValueError, "[permute_dims]")),
    (
        "permute few",
        lambda: wt.permute_dims(F, (0,)),
        Raised(ValueError, "[permute_dims]", "1", "2"),
    ),
    ("expand_dims", lambda: wt.expand_dims(F, axis=5), Raised(IndexError, "[expand_dims]", "5")),
    ("max of none", lambda: wt.max(E, axis=0), Raised(ValueError, "[max]", "zero", "(0, 3)")),
    ("index", lambda: F[2], Raised(IndexError, "2", "axis 0", "size 2")),
    ("index 2", lambda: F[0, -4], Raised(IndexError, "-4", "axis 1", "size 3")),
    ("index huge", lambda: F[2**70], Raised(IndexError, str(2**70))),
    ("many indices", lambda: F[0, 0, 0], Raised(IndexError, "3 indices", "2 dimensions")),
    ("two ellipses", lambda: F[..., ...], Raised(IndexError, "ellipsis")),
    ("step 0", lambda: F[::0], Raised(ValueError, "step")),
    ("index text", lambda: F["a"], Raised(IndexError, "str")),
    ("index float", lambda: F[1.5], Raised(IndexError, "float")),
    ("index mask", lambda: F[F[:, :2] > 0], Raised(IndexError, "(2, 2)", "(2, 3)", "axis 1")),
    ("index floats", lambda: F[F], Raised(IndexError, "[getitem]", "float32")),
    ("indices", lambda: F[[0], [1, 3]], Raised(IndexError, "3", "axis 1", "size 3")),
    ("shapes of indices", lambda: F[[0, 1, 1], [0, 1]], Raised(IndexError, "(3,)", "(2,)")),
    ("set floats", lambda: setitem(F, [0.5], 1), Raised(IndexError, "[setitem]", "float64")),
    ("set a shape", lambda: setitem(F, [0, 1], F.T), Raised(wt.ShapeError, "(3, 2)", "(2, 3)")),
    ("take mode", lambda: wt.take(F, 1, mode="loop"), Raised(ValueError, "[take]", "'loop'")),
    ("take float", lambda: wt.take(F, 1.5), Raised(IndexError, "[take]", "float64")),
    (
        "take_along_axis",
        lambda: wt.take_along_axis(F, [0, 1]),
        Raised(ValueError, "[take_along_axis]", "(2, 3)", "(2,)"),
    ),
    ("setitem index", lambda: setitem(F, 5, 1), Raised(IndexError, "[setitem]", "5", "size 2")),
]

DTYPES: list[tuple[str, Callable[[], Any], Raised]] = [
    ("minus bool", lambda: -B, Raised(wt.DTypeError, "[negative]", "bool")),
    ("bools", lambda: B - B, Raised(wt.DTypeError, "[subtract]", "bool")),
    ("float bits", lambda: F & 1, Raised(wt.DTypeError, "[bitwise_and]", "float32")),
    ("int & float", lambda: I & 1.5, Raised(wt.DTypeError, "[bitwise_and]", "float32")),
    (
        "no common dtype",
        lambda: wt.result_type("int8", "uint64"),
        Raised(wt.DTypeError, "[result_type]", "int8", "uint64", "astype"),
    ),
    ("matmul bool", lambda: B @ B.T, Raised(wt.DTypeError, "[matmul]", "bool")),
    (
        "in place",
        lambda: I.copy().__iadd__(1.5),
        Raised(wt.DTypeError, "[add]", "float32", "int32"),
    ),
    ("out", lambda: wt.add(F, F, out=I.copy()), Raised(wt.DTypeError, "[add]", "int32", "float32")),
    ("astype", lambda: F.astype("int4"), Raised(wt.DTypeError, "int4", "float32")),
    ("zeros", lambda: wt.zeros(3, dtype="nope"), Raised(wt.DTypeError, "nope")),
    ("None", lambda: F.astype(None), Raised(wt.DTypeError, "None")),
    ("complex", lambda: wt.asarray([1j]), Raised(wt.DTypeError, "[asarray]", "complex128")),
    ("text", lambda: wt.asarray("abc"), Raised(wt.DTypeError, "[asarray]", "str")),
    ("object", lambda: wt.asarray(object()), Raised(wt.DTypeError, "[asarray]", "object")),
    ("nothing", lambda: wt.asarray(None), Raised(wt.DTypeError, "[asarray]", "NoneType")),
    ("dates", lambda: wt.asarray(np.zeros(2, "M8[s]")), Raised(wt.DTypeError, "datetime64")),
    ("operand", lambda: wt.add(F, object()), Raised(TypeError, "[add]", "object")),
    ("operator", lambda: F + object(), Raised(TypeError, "Tensor", "object")),
    ("exp", lambda: wt.exp("a"), Raised(TypeError, "[exp]", "str")),
    ("setitem", lambda: setitem(F, 0, "a"), Raised(TypeError, "[setitem]", "str")),
]

#: On devices without numbers of 64 bits. Nothing is narrowed in silence.
NO_WIDE: list[tuple[str, Callable[[], Any], str, str, str]] = [
    ("asarray", lambda: wt.asarray(np.ones(3)), "asarray", "float64", "float32"),
    ("no elements", lambda: wt.asarray(np.ones(0)), "asarray", "float64", "float32"),
    ("big-endian", lambda: wt.asarray(np.ones(3, ">i8")), "asarray", "int64", "int32"),
    ("operand", lambda: F + np.ones(3), "add", "float64", "float32"),
    ("dtype=", lambda: wt.zeros(3, dtype="uint64"), "zeros", "uint64", "uint32"),
    ("empty", lambda: wt.empty(3, dtype="int64"), "empty", "int64", "int32"),
    ("arange", lambda: wt.arange(3, dtype="int64"), "arange", "int64", "int32"),
    ("eye", lambda: wt.eye(3, dtype="float64"), "eye", "float64", "float32"),
    ("astype", lambda: F.astype("int64"), "astype", "int64", "int32"),
    ("int32 uint32", lambda: I + U, "add", "int64", "int32"),
    ("where", lambda: wt.where(B, I, U), "where", "int64", "int32"),
    ("concat", lambda: wt.concat([I, U]), "concat", "int64", "int32"),
    ("matmul", lambda: I @ U.T, "matmul", "int64", "int32"),
]


@pytest.mark.skipif(device_has("int64") and device_has("float64"), reason="the device has them")
@pytest.mark.parametrize(
    ("call", "op", "dtype", "instead"), [row[1:] for row in NO_WIDE], ids=[r[0] for r in NO_WIDE]
)
def test_devices_without_64_bits(
    call: Callable[[], Any], op: str, dtype: str, instead: str
) -> None:
    words = (f"[{op}]", f"no {dtype}", f"ask for {instead}", wt.default_device().name)
    Raised(wt.DTypeError, *words).by(call)


SIZES: list[tuple[str, Callable[[], Any], Raised]] = [
    ("zeros", lambda: wt.zeros((-1, 3)), Raised(ValueError, "[zeros]", "(-1, 3)")),
    ("ones", lambda: wt.ones(-1), Raised(ValueError, "[ones]", "-1")),
    ("full", lambda: wt.full((2, -3), 1), Raised(ValueError, "[full]", "-3")),
    ("empty", lambda: wt.empty((-1,)), Raised(ValueError, "[empty]", "-1")),
    ("eye", lambda: wt.eye(-1), Raised(ValueError, "[eye]", "-1")),
    ("broadcast_to", lambda: F.broadcast_to((-1, 3)), Raised(ValueError, "[broadcast_to]", "-1")),
    ("float size", lambda: wt.zeros((2, 1.5)), Raised(TypeError, "[zeros]", "1.5")),
    ("text size", lambda: wt.zeros("ab"), Raised(TypeError, "[zeros]", "'ab'")),
    ("2^70", lambda: wt.zeros(2**70), Raised(OverflowError, "[zeros]", str(2**70))),
    ("2^32", lambda: wt.zeros((2**16, 2**16)), Raised(wt.UnsupportedError, "65536", "2^32")),
    ("2^64", lambda: wt.zeros((2**32, 2**32)), Raised(wt.UnsupportedError, "2^32")),
    ("empty 2^40", lambda: wt.empty((2**20, 2**20)), Raised(wt.UnsupportedError, "2^32")),
    ("broadcast 2^40", lambda: F[0, 0].broadcast_to((2**20, 2**20)), Raised(wt.UnsupportedError)),
    ("outer 2^40", lambda: wt.ones((2**20, 1)) + wt.ones(2**20), Raised(wt.UnsupportedError)),
    (
        "array 2^40",
        lambda: wt.asarray(np.broadcast_to(np.float32(1), (2**20, 2**20))),
        Raised(wt.UnsupportedError, "2^32"),
    ),
    ("arange", lambda: wt.arange(0, 1e300), Raised(wt.UnsupportedError, "[arange]")),
    ("arange nan", lambda: wt.arange(0, float("nan")), Raised(ValueError, "[arange]", "nan")),
    ("arange 0", lambda: wt.arange(0, 9, 0), Raised(ValueError, "[arange]", "step")),
]

NUMBERS: list[tuple[str, Callable[[], Any], Raised]] = [
    ("add", lambda: I + 2**31, Raised(OverflowError, "[add]", str(2**31), "int32")),
    ("left", lambda: -(2**40) * I, Raised(OverflowError, "[multiply]", str(-(2**40)))),
    ("unsigned", lambda: U - (-1), Raised(OverflowError, "[subtract]", "-1", "uint32")),
    ("above 2^63", lambda: I + 2**63, Raised(OverflowError, "[add]", "int32")),
    ("above floats", lambda: F + 2**2000, Raised(OverflowError)),
    ("full", lambda: wt.full(3, 2**40), Raised(OverflowError, "[full]", str(2**40))),
    ("full -1", lambda: wt.full(3, -1, dtype="uint32"), Raised(OverflowError, "[full]", "-1")),
    ("full nan", lambda: wt.full(3, np.nan, dtype="int32"), Raised(ValueError, "[full]", "nan")),
    ("full inf", lambda: wt.full(3, np.inf, dtype="int32"), Raised(OverflowError, "[full]", "inf")),
    ("setitem", lambda: setitem(I, 0, 2**40), Raised(OverflowError, "[setitem]", str(2**40))),
    ("setitem inf", lambda: setitem(I, 0, float("inf")), Raised(OverflowError, "[setitem]", "inf")),
    ("asarray", lambda: wt.asarray([2**40]), Raised(OverflowError, "[asarray]", str(2**40))),
    ("item", lambda: F.item(), Raised(ValueError, "[item]", "(2, 3)")),
    ("bool", lambda: bool(F), Raised(ValueError, "(2, 3)")),
    ("index of a list", lambda: [1, 2][F], Raised(TypeError, "float32")),
    ("len", lambda: len(wt.ones(())), Raised(TypeError, "0-d")),
]


@pytest.mark.short
@pytest.mark.parametrize(
    ("call", "raised"),
    [
        pytest.param(call, raised, id=f"{group}: {name}")
        for group, cases in {
            "shapes": SHAPES,
            "axes": AXES,
            "dtypes": DTYPES,
            "sizes": SIZES,
            "numbers": NUMBERS,
        }.items()
        for name, call, raised in cases
    ],
)
def test_typed_and_told(call: Callable[[], Any], raised: Raised) -> None:
    raised.by(call)


def test_errors_derive_from_what_python_has() -> None:
    for error, base in {
        wt.ShapeError: ValueError,
        wt.DTypeError: TypeError,
        wt.DeviceNotFoundError: RuntimeError,
        wt.DeviceMismatchError: ValueError,
        wt.OutOfMemoryError: MemoryError,
        wt.DeviceLostError: RuntimeError,
        wt.ShaderError: ValueError,
        wt.InvalidWorkgroupSizeError: ValueError,
        wt.UnsupportedError: NotImplementedError,
    }.items():
        assert issubclass(error, wt.WgtensorError)
        assert issubclass(error, base)


# ---- devices -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def other() -> wt.Device:
    return wt.Device(str(wt.default_device()))


@pytest.mark.short
def test_mixed_devices(other: wt.Device) -> None:
    """Two logical devices of one adapter share nothing."""
    f, o = wt.ones((2, 3)), wt.asarray(np.ones((2, 3), np.float32), device=other)
    names = (str(f.device), str(o.device))
    assert len(set(names)) == 2
    for operation, call in {
        "add": lambda: f + o,
        "matmul": lambda: f @ o.T,
        "where": lambda: wt.where(f > 0, f, o),
        "setitem": lambda: setitem(f, 0, o[0]),
        "multiply": lambda: f.copy().__imul__(o),
    }.items():
        Raised(wt.DeviceMismatchError, f"[{operation}]", *names).by(call)
    assert (o + 1).tolist() == [[2.0] * 3] * 2
    assert (f + 1).tolist() == [[2.0] * 3] * 2
    moved = wt.asarray(o, device=f.device)
    assert (f + moved).tolist() == [[2.0] * 3] * 2
    assert (o + np.ones(3, np.float32)).device == other
    assert (o * 2.5).device == other


def test_no_such_device() -> None:
    for call in (
        lambda: wt.Device("no such adapter"),
        lambda: wt.Device(99),
        lambda: wt.zeros(3, device="no such adapter"),
    ):
        Raised(wt.DeviceNotFoundError, "llvmpipe" if "llvm" in _adapter() else "").by(call)
    Raised(TypeError, "3.5").by(lambda: wt.zeros(3, device=3.5))


def _adapter() -> str:
    return str(wt.default_device().name)


@pytest.mark.parametrize("selector", ["no such adapter", "99", "gpu:77"])
def test_bad_environment(selector: str) -> None:
    """The first use raises, naming variable and value; importing does not."""
    script = """
import wgtensor as wt
try:
    wt.zeros(3).numpy()
except wt.DeviceNotFoundError as error:
    print(error)
print(wt.ones(2, device=wt.devices()[0]).tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "WGTENSOR_DEVICE": selector},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert selector in done.stdout
    assert "WGTENSOR_DEVICE" in done.stdout
    assert "[1.0, 1.0]" in done.stdout


# ---- too large for the adapter -------------------------------------------------------------------


def _too_large() -> int:
    """Elements of a float32 tensor just above the largest buffer."""
    return int(wt.default_device().limits["max_buffer"]) // 4 + 4


def test_above_the_largest_buffer() -> None:
    """Refused where the work would start, with both sizes; what is not written may be as large."""
    n = _too_large()
    size = str(n * 4)
    big = wt.zeros((n,)) + 1  # no work yet
    Raised(wt.OutOfMemoryError, size).by(lambda: big.eval())
    for call in (lambda: big.numpy(), lambda: (big * 2).eval()):
        with pytest.raises(wt.OutOfMemoryError, match=size):
            call()
    with pytest.raises(wt.OutOfMemoryError, match=size):
        wt.zeros((n,)).numpy()
    assert wt.max(wt.zeros((n,)) + 1).item() == 1, "nothing of that size is written"


def test_a_failed_node_tells_all_that_read_it() -> None:
    n = _too_large()
    big = wt.zeros((n,)) + 1
    bystander = wt.arange(5) * 2
    with pytest.raises(wt.OutOfMemoryError):
        big.eval()
    with pytest.raises(wt.OutOfMemoryError):
        (big + bystander[0]).eval()
    with pytest.raises(wt.OutOfMemoryError):
        big[:3].tolist()
    assert bystander.tolist() == [0, 2, 4, 6, 8]
    small = wt.arange(4)
    small += 1
    assert small.tolist() == [1, 2, 3, 4]
