"""Elements and whole tensors again and again: one copy each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import ShapeError, Tensor
from wgtensor._manipulation import along, as_int, axis_of, strides_of
from wgtensor._naming import public

__all__ = ["repeat", "tile"]


@public
def tile(x: ArrayLike, repetitions: int | Sequence[int], /) -> Tensor:
    """`x` side by side with itself, that often along each axis: one copy."""
    t = as_tensor("tile", x)
    counts = repetitions if isinstance(repetitions, (tuple, list, np.ndarray)) else (repetitions,)
    reps = [as_int("tile", "a number of repetitions", r) for r in counts]
    if any(r < 0 for r in reps):
        raise ValueError(f"[tile] negative numbers of repetitions: {tuple(reps)}")
    reps = [1] * (t.ndim - len(reps)) + reps
    t = t.reshape((*(1,) * (len(reps) - t.ndim), *t.shape))
    shape = tuple(r * n for r, n in zip(reps, t.shape, strict=True))
    spread: list[int] = []
    apart: list[int] = []
    for r, n in zip(reps, t.shape, strict=True):
        apart += [1, n] if r != 1 else [n]
        spread += [r, n] if r != 1 else [n]
    return t.reshape(tuple(apart)).broadcast_to(tuple(spread)).reshape(shape)


@public
def repeat(x: ArrayLike, repeats: int | Sequence[int], /, *, axis: int | None = None) -> Tensor:
    """Each element that many times in a row along an axis; of the flattened tensor by default.

    An int is one copy. Counts of their own for the elements of the axis take a kernel for each run
    of equal ones; a Tensor of counts is read first.
    """
    t = as_tensor("repeat", x)
    if axis is None:
        t, axis = t.reshape(-1), 0
    a = axis_of("repeat", axis, t.ndim)
    n = t.shape[a]
    counts = np.asarray(repeats)
    if counts.dtype.kind not in "iu" and counts.size:
        raise TypeError(f"[repeat] counts must be integers, not {repeats!r}")
    if counts.ndim > 1 or (counts.ndim and counts.size not in (1, n)):
        raise ShapeError(f"[repeat] counts of shape {counts.shape} for {n} elements on axis {a}")
    if (counts < 0).any():
        raise ValueError(f"[repeat] negative counts: {repeats!r}")
    if counts.size == 1:
        return _repeated(t, a, int(counts.reshape(-1)[0])).reshape(
            (*t.shape[:a], n * int(counts.reshape(-1)[0]), *t.shape[a + 1 :])
        )
    each = counts.tolist()
    shape = (*t.shape[:a], sum(each), *t.shape[a + 1 :])
    strides = strides_of(shape)
    pieces: list[tuple[Tensor, int, tuple[int, ...]]] = []
    start = at = 0
    for count, run in itertools.groupby(each):
        stop = start + len(list(run))
        part = _repeated(t[along(a, slice(start, stop))], a, count)
        steps = (*strides[:a], count * strides[a], *strides[a:])
        pieces.append((part, at * strides[a], steps))
        at += count * (stop - start)
        start = stop
    return _core.place(shape, t.dtype, t.device, pieces, None, "repeat")


def _repeated(t: Tensor, axis: int, count: int) -> Tensor:
    """A view with a new axis of `count` equal elements behind `axis`."""
    shape = (*t.shape[: axis + 1], count, *t.shape[axis + 1 :])
    return t.expand_dims(axis + 1).broadcast_to(shape)
