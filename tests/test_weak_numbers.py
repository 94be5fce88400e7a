"""Python numbers, alone and in lists, where a dtype is given: what does not fit is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import tensor


def put_into(key: Any, value: Any) -> Callable[[wt.Tensor], Any]:
    return lambda t: t.__setitem__(key, value)


USES: dict[str, Callable[[Any], Callable[[wt.Tensor], Any]]] = {
    "a place": lambda v: put_into(0, v),
    "all": lambda v: put_into(slice(None), [v]),
    "a tuple": lambda v: put_into(slice(1, 2), (v,)),
    "nested": lambda v: put_into(slice(None, 2), [1, v]),
    "indices": lambda v: put_into([0], [v]),
    "a mask": lambda v: put_into([True, False, False], [v]),
    "full": lambda v: lambda t: wt.full(2, v, dtype=t.dtype),
    "full_like": lambda v: lambda t: wt.full_like(t, v),
    "asarray": lambda v: lambda t: wt.asarray([v], dtype=t.dtype),
    "put": lambda v: lambda t: wt.put(t, [0], [v]),
    "put_along_axis": lambda v: lambda t: wt.put_along_axis(t, [0], [v], 0),
    "scatter": lambda v: lambda t: wt.scatter(t, 0, [0], [v]),
    "scatter a number": lambda v: lambda t: wt.scatter(t, 0, [0], v),
    "index_add": lambda v: lambda t: wt.index_add(t, 0, [0], [v]),
    "place": lambda v: lambda t: wt.place(t, [True, False, False], [v]),
    "pad": lambda v: lambda t: wt.pad(t, 1, constant_values=v),
    "add": lambda v: lambda t: t + v,
    "from the left": lambda v: lambda t: v * t,
    "in place": lambda v: lambda t: t.__iadd__(v),
    "where": lambda v: lambda t: wt.where(t == 0, v, t),
    "maximum": lambda v: lambda t: wt.maximum(t, v),
    "clip": lambda v: lambda t: wt.clip(t, 0, v),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(("dtype", "value"), [("int8", 300), ("int8", -129), ("uint8", -1)])
def test_integers_that_do_not_fit(use: str, dtype: str, value: int) -> None:
    t = wt.zeros(3, dtype=dtype)
    with pytest.raises(OverflowError, match=rf"^\[\w+\] .*{value}.* {dtype}"):
        USES[use](value)(t)
    assert t.tolist() == [0, 0, 0]
    USES[use](100)(t)


@pytest.mark.parametrize("value", [float("nan"), [float("nan")], [[1.0], [float("nan")]]])
def test_nan_is_no_integer(value: Any) -> None:
    t = wt.zeros((2, 1), dtype="int16")
    with pytest.raises(ValueError, match=r"\[setitem\] nan cannot become int16"):
        t[:] = value
    with pytest.raises(ValueError, match="nan cannot become int16"):
        wt.asarray(value, dtype="int16")


def test_arrays_are_cast_as_numpy_does() -> None:
    for value in (np.array([300, -1], "int32"), np.array([1.5, -1.5], "float32")):
        t, e = wt.zeros(2, dtype="int8"), np.zeros(2, "int8")
        t[:] = value
        e[:] = value
        assert t.tolist() == e.tolist()
        wt.put(t, [1, 0], value)
        np.put(e, [1, 0], value)
        assert t.tolist() == e.tolist()
    t = wt.zeros(2, dtype="int8")
    t[:] = [1.5, -2.5]  # lists of floats are cut off, as in NumPy
    assert t.tolist() == [1, -2]
    t[:] = [tensor(np.array(7, "int8")), 2]
    assert t.tolist() == [7, 2]


def test_numpy_takes_a_dtype() -> None:
    for name in ("bool", "int8", "uint32", "float16", "float32"):
        t = wt.zeros(2, dtype=name)
        assert np.dtype(t.dtype) == np.dtype(name)
        assert np.zeros(3, dtype=t.dtype).dtype == np.dtype(name)


def test_round() -> None:
    x = np.array([0.5, 1.5, -2.345, 17.0], "float32")
    for digits in ((), (None,), (1,), (-1,)):
        r = round(tensor(x), *digits)
        assert isinstance(r, wt.Tensor)
        expected = np.round(x, *(0 if d is None else d for d in digits))
        np.testing.assert_array_equal(r.numpy(), expected)


def test_methods_of_ufuncs(rng: np.random.Generator) -> None:
    x, y = rng.random((2, 3)).astype("float32"), rng.random((4,)).astype("float32")
    for name in ("add", "subtract", "multiply", "maximum", "less", "arctan2"):
        f = getattr(np, name)
        for a, b in ((tensor(x), tensor(y)), (x, tensor(y)), (tensor(x), y)):
            r = f.outer(a, b)
            assert isinstance(r, wt.Tensor)
            np.testing.assert_allclose(r.numpy(), f.outer(x, y), rtol=1e-6)
    out = wt.zeros((2, 3, 4))
    assert np.add.outer(tensor(x), y, out=out) is out
    np.testing.assert_array_equal(out.numpy(), np.add.outer(x, y))
    np.testing.assert_allclose(np.add.reduce(tensor(x)).numpy(), np.add.reduce(x), rtol=1e-6)
    np.testing.assert_allclose(
        np.add.accumulate(tensor(x), axis=1).numpy(), np.add.accumulate(x, axis=1), rtol=1e-6
    )
    t, e = tensor(y), y.copy()
    np.add.at(t, [0, 0, 2], 1)
    np.add.at(e, [0, 0, 2], 1)
    np.testing.assert_array_equal(t.numpy(), e)
