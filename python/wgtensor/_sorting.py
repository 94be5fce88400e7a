"""Sorting: elements in order, and where they were."""

from __future__ import annotations

from wgtensor import _core
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import Tensor


def sort(
    x: ArrayLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The elements in order along an axis: same shape, same dtype, any dtype.

    Always stable: -0.0 and 0.0 are alike and keep their order, as NaNs do, which are last in
    either order. A radix sort (rows of a few hundred elements: in workgroup memory); the same
    input gives the same bits on any run. Raises IndexError for an axis that is not there,
    also of a 0-d tensor, UnsupportedError for a row above the adapter's largest binding.
    """
    return _core.sort(as_tensor("sort", x), axis, descending)


def argsort(
    x: ArrayLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """Places that sort the elements along an axis, in int32: x at them is `sort(x)`.

    Always stable, also where `descending`: equal elements keep their order. NaNs are last in
    either order. Raises what `sort` raises.
    """
    return _core.argsort(as_tensor("argsort", x), axis, descending)
