"""What reductions, scans, softmax and products make of values with errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from random_values import (
    EPS,
    Array,
    Unsuitable,
    Value,
    as_float,
    cast,
    computed_in,
    is_float,
    meet,
    rounded,
)


def eps(a: Value) -> float:
    """Of the dtype that folds of the value are computed in."""
    return EPS[computed_in(a.dtype)]


def share(a: Value) -> float:
    """A sum's error as a share of the sum of magnitudes: trees and lanes of partial sums."""
    return 10 * eps(a)


def summed(dtype: str) -> str:
    """The dtype that integers and bools are summed in."""
    if dtype == "bool":
        return "int32"
    return dtype if "64" in dtype else "uint32" if dtype[0] == "u" else "int32"


def _product_in_range(a: Value, axis: Any) -> None:
    """Partial products neither overflow nor vanish, whatever their order."""
    size = np.abs(a.data) + a.error
    with np.errstate(divide="ignore"):
        logs = np.where(size > 0, np.log10(size), 0)
    if (np.sum(np.abs(logs), axis=axis) > 25).any():
        raise Unsuitable


def _sum(a: Value, axis: Any) -> Value:
    if not is_float(a.dtype):
        return Value(np.sum(a.data, axis=axis, dtype=summed(a.dtype), keepdims=True))
    error = np.sum(a.error + share(a) * np.abs(a.data), axis=axis, keepdims=True)
    return rounded(np.sum(a.data, axis=axis, keepdims=True), error, a.dtype)


def _mean(a: Value, axis: Any) -> Value:
    a = as_float(a)
    count = _count(a, axis)
    error = np.sum(a.error + share(a) * np.abs(a.data), axis=axis, keepdims=True) / count
    return rounded(np.sum(a.data, axis=axis, keepdims=True) / count, error, a.dtype, 2)


def _count(a: Value, axis: Any) -> int:
    """Elements that are folded into one; Unsuitable if there are none."""
    if a.data.size == 0:
        raise Unsuitable
    return a.data.size // np.sum(a.data, axis=axis, keepdims=True).size


def _prod(a: Value, axis: Any) -> Value:
    if not is_float(a.dtype):
        return Value(np.prod(a.data, axis=axis, dtype=summed(a.dtype), keepdims=True))
    _product_in_range(a, axis)
    count = a.data.size
    size = np.prod(np.abs(a.data) + a.error, axis=axis, keepdims=True)
    true = np.prod(a.data, axis=axis, keepdims=True)
    return rounded(true, size - np.abs(true) + eps(a) * count * size, a.dtype)


def _extreme(name: str) -> Callable[[Value, Any], Value]:
    def run(a: Value, axis: Any) -> Value:
        _count(a, axis)
        data = getattr(np, name)(a.data, axis=axis, keepdims=True)
        return Value(data, np.max(a.error, axis=axis, keepdims=True), a.dtype)

    return run


def _truth(function: Any) -> Callable[[Value, Any], Value]:
    def run(a: Value, axis: Any) -> Value:
        result = function(cast(a, "bool").data, axis=axis, keepdims=True)
        return Value(result if result.dtype == np.bool_ else result.astype(np.int32))

    return run


def _var(a: Value, axis: Any, correction: float) -> Value:
    a = as_float(a)
    count = _count(a, axis)
    if count <= correction:
        raise Unsuitable
    centre = np.mean(a.data, axis=axis, keepdims=True)
    shift = np.mean(a.error + share(a) * np.abs(a.data), axis=axis, keepdims=True)
    far, off = np.abs(a.data - centre), a.error + shift + eps(a) * np.abs(a.data)
    total = np.sum(far**2, axis=axis, keepdims=True)
    error = np.sum(2 * far * off + off**2, axis=axis, keepdims=True) + share(a) * total
    return rounded(total / (count - correction), error / (count - correction), a.dtype, 4)


def _std(a: Value, axis: Any, correction: float) -> Value:
    v = _var(a, axis, correction)
    low, high = np.sqrt(np.maximum(v.data - v.error, 0)), np.sqrt(v.data + v.error)
    true = np.sqrt(v.data)
    return rounded(true, np.maximum(high - true, true - low), v.dtype, 2)


def _logsumexp(a: Value, axis: Any) -> Value:
    a = as_float(a)
    _count(a, axis)
    top = np.max(a.data, axis=axis, keepdims=True)
    true = top + np.log(np.sum(np.exp(a.data - top), axis=axis, keepdims=True))
    reach = np.ptp(a.data, axis=axis, keepdims=True) + np.abs(top)
    off = np.max(a.error, axis=axis, keepdims=True) + eps(a) * (20 + 2 * reach)
    return rounded(true, off, a.dtype, 4)


