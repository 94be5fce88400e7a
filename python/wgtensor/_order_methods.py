"""Methods of tensors about order and places, with NumPy's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wgtensor import _searching, _sorting
from wgtensor._arrays import ArrayLike, into
from wgtensor._core import Tensor


def _axis(name: str, axis: int | None, dim: int | None) -> Any:
    if dim is None:
        return axis
    if axis != -1:
        raise TypeError(f"[{name}] takes axis= or dim=, not both: {axis!r} and {dim!r}")
    return dim


def sort(
    self: Tensor,
    axis: int = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    dim: int | None = None,
) -> None:
    """Puts the elements along an axis in order, in place: the tensor's handle moves to the sorted
    value. `wgtensor.sort` gives a new tensor."""
    if dim is not None:
        raise TypeError(
            f"[sort] dim={dim!r} gives values and indices in PyTorch: axis= sorts in place, "
            "wgtensor.sort gives the values, argsort the indices"
        )
    into("sort", self, _sorting.sort(self, axis=axis, descending=descending))


def argsort(
    self: Tensor,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
    dim: int | None = None,
) -> Tensor:
    """Places that sort the elements along an axis, in int32; of the flattened tensor for None.
    Stable whatever `kind` is."""
    axis = _axis("argsort", axis, dim)
    t = self.reshape(-1) if axis is None else self
    return _sorting.argsort(t, axis=-1 if axis is None else axis, descending=descending)


def topk(
    self: Tensor, k: int, axis: int = -1, largest: bool = True, *, dim: int | None = None
) -> tuple[Tensor, Tensor]:
    """(values, indices) of the k largest or smallest elements along an axis, in order."""
    return _sorting.topk(self, k, axis=_axis("topk", axis, dim), largest=largest)


def partition(self: Tensor, kth: int | Sequence[int], axis: int = -1) -> None:
    """Partitions the elements along an axis in place, as `wgtensor.partition` does."""
    into("partition", self, _sorting.partition(self, kth, axis))


def argpartition(
    self: Tensor,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> Tensor:
    """Places of what `partition` gives, in int32."""
    return _sorting.argpartition(self, kth, axis)


def nonzero(self: Tensor) -> tuple[Tensor, ...]:
    """Indices of the elements that are not zero, one int32 vector for each axis; waits."""
    return _searching.nonzero(self)


def searchsorted(
    self: Tensor, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None
) -> Tensor:
    """Where elements would keep the order of this sorted vector, as `wgtensor.searchsorted`."""
    return _searching.searchsorted(self, v, side, sorter)


METHODS: dict[str, Any] = {
    "sort": sort,
    "argsort": argsort,
    "topk": topk,
    "partition": partition,
    "argpartition": argpartition,
    "nonzero": nonzero,
    "searchsorted": searchsorted,
}
for _name, _method in METHODS.items():
    _method.__qualname__ = f"Tensor.{_name}"
