"""Evenly spaced numbers, grids, diagonals and triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor, leaf
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._dtypes import DType, get_default_dtype, to_dtype
from wgtensor._functions import arange, astype, eye
from wgtensor._generated import greater_equal
from wgtensor._generated import where as _select
from wgtensor._manipulation import as_int, as_tensors, strides_of
from wgtensor._naming import public

__all__ = [
    "diag",
    "diagonal",
    "geomspace",
    "identity",
    "linspace",
    "logspace",
    "meshgrid",
    "trace",
    "tri",
    "tril",
    "triu",
]

# ---- spaced numbers -----------------------------------------------------------------------------


def _spaced(
    op: str,
    make: Callable[..., Any],
    start: float,
    stop: float,
    num: int,
    dtype: Any,
    device: DeviceLike,
    **options: Any,
) -> Tensor:
    """NumPy's numbers, made in float64 and rounded once."""
    for name, value in (("start", start), ("stop", stop)):
        if not isinstance(value, (int, float, np.integer, np.floating)):
            raise TypeError(f"[{op}] {name} must be a real number, not {value!r}")
    count = as_int(op, "num", num)
    if count < 0:
        raise ValueError(f"[{op}] {count} numbers: none or more are needed")
    d = get_default_dtype() if dtype is None else to_dtype(dtype)
    if d.kind == "b":
        raise DTypeError(f"[{op}] is not defined for bool")
    try:
        values = make(start, stop, count, **options)
    except ValueError as error:
        raise ValueError(f"[{op}] {error}") from None
    if d.kind in "iu":
        values = np.floor(values)
        bounds = np.iinfo(d.numpy)
        if count and not (values.min() >= bounds.min and values.max() <= bounds.max):
            raise OverflowError(f"[{op}] values from {start} to {stop} do not fit {d}")
    return _core.from_array(values.astype(d.numpy), d, device, op)


@public
def linspace(
    start: float,
    stop: float,
    /,
    num: int = 50,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    endpoint: bool = True,
    requires_grad: bool = False,
) -> Tensor:
    """`num` evenly spaced numbers from start to stop, or to one step before it without endpoint.

    start + i * step, in float64 and rounded once; the ends are exact. Integer dtypes round down.
    Raises ValueError for negative `num`, OverflowError where the dtype does not hold the values.
    """
    made = _spaced("linspace", np.linspace, start, stop, num, dtype, device, endpoint=endpoint)
    return leaf(made, requires_grad)


@public
def logspace(
    start: float,
    stop: float,
    /,
    num: int = 50,
    *,
    base: float = 10.0,
    dtype: Any = None,
    device: DeviceLike = None,
    endpoint: bool = True,
) -> Tensor:
    """base ** linspace(start, stop, num), in float64 and rounded once."""
    return _spaced(
        "logspace", np.logspace, start, stop, num, dtype, device, endpoint=endpoint, base=base
    )


