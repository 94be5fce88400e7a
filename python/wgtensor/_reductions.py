"""Functions that fold axes: sums, extrema, truth, places, spread; and cumulative ones."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wgtensor._arrays import ArrayLike, as_tensor, into
from wgtensor._core import Tensor
from wgtensor._dtypes import to_dtype

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumulative_max",
    "cumulative_min",
    "cumulative_prod",
    "cumulative_sum",
    "logsumexp",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

Axis = int | Sequence[int] | None


def _operand(op: str, x: ArrayLike, dtype: Any = None) -> Tensor:
    return in_dtype(op, as_tensor(op, x), dtype)


def in_dtype(op: str, t: Tensor, dtype: Any) -> Tensor:
    """In the dtype asked for, before a sum and after it: those of small integers come in 32 bits,
    in fewer they wrap."""
    return t if dtype is None else t._astype(to_dtype(dtype, op))


def _one_axis(op: str, axis: Any) -> int | None:
    """None or an integer; TypeError for what names several axes."""
    if axis is None:
        return None
    try:
        return operator.index(axis)
    except TypeError:
        raise TypeError(f"[{op}] axis is an integer or None, not {axis!r}") from None


def sum(x: ArrayLike, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Sum over axes, all by default. Integers wrap in the result's dtype: int32 and uint32 of
    smaller ones, int32 of bools, else their own, or the one asked for.

    float16 and bfloat16 are summed in float32. The error of a float sum grows like that of
    pairwise summation; its order is always the same.
    """
    return in_dtype("sum", _operand("sum", x, dtype)._sum(axis, keepdims), dtype)


def prod(
    x: ArrayLike, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False
) -> Tensor:
    """Product over axes, all by default, in the dtypes of `sum`; integers wrap."""
    return in_dtype("prod", _operand("prod", x, dtype)._prod(axis, keepdims), dtype)


def mean(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Mean over axes, all by default; of integers and bools in the default float. NaN for none."""
    return _operand("mean", x)._mean(axis, keepdims)


def max(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Largest element over axes; NaN wins. Raises ValueError for no elements."""
    return _operand("max", x)._max(axis, keepdims)


def min(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Smallest element over axes; NaN wins. Raises ValueError for no elements."""
    return _operand("min", x)._min(axis, keepdims)


def any(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether any element over axes is not zero, in bool; NaN is not. False for no elements."""
    return _operand("any", x)._any(axis, keepdims)


def all(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether no element over axes is zero, in bool; NaN is not. True for no elements."""
    return _operand("all", x)._all(axis, keepdims)


def count_nonzero(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Number of elements over axes that are not zero, in int32; NaN counts."""
    return _operand("count_nonzero", x)._count_nonzero(axis, keepdims)


def argmax(x: ArrayLike, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Place of the largest element along an axis, or among all in row-major order, in int32.

    The first of equals wins, and the first NaN wins over all. Raises ValueError for no elements.
    """
    return _operand("argmax", x)._argmax(_one_axis("argmax", axis), keepdims)


def argmin(x: ArrayLike, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Place of the smallest element along an axis, or among all in row-major order, in int32.

    The first of equals wins, and the first NaN wins over all. Raises ValueError for no elements.
    """
    return _operand("argmin", x)._argmin(_one_axis("argmin", axis), keepdims)


def correction_of(op: str, correction: Any, ddof: Any) -> float:
    """What a divisor is less than the number of elements, by either of its names; 0 for none."""
    if correction is not None and ddof is not None:
        raise TypeError(f"[{op}] takes ddof= or correction=, not both")
    name, value = ("correction", correction) if ddof is None else ("ddof", ddof)
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (int, float, type(None))):
        raise TypeError(f"[{op}] {name} must be a number, not {value!r}")
    return builtins.float(value or 0)


def _spread(
    op: str, x: ArrayLike, axis: Axis, correction: Any, keepdims: bool, ddof: Any
) -> Tensor:
    return _operand(op, x)._var(axis, correction_of(op, correction, ddof), keepdims, op)


def var(
    x: ArrayLike,
    /,
    *,
    axis: Axis = None,
    correction: float | None = None,
    keepdims: bool = False,
    ddof: float | None = None,
) -> Tensor:
    """Variance over axes: squared differences from the mean, summed, over n - correction, of which
    ddof is NumPy's name; n by default.

    Two passes (Chan, Golub and LeVeque 1983), so that a large mean costs no accuracy. Integers and
    bools in the default float. NaN for no elements; where
    n <= correction the divisor is 0, as NumPy's.
    """
    return _spread("var", x, axis, correction, keepdims, ddof)


def std(
    x: ArrayLike,
    /,
    *,
    axis: Axis = None,
    correction: float | None = None,
    keepdims: bool = False,
    ddof: float | None = None,
) -> Tensor:
    """Standard deviation over axes: the square root of var."""
    return _spread("std", x, axis, correction, keepdims, ddof)


def logsumexp(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) over axes with no overflow on the way, in floats.

    -inf where all elements are -inf or there are none, inf where one is inf; NaN wins.
    """
    return _operand("logsumexp", x)._logsumexp(axis, keepdims)


def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Sums of all elements up to each along an axis, which only a vector need not name.

    In the dtypes of `sum`; integers wrap, NaN stays from where it stands.
    `include_initial` puts a zero in front. Raises ValueError without an axis for 2-D and above.
    """
    t = _operand("cumulative_sum", x, dtype)
    return in_dtype("cumulative_sum", t._scan("cumulative_sum", axis, include_initial), dtype)


def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Products of all elements up to each along an axis, which only a vector need not name.

    In the dtypes of `sum`; integers wrap. `include_initial` puts a one in front.
    Raises ValueError without an axis for 2-D and above.
    """
    t = _operand("cumulative_prod", x, dtype)
    return in_dtype("cumulative_prod", t._scan("cumulative_prod", axis, include_initial), dtype)


def cumulative_max(x: ArrayLike, /, *, axis: int | None = None) -> Tensor:
    """Largest element up to each along an axis, which only a vector need not name; NaN wins.

    np.maximum.accumulate of a tensor is this function.
    """
    return _operand("cumulative_max", x)._scan("cumulative_max", axis, False)


def cumulative_min(x: ArrayLike, /, *, axis: int | None = None) -> Tensor:
    """Smallest element up to each along an axis, which only a vector need not name; NaN wins.

    np.minimum.accumulate of a tensor is this function.
    """
    return _operand("cumulative_min", x)._scan("cumulative_min", axis, False)


def flat_scan(
    op: str,
    x: ArrayLike,
    axis: int | None,
    dtype: Any,
    out: Tensor | None,
    scan: Callable[..., Tensor],
) -> Tensor:
    """A cumulative function along an axis; without one of all elements in row-major order."""
    t = as_tensor(op, x)
    t, axis = (t.reshape(-1), 0) if axis is None else (t, axis)
    return into(op, out, scan(t, axis=axis, dtype=dtype))
