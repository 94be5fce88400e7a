"""Values of random programs: what a tensor should hold, and how far off it may be.

Floats are kept in float64 together with a bound on the error that float32 makes of them; where such
an error could change a comparison, a cast or a place, the line that asks is `Unsuitable`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

EPS = 2.0e-7
TINY = 1e-37  # devices may flush what is smaller
LARGEST = 1e4  # of floats: nothing overflows, and errors stay small
SHARE = 0.01  # of a result: errors beyond it would hide what they should find


class Unsuitable(Exception):
    """A line whose result float32 cannot be held to; the generator takes another one."""


@dataclass
class Value:
    """What a tensor should hold, and for floats how far off each element may be."""

    data: Array
    error: Any = 0.0

    def __post_init__(self) -> None:
        self.data = np.asarray(self.data)
        if self.data.dtype.kind == "f":
            self.data = np.asarray(self.data, np.float64)
            error = np.asarray(self.error, np.float64)
            self.error = np.broadcast_to(error, self.data.shape)
        else:
            self.error = np.zeros(self.data.shape)

    @property
    def dtype(self) -> str:
        return "float32" if self.data.dtype.kind == "f" else str(self.data.dtype)

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
    """As the program's array()."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype == "float32":
        return np.asarray(rng.standard_normal(shape, dtype=np.float32).astype(np.float64))
    return np.asarray(rng.integers(-9 if dtype == "int32" else 0, 10, shape, dtype=dtype))


def bounded(data: Any, error: Any) -> Value:
    """A float result with its error. Unsuitable where one of them grows too large."""
    data = np.asarray(data, np.float64)
    error = np.broadcast_to(np.asarray(error, np.float64), data.shape)
    if not np.isfinite(data).all() or np.abs(data).max(initial=0) > LARGEST:
        raise Unsuitable
    if not (error <= SHARE * (1 + np.abs(data))).all():
        raise Unsuitable
    return Value(data, error)


def rounded(data: Any, error: Any, ops: float = 1.0) -> Value:
    """A float result after one more rounding (or several)."""
    return bounded(data, np.asarray(error, np.float64) + ops * EPS * np.abs(data) + TINY)


def as_float(v: Value) -> Value:
    if v.dtype == "float32":
        return v
    data = v.data.astype(np.float64)
    return Value(data, np.where(np.abs(data) > 2**24, EPS * np.abs(data), 0.0))


def doubt_at_integers(a: Value) -> None:
    if ((np.abs(a.data - np.rint(a.data)) <= a.error) & (a.error > 0)).any():
        raise Unsuitable


def cast(a: Value, dtype: str) -> Value:
    if a.dtype == dtype:
        return a
    if dtype == "float32":
        return as_float(a)
    if a.dtype == "float32":
        if dtype == "bool":
            if ((np.abs(a.data) <= a.error) & (a.error > 0)).any():
                raise Unsuitable
            return Value(a.data != 0)
        doubt_at_integers(a)
        if dtype == "uint32" and (a.data < 0).any():
            raise Unsuitable
        return Value(np.trunc(a.data).astype(dtype))
    return Value(a.data.astype(dtype))


def promoted(*dtypes: str) -> str:
    """The dtype that these meet in."""
    kinds = set(dtypes) - {"bool"}
    if {"int32", "uint32"} <= kinds:
        raise Unsuitable  # they meet in int64, which not every device has
    if "float32" in kinds:
        return "float32"
    return kinds.pop() if kinds else "bool"


def meet(*values: Value) -> list[Value]:
    """All in the dtype they promote to."""
    dtype = promoted(*(v.dtype for v in values))
    return [cast(v, dtype) for v in values]


def view(a: Value, change: Callable[[Array], Array]) -> Value:
    return Value(np.asarray(change(a.data)), change(a.error))


def paired(values: list[Value], join: Callable[[list[Array]], Array]) -> Value:
    """All in one, in the dtype they promote to."""
    values = meet(*values)
    return Value(join([v.data for v in values]), join([np.asarray(v.error) for v in values]))
