"""Reductions and scans that leave NaN out, as NumPy's nan* functions."""

from __future__ import annotations

import builtins
from typing import Any

from wgtensor import _core
from wgtensor import _reductions as r
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import DTypeError, Tensor
from wgtensor._generated import isnan
from wgtensor._generated import where as _select
from wgtensor._naming import public
from wgtensor._reductions import Axis
from wgtensor._statistics import as_floats

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


def _operand(op: str, x: ArrayLike, where: ArrayLike = True) -> tuple[Tensor, Tensor | None]:
    """A tensor, and what is left out of it: NaN, and where `where` is not; None for nothing."""
    t = as_tensor(op, x)
    missing = isnan(t) if t.dtype.kind == "f" else None
    if where is True:
        return t, missing
    kept = as_tensor(op, where, t.device)
    if kept.dtype.kind != "b":
        raise DTypeError(f"[{op}] where is of bools, not {kept.dtype}")
    out = ~kept.broadcast_to(t.shape)
    return t, out if missing is None else missing | out


def _filled(op: str, x: ArrayLike, value: float, where: ArrayLike = True) -> Tensor:
    t, missing = _operand(op, x, where)
    return t if missing is None else _select(missing, value, t)


@public
def nansum(
    x: ArrayLike,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    where: ArrayLike = True,
) -> Tensor:
    """`sum` of what is not NaN, and where `where`, which broadcasts, holds; 0 where nothing is
    left."""
    return r.sum(_filled("nansum", x, 0, where), axis=axis, dtype=dtype, keepdims=keepdims)


@public
def nanprod(
    x: ArrayLike,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    where: ArrayLike = True,
) -> Tensor:
    """`prod` of what is not NaN, and where `where`, which broadcasts, holds; 1 where nothing is
    left."""
    return r.prod(_filled("nanprod", x, 1, where), axis=axis, dtype=dtype, keepdims=keepdims)


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


def _widened(op: str, x: ArrayLike, where: ArrayLike) -> tuple[Tensor, Tensor, Any]:
    """A tensor in the dtype that its sums are taken in, what is left out of it, and the dtype of
    the result."""
    given = as_floats(op, x)
    t, missing = _operand(op, given._astype(_core.unpacked(given.dtype)), where)
    assert missing is not None
    return t, missing, given.dtype


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
def nanmean(
    x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False, where: ArrayLike = True
) -> Tensor:
    """Mean of what is not NaN, and where `where` holds, in floats; NaN where nothing is left."""
    t, missing, dtype = _widened("nanmean", x, where)
    return _kept(_centre(t, missing, axis)._astype(dtype), axis, keepdims)


def _spread(
    op: str,
    x: ArrayLike,
    axis: Axis,
    correction: float | None,
    ddof: float | None,
    keepdims: bool,
    where: ArrayLike,
) -> Tensor:
    less = r.correction_of(op, correction, ddof)
    t, missing, dtype = _widened(op, x, where)
    apart = _select(missing, 0, t - _centre(t, missing, axis))
    left = _count(missing, t.dtype, axis) - less
    squares = r.sum(apart * apart, axis=axis, keepdims=True)
    v = _select(left > 0, squares / _select(left > 0, left, 1), builtins.float("nan"))
    if op == "nanstd":
        v = v**0.5
    return _kept(v._astype(dtype), axis, keepdims)


@public
def nanvar(
    x: ArrayLike,
    /,
    axis: Axis = None,
    *,
    correction: float | None = None,
    keepdims: bool = False,
    ddof: float | None = None,
    where: ArrayLike = True,
) -> Tensor:
    """`var` of what is not NaN, and where `where` holds, in floats; NaN where `correction` (or
    `ddof`) numbers or fewer are left."""
    return _spread("nanvar", x, axis, correction, ddof, keepdims, where)


@public
def nanstd(
    x: ArrayLike,
    /,
    axis: Axis = None,
    *,
    correction: float | None = None,
    keepdims: bool = False,
    ddof: float | None = None,
    where: ArrayLike = True,
) -> Tensor:
    """The square root of `nanvar`."""
    return _spread("nanstd", x, axis, correction, ddof, keepdims, where)


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
