"""Linear algebra: the array API's extension namespace, so far as it needs no decomposition."""

from __future__ import annotations

from typing import Any

from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import DTypeError, ShapeError, Tensor, UnsupportedError
from wgtensor._dtypes import get_default_dtype
from wgtensor._functions import astype, eye, matmul, matrix_transpose
from wgtensor._generated import not_equal, sqrt, where
from wgtensor._manipulation import as_int, axes_of
from wgtensor._naming import public
from wgtensor._products import cross, outer, tensordot, vecdot
from wgtensor._reductions import Axis

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
__dir__ = __all__.copy  # what there is, and not what it is made with


@public
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Tensor:
    """The diagonals of the matrices in the last two axes; a view. Above the main one: offset > 0.

    Raises ShapeError below 2 dimensions.
    """
    return as_tensor("diagonal", x).diagonal(as_int("diagonal", "offset", offset), -2, -1)


@public
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """Sums of the diagonals of the matrices in the last two axes, in `dtype` if it is given."""
    t = diagonal(x, offset=offset)
    return (t if dtype is None else astype(t, dtype, copy=False)).sum(axis=-1)


@public
def matrix_power(x: ArrayLike, n: int, /) -> Tensor:
    """The matrices in the last two axes to the n-th power, by squaring.

    Raises ShapeError for matrices that are not square, UnsupportedError for negative n.
    """
    t = as_tensor("matrix_power", x)
    power = as_int("matrix_power", "n", n)
    if t.ndim < 2 or t.shape[-1] != t.shape[-2]:
        raise ShapeError(f"[matrix_power] takes square matrices, not shape {t.shape}")
    if t.dtype.kind == "b":
        raise DTypeError("[matrix_power] is not defined for bool: cast with astype()")
    if power < 0:
        raise UnsupportedError("[matrix_power] negative powers need an inverse: not there yet")
    if power == 0:
        return eye(t.shape[-1], dtype=t.dtype, device=t.device).broadcast_to(t.shape)
    if power == 1:
        return t[...]
    result: Tensor | None = None
    while power:
        if power & 1:
            result = t if result is None else matmul(result, t)
        power >>= 1
        if power:
            t = matmul(t, t)
    assert result is not None
    return result


# ---- norms --------------------------------------------------------------------------------------


def _floats(op: str, x: ArrayLike) -> Tensor:
    t = as_tensor(op, x)
    return t if t.dtype.kind == "f" else astype(t, get_default_dtype())


def _order(op: str, order: Any) -> float:
    if isinstance(order, (int, float)) and not isinstance(order, bool):
        return float(order)
    raise ValueError(f"[{op}] ord {order!r} is no number")


@public
def vector_norm(
    x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """sum(abs(x) ** ord) ** (1 / ord) over axes, of all elements by default.

    inf and -inf give the largest and smallest magnitude, 0 the number of elements that are not 0.
    Integers and bools are taken as the default float. Raises ValueError for an ord that is
    no number, and for inf and -inf of no elements.
    """
    t = _floats("vector_norm", x)
    axes = axes_of("vector_norm", axis, t.ndim)
    order = _order("vector_norm", ord)
    if t.itemsize == 2:  # squares may be out of the range of 16 bits where the norm is not
        return astype(
            vector_norm(astype(t, "float32"), axis=axes, keepdims=keepdims, ord=order), t.dtype
        )
    if order == float("inf"):
        return abs(t).max(axis=axes, keepdims=keepdims)
    if order == float("-inf"):
        return abs(t).min(axis=axes, keepdims=keepdims)
    if order == 0:
        return astype(not_equal(t, 0), t.dtype).sum(axis=axes, keepdims=keepdims)
    if order == 1:
        return abs(t).sum(axis=axes, keepdims=keepdims)
    if order == 2:
        squares = (t * t).sum(axis=axes, keepdims=keepdims)
        # The slope at 0 is 0, as PyTorch's.
        return where(squares > 0, sqrt(where(squares > 0, squares, 1.0)), squares)
    return (abs(t) ** order).sum(axis=axes, keepdims=keepdims) ** (1 / order)


@public
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """A norm of the matrices in the last two axes.

    'fro': root of the sum of squares; 1 and -1: largest and smallest sum of magnitudes of a
    column; inf and -inf: of a row. Raises UnsupportedError for 2, -2 and 'nuc', which need singular
    values, ValueError for any other.
    """
    t = _floats("matrix_norm", x)
    if t.ndim < 2:
        raise ShapeError(f"[matrix_norm] takes matrices, not a tensor of shape {t.shape}")
    if ord == "fro":
        return vector_norm(t, axis=(-2, -1), keepdims=keepdims)
    if ord in (2, -2, "nuc"):
        raise UnsupportedError(f"[matrix_norm] ord {ord!r} needs singular values: not there yet")
    order = _order("matrix_norm", ord)
    if abs(order) not in (1, float("inf")):
        raise ValueError(f"[matrix_norm] ord must be 'fro', 1, -1, inf or -inf, not {ord!r}")
    sums = abs(t).sum(axis=-2 if abs(order) == 1 else -1, keepdims=True)
    made = (sums.max if order > 0 else sums.min)(axis=(-2, -1), keepdims=True)
    return made if keepdims else made.squeeze((-2, -1))


@public
def norm(x: ArrayLike, /, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """NumPy's norm: of a vector for one axis, of a matrix for two, of all elements for no ord.

    Without axes, an `ord` takes the only or the two dimensions there are. Raises ValueError for
    more.
    """
    t = _floats("norm", x)
    if axis is None and ord is None:
        return vector_norm(t, keepdims=keepdims)
    axes = axes_of("norm", axis, t.ndim)
    if len(axes) == 1:
        return vector_norm(t, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(f"[norm] axis is one axis or two, not {axis!r} of shape {t.shape}")
    order = [i for i in range(t.ndim) if i not in axes]
    made = matrix_norm(t.permute((*order, *axes)), ord="fro" if ord is None else ord)
    return made.expand_dims(tuple(sorted(axes))) if keepdims else made
