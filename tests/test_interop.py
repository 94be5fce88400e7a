"""NumPy's manners: its functions and operators on tensors, its scalars beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has, is_tensor

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.short


# ---- ufuncs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["exp", "log", "sqrt", "tanh", "abs", "negative", "square", "sign"]
)
def test_unary_ufuncs_give_tensors(name: str, a: Array, t: wt.Tensor) -> None:
    ufunc = getattr(np, name)
    is_tensor(ufunc(t), ufunc(a))


@pytest.mark.parametrize(
    "operation",
    [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: x // y,
        lambda x, y: x % y,
        lambda x, y: x**y,
        lambda x, y: x @ y.T,
        lambda x, y: x < y,
        lambda x, y: x == y,
        lambda x, y: x != y,
        np.add,
        np.maximum,
        np.less_equal,
        np.logical_and,
        lambda x, y: np.matmul(x, y.T),
    ],
)
def test_arrays_mix_from_both_sides(operation: Any, a: Array, t: wt.Tensor) -> None:
    b = a[::-1].copy()
    is_tensor(operation(t, b), operation(a, b))
    is_tensor(operation(b, t), operation(b, a))


def test_every_ufunc_of_the_table_is_found() -> None:
    from wgtensor._generated import ALIASES, UFUNCS

    t = wt.asarray(np.ones(3, np.int32))
    functions = {"sinc", "isposinf", "isneginf"}  # of several ufuncs; they read tensors
    for name in {*UFUNCS, *ALIASES}:
        function = getattr(np, name, None)
        assert name in functions or function is None or isinstance(function, np.ufunc)
        if isinstance(function, np.ufunc):
            assert isinstance(function(*[t] * function.nin), wt.Tensor)
    assert np.abs.__name__ == "absolute"  # names differ, so the ufunc itself is the key


def test_in_place_from_both_sides(a: Array, t: wt.Tensor) -> None:
    same = t
    t += a
    assert t is same
    is_tensor(t, a + a)
    b = a.copy()
    b -= t
    assert isinstance(b, np.ndarray)
    np.testing.assert_array_equal(b, -a)


def test_out(a: Array, t: wt.Tensor) -> None:
    out = wt.empty((2, 3))
    assert np.add(t, a, out=out) is out
    is_tensor(out, a + a)
    assert np.add(a, a, out=out) is out
    host = np.empty((2, 3))
    assert np.exp(t, out=host) is host
    np.testing.assert_allclose(host, np.exp(a), rtol=1e-6)
    assert wt.multiply(t, 3, out=out) is out
    is_tensor(out, a * 3)
    with pytest.raises(wt.ShapeError, match=r"\[exp\].*\(3,\).*\(2, 3\)"):
        np.exp(t, out=wt.empty(3))
    with pytest.raises(wt.DTypeError, match=r"\[exp\].*int32.*float32"):
        np.exp(t, out=wt.empty((2, 3), dtype="int32"))
    with pytest.raises(TypeError, match="same_kind"):
        np.exp(t, out=np.empty((2, 3), np.int64))


def test_out_may_be_an_operand(a: Array, t: wt.Tensor) -> None:
    view = t[0]
    np.multiply(t, t, out=t)
    is_tensor(t, a * a)
    is_tensor(view, a[0])


def test_reductions_of_numpy(a: Array, t: wt.Tensor) -> None:
    is_tensor(np.sum(t), np.sum(a))
    is_tensor(np.sum(t, axis=1, keepdims=True), np.sum(a, axis=1, keepdims=True))
    is_tensor(np.mean(t, axis=0), np.mean(a, axis=0))
    is_tensor(np.max(t), np.max(a))
    is_tensor(np.min(t, axis=-1), np.min(a, axis=-1))
    is_tensor(np.add.reduce(t), np.add.reduce(a))
    is_tensor(np.maximum.reduce(t, axis=None), np.maximum.reduce(a, axis=None))
    out = wt.empty(3)
    assert np.sum(t, axis=0, out=out) is out
    is_tensor(out, a.sum(axis=0))
    is_tensor(np.transpose(t), a.T)


@pytest.mark.parametrize(
    "call",
    [
        np.spacing,
        np.frexp,
        lambda t: np.subtract.accumulate(t),
        lambda t: np.subtract.reduce(t),
        lambda t: np.add(t, t, where=np.array([True, False, True])),
        lambda t: np.add(t, t, dtype=np.float64),
        lambda t: np.add.reduce(t, initial=3.0),
    ],
)
def test_what_numpy_has_and_we_do_not_is_a_typed_error(call: Any, t: wt.Tensor) -> None:
    with pytest.raises(wt.UnsupportedError, match=r"\[\w+(\.\w+)?\] "):
        call(t)
    is_tensor(t + 1, t.numpy() + 1)


def test_other_types_keep_their_say(t: wt.Tensor) -> None:
    class Other:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> str:
            return f"other {ufunc.__name__}"

        def __radd__(self, other: Any) -> str:
            return "radd"

    class NoUfunc:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "radd"

        def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
            raise AssertionError

    assert np.add(t, Other()) == "other add"
    assert t + Other() == "radd"
    assert t + NoUfunc() == "radd"


# ---- scalars and 0-d arrays --------------------------------------------------------------------


@pytest.mark.parametrize(
    "scalar",
    [2, 2.5, True, np.float64(2.5), np.float32(2.5), np.int64(3), np.uint8(3), np.bool_(1)],
)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32"])
def test_scalars_are_weak(scalar: Any, dtype: str) -> None:
    t = wt.asarray([1, 2, 3], dtype=dtype)
    lifted = "float32" if isinstance(scalar, (float, np.floating)) else dtype
    expected = np.array([1, 2, 3]) * np.asarray(scalar).item()
    for r in (t * scalar, scalar * t, np.multiply(t, scalar), np.multiply(scalar, t)):
        assert r.dtype == lifted
        is_tensor(r, expected)


def test_a_numpy_constant_does_not_widen_a_model() -> None:
    t = wt.ones(3) * np.sqrt(2) / np.log(10)
    assert t.dtype == wt.float32


def test_0d_arrays_are_strong() -> None:
    t = wt.ones(3, dtype=wt.int32)
    assert (t + np.array(1, np.float32)).dtype == wt.float32
    assert (t + wt.asarray(1.0)).dtype == wt.float32
    assert (wt.ones(3, dtype="int8") + np.array(1, np.int16)).dtype == wt.int16
    if device_has("float64"):
        assert (t + np.array(1.0)).dtype == wt.float64
    else:
        with pytest.raises(wt.DTypeError, match=r"\[add\].*float64"):
            t + np.array(1.0)


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**63, 2**70])
def test_integers_that_do_not_fit(number: int) -> None:
    with pytest.raises(OverflowError, match=r"\[add\]"):
        wt.ones(3, dtype=wt.int32) + number
    with pytest.raises(OverflowError, match=r"\[asarray\]"):
        wt.asarray([1, number])
    with pytest.raises(OverflowError, match=r"\[full\]"):
        wt.full(3, number)
