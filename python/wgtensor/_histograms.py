"""Counts by value: bincount and histogram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, as_tensor, asarray
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._dtypes import DType, isdtype
from wgtensor._elementwise import clip
from wgtensor._functions import astype, full
from wgtensor._generated import where as _select
from wgtensor._indexing import take
from wgtensor._manipulation import as_int, as_tensors, stack, unstack
from wgtensor._naming import public
from wgtensor._reductions import max as _max
from wgtensor._reductions import min as _min
from wgtensor._reductions import sum as _sum
from wgtensor._scattering import segment_sum
from wgtensor._searching import searchsorted

__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


@public
def bincount(
    x: ArrayLike,
    /,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
) -> Tensor:
    """How often each integer from 0 on is in the vector `x`, in int32; the sums of `weights` there,
    in their dtype.

    As long as the largest element needs, and `minlength` at least: the largest and the smallest
    are read back, and negative ones raise ValueError. With `length` nothing is read: negative
    elements and those beyond raise IndexError with the next read. Sums are the same bits every
    time. Raises ShapeError, DTypeError.
    """
    t = as_tensor("bincount", x)
    if t.ndim != 1:
        raise ShapeError(f"[bincount] takes a vector, not a tensor of shape {t.shape}")
    if t.dtype.kind == "b":
        t = astype(t, "int32")
    if t.dtype.kind not in "iu":
        if t.size:
            raise DTypeError(f"[bincount] takes integers, not {t.dtype}")
        t = astype(t, "int32")
    w = None if weights is None else as_tensor("bincount", weights, t.device)
    if w is not None and w.shape != t.shape:
        raise ShapeError(f"[bincount] weights of shape {w.shape} for elements of shape {t.shape}")
    least = as_int("bincount", "minlength", minlength)
    if least < 0:
        raise ValueError(f"[bincount] minlength must not be negative, not {least}")
    if length is None:
        return _counts(t, _length_of(t, least), w)
    n = as_int("bincount", "length", length)
    if n < 0:
        raise ValueError(f"[bincount] length must not be negative, not {n}")
    one = _ones(t) if w is None else w
    none = full((n,), 0, dtype=one.dtype, device=t.device)
    return _core.put_along_axis(none, t, 0, one, "sum", False, "from_start", "bincount")


def _length_of(t: Tensor, least: int) -> int:
    if t.size == 0:
        return least
    low, high = stack([_min(t), _max(t)]).tolist()
    if low < 0:
        raise ValueError(f"[bincount] elements must not be negative: {low} is one")
    return int(max(least, high + 1))


def _counts(bins: Tensor, n: int, weights: Tensor | None) -> Tensor:
    return segment_sum(_ones(bins) if weights is None else weights, bins, n)


def _ones(bins: Tensor) -> Tensor:
    return full(bins.shape, 1, dtype="int32", device=bins.device)


@public
def histogram(
    x: ArrayLike,
    /,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    density: bool = False,
    weights: ArrayLike | None = None,
) -> tuple[Tensor, Tensor]:
    """How many elements are in each bin, in int32, and the edges of the bins.

    `bins` is their number, between the ends of `range` or else of the elements, which are then read
    back; or their edges, in ascending order; or the name of one of NumPy's rules for their number,
    'auto' say, for which all elements are read back. Each bin has its lower edge, the last one
    both; what lies outside or is NaN does not count. `weights` sums those instead, in their dtype;
    `density` divides by the sum and the bins' widths. Raises ValueError for ends and edges that
    are none and for no rule's name, TypeError for a rule beside weights, ShapeError, DTypeError.
    """
    if isinstance(bins, str) and weights is not None:
        raise TypeError(f"[histogram] the rule {bins!r} takes no weights: say how many bins")
    t = as_tensor("histogram", x).reshape(-1)
    w = None if weights is None else as_tensor("histogram", weights, t.device).reshape(-1)
    if w is not None and w.shape != t.shape:
        raise ShapeError(f"[histogram] {w.size} weights for {t.size} elements")
    edges = _edges(t, _number_of_bins(t, bins, range), range)
    floats = _floats(t)
    shown = asarray(edges, dtype=floats, device=t.device)
    counts = _binned(t, edges, w)
    if density:
        widths = asarray(np.diff(edges), dtype=floats, device=t.device)
        counts = astype(counts, floats) / widths / _sum(astype(counts, floats))
    return counts, shown


@public
def histogram_bin_edges(
    x: ArrayLike, /, bins: Any = 10, range: tuple[float, float] | None = None
) -> Tensor:
    """The edges of the bins that `histogram` would count in."""
    t = as_tensor("histogram_bin_edges", x).reshape(-1)
    edges = _edges(t, _number_of_bins(t, bins, range), range)
    return asarray(edges, dtype=_floats(t), device=t.device)


_RULES = ("auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges")


def _number_of_bins(t: Tensor, bins: Any, ends: tuple[float, float] | None) -> Any:
    """Bins as they were given, but for a rule its number: counted by NumPy, as its quartiles and
    moments are of all elements."""
    if not isinstance(bins, str):
        return bins
    if bins not in _RULES:
        raise ValueError(f"[histogram] {bins!r} is no rule; there are {', '.join(_RULES)}")
    x = t.numpy()
    if x.dtype.kind == "b":
        x = x.astype(np.uint8)
    elif t.dtype.kind == "f" and t.itemsize == 2:  # whose squares may be out of range
        x = x.astype(np.float32)
    _edges(t, 1, ends)  # tells ends and elements that are none
    return len(np.histogram_bin_edges(x, bins, ends)) - 1


def _edges(t: Tensor, bins: Any, ends: tuple[float, float] | None) -> np.ndarray[Any, Any]:
    if isinstance(bins, str):
        raise TypeError(f"[histogram] bins are a number or edges, not {bins!r}")
    if np.ndim(bins):
        edges = np.asarray(bins, dtype=np.float64)
        if edges.ndim != 1 or not (edges[:-1] <= edges[1:]).all():
            raise ValueError(f"[histogram] edges must be a vector that ascends: {bins!r}")
        return edges
    n = as_int("histogram", "bins", bins)
    if n < 1:
        raise ValueError(f"[histogram] takes one bin or more, not {n}")
    if ends is None and t.size:
        low, high = stack([_min(t), _max(t)]).tolist()
    else:
        low, high = (0.0, 1.0) if ends is None else map(float, ends)
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ValueError(f"[histogram] the range ({low}, {high}) is none: ends are finite numbers")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, n + 1)


def _binned(t: Tensor, edges: np.ndarray[Any, Any], weights: Tensor | None) -> Tensor:
    place, inside = _bins_of(t, edges)
    return _counted("histogram", place, inside, len(edges) - 1, weights)


def _bins_of(t: Tensor, edges: np.ndarray[Any, Any]) -> tuple[Tensor, Tensor]:
    """The bin of each element, and whether it is in one."""
    n = len(edges) - 1
    if t.dtype.kind == "b":
        t = astype(t, "int32")
    if t.dtype.kind in "iu":  # an integer is beyond an edge from the next integer on
        last: float = int(np.floor(edges[-1]))
        bounds = np.iinfo(t.dtype.numpy)
        edges = np.clip(np.ceil(edges), bounds.min, bounds.max)
    else:
        last = float(edges[-1])
    table = asarray(edges, dtype=t.dtype, device=t.device)
    inside = (t >= take(table, [0])) & (t <= last)
    return clip(searchsorted(table, t, side="right") - 1, 0, n - 1), inside


def _counted(op: str, place: Tensor, inside: Tensor, n: int, weights: Tensor | None) -> Tensor:
    one = _select(inside, 1 if weights is None else weights, 0)
    counted = astype(one, "int32") if weights is None else one
    none = full((n,), 0, dtype=counted.dtype, device=place.device)
    return _core.accumulate(none, place, counted, "sum", op)


@public
def histogramdd(
    sample: Any,
    /,
    bins: Any = 10,
    range: Sequence[tuple[float, float] | None] | None = None,
    density: bool = False,
    weights: ArrayLike | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """How many points are in each box of a grid, in int32, and the edges along each axis.

    sample: points in rows, or a list of their coordinates. bins, range: as of `histogram`, for all
    axes or for each; NumPy's counts are floats. Raises ShapeError, ValueError.
    """
    return _boxes("histogramdd", sample, bins, range, density, weights)


@public
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    /,
    bins: Any = 10,
    range: Sequence[tuple[float, float] | None] | None = None,
    density: bool = False,
    weights: ArrayLike | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """`histogramdd` of points (x, y): the counts, the edges along x and those along y.

    bins: a number, the edges of both axes, or one of those for each.
    """
    both = isinstance(bins, (list, tuple, np.ndarray)) and len(bins) not in (1, 2)
    counts, (first, second) = _boxes(
        "histogram2d", [x, y], [bins, bins] if both else bins, range, density, weights
    )
    return counts, first, second


def _boxes(
    op: str, sample: Any, bins: Any, range: Any, density: bool, weights: ArrayLike | None
) -> tuple[Tensor, list[Tensor]]:
    if isinstance(sample, (list, tuple)):
        axes = [t.reshape(-1) for t in as_tensors(op, sample)]
    else:
        points = as_tensor(op, sample)
        if points.ndim != 2:
            raise ShapeError(f"[{op}] points are rows of a matrix, not of shape {points.shape}")
        axes = list(unstack(points, axis=1))
    each = list(bins) if isinstance(bins, (list, tuple, np.ndarray)) else [bins] * len(axes)
    ends = [None] * len(axes) if range is None else list(range)
    if not axes or len(each) != len(axes) or len(ends) != len(axes):
        raise ValueError(f"[{op}] {len(each)} bins and {len(ends)} ranges for {len(axes)} axes")
    if len({t.shape for t in axes}) > 1:
        raise ShapeError(f"[{op}] coordinates of shapes {[t.shape for t in axes]}")
    w = None if weights is None else as_tensor(op, weights, axes[0].device).reshape(-1)
    if w is not None and w.shape != axes[0].shape:
        raise ShapeError(f"[{op}] {w.size} weights for {axes[0].size} points")
    place: Any = 0
    inside: Any = True
    shape, shown = [], []
    widths: Any = np.ones(())
    for t, b, r in zip(axes, each, ends, strict=True):
        edges = _edges(t, b, r)
        at, within = _bins_of(t, edges)
        place, inside = place * (len(edges) - 1) + at, within & inside
        shape.append(len(edges) - 1)
        shown.append(asarray(edges, dtype=_floats(t), device=t.device))
        widths = widths[..., None] * np.diff(edges)
    counts = _counted(op, place, inside, int(np.prod(shape)), w).reshape(tuple(shape))
    if density:
        counts = astype(counts, _floats(axes[0]))
        counts = counts / asarray(widths, dtype=counts.dtype, device=counts.device) / _sum(counts)
    return counts, shown


def _floats(t: Tensor) -> DType:
    return t.dtype if isdtype(t.dtype, "real floating") else _core.default_float()
