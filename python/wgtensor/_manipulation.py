"""Functions that join, cut, repeat and turn tensors: views, or a kernel for each piece written."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import ShapeError, Tensor
from wgtensor._functions import broadcast_shapes, reshape
from wgtensor._generated import where as _select
from wgtensor._naming import public
from wgtensor._reductions import Axis

__all__ = [
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "concat",
    "concatenate",
    "dstack",
    "flip",
    "fliplr",
    "flipud",
    "hstack",
    "moveaxis",
    "ravel",
    "roll",
    "rot90",
    "split",
    "stack",
    "swapaxes",
    "unstack",
    "vstack",
]


def as_tensors(op: str, arrays: Sequence[ArrayLike]) -> list[Tensor]:
    """Operands on the device of the first tensor among them."""
    if isinstance(arrays, Tensor):
        return list(arrays)
    try:
        items = list(arrays)
    except TypeError:
        raise TypeError(f"[{op}] takes a sequence of arrays, not {type(arrays).__name__}") from None
    tensors = [x for x in items if isinstance(x, Tensor)]
    device = tensors[0].device if tensors else None
    like = next((x.dtype for x in tensors if x.itemsize == 8), None)
    return [as_tensor(op, x, device, like) for x in items]


def _index(op: str, name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"[{op}] {name} must be an integer, not {value!r}") from None


def as_int(op: str, name: str, value: Any) -> int:
    """An integer that 64 bits hold. Raises TypeError, OverflowError."""
    i = _index(op, name, value)
    if not -(1 << 63) <= i < 1 << 63:
        raise OverflowError(f"[{op}] {name} = {i} is out of bounds")
    return i


def axis_of(op: str, axis: Any, ndim: int) -> int:
    """An axis in [0, ndim). Raises IndexError."""
    a = _index(op, "axis", axis)
    if not -ndim <= a < ndim:
        raise IndexError(f"[{op}] axis {a} is out of bounds for a tensor with {ndim} dimensions")
    return a % ndim


def axes_of(op: str, axis: Axis, ndim: int) -> tuple[int, ...]:
    """Axes in [0, ndim), all for None. Raises IndexError, and ValueError for repeated ones."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = tuple(axis_of(op, a, ndim) for a in axes)
    if len(set(found)) < len(found):
        raise ValueError(f"[{op}] repeated axes in {axis!r}")
    return found


def strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements between neighbours of a dense tensor, along each axis."""
    steps = itertools.accumulate(reversed(shape[1:]), operator.mul, initial=1)
    return tuple(reversed(list(steps)))[: len(shape)] if shape else ()


# ---- joining ------------------------------------------------------------------------------------


@public
def concat(arrays: Sequence[ArrayLike], /, axis: int | None = 0) -> Tensor:
    """The arrays one after the other along an axis; flattened first for ``axis=None``.

    Shapes agree but for that axis; dtypes promote. Each array is written, with the elementwise
    work that makes it, straight to its place. Raises ShapeError, DTypeError, ValueError for no
    arrays.
    """
    tensors = as_tensors("concat", arrays)
    if axis is None:
        return _core.concat([t.reshape(-1) for t in tensors], 0)
    return _core.concat(tensors, as_int("concat", "axis", axis))


@public
def concatenate(arrays: Sequence[ArrayLike], /, axis: int | None = 0) -> Tensor:
    """NumPy's name for concat."""
    return concat(arrays, axis=axis)


@public
def stack(arrays: Sequence[ArrayLike], /, axis: int = 0) -> Tensor:
    """Arrays of one shape along a new axis. Raises ShapeError where shapes differ."""
    tensors = as_tensors("stack", arrays)
    axis = as_int("stack", "axis", axis)
    shapes = sorted({t.shape for t in tensors})
    if len(shapes) > 1:
        raise ShapeError(f"[stack] takes tensors of one shape, not {shapes}")
    return _core.concat([t.expand_dims(axis) for t in tensors], axis, "stack")


@public
def hstack(arrays: Sequence[ArrayLike], /) -> Tensor:
    """Joined along the second axis; 1-D arrays along their only one."""
    tensors = [atleast_1d(t) for t in as_tensors("hstack", arrays)]
    return _core.concat(tensors, 0 if tensors and tensors[0].ndim == 1 else 1, "hstack")


@public
def vstack(arrays: Sequence[ArrayLike], /) -> Tensor:
    """Joined along the first axis; 1-D arrays count as rows."""
    return _core.concat([atleast_2d(t) for t in as_tensors("vstack", arrays)], 0, "vstack")


@public
def dstack(arrays: Sequence[ArrayLike], /) -> Tensor:
    """Joined along the third axis, after atleast_3d."""
    return _core.concat([atleast_3d(t) for t in as_tensors("dstack", arrays)], 2, "dstack")


