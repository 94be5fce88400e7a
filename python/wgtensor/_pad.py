"""pad, in all of NumPy's modes: what surrounds a tensor is placed around it piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import Tensor
from wgtensor._dtypes import iinfo
from wgtensor._functions import arange, astype
from wgtensor._generated import rint
from wgtensor._generated import where as _select
from wgtensor._manipulation import Cut, along, assemble, axis_of, strides_of
from wgtensor._naming import public
from wgtensor._quantiles import median

__all__ = ["pad"]

Pairs = list[tuple[Any, Any]]

#: mode -> the keywords that it takes
_OPTIONS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}


@public
def pad(x: ArrayLike, pad_width: Any, mode: str = "constant", **options: Any) -> Tensor:
    """`x` with elements added before and after it along each axis, as NumPy's pad does.

    pad_width: a number, (before, after), a pair for each axis, or a dict from axes to these. Modes
    and their keywords: constant (constant_values=0), edge, empty, linear_ramp (end_values=0),
    maximum, mean, median, minimum (stat_length=None), reflect and symmetric (reflect_type='even' or
    'odd'), wrap. Raises ValueError for an unknown mode or keyword, negative widths and empty axes
    without anything to extend. Means and medians of integers are computed in the default float.
    """
    if callable(mode):
        raise TypeError("[pad] mode is no function here: np.pad(np.asarray(x), ...) takes one")
    if mode not in _OPTIONS:
        raise ValueError(f"[pad] mode must be one of {', '.join(_OPTIONS)}, not {mode!r}")
    if unknown := set(options) - set(_OPTIONS[mode]):
        raise ValueError(f"[pad] mode {mode!r} does not take {', '.join(sorted(unknown))}")
    t = as_tensor("pad", x)
    widths = _widths(pad_width, t.ndim)
    if not any(map(any, widths)):
        return t[...]  # a tensor of its own, as any other result
    if mode == "constant":
        return _constant(t, widths, _pairs("constant_values", options, 0, t.ndim))
    if mode == "empty":
        return _around(t, widths, None)
    kind = options.get("reflect_type", "even")
    for axis, (n, width) in enumerate(zip(t.shape, widths, strict=True)):
        if n == 0 and any(width):
            raise ValueError(f"[pad] axis {axis} is empty: mode {mode!r} has nothing to extend")
    if mode in ("edge", "wrap") or (mode in _MIRRORS and kind == "even"):
        return _indexed(t, widths, mode)
    if mode in _MIRRORS:
        return _odd(t, widths, mode, kind)
    if mode == "linear_ramp":
        ends = _pairs("end_values", options, 0, t.ndim)
        return _by_axis(t, widths, lambda y, a: _ramps(y, a, widths[a], ends[a]))
    lengths = _pairs("stat_length", options, None, t.ndim)
    return _by_axis(t, widths, lambda y, a: _statistics(y, a, widths[a], mode, lengths[a]))


# ---- arguments ----------------------------------------------------------------------------------


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        each: list[Any] = [(0, 0)] * ndim
        for axis, value in pad_width.items():
            each[axis_of("pad", axis, ndim)] = (value, value) if np.ndim(value) == 0 else value
        pad_width = each or 0
    found = _broadcast("pad_width", pad_width, ndim)
    if any(not isinstance(w, int) for pair in found for w in pair):
        raise TypeError(f"[pad] pad_width must be of integers, not {pad_width!r}")
    if any(w < 0 for pair in found for w in pair):
        raise ValueError(f"[pad] pad_width has negative numbers: {pad_width!r}")
    return found


def _pairs(name: str, options: dict[str, Any], default: Any, ndim: int) -> Pairs:
    value = options.get(name, default)
    return [(None, None)] * ndim if value is None else _broadcast(name, value, ndim)


def _broadcast(name: str, value: Any, ndim: int) -> list[tuple[Any, Any]]:
    try:
        pairs = np.broadcast_to(np.asarray(value), (ndim, 2)).tolist()
    except ValueError:
        raise ValueError(f"[pad] {name} {value!r} does not fit {ndim} dimensions") from None
    return [(before, after) for before, after in pairs]


def _padded(t: Tensor, widths: list[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(n + sum(w) for n, w in zip(t.shape, widths, strict=True))


# ---- modes --------------------------------------------------------------------------------------


def _around(t: Tensor, widths: list[tuple[int, int]], fill: Any) -> Tensor:
    shape = _padded(t, widths)
    strides = strides_of(shape)
    offset = sum(w[0] * s for w, s in zip(widths, strides, strict=True))
    return _core.place(shape, t.dtype, t.device, [(t, offset, strides)], fill, "pad")


def _whole(t: Tensor, value: Any) -> int:
    v, bounds = int(value), iinfo(t.dtype)
    if not bounds.min <= v <= bounds.max:
        raise OverflowError(f"[pad] Python integer {v} is out of bounds for {t.dtype}")
    return v


def _constant(t: Tensor, widths: list[tuple[int, int]], values: Pairs) -> Tensor:
    """One value: a fill and one piece. Several: later axes have the corners, as in NumPy."""
    if t.dtype.kind in "iu":
        values = [(_whole(t, before), _whole(t, after)) for before, after in values]
    if len({v for pair in values for v in pair}) == 1:
        return _around(t, widths, values[0][0])
    shape = _padded(t, widths)
    strides = strides_of(shape)
    inner = [w[0] * s for w, s in zip(widths, strides, strict=True)]
    pieces = [(t, sum(inner), strides)]
    for axis, ((before, after), value) in enumerate(zip(widths, values, strict=True)):
        start = sum(inner[axis + 1 :])
        for width, v, at in ((before, value[0], 0), (after, value[1], before + t.shape[axis])):
            block = (*shape[:axis], width, *t.shape[axis + 1 :])
            filled = _core.full(block, v, t.dtype, t.device, "pad")
            pieces.append((filled, start + at * strides[axis], strides))
    return _core.place(shape, t.dtype, t.device, pieces, None, "pad")


def _joined(t: Tensor, axis: int, before: Tensor, after: Tensor) -> Tensor:
    return _core.concat([before._astype(t.dtype), t, after._astype(t.dtype)], axis, "pad")


def _by_axis(
    t: Tensor,
    widths: list[tuple[int, int]],
    sides: Callable[[Tensor, int], tuple[Tensor, Tensor]],
) -> Tensor:
    """Axis after axis, as each sees what was added along those before."""
    for axis in range(t.ndim):
        if any(widths[axis]):
            t = _joined(t, axis, *sides(t, axis))
    return t


# ---- modes that copy elements from elsewhere ----------------------------------------------------


def _mirrored(i: Any, n: int, period: int) -> tuple[Any, Any]:
    """(index, number of mirrors passed) of position i of a sequence reflected for ever."""
    turns = i // period
    back = (turns + 1) * period - i - (period == n)
    return np.where(turns % 2 == 0, i - turns * period, back), turns


#: mode -> period of the reflection of n elements
_MIRRORS: dict[str, Callable[[int], int]] = {"reflect": lambda n: n - 1, "symmetric": lambda n: n}


def _sources(mode: str, i: Any, n: int) -> tuple[Any, Any]:
    """(index, number of mirrors passed) of positions beyond the n elements of an axis."""
    nothing = np.zeros_like(i)
    if mode == "edge" or (mode in _MIRRORS and n == 1):
        return np.clip(i, 0, n - 1), nothing
    if mode == "wrap":
        return i % n, nothing
    return _mirrored(i, n, _MIRRORS[mode](n))


def _runs(index: Any, turns: Any) -> Iterator[tuple[int, slice, int, int]]:
    """(position, slice, length, mirrors passed) of stretches with neighbours one step apart."""
    start = 0
    while start < len(index):
        stop, first = start + 1, int(index[start])
        step = int(index[stop]) - first if stop < len(index) else 0
        if abs(step) <= 1:
            while (
                stop < len(index)
                and index[stop] - index[stop - 1] == step
                and turns[stop] == turns[start]
            ):
                stop += 1
        length = stop - start
        if length == 1 or step == 0:
            cut = slice(first, first + 1)
        else:
            end = first + step * length
            cut = slice(first, end if end >= 0 else None, step)
        yield start, cut, length, int(turns[start])
        start = stop


def _beyond(mode: str, n: int, width: tuple[int, int]) -> list[list[tuple[int, slice, int, int]]]:
    """Runs before and after the n elements of an axis."""
    before, after = width
    return [
        list(_runs(*_sources(mode, np.arange(i, j), n))) for i, j in ((-before, 0), (n, n + after))
    ]


def _indexed(t: Tensor, widths: list[tuple[int, int]], mode: str) -> Tensor:
    cuts: list[list[Cut]] = []
    for n, width in zip(t.shape, widths, strict=True):
        before, after = _beyond(mode, n, width) if n else ([], [])
        axis: list[Cut] = [(width[0], slice(None), n)]
        axis += [(at, cut, length) for at, cut, length, _ in before]
        axis += [(width[0] + n + at, cut, length) for at, cut, length, _ in after]
        cuts.append(axis)
    return assemble("pad", t, _padded(t, widths), cuts)


def _odd(t: Tensor, widths: list[tuple[int, int]], mode: str, reflect_type: Any) -> Tensor:
    """Reflections about the point at the edge: each mirror takes 2 * edge - element."""
    if reflect_type != "odd":
        raise ValueError(f"[pad] reflect_type must be 'even' or 'odd', not {reflect_type!r}")
    dtype = t.dtype
    if dtype.kind == "b":
        t = astype(t, "int32")
    for axis, width in enumerate(widths):
        if any(width):
            before, after = (
                [_mirror_image(t, axis, *run) for run in runs]
                for runs in _beyond(mode, t.shape[axis], width)
            )
            t = _core.concat([*before, t, *after], axis, "pad")
    return astype(t, dtype, copy=False)


def _mirror_image(t: Tensor, axis: int, _: int, cut: slice, length: int, turns: int) -> Tensor:
    """A stretch of the odd reflection, seen through that many mirrors."""
    part, last = t[along(axis, cut)], t[along(axis, slice(-1, None))]
    rise = last - t[along(axis, slice(0, 1))]
    if turns % 2:
        part = 2 * last + (turns - 1) * rise - part
    elif turns:
        part = part + turns * rise
    return part.broadcast_to((*t.shape[:axis], length, *t.shape[axis + 1 :]))


# ---- modes that compute -------------------------------------------------------------------------


def _ramps(
    t: Tensor, axis: int, width: tuple[int, int], ends: tuple[Any, Any]
) -> tuple[Tensor, Tensor]:
    """From the end value at the border, without a step at the edge, which has the last one."""
    made = []
    for after, (w, end) in enumerate(zip(width, ends, strict=True)):
        edge = t[along(axis, slice(-1, None) if after else slice(0, 1))]
        step = arange(w, device=t.device)
        step = step[::-1] if after else step
        step = step.reshape((w, *(1,) * (t.ndim - axis - 1)))
        made.append(_ramp(edge, end, step, w))
    return made[0], made[1]


def _ramp(edge: Tensor, end: Any, step: Tensor, width: int) -> Tensor:
    """end + step * (edge - end) / width; of integers rounded down, and exact."""
    if edge.dtype.kind == "f" or width == 0:
        return astype(end + step * ((edge - end) / max(width, 1)), edge.dtype, copy=False)
    if edge.dtype.kind == "b":
        edge, end = astype(edge, "int32"), int(end)
    step = astype(step, edge.dtype, copy=False)
    low = _core.full((), int(end), edge.dtype, edge.device, "pad")
    up = edge >= low
    gap = _select(up, edge - low, low - edge)
    whole = gap // width
    # step * gap // width, where step * gap may not fit; downwards it rounds the other way.
    rounded = astype(_select(up, 0, width - 1), edge.dtype)
    part = (step * (gap - whole * width) + rounded) // width + step * whole
    return _select(up, low + part, low - part)


_STATISTICS: dict[str, Callable[..., Tensor]] = {
    "maximum": Tensor.max,
    "mean": Tensor.mean,
    "median": median,
    "minimum": Tensor.min,
}


def _statistics(
    t: Tensor, axis: int, width: tuple[int, int], mode: str, lengths: tuple[Any, Any]
) -> tuple[Tensor, Tensor]:
    """The statistic of the nearest elements, or of all, repeated."""
    n = t.shape[axis]
    made: list[Tensor] = []
    for after, (w, length) in enumerate(zip(width, lengths, strict=True)):
        if length is not None and (not isinstance(length, int) or length < 0):
            raise ValueError(f"[pad] stat_length must be of integers of 0 or more, not {length!r}")
        taken = n if length is None else min(length, n)
        if taken == 0 and mode in ("maximum", "minimum"):
            raise ValueError(f"[pad] stat_length of 0 gives no {mode}")
        near = t[along(axis, slice(n - taken, None) if after else slice(0, taken))]
        value = _STATISTICS[mode](near, axis=axis, keepdims=True)
        if value.dtype != t.dtype and t.dtype.kind in "iu":
            value = rint(value)
        made.append(value.broadcast_to((*t.shape[:axis], w, *t.shape[axis + 1 :])))
    return made[0], made[1]