FOLDS: dict[str, Callable[[Value, Any], Value]] = {
    "sum": _sum,
    "mean": _mean,
    "prod": _prod,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "any": _truth(np.any),
    "all": _truth(np.all),
    "count_nonzero": _truth(np.count_nonzero),
    "logsumexp": _logsumexp,
}
SPREADS: dict[str, Callable[[Value, Any, float], Value]] = {"var": _var, "std": _std}


def folded(fold: Callable[[Value, Any], Value], a: Value, axis: Any, keepdims: bool) -> Value:
    """`fold` keeps its axes; None is all of them."""
    axes = tuple(range(a.data.ndim)) if axis is None else axis
    result = fold(a, axes)
    if keepdims:
        return result
    axes = tuple(x % a.data.ndim for x in (axes if isinstance(axes, tuple) else (axes,)))
    shape = tuple(n for i, n in enumerate(a.shape) if i not in axes)
    return Value(result.data.reshape(shape), result.error.reshape(shape), result.dtype)


def place(op: str, a: Value, axis: int | None, keepdims: bool) -> Value:
    """argmax and argmin: the first of equals, if they are known to be equal."""
    data, error, rank = a.data, a.error, a.data.ndim
    if data.size == 0:
        raise Unsuitable
    if axis is None:
        data, error = data.reshape(-1), error.reshape(-1)
    along = 0 if axis is None else axis
    at = np.expand_dims(np.asarray(getattr(np, op)(data, axis=along)), along)
    if is_float(a.dtype):
        doubt = error + np.take_along_axis(error, at, along)
        near = np.abs(data - np.take_along_axis(data, at, along)) <= doubt
        itself = np.zeros(data.shape, np.bool_)
        np.put_along_axis(itself, at, True, along)
        if (near & (doubt > 0) & ~itself).any():
            raise Unsuitable
    if not keepdims:
        at = at.squeeze(along)
    elif axis is None:
        at = at.reshape((1,) * rank)
    return Value(at.astype(np.int32))


def scanned(op: str, a: Value, axis: int, initial: bool) -> Value:
    """The cumulative functions."""
    if op in ("cumulative_max", "cumulative_min"):
        function = np.maximum if op == "cumulative_max" else np.minimum
        data = function.accumulate(a.data, axis)
        return Value(data, np.maximum.accumulate(a.error, axis), a.dtype)
    adds = op == "cumulative_sum"
    scan: Any = np.cumsum if adds else np.cumprod
    if not is_float(a.dtype):
        result = Value(scan(a.data, axis=axis, dtype=summed(a.dtype)))
    elif adds:
        error = np.cumsum(a.error + share(a) * np.abs(a.data), axis=axis)
        result = rounded(np.cumsum(a.data, axis=axis), error, a.dtype)
    else:
        _product_in_range(a, axis)
        size, true = np.cumprod(np.abs(a.data) + a.error, axis=axis), np.cumprod(a.data, axis=axis)
        off = size - np.abs(true) + eps(a) * a.shape[axis] * size
        result = rounded(true, off, a.dtype)
    if not initial:
        return result
    widths = [(int(i == axis % a.data.ndim), 0) for i in range(a.data.ndim)]
    padded = np.pad(result.data, widths, constant_values=0 if adds else 1)
    return Value(padded, np.pad(result.error, widths), result.dtype)


def _weights(a: Value, axis: int) -> tuple[Array, Array, Array]:
    """Softmax, the error of its exponents, and its logarithm."""
    low = a.data - a.data.max(axis=axis, keepdims=True)
    total = np.sum(np.exp(low), axis=axis, keepdims=True)
    off = 2 * a.error.max(axis=axis, keepdims=True)
    off = off + 2 * eps(a) * np.ptp(a.data, axis=axis, keepdims=True)
    return np.exp(low) / total, off, low - np.log(total)


def softmax(a: Value, axis: int) -> Value:
    a = as_float(a)
    if a.data.size == 0:
        return a
    p, off, _ = _weights(a, axis)
    return rounded(p, p * np.expm1(off), a.dtype, 20)


def log_softmax(a: Value, axis: int) -> Value:
    a = as_float(a)
    if a.data.size == 0:
        return a
    _, off, logarithm = _weights(a, axis)
    return rounded(logarithm, off + 20 * eps(a), a.dtype, 4)


def contracted(function: Callable[[Array, Array], Array], a: Value, b: Value) -> Value:
    """A product of two values that `function` gives, linear in both: sums of products."""
    a, b = meet(a, b)
    if a.dtype == "bool":
        raise Unsuitable
    if not is_float(a.dtype):
        return Value(np.asarray(function(a.data, b.data)).astype(a.dtype))
    x, y = np.abs(a.data), np.abs(b.data)
    error = function(x, b.error) + function(a.error, y) + function(a.error, b.error)
    # Where a sum of products is not one kernel, products are rounded to their dtype.
    off = share(a) + EPS[a.dtype]
    return rounded(function(a.data, b.data), error + off * function(x, y), a.dtype)
