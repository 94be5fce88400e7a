"""Values of random programs: what a tensor should hold, and how far off it may be.

Floats are kept in float64 together with a bound on the error that their dtype makes of them; where
such an error could change a comparison, a cast or a place, the line that asks is `Unsuitable`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import device_has

Array = np.ndarray[Any, Any]

#: Rounding, as a share of the result: 1.7 units in the last place. Of float64 far more, as its
#: references are computed in it too; what was computed in float32 by mistake is still found.
EPS = {"float16": 1.7e-3, "bfloat16": 1.4e-2, "float32": 2.0e-7, "float64": 1e-12}
TINY = {"float16": 6.2e-5, "bfloat16": 1e-37, "float32": 1e-37, "float64": 1e-13}  # may be flushed
LARGEST = 1e4  # of floats: nothing overflows, and errors stay small
#: of a result: errors beyond it would hide what they should find
SHARE = {"float16": 0.03, "bfloat16": 0.1, "float32": 0.01, "float64": 1e-6}
MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


class Unsuitable(Exception):
    """A line whose result its dtype cannot be held to; the generator takes another one."""


def is_float(dtype: str) -> bool:
    return "float" in dtype


def computed_in(dtype: str) -> str:
    """The dtype that its sums are made in."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


@dataclass
class Value:
    """What a tensor should hold, and for floats how far off each element may be.

    Without a dtype floats are float32. A weak value is a number, whose kind alone counts.
    """

    data: Array
    error: Any = 0.0
    dtype: str = ""
    weak: bool = False

    def __post_init__(self) -> None:
        self.data = np.asarray(self.data)
        if self.data.dtype.kind == "f":
            self.dtype = self.dtype or "float32"
            self.data = np.asarray(self.data, np.float64)
            error = np.asarray(self.error, np.float64)
            self.error = np.broadcast_to(error, self.data.shape)
        else:
            self.dtype = str(self.data.dtype)
            self.error = np.zeros(self.data.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def exact(self) -> bool:
        return not self.error.any()


@dataclass
class Handle:
    """A tensor of the program: a value that assignment replaces, seen by each of its names."""

    value: Value


Env = dict[str, Handle]


def host_array(seed: int, shape: tuple[int, ...], dtype: str) -> Array:
    """As the program's array(), of which 16-bit floats are rounded later."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if is_float(dtype):
        drawn = np.float64 if dtype == "float64" else np.float32
        return np.asarray(rng.standard_normal(shape, dtype=drawn))
    low = 0 if dtype[0] == "u" else -9
    return np.asarray(
        rng.integers(low, 10, shape, dtype=dtype) * np.dtype(dtype).type(scale(seed, dtype))
    )


def scale(seed: int, dtype: str) -> int:
    """Some of the 64-bit integers need all of their bits."""
    return 1 << 37 if seed % 3 == 0 and "64" in dtype else 1


def host_value(seed: int, shape: tuple[int, ...], dtype: str) -> Value:
    data = host_array(seed, shape, dtype)
    return cast(Value(data, 0.0, "float64"), dtype) if is_float(dtype) else Value(data)


def filled(shape: tuple[int, ...], number: int, dtype: str) -> Value:
    host = np.float64 if is_float(dtype) else np.dtype(dtype)
    return Value(np.full(shape, number, host), 0.0, dtype)


def bounded(data: Any, error: Any, dtype: str) -> Value:
    """A float result with its error. Unsuitable where one of them grows too large."""
    data = np.asarray(data, np.float64)
    error = np.broadcast_to(np.asarray(error, np.float64), data.shape)
    if not np.isfinite(data).all() or np.abs(data).max(initial=0) > LARGEST:
        raise Unsuitable
    if not (error <= SHARE[dtype] * (1 + np.abs(data))).all():
        raise Unsuitable
    return Value(data, error, dtype)


def rounded(data: Any, error: Any, dtype: str, ops: float = 1.0) -> Value:
    """A float result after roundings in the dtype that it is computed in, and one in its own."""
    data = np.asarray(data, np.float64)
    off = (ops * EPS[computed_in(dtype)] + EPS[dtype] * (dtype != computed_in(dtype))) * np.abs(
        data
    )
    return bounded(data, np.asarray(error, np.float64) + off + TINY[dtype], dtype)


def as_float(v: Value) -> Value:
    return v if is_float(v.dtype) else cast(v, "float32")


def _to_float(a: Value, dtype: str) -> Value:
    """To another float dtype, or of integers and bools."""
    data = a.data.astype(np.float64)
    if np.abs(data).max(initial=0) > (6e4 if dtype == "float16" else 1e37):
        raise Unsuitable
    known = np.rint(data) == data
    exact = (known & (np.abs(data) <= 2.0 ** MANTISSA[dtype])) if a.exact else np.False_
    if is_float(a.dtype) and MANTISSA[dtype] >= MANTISSA[a.dtype] and dtype != "float16":
        return Value(data, a.error, dtype)
    normal = (data == 0) | (np.abs(data) > TINY[dtype])
    if a.exact and not exact.all() and dtype != "float64" and normal.all():
        # The nearest number with so many bits.
        size = np.where(data == 0, 1, np.abs(data))
        unit = 2.0 ** (np.floor(np.log2(size)) + 1 - MANTISSA[dtype])
        return Value(np.rint(data / unit) * unit, 0.0, dtype)
    off = np.where(exact, 0.0, EPS[dtype] * np.abs(data) + TINY[dtype])
    return Value(data, np.asarray(a.error) + off, dtype)


def cast(a: Value, dtype: str) -> Value:
    if a.dtype == dtype:
        return a
    if is_float(dtype):
        return _to_float(a, dtype)
    if is_float(a.dtype):
        if dtype == "bool":
            if ((np.abs(a.data) <= a.error) & (a.error > 0)).any():
                raise Unsuitable
            return Value(a.data != 0)
        if ((np.abs(a.data - np.rint(a.data)) <= a.error) & (a.error > 0)).any():
            raise Unsuitable
        limits = np.iinfo(dtype)
        low, high = float(limits.min), float(limits.max)
        if (np.abs(a.data) > 2.0**62).any():
            raise Unsuitable
        return Value(
            np.clip(np.trunc(a.data), low, high if high < 2.0**53 else 2.0**62).astype(dtype)
        )
    return Value(a.data.astype(dtype))


def _both(a: str, b: str) -> str:
    """The array API's promotion of two dtypes, and floats before integers."""
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    if is_float(a) or is_float(b):
        if not (is_float(a) and is_float(b)):
            return a if is_float(a) else b
        return (
            "float32" if {a, b} == {"float16", "bfloat16"} else max(a, b, key=MANTISSA.__getitem__)
        )
    if {a[0], b[0]} == {"i", "u"} and "uint64" in (a, b):
        raise Unsuitable  # no integer holds both
    return str(np.promote_types(a, b))


def promoted(*dtypes: str) -> str:
    """The dtype that these meet in."""
    dtype = dtypes[0]
    for d in dtypes[1:]:
        dtype = _both(dtype, d)
    if not device_has(dtype):
        raise Unsuitable
    return dtype


def meeting(values: list[Value]) -> str:
    """The dtype that values meet in; of numbers only the kind counts."""
    dtype = promoted(*([v.dtype for v in values if not v.weak] or ["bool"]))
    kinds = {v.data.dtype.kind for v in values if v.weak}
    if "f" in kinds and not is_float(dtype):
        return "float32"
    return "int32" if dtype == "bool" and kinds & {"i", "u"} else dtype


def meet(*values: Value) -> list[Value]:
    """All in the dtype they promote to."""
    dtype = meeting(list(values))
    return [cast(v, dtype) for v in values]


def view(a: Value, change: Callable[[Array], Array]) -> Value:
    return Value(np.asarray(change(a.data)), change(a.error), a.dtype)


def paired(values: list[Value], join: Callable[[list[Array]], Array]) -> Value:
    """All in one, in the dtype they promote to."""
    values = meet(*values)
    data, errors = [v.data for v in values], [np.asarray(v.error) for v in values]
    return Value(join(data), join(errors), values[0].dtype)
