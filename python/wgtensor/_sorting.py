"""Sorting: elements in order, and where they were."""

from __future__ import annotations

from collections.abc import Sequence

from wgtensor import _core
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import ShapeError, Tensor
from wgtensor._manipulation import as_int, as_tensors, axis_of
from wgtensor._naming import public

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sort", "topk"]


def _along_axis(op: str, x: ArrayLike, axis: int | None) -> tuple[Tensor, int]:
    """The operand and the axis that is meant; of None the flattened one."""
    t = as_tensor(op, x)
    return (t.reshape(-1), 0) if axis is None else (t, axis_of(op, axis, t.ndim))


def sort(
    x: ArrayLike, /, *, axis: int | None = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The elements in order along an axis, of the flattened tensor for None: same dtype, any dtype.

    Always stable: -0.0 and 0.0 are alike and keep their order, as NaNs do, which are last in
    either order. A radix sort (rows of a few hundred elements: in workgroup memory); the same
    input gives the same bits on any run. Raises IndexError for an axis that is not there,
    also of a 0-d tensor, UnsupportedError for a row above the adapter's largest binding.
    """
    t, a = _along_axis("sort", x, axis)
    return _core.sort(t, a, descending)


def argsort(
    x: ArrayLike, /, *, axis: int | None = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """Places that sort the elements along an axis, in int32: x at them is `sort(x)`; of the
    flattened tensor for None.

    Always stable, also where `descending`: equal elements keep their order. NaNs are last in
    either order. Raises what `sort` raises.
    """
    t, a = _along_axis("argsort", x, axis)
    return _core.argsort(t, a, descending)


@public
def lexsort(keys: ArrayLike, /, axis: int = -1) -> Tensor:
    """Places, in int32, that sort by several keys of one shape: the last one first, the one before
    it among equal elements, and so on. A sort for each key.

    Raises ValueError for no keys, ShapeError for keys of different shapes, and what `sort` raises.
    """
    tensors = as_tensors("lexsort", keys)
    if not tensors:
        raise ValueError("[lexsort] needs a key or more")
    if len({t.shape for t in tensors}) > 1:
        shapes = ", ".join(str(t.shape) for t in tensors)
        raise ShapeError(f"[lexsort] keys have one shape, not {shapes}")
    axis = axis_of("lexsort", axis, tensors[0].ndim)
    order = argsort(tensors[0], axis=axis)
    for key in tensors[1:]:
        again = argsort(_along(key, order, axis), axis=axis)
        order = _along(order, again, axis)
    return order


def _along(t: Tensor, places: Tensor, axis: int) -> Tensor:
    return _core.take_along_axis(t, places, axis, "trusted", "lexsort")


@public
def topk(x: ArrayLike, k: int, /, *, axis: int = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """(values, indices): the k largest or smallest elements along an axis, in order, and their
    int32 places. Among equal ones the first come first; NaN is behind all numbers.

    Raises ValueError for a k that the axis does not have, and what `sort` raises.
    """
    t = as_tensor("topk", x)
    axis = axis_of("topk", axis, t.ndim)
    places = _core.top_places(t, as_int("topk", "k", k), axis, largest)
    return _core.take_along_axis(t, places, axis, "trusted", "topk"), places


def _check_kth(op: str, kth: int | Sequence[int], size: int) -> None:
    for k in kth if isinstance(kth, Sequence) else (kth,):
        if not -size <= as_int(op, "kth", k) < size:
            raise ValueError(f"[{op}] kth = {k} is out of bounds for an axis of {size} elements")


@public
def partition(x: ArrayLike, kth: int | Sequence[int], /, axis: int | None = -1) -> Tensor:
    """The elements along an axis, those at `kth` in their sorted place, smaller ones before them
    and larger ones behind; of the flattened tensor with ``axis=None``. All are sorted.

    Raises ValueError for a place that the axis does not have, and what `sort` raises.
    """
    t, axis = _along_axis("partition", x, axis)
    _check_kth("partition", kth, t.shape[axis])
    return _core.sort(t, axis, False)


@public
def argpartition(x: ArrayLike, kth: int | Sequence[int], /, axis: int | None = -1) -> Tensor:
    """Places, in int32, of what `partition` gives; those of equal elements are in order."""
    t, axis = _along_axis("argpartition", x, axis)
    _check_kth("argpartition", kth, t.shape[axis])
    return _core.argsort(t, axis, False)
