"""Choices by conditions and numbers, and indices of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor, as_values, from_host
from wgtensor._core import ShapeError, Tensor
from wgtensor._dtypes import int32
from wgtensor._functions import arange, astype, broadcast_shapes, broadcast_to, full
from wgtensor._generated import where as _select
from wgtensor._indexing import index_operand
from wgtensor._manipulation import along, as_int, as_tensors, axis_of, broadcast_arrays, stack
from wgtensor._naming import public
from wgtensor._reductions import cumulative_sum

__all__ = [
    "choose",
    "compress",
    "diag_indices",
    "extract",
    "ix_",
    "place",
    "ravel_multi_index",
    "select",
    "tril_indices",
    "triu_indices",
    "unravel_index",
]


@public
def choose(a: ArrayLike, choices: Sequence[ArrayLike], /, *, mode: str = "raise") -> Tensor:
    """For each place the element there of the array that `a` numbers: ``choices[a[i]][i]``.

    All broadcast. `mode` as for `take`. Raises ShapeError, IndexError, ValueError for no choices.
    """
    arrays = as_tensors("choose", choices)
    if not arrays:
        raise ValueError("[choose] takes one choice or more")
    table = stack(broadcast_arrays(*arrays))
    operand, how = index_operand("choose", a, len(arrays), 0, mode, table)
    shape = broadcast_shapes(operand.shape, table.shape[1:])
    table = broadcast_to(table.reshape(_padded(table.shape, len(shape) + 1)), (len(arrays), *shape))
    places = broadcast_to(operand, shape).expand_dims(0)
    return _core.take_along_axis(table, places, 0, how, "choose").squeeze(0)


def _padded(shape: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    return (shape[0], *(1,) * (ndim - len(shape)), *shape[1:])


@public
def compress(condition: ArrayLike, x: ArrayLike, /, axis: int | None = None) -> Tensor:
    """The slices of `x` along an axis where the vector `condition` holds; of the flattened `x` by
    default.

    Reads back how many there are. Raises ShapeError, IndexError for a condition longer than the
    axis.
    """
    t = as_tensor("compress", x)
    if axis is None:
        t = t.reshape(-1)
    a = axis_of("compress", 0 if axis is None else axis, t.ndim)
    c = astype(as_tensor("compress", condition, t.device), "bool")
    if c.ndim != 1:
        raise ShapeError(f"[compress] the condition is a vector, not of shape {c.shape}")
    if c.size > t.shape[a]:
        raise IndexError(
            f"[compress] a condition of {c.size} elements for axis {a} with size {t.shape[a]}"
        )
    return t[along(a, slice(c.size))][along(a, c)]


@public
def extract(condition: ArrayLike, x: ArrayLike, /) -> Tensor:
    """The elements of `x` where the condition holds, in row-major order; reads back how many."""
    return compress(as_tensor("extract", condition).reshape(-1), x)


@public
def place(x: Tensor, mask: ArrayLike, values: ArrayLike, /) -> None:
    """Replaces the elements of `x` where the mask holds by the values, in order, again and again.

    Unlike ``x[mask] = values`` it takes any number of values and reads nothing back. Raises
    ShapeError, ValueError for no values.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"[place] writes into a Tensor, not {type(x).__name__}")
    m = astype(as_tensor("place", mask, x.device), "bool")
    if m.shape != x.shape:
        raise ShapeError(f"[place] a mask of shape {m.shape} for a tensor of shape {x.shape}")
    v = astype(as_values("place", values, x).reshape(-1), x.dtype)
    if x.size == 0:
        return
    if v.size == 0:
        raise ValueError("[place] takes one value or more")
    rank = cumulative_sum(astype(m.reshape(-1), int32)) - 1
    chosen = _core.take(v, rank % v.size, 0, "trusted", "place").reshape(x.shape)
    x._become(_select(m, chosen, x), "place")


