"""Creation, shape, reduction and linear algebra functions of the array API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wgtensor import _core
from wgtensor._arrays import ArrayLike, DeviceLike, asarray
from wgtensor._core import Tensor
from wgtensor._dtypes import DType, float32, int32, to_dtype

Shape = int | Sequence[int]
Axis = int | Sequence[int] | None


def _dtype(dtype: Any, default: DType = float32) -> DType:
    return default if dtype is None else to_dtype(dtype)


def _scalar_dtype(value: Any) -> DType:
    from wgtensor._dtypes import bool_

    if isinstance(value, bool):
        return bool_
    return int32 if isinstance(value, int) else float32


def zeros(shape: Shape, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """A tensor of zeros; float32 unless `dtype` says otherwise."""
    return _core.full(shape, 0, _dtype(dtype), device)


def ones(shape: Shape, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """A tensor of ones; float32 unless `dtype` says otherwise."""
    return _core.full(shape, 1, _dtype(dtype), device)


def full(shape: Shape, fill_value: Any, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """A tensor whose elements are all `fill_value`; the dtype follows the value's Python type."""
    return _core.full(shape, fill_value, _dtype(dtype, _scalar_dtype(fill_value)), device)


def empty(shape: Shape, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """A tensor with unspecified elements; float32 unless `dtype` says otherwise."""
    return _core.empty(shape, _dtype(dtype), device)


def zeros_like(x: Tensor, /, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """Zeros of the shape, dtype and device of `x`."""
    return _core.full(x.shape, 0, _dtype(dtype, x.dtype), device or x.device)


def ones_like(x: Tensor, /, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """Ones of the shape, dtype and device of `x`."""
    return _core.full(x.shape, 1, _dtype(dtype, x.dtype), device or x.device)


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """`fill_value` everywhere, with the shape, dtype and device of `x`."""
    return _core.full(x.shape, fill_value, _dtype(dtype, x.dtype), device or x.device)


def empty_like(x: Tensor, /, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """Unspecified elements, with the shape, dtype and device of `x`."""
    return _core.empty(x.shape, _dtype(dtype, x.dtype), device or x.device)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
) -> Tensor:
    """start, start + step, ... up to but without stop; from 0 with one argument.

    int32 where all arguments are integers, else float32. Raises ValueError for a step of 0.
    """
    if stop is None:
        start, stop = 0, start
    whole = all(isinstance(v, int) for v in (start, stop, step))
    return _core.arange(start, stop, step, _dtype(dtype, int32 if whole else float32), device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: DeviceLike = None,
) -> Tensor:
    """Ones on the k-th diagonal of an n_rows x n_cols matrix, zeros elsewhere."""
    return _core.eye(n_rows, n_rows if n_cols is None else n_cols, k, _dtype(dtype), device)


def astype(x: Tensor, dtype: Any, /, *, copy: bool = True) -> Tensor:
    """`x` in another dtype. Floats become integers by truncation; anything but 0 is True."""
    d = to_dtype(dtype)
    if x.dtype == d:
        return x.copy() if copy else x
    return x._astype(d)


def reshape(x: Tensor, /, shape: Shape, *, copy: bool | None = None) -> Tensor:
    """The same elements in another shape; one size may be -1. A view where strides allow."""
    r = x.reshape(shape)
    return r.copy() if copy else r


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """The axes in the given order; a view."""
    return x.permute(tuple(axes))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes swapped; a view."""
    return x.mT


def broadcast_to(x: Tensor, /, shape: Shape) -> Tensor:
    """A view of `x` with axes of size 1 repeated to `shape`. Raises ShapeError."""
    return x.broadcast_to(shape)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that the given shapes broadcast to. Raises ShapeError."""
    result: tuple[int, ...] = ()
    for s in shapes:
        result = _core.broadcast_shapes(result, tuple(s))
    return result


def expand_dims(x: Tensor, /, axis: int | Sequence[int] = 0) -> Tensor:
    """A view with new axes of size 1 at the given positions of the result."""
    return x.expand_dims(axis)


def squeeze(x: Tensor, /, axis: Axis = None) -> Tensor:
    """A view without the given axes, which must be of size 1; without all such axes by default."""
    return x.squeeze(axis)


def sum(x: Tensor, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Sum over axes, all by default. Integers wrap around in their dtype, bools are counted in int32."""
    return (x if dtype is None else astype(x, dtype, copy=False))._sum(axis, keepdims)


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Arithmetic mean over axes, all by default; integers and bools as float32. NaN for no elements."""
    return x._mean(axis, keepdims)


def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Largest element over axes; NaN wins. Raises ValueError for no elements."""
    return x._max(axis, keepdims)


def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Smallest element over axes; NaN wins. Raises ValueError for no elements."""
    return x._min(axis, keepdims)


def softmax(x: Tensor, /, *, axis: int = -1) -> Tensor:
    """exp(x - max(x)) / sum(exp(x - max(x))) along an axis. A row of nothing but -inf gives zeros."""
    return x._softmax(axis)


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """Matrix product as NumPy's: vectors, matrices, and stacks of matrices whose batch axes broadcast.

    float32, int32 (wraps) and uint32. Raises ShapeError naming both shapes, DTypeError for bool.
    """
    first = next((x for x in (x1, x2) if isinstance(x, Tensor)), None)
    device = None if first is None else first.device
    a = x1 if isinstance(x1, Tensor) else asarray(x1, device=device)
    b = x2 if isinstance(x2, Tensor) else asarray(x2, device=device)
    return _core.matmul(a, b)


def eval(*tensors: Tensor) -> None:
    """Starts the work of these tensors and does not wait."""
    _core.eval(list(tensors))


def synchronize(device: DeviceLike = None) -> None:
    """Waits until all work of a device is done."""
    from wgtensor._devices import get_device

    get_device(device).synchronize()


def explain(x: Tensor, /) -> str:
    """Which kernels computing `x` takes now, and what does not fuse and why."""
    return _core.explain(x)


def stats(device: DeviceLike = None) -> dict[str, int]:
    """Counters of a device: dispatches, submits, pipelines, plans, bind groups, bytes moved and in use."""
    from wgtensor._devices import get_device

    return get_device(device).stats()
