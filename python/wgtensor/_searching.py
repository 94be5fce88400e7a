"""Where elements are: what is not zero, and places among sorted values."""

from __future__ import annotations

from wgtensor import _core
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import ShapeError, Tensor
from wgtensor._dtypes import result_type
from wgtensor._functions import zeros
from wgtensor._indexing import take
from wgtensor._manipulation import as_tensors, stack
from wgtensor._naming import public

__all__ = ["argwhere", "flatnonzero", "nonzero", "searchsorted"]

_SIDES = {"left": 0, "right": 1}
_FOUND = 2


@public
def flatnonzero(x: ArrayLike, /) -> Tensor:
    """Places of the elements that are not zero in row-major order, in int32; NaN is not zero.

    How many there are is read back, so it waits for the work. Raises UnsupportedError for 2^31
    elements or more.
    """
    return _core.compact(as_tensor("flatnonzero", x), [None])[0]


@public
def nonzero(x: ArrayLike, /) -> tuple[Tensor, ...]:
    """Indices of the elements that are not zero in row-major order: one int32 vector for each
    axis. NaN is not zero.

    How many there are is read back, so it waits for the work. Raises ValueError for a 0-d tensor,
    UnsupportedError for 2^31 elements or more.
    """
    t = as_tensor("nonzero", x)
    if t.ndim == 0:
        raise ValueError("[nonzero] a 0-d tensor has no axis to index: use atleast_1d(x)")
    return tuple(_core.nonzero(t))


@public
def argwhere(x: ArrayLike, /) -> Tensor:
    """Indices of the elements that are not zero in row-major order, one to a row: int32 of shape
    (count, ndim).

    How many there are is read back, so it waits for the work. Raises what `nonzero` raises, but
    for 0-d tensors: their rows are empty.
    """
    t = as_tensor("argwhere", x)
    if t.ndim == 0:
        return zeros((flatnonzero(t).size, 0), dtype="int32", device=t.device)
    return stack(_core.nonzero(t), axis=1)


@public
def searchsorted(
    x1: ArrayLike, x2: ArrayLike, /, side: str = "left", sorter: ArrayLike | None = None
) -> Tensor:
    """For each element of x2 the place in x1, a sorted vector, where it would keep the order: how
    many elements are less, or less or equal with ``side="right"``. int32 of x2's shape.

    Both take their common dtype. NaN is above all numbers, as where it is sorted. `sorter` are
    places that sort x1, as `argsort` gives them. Raises ShapeError where x1 is no vector,
    ValueError for another side.
    """
    if side not in _SIDES:
        raise ValueError(f"[searchsorted] side is 'left' or 'right', not {side!r}")
    sorted_, values = common("searchsorted", x1, x2)
    if sorted_.ndim != 1:
        raise ShapeError(f"[searchsorted] x1 is a sorted vector, not of shape {sorted_.shape}")
    if sorter is not None:
        sorted_ = take(sorted_, sorter, axis=0)
    return _core.search(sorted_, values, _SIDES[side], "searchsorted")


def common(op: str, x1: ArrayLike, x2: ArrayLike) -> tuple[Tensor, Tensor]:
    """Two operands in their common dtype; Python numbers take the other's, if that holds them."""
    first, second = as_tensors(op, (x1, x2))
    dtype = result_type(
        *(
            x if isinstance(x, (bool, int, float)) else t.dtype
            for x, t in ((x1, first), (x2, second))
        )
    )
    return first._astype(dtype), second._astype(dtype)


def contains(op: str, sorted_: Tensor, values: Tensor) -> Tensor:
    """Which values are in a sorted vector of their dtype. NaN equals nothing."""
    found = _core.search(sorted_, values, _FOUND, op) != 0
    return found & (values == values) if values.dtype.kind == "f" else found