# ---- cutting ------------------------------------------------------------------------------------


def along(axis: int, item: Any) -> tuple[Any, ...]:
    """A key that indexes one axis."""
    return (*(slice(None),) * axis, item)


@public
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Views of `x` at each index of an axis. Raises ShapeError for 0-d."""
    t = as_tensor("unstack", x)
    if t.ndim == 0:
        raise ShapeError("[unstack] a 0-d tensor has no axis to be taken apart along")
    a = axis_of("unstack", axis, t.ndim)
    return tuple(t[along(a, i)] for i in range(t.shape[a]))


@public
def array_split(
    x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0
) -> list[Tensor]:
    """Views: that many parts of an axis, the first ones longer by 1; or cut at these indices."""
    t = as_tensor("array_split", x)
    a = axis_of("array_split", axis, t.ndim)
    n = t.shape[a]
    if isinstance(indices_or_sections, (list, tuple, np.ndarray, range)):
        inner = [as_int("array_split", "an index", i) for i in indices_or_sections]
    else:
        parts = as_int("array_split", "the number of parts", indices_or_sections)
        if parts <= 0:
            raise ValueError(f"[array_split] {parts} parts: one or more are needed")
        size, longer = divmod(n, parts)
        inner = [i * size + min(i, longer) for i in range(1, parts)]
    edges = [0, *inner, n]
    return [t[along(a, slice(i, j))] for i, j in itertools.pairwise(edges)]


@public
def split(x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Views: that many equal parts of an axis, or cut at these indices.

    Raises ShapeError where the parts would not be equal: array_split allows that.
    """
    t = as_tensor("split", x)
    n = t.shape[axis_of("split", axis, t.ndim)]
    if not isinstance(indices_or_sections, (list, tuple, np.ndarray, range)):
        parts = as_int("split", "the number of parts", indices_or_sections)
        if parts > 0 and n % parts:
            raise ShapeError(f"[split] {n} elements along axis {axis} make no {parts} equal parts")
    return array_split(t, indices_or_sections, axis)


# ---- axes and directions ------------------------------------------------------------------------


@public
def moveaxis(
    x: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int], /
) -> Tensor:
    """Axes at other positions, the rest in order; a view."""
    t = as_tensor("moveaxis", x)
    old, new = (axes_of("moveaxis", a, t.ndim) for a in (source, destination))
    if len(old) != len(new):
        raise ValueError(f"[moveaxis] {len(old)} axes to {len(new)} positions")
    order = [a for a in range(t.ndim) if a not in old]
    for position, a in sorted(zip(new, old, strict=True)):
        order.insert(position, a)
    return t.permute(order)


@public
def swapaxes(x: ArrayLike, axis1: int, axis2: int, /) -> Tensor:
    """Two axes exchanged; a view."""
    t = as_tensor("swapaxes", x)
    i, j = (axis_of("swapaxes", a, t.ndim) for a in (axis1, axis2))
    order = list(range(t.ndim))
    order[i], order[j] = j, i
    return t.permute(order)


@public
def flip(x: ArrayLike, /, *, axis: Axis = None) -> Tensor:
    """The elements in reverse order along axes, all by default; a view."""
    t = as_tensor("flip", x)
    axes = axes_of("flip", axis, t.ndim)
    return t[tuple(slice(None, None, -1 if a in axes else 1) for a in range(t.ndim))]


@public
def fliplr(x: ArrayLike, /) -> Tensor:
    """Columns in reverse order: axis 1; a view."""
    return flip(x, axis=1)


@public
def flipud(x: ArrayLike, /) -> Tensor:
    """Rows in reverse order: axis 0; a view."""
    return flip(x, axis=0)


