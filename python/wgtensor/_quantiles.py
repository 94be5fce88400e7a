"""Order statistics: medians, quantiles and percentiles by NumPy's methods, from sorted rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wgtensor import _core
from wgtensor._arrays import ArrayLike, as_tensor, asarray
from wgtensor._core import Tensor
from wgtensor._dtypes import float64, get_default_dtype
from wgtensor._functions import full as full_
from wgtensor._generated import isnan
from wgtensor._manipulation import axes_of, moveaxis, stack, where
from wgtensor._naming import public
from wgtensor._reductions import Axis
from wgtensor._reductions import sum as _sum
from wgtensor._sorting import sort

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

Numbers = NDArray[Any]

# Places of continuous methods: q * (n + 1 - alpha - beta) + alpha - 1 (Hyndman and Fan 1996).
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def _averaged_inverted_cdf(n: Numbers, q: float) -> Numbers:
    place = n * q - 1
    whole: Numbers = np.floor(place)
    return np.where(place == whole, whole + 0.5, whole + 1)


_DISCRETE: dict[str, Callable[[Numbers, float], Numbers]] = {
    "inverted_cdf": lambda n, q: np.ceil(n * q) - 1,
    "averaged_inverted_cdf": _averaged_inverted_cdf,
    # The nearest place counted from 1; of two the even one.
    "closest_observation": lambda n, q: np.rint(n * q) - 1,
    "linear": lambda n, q: (n - 1) * q,
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "midpoint": lambda n, q: (np.floor((n - 1) * q) + np.ceil((n - 1) * q)) / 2,
    "nearest": lambda n, q: np.rint((n - 1) * q),
}
_KEEP_DTYPE = {"inverted_cdf", "closest_observation", "lower", "higher", "nearest"}


def _places(method: str, n: Numbers, q: float) -> tuple[Numbers, Numbers, Numbers]:
    """Places of the two elements that a quantile lies between, and how far from the first."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        place = n * q + (alpha + q * (1 - alpha - beta)) - 1
    else:
        place = _DISCRETE[method](n, q)
    last = np.maximum(n - 1, 0)
    place = np.clip(place, 0, last)
    low = np.floor(place)
    return low.astype(np.int64), np.minimum(low + 1, last).astype(np.int64), place - low


def _between(a: Tensor, b: Tensor, weight: Any) -> Tensor:
    """a * (1 - weight) + b * weight without what infinities make of zeros; a where both are
    alike."""
    if isinstance(weight, float) and weight == 0:
        return a
    kept = (a == b) if isinstance(weight, float) else (a == b) | (weight == 0)
    return where(kept, a, a * (1 - weight) + b * weight)


def _rows(op: str, x: ArrayLike, axis: Axis) -> tuple[Tensor, tuple[int, ...], tuple[int, ...]]:
    """Rows of the reduced elements: shape [kept.., reduced], and the result's shapes."""
    t = as_tensor(op, x)
    axes = axes_of(op, axis, t.ndim) if axis is not None else tuple(range(t.ndim))
    kept = tuple(size for d, size in enumerate(t.shape) if d not in axes)
    full = tuple(1 if d in axes else size for d, size in enumerate(t.shape))
    if axes:
        t = moveaxis(t, axes, tuple(range(t.ndim - len(axes), t.ndim)))
    count = int(np.prod(t.shape[len(kept) :], dtype=np.int64))
    return t.reshape(*kept, count), kept, full


def _orders(op: str, q: Any, most: float) -> Numbers:
    try:
        if q is None:
            raise TypeError
        numbers = np.asarray(q.numpy() if isinstance(q, Tensor) else q, np.float64)
    except OverflowError:
        raise ValueError(f"[{op}] q lies between 0 and {most:g}, not beyond float64") from None
    except (TypeError, ValueError):
        raise TypeError(f"[{op}] q is a number or a vector of numbers, not {q!r:.80}") from None
    if numbers.ndim > 1:
        raise ValueError(f"[{op}] q is a number or a vector, not of shape {numbers.shape}")
    wrong = numbers[~((numbers >= 0) & (numbers <= most))]
    if wrong.size:
        raise ValueError(f"[{op}] q lies between 0 and {most:g}, not {wrong[0]:g}")
    return numbers / most