@public
def select(
    conditions: Sequence[ArrayLike], choices: Sequence[ArrayLike], /, default: ArrayLike = 0
) -> Tensor:
    """For each place the choice of the first condition that holds there, else `default`.

    All broadcast, dtypes promote. Raises ValueError for other than one choice to a condition.
    """
    c, v = as_tensors("select", conditions), list(choices)
    if len(c) != len(v) or not c:
        raise ValueError(f"[select] {len(v)} choices for {len(c)} conditions")
    out: Any = default
    for condition, choice in zip(reversed(c), reversed(v), strict=True):
        out = _select(condition, choice, out)
    result: Tensor = out
    return result


# ---- indices of shapes --------------------------------------------------------------------------


@public
def ix_(*args: ArrayLike) -> tuple[Tensor, ...]:
    """Vectors of indices, or masks, so shaped that ``x[ix_(a, b)]`` has each row of `a` with each
    column of `b`. The places of a mask are read back. Raises ShapeError."""
    out = []
    for i, a in enumerate(as_tensors("ix_", args)):
        if a.ndim != 1:
            raise ShapeError(f"[ix_] takes vectors, not a tensor of shape {a.shape}")
        v = arange(a.size, device=a.device)[a] if a.dtype.kind == "b" else a
        if v.size == 0:
            v = astype(v, int32)
        out.append(v.reshape(tuple(-1 if i == k else 1 for k in range(len(args)))))
    return tuple(out)


def _size(op: str, shape: Any) -> tuple[tuple[int, ...], int]:
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    dims = tuple(as_int(op, "a size", n) for n in sizes)
    return dims, int(np.prod(dims, dtype=np.int64))


@public
def unravel_index(indices: ArrayLike, shape: Any, /) -> tuple[Tensor, ...]:
    """Places in the row-major order of a shape as an index for each axis, in int32.

    Raises IndexError for places out of range: at once where they are host data, else with the next
    read.
    """
    dims, size = _size("unravel_index", shape)
    like = indices if isinstance(indices, Tensor) else full((), 0)
    operand, how = index_operand("unravel_index", indices, size, 0, "raise", like)
    rest = _core.places(operand, size, 0, how, "unravel_index")
    out: list[Tensor] = []
    for n in reversed(dims[1:]):
        out.append(astype(rest % n, int32))
        rest = rest // n
    return (astype(rest, int32), *reversed(out)) if dims else ()


@public
def ravel_multi_index(
    multi_index: Sequence[ArrayLike], dims: Any, /, *, mode: str = "raise"
) -> Tensor:
    """Indices for each axis of a shape as places in its row-major order, in int32.

    The inverse of `unravel_index`. Indices broadcast; `mode` as for `take`. Raises IndexError.
    """
    op = "ravel_multi_index"
    shape, _ = _size(op, dims)
    if len(multi_index) != len(shape) or not shape:
        raise ValueError(f"[{op}] {len(multi_index)} indices for {len(shape)} dimensions")
    first = next((i for i in multi_index if isinstance(i, Tensor)), None)
    like = full((), 0) if first is None else first
    place: Any = None
    for axis, (i, n) in enumerate(zip(multi_index, shape, strict=True)):
        operand, how = index_operand(op, i, n, axis, mode, like)
        p = _core.places(operand, n, axis, how, op)
        place = p if place is None else place * n + p
    return astype(place, int32)


def _indices(arrays: tuple[np.ndarray[Any, Any], ...], device: DeviceLike) -> tuple[Tensor, ...]:
    return tuple(from_host("indices", a.astype(np.int32), int32, device) for a in arrays)


@public
def diag_indices(n: int, ndim: int = 2, *, device: DeviceLike = None) -> tuple[Tensor, ...]:
    """The indices of the main diagonal of an array of `ndim` dimensions of size `n`, in int32."""
    return (arange(as_int("diag_indices", "n", n), device=device),) * ndim


@public
def tril_indices(
    n: int, k: int = 0, m: int | None = None, *, device: DeviceLike = None
) -> tuple[Tensor, ...]:
    """The indices of the lower triangle of an n x m matrix, up to its k-th diagonal, in int32."""
    return _indices(np.tril_indices(n, k, m), device)


@public
def triu_indices(
    n: int, k: int = 0, m: int | None = None, *, device: DeviceLike = None
) -> tuple[Tensor, ...]:
    """The indices of the upper triangle of an n x m matrix, from its k-th diagonal, in int32."""
    return _indices(np.triu_indices(n, k, m), device)
