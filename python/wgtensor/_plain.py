"""Names of NumPy and PyTorch for what is there under another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wgtensor import _core
from wgtensor import _reductions as r
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor, as_values, asarray
from wgtensor._core import ShapeError, Tensor
from wgtensor._dtypes import DType, result_type, to_dtype
from wgtensor._elementwise import array_equal
from wgtensor._elementwise import round as _round
from wgtensor._generated import where as _select
from wgtensor._manipulation import axes_of
from wgtensor._naming import public
from wgtensor._products import pair, vecdot
from wgtensor._reductions import Axis

__all__ = [
    "amax",
    "amin",
    "around",
    "array",
    "array_equiv",
    "copy",
    "copyto",
    "matvec",
    "ndim",
    "promote_types",
    "putmask",
    "shape",
    "size",
    "tensor",
    "vdot",
    "vecmat",
]


@public
def array(
    obj: ArrayLike,
    /,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """NumPy's name for `asarray`; a copy of a tensor, too."""
    return asarray(obj, dtype=dtype, device=device, copy=copy, requires_grad=requires_grad)


@public
def tensor(
    data: ArrayLike,
    /,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """PyTorch's name for `asarray`: a new leaf, also of a tensor."""
    source, own = (data.detach(), True) if isinstance(data, Tensor) else (data, None)
    return asarray(source, dtype=dtype, device=device, copy=own, requires_grad=requires_grad)


@public
def copy(x: ArrayLike, /) -> Tensor:
    """A tensor with memory of its own."""
    return as_tensor("copy", x).copy()


@public
def amax(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Another name of `max`."""
    return r.max(x, axis=axis, keepdims=keepdims)


@public
def amin(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Another name of `min`."""
    return r.min(x, axis=axis, keepdims=keepdims)


@public
def around(x: ArrayLike, /, decimals: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Another name of `round`."""
    return _round(x, decimals, out=out)


@public
def ndim(x: ArrayLike, /) -> int:
    """The number of dimensions."""
    return as_tensor("ndim", x).ndim


@public
def shape(x: ArrayLike, /) -> tuple[int, ...]:
    """The sizes of all dimensions."""
    return as_tensor("shape", x).shape


@public
def size(x: ArrayLike, /, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements, or of those along an axis."""
    t = as_tensor("size", x)
    count = 1
    for a in axes_of("size", axis, t.ndim):
        count *= t.shape[a]
    return count


@public
def promote_types(type1: Any, type2: Any, /) -> DType:
    """The dtype that operands of two dtypes give. Raises DTypeError where there is none."""
    return result_type(to_dtype(type1), to_dtype(type2))


@public
def array_equiv(x1: ArrayLike, x2: ArrayLike, /) -> bool:
    """Whether shapes broadcast and all elements are equal; waits for the work."""
    a, b = as_tensor("array_equiv", x1), as_tensor("array_equiv", x2)
    try:
        common = _core.broadcast_shapes(a.shape, b.shape)
    except ShapeError:
        return False
    return array_equal(a.broadcast_to(common), b.broadcast_to(common))


@public
def copyto(dst: Tensor, src: ArrayLike, /, *, where: ArrayLike = True) -> None:
    """Writes `src`, which broadcasts, to the elements of `dst` where the mask holds."""
    if not isinstance(dst, Tensor):
        raise TypeError(f"[copyto] writes into a Tensor, not {type(dst).__name__}")
    if where is True:
        dst[...] = src
        return
    value = as_values("copyto", src, dst)
    dst[...] = _select(as_tensor("copyto", where, dst.device), value, dst)


@public
def putmask(x: Tensor, mask: ArrayLike, values: ArrayLike, /) -> None:
    """Replaces elements where the mask holds by those at the same place of the values, which repeat
    as needed; nothing is read back. Raises ShapeError."""
    if not isinstance(x, Tensor):
        raise TypeError(f"[putmask] writes into a Tensor, not {type(x).__name__}")
    m = as_tensor("putmask", mask, x.device)
    v = as_values("putmask", values, x).reshape(-1)
    if m.shape != x.shape:
        raise ShapeError(f"[putmask] a mask of shape {m.shape} for a tensor of shape {x.shape}")
    if v.size == 0:
        raise ValueError("[putmask] takes one value or more")
    repeats = -(-x.size // v.size)
    row = v.expand_dims(0).broadcast_to((repeats, v.size)).reshape(-1)[: x.size]
    x[...] = _select(m, row.reshape(x.shape), x)


@public
def vdot(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """The sum of products of all elements of two arrays, each in row-major order."""
    a, b = pair("vdot", x1, x2)
    return vecdot(a.reshape(-1), b.reshape(-1))


@public
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """Products of matrices and vectors, (..., m, n) and (..., n); other axes broadcast."""
    a, b = pair("matvec", x1, x2)
    if a.ndim < 2 or not b.ndim:
        raise ShapeError(f"[matvec] takes (.., m, n) and (.., n), not {a.shape} and {b.shape}")
    return _core.matmul(a, b.expand_dims(-1)).squeeze(-1)


@public
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """Products of vectors and matrices, (..., m) and (..., m, n); other axes broadcast."""
    a, b = pair("vecmat", x1, x2)
    if b.ndim < 2 or not a.ndim:
        raise ShapeError(f"[vecmat] takes (.., m) and (.., m, n), not {a.shape} and {b.shape}")
    return _core.matmul(a.expand_dims(-2), b).squeeze(-2)
