"""Sets: unique elements, membership, unions and differences of vectors, all by sorting.

Results as long as the data make them read one count back, so these functions wait for the work.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from wgtensor import _core
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import Tensor
from wgtensor._functions import arange, zeros
from wgtensor._manipulation import axis_of, concat, moveaxis
from wgtensor._naming import public
from wgtensor._reductions import any as any_
from wgtensor._reductions import cumulative_sum
from wgtensor._searching import common, contains
from wgtensor._sorting import argsort, lexsort, sort

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


class _Unique:
    """The elements of a tensor in order, and where in them new ones start."""

    def __init__(
        self, op: str, x: ArrayLike, equal_nan: bool, with_places: bool, with_counts: bool = False
    ) -> None:
        self.t = as_tensor(op, x)
        self.flat = self.t.reshape(-1)
        self.size = self.flat.size
        self.order = argsort(self.flat) if with_places and self.size else None
        self.sorted = sort(self.flat) if self.order is None else self._at(self.order)
        before, after = self.sorted[:-1], self.sorted[1:]
        starts = after != before
        if equal_nan and self.t.dtype.kind == "f":
            starts = starts & (before == before)
        self._find(starts, self.sorted, with_counts)

    def _find(self, starts: Tensor, values: Tensor | None, with_counts: bool) -> None:
        """What new ones have; `starts` is of the elements from the second on."""
        self.starts = starts
        self.found: dict[str, Tensor] = {}
        if self.size == 0:
            return
        wanted: dict[str, Tensor | None] = {}
        if values is not None:
            wanted["values"] = values[1:]
        if self.order is not None:
            wanted["indices"] = self.order[1:]
        if with_counts:
            wanted["begins"] = None
        found = _core.compact(starts, list(wanted.values()))
        self.found = dict(zip(wanted, found, strict=True))

    def _at(self, places: Tensor) -> Tensor:
        return _core.take(self.flat, places, 0, "trusted", "unique")

    def _none(self) -> Tensor:
        return zeros(0, dtype="int32", device=self.t.device)

    @property
    def values(self) -> Tensor:
        if self.size == 0:
            return self.flat.copy()
        return concat([self.sorted[:1], self.found["values"]])

    @property
    def indices(self) -> Tensor:
        """Where each value stands first."""
        if self.size == 0 or self.order is None:
            return self._none()
        return concat([self.order[:1], self.found["indices"]])

    @property
    def counts(self) -> Tensor:
        if self.size == 0:
            return self._none()
        end = arange(self.size, self.size + 1, device=self.t.device)
        first = zeros(1, dtype="int32", device=self.t.device)
        begins = concat([first, self.found["begins"] + 1, end])
        return begins[1:] - begins[:-1]

    @property
    def inverse(self) -> Tensor:
        if self.size == 0:
            return zeros(self.t.shape, dtype="int32", device=self.t.device)
        assert self.order is not None
        rank = cumulative_sum(self.starts, include_initial=True)
        return _core.unpermuted(rank, self.order).reshape(self.t.shape)


class _UniqueParts(_Unique):
    """The same of a tensor's parts along an axis, which are rows here."""

    def __init__(self, x: ArrayLike, axis: int, with_counts: bool) -> None:
        t = as_tensor("unique", x)
        self.axis = axis_of("unique", axis, t.ndim)
        self.moved = moveaxis(t, self.axis, 0)
        self.size = self.moved.shape[0]
        rows = self.moved.reshape(self.size, -1) if t.size else self.moved.reshape(self.size, 0)
        self.t = rows[:, 0] if t.size else zeros(self.size, device=t.device)
        columns = [rows[:, c] for c in reversed(range(rows.shape[1]))]
        self.order = lexsort(columns) if columns else arange(self.size, device=t.device)
        ordered = _core.take(rows, self.order, 0, "trusted", "unique")
        self._find(any_(ordered[1:] != ordered[:-1], axis=1), None, with_counts)

    @property
    def values(self) -> Tensor:
        if self.size == 0:
            return moveaxis(self.moved, 0, self.axis).copy()
        kept = _core.take(self.moved, self.indices, 0, "trusted", "unique")
        return moveaxis(kept, 0, self.axis)


@public
def unique_values(x: ArrayLike, /) -> Tensor:
    """The unique elements of all of x, in order: a vector of its dtype.

    0.0 and -0.0 are one value, the one that is first in x; each NaN is a value of its own, and
    NaNs are last. Reads their number back.
    """
    return _Unique("unique_values", x, False, False).values


