"""Writing and folding into places that are data: put, scatter, segments.

Results are bit-identical whatever the order the device works in: of several writes to an element
the last one stays; sums of float32 are exact and rounded once, or, where most places get one
number or none or rows are long, taken in the order of the elements, by fixed blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, as_tensor, as_values
from wgtensor._core import ShapeError, Tensor
from wgtensor._dtypes import iinfo, isdtype
from wgtensor._functions import astype, full, ones
from wgtensor._generated import maximum
from wgtensor._indexing import index_operand, take
from wgtensor._manipulation import as_int, axis_of
from wgtensor._naming import public

__all__ = [
    "index_add",
    "put",
    "put_along_axis",
    "scatter",
    "scatter_add",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
]

# How the words of PyTorch and NumPy fold.
_FOLDS = {
    "add": "sum",
    "sum": "sum",
    "multiply": "prod",
    "prod": "prod",
    "max": "max",
    "amax": "max",
    "min": "min",
    "amin": "min",
}


def _fold(op: str, reduce: str | None) -> str:
    if reduce is None:
        return ""
    if reduce not in _FOLDS:
        raise ValueError(f"[{op}] reduce must be None or one of {sorted(_FOLDS)}, not {reduce!r}")
    return _FOLDS[reduce]


def _target(op: str, x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"[{op}] writes into a Tensor, not {type(x).__name__}")
    return x


@public
def put(x: Tensor, indices: ArrayLike, values: ArrayLike, /, *, mode: str = "raise") -> None:
    """Replaces elements of `x`, by their indices in row-major order; values repeat as needed.

    `mode` as for `take`. Of several writes to an element the last one stays. Raises IndexError, at
    once where the indices are host data, else with the next read.
    """
    t = _target("put", x)
    operand, how = index_operand("put", indices, t.size, 0, mode, t)
    v = as_values("put", values, t).reshape(-1)
    places = operand.reshape(-1)
    if v.size == 0 or places.size == 0:
        return
    if v.size != places.size:
        at = np.arange(places.size, dtype=np.int32) % v.size
        v = take(v, at)
    r = _core.put_along_axis(t.reshape(-1), places, 0, v, "", False, how, "put")
    t._become(r.reshape(t.shape), "put")


@public
def put_along_axis(
    x: Tensor, indices: ArrayLike, values: ArrayLike, /, axis: int | None = -1
) -> None:
    """Replaces elements of `x` along an axis, at indices for each place of the other axes.

    The inverse of `take_along_axis`: ``x[i, indices[i, j, k], k] = values[i, j, k]`` for axis 1 of
    three; values broadcast to the indices, and those to the other axes. ``axis=None``: of the
    flattened `x`. Of several writes to an element the last one stays. Raises ShapeError,
    ValueError, IndexError.
    """
    t = _target("put_along_axis", x)
    flat = t.reshape(-1) if axis is None else t
    a = 0 if axis is None else axis_of("put_along_axis", axis, flat.ndim)
    operand, how = index_operand("put_along_axis", indices, flat.shape[a], a, "raise", flat)
    r = _core.put_along_axis(flat, operand, a, values, "", True, how, "put_along_axis")
    t._become(r.reshape(t.shape), "put_along_axis")


@public
def scatter(
    x: ArrayLike,
    axis: int,
    index: ArrayLike,
    src: ArrayLike,
    /,
    *,
    reduce: str | None = None,
) -> Tensor:
    """A copy of `x` with elements of `src` put along an axis, at an index for each of them.

    ``out[index[i, j, k], j, k] = src[i, j, k]`` for axis 0 of three, as PyTorch's. `index` has as
    many dimensions as `x` and is no longer than it but along the axis; `src` is a number, or no
    shorter than `index` anywhere. reduce="add", "multiply", "amax" or "amin" (also "sum", "prod",
    "max", "min") folds them into `x` instead; else of several writes to an element the last one
    stays. Raises ShapeError, ValueError, IndexError.
    """
    return _scattered("scatter", x, axis, index, src, reduce)


@public
def scatter_add(x: ArrayLike, axis: int, index: ArrayLike, src: ArrayLike, /) -> Tensor:
    """A copy of `x` with elements of `src` added along an axis: `scatter` with reduce="add"."""
    return _scattered("scatter_add", x, axis, index, src, "add")


def _scattered(
    op: str, x: ArrayLike, axis: int, index: ArrayLike, src: ArrayLike, reduce: str | None
) -> Tensor:
    fold = _fold(op, reduce)
    t = as_tensor(op, x)
    a = axis_of(op, axis, t.ndim)
    operand, how = index_operand(op, index, t.shape[a], a, "raise", t)
    v = as_values(op, src, t)
    if v.ndim:
        fits = v.ndim == operand.ndim
        if not fits or any(n < m for n, m in zip(v.shape, operand.shape, strict=True)):
            raise ShapeError(f"[{op}] src of shape {v.shape} is less than index of {operand.shape}")
        v = v[tuple(slice(n) for n in operand.shape)]
    return _core.put_along_axis(t, operand, a, v, fold, False, how, op)


@public
def index_add(
    x: ArrayLike, axis: int, index: ArrayLike, source: ArrayLike, /, *, alpha: float = 1
) -> Tensor:
    """A copy of `x` with slices of `source`, times `alpha`, added along an axis at the indices.

    `index` is a vector; `source` broadcasts to the shape that ``take(x, index, axis)`` has.
    Integers keep the dtype of `x` and wrap in it, as with np.add.at. Raises ShapeError, IndexError.
    """
    t = as_tensor("index_add", x)
    a = axis_of("index_add", axis, t.ndim)
    v = as_values("index_add", source, t)
    key = (slice(None),) * a + (as_key("index_add", index),)
    return _core.accumulate(t, key, v if alpha == 1 else v * alpha, "sum", "index_add")


def as_key(op: str, index: ArrayLike) -> Any:
    """Indices as a key takes them: a tensor, or host data, which is checked at once."""
    a = index if isinstance(index, Tensor) else np.atleast_1d(np.asarray(index))
    if a.ndim != 1:
        raise ShapeError(f"[{op}] the indices are a vector, not of shape {a.shape}")
    if not isinstance(a, Tensor) and a.size == 0:
        return a.astype(np.int32)
    return a


# ---- segments -----------------------------------------------------------------------------------


def _segments(op: str, values: ArrayLike, ids: ArrayLike, n: int, fold: str, first: Any) -> Tensor:
    v = as_tensor(op, values, ids.device if isinstance(ids, Tensor) else None)
    i = as_key(op, ids)
    if v.ndim == 0 or v.shape[0] != i.shape[0]:
        raise ShapeError(f"[{op}] values of shape {v.shape} for ids of shape {tuple(i.shape)}")
    n = as_int(op, "num_segments", n)
    if n < 0:
        raise ValueError(f"[{op}] num_segments must not be negative, not {n}")
    if isdtype(v.dtype, "bool") and fold == "sum":
        v = astype(v, "int32")
    base = full((n, *v.shape[1:]), first(v.dtype), dtype=v.dtype, device=v.device)
    return _core.accumulate(base, i, v, fold, op)


@public
def segment_sum(values: ArrayLike, ids: ArrayLike, /, num_segments: int) -> Tensor:
    """Sums of the rows of `values` that have the same id, of shape (num_segments, ...).

    `ids` name a segment for each row, in any order; segments without rows are 0. Bools count, in
    int32; other integers keep their dtype and wrap in it, as with np.add.at. Sums of floats are
    exact and rounded once, or taken in the order of the rows by fixed blocks, as shapes are:
    results are the same bits every time. Raises ShapeError, and IndexError for ids out of range, at
    once where they are host data, else with the next read, without their rows; negative ones count
    from the end.
    """
    return _segments("segment_sum", values, ids, num_segments, "sum", lambda d: 0)


@public
def segment_prod(values: ArrayLike, ids: ArrayLike, /, num_segments: int) -> Tensor:
    """Products of the rows that have the same id, as `segment_sum`; 1 for none."""
    return _segments("segment_prod", values, ids, num_segments, "prod", lambda d: 1)


@public
def segment_max(values: ArrayLike, ids: ArrayLike, /, num_segments: int) -> Tensor:
    """The largest of the rows that have the same id, as `segment_sum`; NaN wins, and the least
    number of the dtype (-inf) stands for none."""
    return _segments("segment_max", values, ids, num_segments, "max", lambda d: _bound(d, -1))


@public
def segment_min(values: ArrayLike, ids: ArrayLike, /, num_segments: int) -> Tensor:
    """The smallest of the rows that have the same id, as `segment_sum`; NaN wins, and the largest
    number of the dtype (inf) stands for none."""
    return _segments("segment_min", values, ids, num_segments, "min", lambda d: _bound(d, 1))


@public
def segment_mean(values: ArrayLike, ids: ArrayLike, /, num_segments: int) -> Tensor:
    """Means of the rows that have the same id, as `segment_sum`; in the default float for integers.
    0 for none."""
    v = as_tensor("segment_mean", values, ids.device if isinstance(ids, Tensor) else None)
    if not isdtype(v.dtype, "real floating"):
        v = astype(v, _core.default_float())
    dtype = v.dtype
    if v.itemsize == 2:  # sums may be out of the range of 16 bits where means are not
        v = astype(v, "float32")
    total = _segments("segment_mean", v, ids, num_segments, "sum", lambda d: 0)
    one = ones((v.shape[0],), dtype="int32", device=v.device)
    count = _segments("segment_mean", one, ids, num_segments, "sum", lambda d: 0)
    count = maximum(count, 1).reshape((-1,) + (1,) * (v.ndim - 1))
    return astype(total / astype(count, total.dtype), dtype)


def _bound(dtype: Any, side: int) -> Any:
    if isdtype(dtype, "bool"):
        return side > 0
    if isdtype(dtype, "real floating"):
        return side * np.inf
    return iinfo(dtype).max if side > 0 else iinfo(dtype).min
