"""Reductions and scans that leave NaN out, as NumPy's nan* functions."""

from __future__ import annotations

import builtins
from typing import Any

from wgtensor import _core
from wgtensor import _reductions as r
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import Tensor
from wgtensor._dtypes import to_dtype
from wgtensor._generated import isnan
from wgtensor._generated import where as _select
from wgtensor._naming import public
from wgtensor._reductions import Axis

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]

_ALL_NAN = "there is no number in a row: all are NaN"


def _operand(op: str, x: ArrayLike, dtype: Any = None) -> tuple[Tensor, Tensor | None]:
    """A tensor, and where it is NaN; None for what has none."""
    t = as_tensor(op, x)
    t = t if dtype is None else t._astype(to_dtype(dtype))
    return t, isnan(t) if t.dtype.kind == "f" else None


def _filled(op: str, x: ArrayLike, value: float, dtype: Any = None) -> Tensor:
    t, missing = _operand(op, x, dtype)
    return t if missing is None else _select(missing, value, t)


@public
def nansum(
    x: ArrayLike, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False
) -> Tensor:
    """`sum` of what is not NaN; 0 where nothing is left."""
    return r.sum(_filled("nansum", x, 0), axis=axis, dtype=dtype, keepdims=keepdims)


@public
def nanprod(
    x: ArrayLike, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False
) -> Tensor:
    """`prod` of what is not NaN; 1 where nothing is left."""
    return r.prod(_filled("nanprod", x, 1), axis=axis, dtype=dtype, keepdims=keepdims)


def _extremum(op: str, x: ArrayLike, axis: Axis, keepdims: bool) -> Tensor:
    t, missing = _operand(op, x)
    greatest = op == "nanmax"
    fold = r.max if greatest else r.min
    if missing is None:
        return fold(t, axis=axis, keepdims=keepdims)
    found = fold(
        _select(missing, builtins.float("-inf" if greatest else "inf"), t),
        axis=axis,
        keepdims=keepdims,
    )
    nothing = r.all(missing, axis=axis, keepdims=keepdims)
    return _select(nothing, builtins.float("nan"), found)


@public
def nanmax(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The largest of what is not NaN; NaN where nothing is left. ValueError for no elements."""
    return _extremum("nanmax", x, axis, keepdims)


@public
def nanmin(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The smallest of what is not NaN; NaN where nothing is left. ValueError for no elements."""
    return _extremum("nanmin", x, axis, keepdims)


def _place(op: str, x: ArrayLike, axis: int | None, keepdims: bool) -> Tensor:
    t, missing = _operand(op, x)
    greatest = op == "nanargmax"
    fold = r.argmax if greatest else r.argmin
    if missing is None:
        return fold(t, axis=axis, keepdims=keepdims)
    outer = builtins.float("-inf" if greatest else "inf")
    found = fold(_select(missing, outer, t), axis=axis, keepdims=keepdims)
    # Beside NaN alone an infinity of the far side is the first number there is.
    first = r.argmin(missing, axis=axis, keepdims=keepdims)
    best = (r.max if greatest else r.min)(_select(missing, outer, t), axis=axis, keepdims=keepdims)
    nothing = r.all(missing, axis=axis, keepdims=keepdims)
    right = _select(best == outer, first, found)
    return right + _core.checked(nothing, op, _ALL_NAN)._astype(right.dtype)


@public
def nanargmax(x: ArrayLike, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Place of the first of the largest numbers, NaN aside, in int32.

    Where all are NaN the next read raises ValueError.
    """
    return _place("nanargmax", x, axis, keepdims)


@public
def nanargmin(x: ArrayLike, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Place of the first of the smallest numbers, NaN aside, in int32.

    Where all are NaN the next read raises ValueError.
    """
    return _place("nanargmin", x, axis, keepdims)


def _widened(op: str, x: ArrayLike) -> tuple[Tensor, Any]:
    """A tensor in the dtype that its sums are taken in, and the dtype of the result."""
    t = as_tensor(op, x)
    result = t.dtype if t.dtype.kind == "f" else _core.default_float()
    return t._astype(result)._astype(_core.unpacked(result)), result


def _count(missing: Tensor, dtype: Any, axis: Axis) -> Tensor:
    return r.count_nonzero(~missing, axis=axis, keepdims=True)._astype(dtype)


def _centre(t: Tensor, missing: Tensor, axis: Axis) -> Tensor:
    total = r.sum(_select(missing, 0, t), axis=axis, keepdims=True)
    return total / _count(missing, t.dtype, axis)


def _kept(t: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    """Without the axes of size 1 that a reduction left."""
    if keepdims:
        return t
    return t.reshape(()) if axis is None else t.squeeze(axis)


@public
def nanmean(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Mean of what is not NaN, in floats; NaN where nothing is left."""
    t, dtype = _widened("nanmean", x)
    return _kept(_centre(t, isnan(t), axis)._astype(dtype), axis, keepdims)


def _spread(op: str, x: ArrayLike, axis: Axis, correction: float, keepdims: bool) -> Tensor:
    t, dtype = _widened(op, x)
    missing = isnan(t)
    apart = _select(missing, 0, t - _centre(t, missing, axis))
    left = _count(missing, t.dtype, axis) - correction
    squares = r.sum(apart * apart, axis=axis, keepdims=True)
    v = _select(left > 0, squares / _select(left > 0, left, 1), builtins.float("nan"))
    if op == "nanstd":
        v = v**0.5
    return _kept(v._astype(dtype), axis, keepdims)


@public
def nanvar(
    x: ArrayLike, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """`var` of what is not NaN, in floats; NaN where `correction` numbers or fewer are left."""
    return _spread("nanvar", x, axis, correction, keepdims)


@public
def nanstd(
    x: ArrayLike, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The square root of `nanvar`."""
    return _spread("nanstd", x, axis, correction, keepdims)


def _scan(op: str, x: ArrayLike, axis: int | None, dtype: Any, empty: float) -> Tensor:
    t = _filled(op, x, empty)
    t, axis = (t.reshape(-1), 0) if axis is None else (t, axis)
    scan = r.cumulative_sum if op == "nancumsum" else r.cumulative_prod
    return scan(t, axis=axis, dtype=dtype)


@public
def nancumsum(x: ArrayLike, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """`cumsum` that counts NaN as 0; of all elements in row-major order without an axis."""
    return _scan("nancumsum", x, axis, dtype, 0)


@public
def nancumprod(x: ArrayLike, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """`cumprod` that counts NaN as 1; of all elements in row-major order without an axis."""
    return _scan("nancumprod", x, axis, dtype, 1)
