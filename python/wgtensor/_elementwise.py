"""Elementwise functions made of several rows of the table; each is one kernel all the same."""

from __future__ import annotations

import builtins
import operator

from wgtensor import _core
from wgtensor import _generated as rows
from wgtensor._arrays import ArrayLike, as_tensor, into
from wgtensor._core import Tensor
from wgtensor._dtypes import (
    DType,
    finfo,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int32,
    result_type,
    uint32,
    uint64,
)
from wgtensor._manipulation import as_tensors
from wgtensor._naming import public
from wgtensor._reductions import all as _all

__all__ = [
    "allclose",
    "array_equal",
    "clip",
    "divmod",
    "fabs",
    "fix",
    "float_power",
    "isclose",
    "modf",
    "nan_to_num",
    "round",
]

# Powers of ten that floats hold, and how many decimals their least denormals have.
_POWERS = {"float32": (38, 45), "float64": (308, 324)}


def _unpacked(dtype: DType) -> DType:
    """The dtype that small floats are computed in."""
    return float32 if dtype.kind == "f" and dtype.itemsize < 4 else dtype


def _cast(t: Tensor, dtype: DType) -> Tensor:
    return t if t.dtype == dtype else t._astype(dtype)


@public
def clip(
    x: ArrayLike,
    /,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`x` with what is below `min` raised to it and what is above `max` lowered to it.

    Bounds are numbers, arrays that broadcast with `x`, or None; `max` wins over `min`. NaN stays
    NaN, and a bound of NaN gives NaN. The slope at a bound is 0 where it is a number, as of relu,
    and half for `x` and half for the bound where that is a tensor.
    """
    r = as_tensor("clip", x)
    if min is not None:
        r = rows.where(r <= min, min, r) if _cuts(r, min) else rows.maximum(r, min)
    if max is not None:
        r = rows.where(r >= max, max, r) if _cuts(r, max) else rows.minimum(r, max)
    return into("clip", out, rows.positive(r) if min is None and max is None else r)


def _cuts(x: Tensor, bound: ArrayLike) -> bool:
    """Whether a bound is a number beyond which a tensor's gradient ends."""
    return x.requires_grad and isinstance(bound, (int, float)) and bound == bound


@public
def round(x: ArrayLike, /, decimals: int = 0, *, out: Tensor | None = None) -> Tensor:
    """`x` rounded to the given number of decimals, halves to the even neighbour.

    Negative `decimals` round to tens, hundreds, ...; integers stay integers. Floats are scaled by
    a power of ten and back, as NumPy's.
    """
    t = as_tensor("round", x)
    try:
        places = operator.index(decimals)
    except TypeError:
        raise TypeError(f"[round] decimals must be an integer, not {decimals!r}") from None
    if places == 0 or (t.dtype.kind in "iu" and places > 0):
        r = rows.rint(t)
    elif t.dtype.kind in "iu":
        r = _round_integers(t, -places)
    else:
        d = t.dtype if t.dtype.kind == "f" else get_default_dtype()
        r = _cast(_round_floats(_cast(t, _unpacked(d)), places), d)
    return into("round", out, r)


def _round_floats(t: Tensor, places: int) -> Tensor:
    largest, most = _POWERS[t.dtype.name]
    if places > most:
        return rows.positive(t)
    if places < -largest:
        return rows.where(rows.isfinite(t), rows.copysign(0.0, t), t)
    power = 10.0 ** builtins.min(abs(places), largest)
    further = 10.0 ** builtins.max(places - largest, 0)
    if places < 0:
        return rows.rint(t / power) * power
    scaled = t * power * further
    # Where scaling overflows there is no fraction to round.
    return rows.where(rows.isfinite(scaled), rows.rint(scaled) / power / further, t)


def _round_integers(t: Tensor, zeros: int) -> Tensor:
    """To multiples of 10^zeros, without a detour over floats; wraps past the dtype's end, and
    gives 0 where 10^zeros itself lies there.
    """
    power = 10**zeros
    if power > iinfo(t.dtype).max:
        return t * 0
    quotient = rows.floor_divide(t, power)
    rest = t - quotient * power
    half = power // 2
    up = (rest > half) | ((rest == half) & ((quotient & 1) == 1))
    r: Tensor = (quotient + _cast(up, t.dtype)) * power
    return r


@public
def isclose(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Tensor:
    """Whether abs(x1 - x2) <= atol + rtol abs(x2), in bool; infinities are close to themselves.

    NaN is close to nothing, but with `equal_nan` to NaN. Integers are compared by their exact
    difference.
    """
    a, b = as_tensors("isclose", (x1, x2))
    if "f" not in (a.dtype.kind, b.dtype.kind):
        return _close_integers(a, b, rtol, atol)
    # In 32 bits or more: `atol` is nothing in float16.
    common = _unpacked(result_type(a, b))
    a, b = _cast(a, common), _cast(b, common)
    near = (abs(a - b) <= atol + rtol * abs(b)) & rows.isfinite(b)
    close = near | (a == b)
    return close | (rows.isnan(a) & rows.isnan(b)) if equal_nan else close


def _close_integers(a: Tensor, b: Tensor, rtol: float, atol: float) -> Tensor:
    d = result_type(a, b)
    d = int32 if d.itemsize < 4 else d
    low, high = rows.minimum(_cast(a, d), _cast(b, d)), rows.maximum(_cast(a, d), _cast(b, d))
    # The difference of two integers may take all bits of an unsigned one.
    unsigned, number = (uint64, float64) if d.itemsize == 8 else (uint32, float32)
    if not _core.has_dtype(number, a.device):
        number = float32
    distance = _cast(_cast(high - low, unsigned), number)
    return distance <= atol + rtol * abs(_cast(b, number))


@public
def allclose(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> bool:
    """Whether all elements are close to each other, as `isclose` says; waits for the work."""
    return bool(_all(isclose(x1, x2, rtol, atol, equal_nan)))


@public
def array_equal(x1: ArrayLike, x2: ArrayLike, /, equal_nan: bool = False) -> bool:
    """Whether shapes are the same and all elements equal; waits for the work.

    NaN equals nothing, but with `equal_nan` NaN.
    """
    a, b = as_tensors("array_equal", (x1, x2))
    if a.shape != b.shape:
        return False
    equal = rows.equal(a, b)
    return bool(_all(equal | (rows.isnan(a) & rows.isnan(b)) if equal_nan else equal))


@public
def nan_to_num(
    x: ArrayLike,
    /,
    *,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """`x` with NaN replaced by `nan`, and infinities by the given numbers or else the largest."""
    t = as_tensor("nan_to_num", x)
    if t.dtype.kind != "f":
        return rows.positive(t) if t.dtype.kind != "b" else t.copy()
    largest = finfo(t.dtype).max
    high = largest if posinf is None else posinf
    low = -largest if neginf is None else neginf
    r = rows.where(rows.isposinf(t), high, rows.where(rows.isneginf(t), low, t))
    return rows.where(rows.isnan(t), nan, r)


@public
def fabs(x: ArrayLike, /, *, out: Tensor | None = None) -> Tensor:
    """`abs` in floats."""
    t = as_tensor("fabs", x)
    t = t if t.dtype.kind == "f" else _cast(t, get_default_dtype())
    return into("fabs", out, abs(t))


@public
def fix(x: ArrayLike, /, *, out: Tensor | None = None) -> Tensor:
    """Another name of `trunc`."""
    return into("fix", out, rows.trunc(x))


@public
def float_power(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """`pow` in floats."""
    a, b = as_tensors("float_power", (x1, x2))
    a, b = (t if t.dtype.kind == "f" else _cast(t, get_default_dtype()) for t in (a, b))
    return rows.pow(a, b)


@public
def modf(x: ArrayLike, /) -> tuple[Tensor, Tensor]:
    """(x - trunc(x), trunc(x)) in floats, both with the sign of `x`; an infinity has the rest 0."""
    t = as_tensor("modf", x)
    t = t if t.dtype.kind == "f" else _cast(t, get_default_dtype())
    whole = rows.trunc(t)
    rest = rows.where(rows.isinf(t), 0.0, t - whole)
    return rows.copysign(rest, t), whole


@public
def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Tensor, Tensor]:
    """(x1 // x2, x1 % x2)."""
    return rows.floor_divide(x1, x2), rows.remainder(x1, x2)