def _statistics(
    op: str, x: ArrayLike, q: Numbers, axis: Axis, method: str, keepdims: bool, skip_nan: bool
) -> Tensor:
    if method not in _CONTINUOUS and method not in _DISCRETE:
        known = ", ".join(sorted([*_CONTINUOUS, *_DISCRETE]))
        raise ValueError(f"[{op}] method is one of {known}, not {method!r}")
    rows, kept, full = _rows(op, x, axis)
    dtype = rows.dtype
    if dtype.kind != "f" and method not in _KEEP_DTYPE:
        dtype = get_default_dtype()
    rows = rows._astype(dtype)
    count = rows.shape[-1]
    if count == 0 or q.size == 0:
        if count == 0 and dtype.kind != "f":
            raise ValueError(f"[{op}] of zero elements by {method!r}, in {dtype}")
        return full_(
            q.shape + (full if keepdims else kept), float("nan"), dtype=dtype, device=rows.device
        )
    ordered = sort(rows)
    # Arithmetic between elements is done in whole words.
    wide = ordered._astype(_core.unpacked(dtype)) if dtype.kind == "f" else ordered
    nan = isnan(wide[..., count - 1]) if dtype.kind == "f" else None
    if nan is not None and skip_nan:
        parts = _of_numbers(op, wide, q.reshape(-1), method)
    else:
        parts = [_of_all(wide, nan, fraction, method) for fraction in q.reshape(-1).tolist()]
    result = stack([p._astype(dtype) for p in parts]).reshape(*q.shape, *kept)
    return result.reshape(*q.shape, *full) if keepdims else result


def _of_all(rows: Tensor, nan: Tensor | None, q: float, method: str) -> Tensor:
    """One quantile of sorted rows; NaN of those that have one, which is last."""
    low, high, weight = (a.item() for a in _places(method, np.asarray(rows.shape[-1]), q))
    r = _between(rows[..., low], rows[..., high], weight)
    return r if nan is None else where(nan, rows[..., rows.shape[-1] - 1], r)


def _of_numbers(op: str, rows: Tensor, q: Numbers, method: str) -> list[Tensor]:
    """Quantiles of what is no NaN in sorted rows: how many that is, is read back."""
    counts = _sum(~isnan(rows), axis=-1).numpy().astype(np.int64)
    parts = []
    for fraction in q.tolist():
        low, high, weight = _places(method, counts, fraction)
        at = [asarray(p.astype(np.int32)[..., None], device=rows.device) for p in (low, high)]
        a, b = (_core.take_along_axis(rows, i, -1, "trusted", op)[..., 0] for i in at)
        exact = np.float64 if rows.dtype == float64 else np.float32
        # An array also of one: a NumPy scalar counts as Python's number.
        between = asarray(np.asarray(weight, exact), device=rows.device)._astype(rows.dtype)
        parts.append(_between(a, b, between))
    return parts


@public
def quantile(
    x: ArrayLike,
    q: Any,
    /,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """Quantiles over axes, all by default: q between 0 and 1, a number or a vector, whose
    dimension comes first in the result.

    `method` is one of NumPy's: linear, lower, higher, nearest, midpoint, hazen, weibull,
    median_unbiased, normal_unbiased, inverted_cdf, averaged_inverted_cdf, closest_observation,
    interpolated_inverted_cdf. Those that choose an element keep the dtype, others make
    integers the default float. NaN where an element is NaN, and for no elements. Rows
    are sorted. Raises ValueError for another method or q.
    """
    return _statistics("quantile", x, _orders("quantile", q, 1), axis, method, keepdims, False)


@public
def percentile(
    x: ArrayLike,
    q: Any,
    /,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """The same as `quantile`, with q between 0 and 100."""
    orders = _orders("percentile", q, 100)
    return _statistics("percentile", x, orders, axis, method, keepdims, False)


@public
def median(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The middle element over axes, all by default, or the mean of the middle two; of integers in
    the default float. NaN where an element is NaN, and for no elements."""
    return _statistics("median", x, np.asarray(0.5), axis, "midpoint", keepdims, False)


@public
def nanquantile(
    x: ArrayLike,
    q: Any,
    /,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """The same as `quantile` of the elements that are no NaN; NaN where all are. How many there are
    is read back."""
    return _statistics("nanquantile", x, _orders("nanquantile", q, 1), axis, method, keepdims, True)


@public
def nanpercentile(
    x: ArrayLike,
    q: Any,
    /,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """The same as `nanquantile`, with q between 0 and 100."""
    orders = _orders("nanpercentile", q, 100)
    return _statistics("nanpercentile", x, orders, axis, method, keepdims, True)


@public
def nanmedian(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The same as `median` of the elements that are no NaN; NaN where all are. How many there are
    is read back."""
    return _statistics("nanmedian", x, np.asarray(0.5), axis, "midpoint", keepdims, True)