@public
def geomspace(
    start: float,
    stop: float,
    /,
    num: int = 50,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` numbers from start to stop, each a constant multiple of the one before; ends exact.

    Raises ValueError where an end is 0 or the signs differ.
    """
    if not start or not stop or (start < 0) != (stop < 0):
        raise ValueError(f"[geomspace] ends of one sign are needed, not {start!r} and {stop!r}")
    return _spaced("geomspace", np.geomspace, start, stop, num, dtype, device, endpoint=endpoint)


# ---- grids --------------------------------------------------------------------------------------


@public
def meshgrid(*arrays: ArrayLike, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinate grids of 1-D arrays, as views: 'xy' has the second array along axis 0, 'ij' the
    first.

    Raises ShapeError for arrays of 2 dimensions or more.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"[meshgrid] indexing must be 'xy' or 'ij', not {indexing!r}")
    tensors = as_tensors("meshgrid", arrays)
    n = len(tensors)
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[:2] = [1, 0]
    for t in tensors:
        if t.ndim > 1:
            raise ShapeError(f"[meshgrid] takes 1-D arrays, not one of shape {t.shape}")
    shape = [0] * n
    for axis, t in zip(order, tensors, strict=True):
        shape[axis] = t.size
    return tuple(
        t.reshape((*(1,) * axis, t.size, *(1,) * (n - 1 - axis))).broadcast_to(shape)
        for axis, t in zip(order, tensors, strict=True)
    )


@public
def identity(n: int, /, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """The n x n identity matrix; the default float unless `dtype` says otherwise."""
    return eye(n, dtype=dtype, device=device)


# ---- triangles ----------------------------------------------------------------------------------


def _below(rows: int, columns: int, k: int, device: DeviceLike) -> Tensor:
    """True on and below the k-th diagonal."""
    k = min(max(k, -rows), columns)  # beyond the matrix all are alike
    down = arange(k, rows + k, device=device).reshape(rows, 1)
    return greater_equal(down, arange(columns, device=device))


@public
def tri(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: DeviceLike = None,
) -> Tensor:
    """Ones on and below the k-th diagonal of an n_rows x n_cols matrix, zeros above."""
    rows = as_int("tri", "n_rows", n_rows)
    columns = rows if n_cols is None else as_int("tri", "n_cols", n_cols)
    if rows < 0 or columns < 0:
        raise ValueError(f"[tri] negative size in shape {(rows, columns)}")
    d: DType = get_default_dtype() if dtype is None else to_dtype(dtype)
    return astype(_below(rows, columns, as_int("tri", "k", k), device), d, copy=False)


def _triangle(op: str, x: ArrayLike, k: int, lower: bool) -> Tensor:
    t = as_tensor(op, x)
    if t.ndim < 2:
        raise ShapeError(f"[{op}] takes matrices, not a tensor of shape {t.shape}")
    rows, columns = t.shape[-2:]
    below = _below(rows, columns, as_int(op, "k", k) - (not lower), t.device)
    # False is a zero of every dtype.
    return _select(below, t, False) if lower else _select(below, False, t)


@public
def tril(x: ArrayLike, /, *, k: int = 0) -> Tensor:
    """The matrices in the last two axes, zero above the k-th diagonal."""
    return _triangle("tril", x, k, True)


@public
def triu(x: ArrayLike, /, *, k: int = 0) -> Tensor:
    """The matrices in the last two axes, zero below the k-th diagonal."""
    return _triangle("triu", x, k, False)


# ---- diagonals ----------------------------------------------------------------------------------


@public
def diagonal(x: ArrayLike, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonals of the planes of two axes, as a last axis; a view.

    `offset` counts to the right, negative ones down. wt.linalg.diagonal takes the last two axes.
    """
    axes = (as_int("diagonal", name, a) for name, a in (("axis1", axis1), ("axis2", axis2)))
    return as_tensor("diagonal", x).diagonal(as_int("diagonal", "offset", offset), *axes)


@public
def diag(x: ArrayLike, /, *, k: int = 0) -> Tensor:
    """The k-th diagonal of a matrix, a view; or the matrix with a 1-D `x` on its k-th diagonal."""
    t = as_tensor("diag", x)
    k = as_int("diag", "k", k)
    if t.ndim == 2:
        return t.diagonal(k)
    if t.ndim != 1:
        raise ShapeError(f"[diag] takes 1 or 2 dimensions, not a tensor of shape {t.shape}")
    n = t.size + abs(k)
    down, _ = strides_of((n, n))
    piece = (t, k if k > 0 else -k * down, (down + 1,))
    return _core.place((n, n), t.dtype, t.device, [piece], False, "diag")


@public
def trace(
    x: ArrayLike, /, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dtype: Any = None
) -> Tensor:
    """Sums of the diagonals of the planes of two axes. wt.linalg.trace takes the last two axes."""
    t = diagonal(x, offset, axis1, axis2)
    return (t if dtype is None else astype(t, dtype, copy=False)).sum(axis=-1)
