"""Creation, shape and linear algebra functions of the array API."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor, leaf
from wgtensor._core import Tensor
from wgtensor._dtypes import DType, get_default_dtype, int32, scalar_dtype, to_dtype
from wgtensor._naming import public
from wgtensor._reductions import Axis

__all__ = [
    "arange",
    "astype",
    "bitcast",
    "broadcast_shapes",
    "broadcast_to",
    "empty",
    "empty_like",
    "eval",
    "expand_dims",
    "explain",
    "eye",
    "full",
    "full_like",
    "log_softmax",
    "matmul",
    "matrix_transpose",
    "ones",
    "ones_like",
    "permute_dims",
    "reshape",
    "softmax",
    "squeeze",
    "stats",
    "synchronize",
    "zeros",
    "zeros_like",
]

Shape = int | Sequence[int]


def _dtype(op: str, dtype: Any, default: DType | None = None) -> DType:
    if dtype is not None:
        return to_dtype(dtype, op)
    return get_default_dtype() if default is None else default


def zeros(
    shape: Shape, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of zeros; the default float unless `dtype` says otherwise."""
    return leaf(_core.full(shape, 0, _dtype("zeros", dtype), device, "zeros"), requires_grad)


def ones(
    shape: Shape, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of ones; the default float unless `dtype` says otherwise."""
    return leaf(_core.full(shape, 1, _dtype("ones", dtype), device, "ones"), requires_grad)


def full(
    shape: Shape,
    fill_value: float,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor whose elements are all `fill_value`; the dtype follows the value's Python type."""
    d = scalar_dtype("full", fill_value) if dtype is None else to_dtype(dtype, "full")
    return leaf(_core.full(shape, fill_value, d, device, "full"), requires_grad)


def empty(
    shape: Shape, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with unspecified elements; the default float unless `dtype` says otherwise."""
    return leaf(_core.empty(shape, _dtype("empty", dtype), device), requires_grad)


def _like(op: str, x: ArrayLike, value: Any, dtype: Any, device: DeviceLike) -> Tensor:
    t = as_tensor(op, x)
    return _core.full(
        t.shape, value, _dtype(op, dtype, t.dtype), t.device if device is None else device, op
    )


def zeros_like(
    x: ArrayLike, /, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Zeros of the shape, dtype and device of `x`."""
    return leaf(_like("zeros_like", x, 0, dtype, device), requires_grad)


def ones_like(
    x: ArrayLike, /, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Ones of the shape, dtype and device of `x`."""
    return leaf(_like("ones_like", x, 1, dtype, device), requires_grad)


def full_like(
    x: ArrayLike,
    /,
    fill_value: float,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """`fill_value` everywhere, with the shape, dtype and device of `x`."""
    return leaf(_like("full_like", x, fill_value, dtype, device), requires_grad)


def empty_like(
    x: ArrayLike, /, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Unspecified elements, with the shape, dtype and device of `x`."""
    t = as_tensor("empty_like", x)
    d = _dtype("empty_like", dtype, t.dtype)
    made = _core.empty(t.shape, d, t.device if device is None else device)
    return leaf(made, requires_grad)


def _number(op: str, name: str, value: Any) -> int | float:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)):
        return value
    raise TypeError(f"[{op}] {name} must be a number, not {value!r}")


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ... up to but without stop; from 0 with one argument.

    int32 where all arguments are integers, else the default float. Raises ValueError for a step
    of 0, and OverflowError where the dtype does not hold the values.
    """
    if stop is None:
        start, stop = 0, start
    first, end, by = (
        _number("arange", *x) for x in (("start", start), ("stop", stop), ("step", step))
    )
    whole = all(isinstance(v, int) for v in (first, end, by))
    d = _dtype("arange", dtype, int32 if whole else None)
    if whole and by and d.kind in "iu":
        made = _arange_of_integers(int(first), int(end), int(by), d, device)
    else:
        count = (end - first) / by if by else 0
        if d.kind in "iu" and 0 < count < math.inf:
            _check_bounds(first, first + (math.ceil(count) - 1) * by, d)
        made = _core.arange(first, end, by, d, device)
    return leaf(made, requires_grad)


def _check_bounds(first: float, last: float, d: Any) -> None:
    bounds = np.iinfo(d.numpy)
    if not all(bounds.min <= v <= bounds.max for v in (first, last)):
        raise OverflowError(f"[arange] values from {first} to {last} do not fit {d}")


def _arange_of_integers(first: int, end: int, by: int, d: Any, device: DeviceLike) -> Tensor:
    """Exact beyond 2^53 too, where the core's doubles are not: by wrapping products and sums."""
    values = range(first, end, by)
    if not values:
        return _core.arange(0, 0, 1, d, device)
    _check_bounds(first, values[-1], d)
    if max(abs(first), abs(values[-1]), abs(by)) <= 1 << 53:
        return _core.arange(first, end, by, d, device)
    step = (by + (1 << 63)) % (1 << 64) - (1 << 63) if d.kind == "i" else by % (1 << 64)
    whole: Tensor = _core.arange(0, len(values), 1, d, device) * step + first
    return whole


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on the k-th diagonal of an n_rows x n_cols matrix, zeros elsewhere."""
    try:
        rows = operator.index(n_rows)
        columns = rows if n_cols is None else operator.index(n_cols)
        diagonal = operator.index(k)
    except TypeError:
        raise TypeError(
            f"[eye] sizes and k must be integers, not {n_rows!r}, {n_cols!r}, {k!r}"
        ) from None
    return leaf(_core.eye(rows, columns, diagonal, _dtype("eye", dtype), device), requires_grad)


def astype(x: ArrayLike, dtype: Any, /, *, copy: bool = True) -> Tensor:
    """`x` in another dtype. Floats become integers by truncation; anything but 0 is True."""
    d = to_dtype(dtype, "astype")
    t = as_tensor("astype", x)
    if t.dtype == d:
        return t.copy() if copy else t
    return t._astype(d)


def bitcast(x: ArrayLike, dtype: Any, /) -> Tensor:
    """The bytes of `x` as elements of another dtype; the last axis scales where itemsizes differ.

    NumPy's ``x.view(dtype)``. Shares memory where strides allow; as `bool`, any byte but 0 is True.
    Computes `x` if that is pending. Raises ValueError where the last axis holds no whole elements.
    """
    return _core.bitcast(as_tensor("bitcast", x), to_dtype(dtype, "bitcast"))


def reshape(x: ArrayLike, /, shape: Shape, *, copy: bool | None = None) -> Tensor:
    """The same elements in another shape; one size may be -1. A view where strides allow.

    ``copy=False`` raises ValueError where they do not.
    """
    t = as_tensor("reshape", x)
    if copy is False and t._reshape_copies(shape):
        raise ValueError(f"[reshape] {t.shape} to {shape} takes a copy, against copy=False")
    r = t.reshape(shape)
    return r.copy() if copy else r


@public
def permute_dims(x: ArrayLike, /, axes: Sequence[int]) -> Tensor:
    """The axes in the given order; a view."""
    return as_tensor("permute_dims", x).permute(axes)


@public
def matrix_transpose(x: ArrayLike, /) -> Tensor:
    """The last two axes swapped; a view."""
    return as_tensor("matrix_transpose", x).mT


def broadcast_to(x: ArrayLike, /, shape: Shape) -> Tensor:
    """A view of `x` with axes of size 1 repeated to `shape`. Raises ShapeError."""
    return as_tensor("broadcast_to", x).broadcast_to(shape)


def broadcast_shapes(*shapes: Shape) -> tuple[int, ...]:
    """The shape that the given shapes broadcast to. Raises ShapeError."""
    result: tuple[int, ...] = ()
    for s in shapes:
        result = _core.broadcast_shapes(result, s)
    return result


def expand_dims(x: ArrayLike, /, axis: int | Sequence[int] = 0) -> Tensor:
    """A view with new axes of size 1 at the given positions of the result."""
    return as_tensor("expand_dims", x).expand_dims(axis)


def squeeze(x: ArrayLike, /, axis: Axis = None) -> Tensor:
    """A view without the given axes, which must be of size 1; without all such axes by default."""
    return as_tensor("squeeze", x).squeeze(axis)


def softmax(x: ArrayLike, /, *, axis: int = -1) -> Tensor:
    """exp(x - max(x)) over its sum along an axis. A row of nothing but -inf gives zeros."""
    return as_tensor("softmax", x)._softmax(axis)


def log_softmax(x: ArrayLike, /, *, axis: int = -1) -> Tensor:
    """x - logsumexp(x) along an axis: the logarithm of softmax without its underflow.

    Elements of -inf give -inf, also in a row of nothing else.
    """
    return as_tensor("log_softmax", x)._softmax(axis, True)


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """Matrix product as NumPy's: vectors, matrices, stacks of matrices whose batch axes broadcast.

    Integers wrap; 16-bit floats are summed in float32. Raises ShapeError naming both
    shapes, DTypeError for bool.
    """
    first = next((x for x in (x1, x2) if isinstance(x, Tensor)), None)
    device = None if first is None else first.device
    return _core.matmul(as_tensor("matmul", x1, device), as_tensor("matmul", x2, device))


def eval(*tensors: Tensor) -> None:
    """Starts the work of these tensors and does not wait."""
    for t in tensors:
        if not isinstance(t, Tensor):
            raise TypeError(f"[eval] takes tensors, not {type(t).__name__}")
    _core.eval(list(tensors))


def synchronize(device: DeviceLike = None) -> None:
    """Waits until all work of a device is done."""
    _core.get_device(device).synchronize()


def explain(x: Tensor, /) -> str:
    """Which kernels computing `x` takes now, and what does not fuse and why."""
    if not isinstance(x, Tensor):
        raise TypeError(f"[explain] takes a tensor, not {type(x).__name__}")
    return _core.explain(x)


def stats(device: DeviceLike = None) -> dict[str, int]:
    """Counters of a device: dispatches, submits, pipelines, plans, bytes moved and in use."""
    return _core.get_device(device).stats()