@public
def rot90(x: ArrayLike, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by k quarters in a plane, from the first axis to the second; a view."""
    t = as_tensor("rot90", x)
    first, second = axes_of("rot90", tuple(axes), t.ndim)
    turns = as_int("rot90", "k", k) % 4
    if turns == 2:
        return flip(t, axis=(first, second))
    if turns == 1:
        t = flip(t, axis=second)
    elif turns == 3:
        t = flip(t, axis=first)
    return swapaxes(t, first, second) if turns else t[...]


@public
def roll(x: ArrayLike, /, shift: int | Sequence[int], *, axis: Axis = None) -> Tensor:
    """Elements moved along axes; those that leave at one end come back at the other.

    `shift` and `axis` are ints or tuples that broadcast; without axes the flattened tensor rolls.
    """
    t = as_tensor("roll", x)
    if axis is None:
        if not isinstance(shift, int):
            shift = sum(as_int("roll", "shift", s) for s in np.atleast_1d(np.asarray(shift)))
        return roll(t.reshape(-1), shift, axis=0).reshape(t.shape)
    try:
        pairs = np.broadcast(np.asarray(shift), np.asarray(axis))
    except ValueError:
        raise ValueError(f"[roll] shift {shift!r} and axis {axis!r} do not broadcast") from None
    moved = [0] * t.ndim
    for s, a in pairs:
        moved[axis_of("roll", a, t.ndim)] += as_int("roll", "shift", s)
    cuts: list[list[Cut]] = []
    for n, by in zip(t.shape, moved, strict=True):
        at = by % n if n else 0
        cuts.append([(0, slice(n - at, n), at), (at, slice(0, n - at), n - at)])
    return assemble("roll", t, t.shape, cuts)


#: position in the result, slice of the source, length; a slice of one element is repeated
Cut = tuple[int, slice, int]


def assemble(op: str, t: Tensor, shape: Sequence[int], cuts: Sequence[Sequence[Cut]]) -> Tensor:
    """A result of views of `t`, with a list of cuts for each axis: a piece for each combination."""
    strides = strides_of(shape)
    pieces = []
    for part in itertools.product(*([c for c in axis if c[2]] for axis in cuts)):
        offset = sum(at * s for (at, _, _), s in zip(part, strides, strict=True))
        view = t[tuple(item for _, item, _ in part)]
        pieces.append((view.broadcast_to(tuple(n for _, _, n in part)), offset, strides))
    if len(pieces) == 1 and pieces[0][0].shape == tuple(shape):
        return pieces[0][0]
    return _core.place(shape, t.dtype, t.device, pieces, None, op)


# ---- shapes -------------------------------------------------------------------------------------


@public
def ravel(x: ArrayLike, /) -> Tensor:
    """The elements in one dimension, in row-major order; a view where strides allow."""
    return reshape(as_tensor("ravel", x), -1)


def flatten(op: str, t: Tensor, first: int, last: int) -> Tensor:
    """The axes from one to another as one; a number has 1 element along one axis."""
    i, j = (axis_of(op, a, max(t.ndim, 1)) for a in (first, last))
    if i > j:
        raise ShapeError(f"[{op}] from axis {i} to axis {j} of shape {t.shape}")
    return t.reshape((*t.shape[:i], math.prod(t.shape[i : j + 1]), *t.shape[j + 1 :]))


@public
def broadcast_arrays(*arrays: ArrayLike) -> tuple[Tensor, ...]:
    """Views of all arrays in the shape that they broadcast to. Raises ShapeError."""
    tensors = as_tensors("broadcast_arrays", arrays)
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return tuple(t.broadcast_to(shape) for t in tensors)


def _each(op: str, arrays: tuple[ArrayLike, ...], f: Callable[[Tensor], Tensor]) -> Any:
    made = tuple(f(t) for t in as_tensors(op, arrays))
    return made[0] if len(made) == 1 else made


@public
def atleast_1d(*arrays: ArrayLike) -> Any:
    """Views with 1 dimension or more; a tuple for several arrays."""
    return _each("atleast_1d", arrays, lambda t: t[...] if t.ndim else t.reshape(1))


@public
def atleast_2d(*arrays: ArrayLike) -> Any:
    """Views with 2 dimensions or more, new ones in front; a tuple for several arrays."""
    return _each("atleast_2d", arrays, lambda t: t[...] if t.ndim > 1 else t.reshape(1, t.size))


@public
def atleast_3d(*arrays: ArrayLike) -> Any:
    """Views with 3 dimensions or more: (n,) as (1, n, 1), (m, n) as (m, n, 1); a tuple for many."""

    def wide(t: Tensor) -> Tensor:
        if t.ndim > 2:
            return t[...]
        return t.expand_dims(-1) if t.ndim == 2 else t.reshape(1, t.size, 1)

    return _each("atleast_3d", arrays, wide)


# ---- searching ----------------------------------------------------------------------------------


@overload
def where(condition: ArrayLike, /) -> tuple[Tensor, ...]: ...
@overload
def where(
    condition: ArrayLike, x1: ArrayLike, x2: ArrayLike, /, *, out: Tensor | None = None
) -> Tensor: ...
@public
def where(
    condition: ArrayLike,
    x1: ArrayLike = None,
    x2: ArrayLike = None,
    /,
    *,
    out: Tensor | None = None,
) -> Any:
    """x1 where the condition holds, else x2; shapes broadcast, dtypes promote.

    With a condition alone the indices where it holds, as `nonzero` gives them.
    """
    if x1 is None and x2 is None:
        from wgtensor._searching import nonzero

        return nonzero(condition)
    if x1 is None or x2 is None:
        raise TypeError("[where] takes a condition and two choices")
    return _select(condition, x1, x2, out=out)