@public
def unique_counts(x: ArrayLike, /) -> UniqueCounts:
    """(values, counts): those of `unique_values`, and how often each occurs, in int32."""
    u = _Unique("unique_counts", x, False, False, with_counts=True)
    return UniqueCounts(u.values, u.counts)


@public
def unique_inverse(x: ArrayLike, /) -> UniqueInverse:
    """(values, inverse_indices): those of `unique_values`, and for each element of x, in its shape,
    the int32 place of its value."""
    u = _Unique("unique_inverse", x, False, True)
    return UniqueInverse(u.values, u.inverse)


@public
def unique_all(x: ArrayLike, /) -> UniqueAll:
    """(values, indices, inverse_indices, counts): those of `unique_counts` and `unique_inverse`,
    and where in the flattened x each value occurs first. Indices and counts are int32."""
    u = _Unique("unique_all", x, False, True, with_counts=True)
    return UniqueAll(u.values, u.indices, u.inverse, u.counts)


@public
def unique(
    ar: ArrayLike,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    axis: int | None = None,
    equal_nan: bool = True,
) -> Any:
    """The unique elements of a flattened tensor, or its unique parts along an axis, in order, and
    what else is asked for: a tuple of (values, first indices, inverse indices, counts), as NumPy's.
    Inverse indices have the tensor's shape, or the axis's.

    With `equal_nan` all NaNs are one value, but not those in parts along an axis; -0.0 and 0.0 are,
    always. Parts are sorted once for each of their elements. Reads a count back.
    """
    places = return_index or return_inverse
    u: _Unique
    if axis is None:
        u = _Unique("unique", ar, equal_nan, places, return_counts)
    else:
        u = _UniqueParts(ar, axis, return_counts)
    out = [u.values]
    if return_index:
        out.append(u.indices)
    if return_inverse:
        out.append(u.inverse)
    if return_counts:
        out.append(u.counts)
    return out[0] if len(out) == 1 else tuple(out)


@public
def isin(x1: ArrayLike, x2: ArrayLike, /, *, invert: bool = False) -> Tensor:
    """Which elements of x1 are in x2, in any place: bool of x1's shape. NaN equals nothing.

    Both take their common dtype; x2 is sorted, and each element searched in it.
    """
    a, b = common("isin", x1, x2)
    found = contains("isin", sort(b.reshape(-1)), a)
    return ~found if invert else found


def _two(op: str, x1: ArrayLike, x2: ArrayLike, assume_unique: bool) -> tuple[Tensor, Tensor]:
    a, b = (t.reshape(-1) for t in common(op, x1, x2))
    if assume_unique:
        return sort(a), sort(b)
    return _Unique(op, a, True, False).values, _Unique(op, b, True, False).values


@public
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, /, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The unique elements that both have, in order; with `return_indices` also where each stands
    first in the one and in the other. Both take their common dtype. NaN equals nothing."""
    a, b = (t.reshape(-1) for t in common("intersect1d", ar1, ar2))
    if not return_indices:
        a, b = _two("intersect1d", a, b, assume_unique)
        return _core.compact(contains("intersect1d", b, a), [a])[0]
    u, v = (_Unique("intersect1d", t, True, True) for t in (a, b))
    values, first = _core.compact(
        contains("intersect1d", v.values, u.values), [u.values, u.indices]
    )
    second = _core.compact(contains("intersect1d", u.values, v.values), [v.indices])[0]
    return values, first, second


@public
def union1d(ar1: ArrayLike, ar2: ArrayLike, /) -> Tensor:
    """The unique elements of two tensors together, in order, in their common dtype."""
    a, b = common("union1d", ar1, ar2)
    return _Unique("union1d", concat([a.reshape(-1), b.reshape(-1)]), True, False).values


@public
def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, /, assume_unique: bool = False) -> Tensor:
    """The unique elements of the one that are not in the other, in order; with `assume_unique` all
    of them in the order in which they stand."""
    a, b = (t.reshape(-1) for t in common("setdiff1d", ar1, ar2))
    if not assume_unique:
        a = _Unique("setdiff1d", a, True, False).values
    return _core.compact(~contains("setdiff1d", sort(b), a), [a])[0]


@public
def setxor1d(ar1: ArrayLike, ar2: ArrayLike, /, assume_unique: bool = False) -> Tensor:
    """The unique elements that only one of two tensors has, in order."""
    a, b = _two("setxor1d", ar1, ar2, assume_unique)
    one = _core.compact(~contains("setxor1d", b, a), [a])[0]
    other = _core.compact(~contains("setxor1d", a, b), [b])[0]
    return sort(concat([one, other]))
