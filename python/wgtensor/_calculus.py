"""Differences, sums and slopes of sampled functions, by NumPy's names."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wgtensor import _reductions as r
from wgtensor._arrays import ArrayLike, as_tensor, host_data
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._dtypes import result_type
from wgtensor._functions import matmul, zeros
from wgtensor._generated import isnan, not_equal
from wgtensor._generated import where as _select
from wgtensor._indexing import take
from wgtensor._manipulation import along, as_int, as_tensors, axes_of, axis_of, concat
from wgtensor._naming import public
from wgtensor._searching import searchsorted
from wgtensor._sorting import argsort
from wgtensor._statistics import as_floats

__all__ = [
    "convolve",
    "correlate",
    "cumprod",
    "cumsum",
    "diff",
    "digitize",
    "ediff1d",
    "gradient",
    "interp",
    "trapezoid",
    "unwrap",
]


# ---- scans and differences ----------------------------------------------------------------------


@public
def cumsum(
    x: ArrayLike, /, axis: int | None = None, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """`cumulative_sum` along an axis; of all elements in row-major order without one."""
    return r.flat_scan("cumsum", x, axis, dtype, out, r.cumulative_sum)


@public
def cumprod(
    x: ArrayLike, /, axis: int | None = None, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """`cumulative_prod` along an axis; of all elements in row-major order without one."""
    return r.flat_scan("cumprod", x, axis, dtype, out, r.cumulative_prod)


@public
def diff(
    x: ArrayLike,
    /,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Tensor:
    """Differences of neighbours along an axis, `n` times; of bools whether they differ.

    prepend, append: what is joined to the ends first, a number for one element. Raises ShapeError
    for a 0-d tensor, ValueError for a negative `n`.
    """
    t = as_tensor("diff", x)
    times = as_int("diff", "n", n)
    if times < 0:
        raise ValueError(f"[diff] n must not be negative, not {times}")
    if times == 0:
        return t
    if t.ndim == 0:
        raise ShapeError("[diff] a 0-d tensor has no neighbours")
    a = axis_of("diff", axis, t.ndim)

    def end(value: ArrayLike) -> Tensor:
        v = as_tensor("diff", value, t.device)
        return v if v.ndim else v.broadcast_to((*t.shape[:a], 1, *t.shape[a + 1 :]))

    ends = ([] if prepend is None else [end(prepend)], [] if append is None else [end(append)])
    if prepend is not None or append is not None:
        t = concat([*ends[0], t, *ends[1]], axis=a)
    for _ in range(times):
        high, low = (t[along(a, s)] for s in (slice(1, None), slice(None, -1)))
        t = not_equal(high, low) if t.dtype.kind == "b" else high - low
    return t


@public
def ediff1d(
    x: ArrayLike, /, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Tensor:
    """Differences of neighbours in row-major order, between what is put at the ends."""
    t = as_tensor("ediff1d", x).reshape(-1)
    made = t[1:] - t[:-1]
    parts = [made]
    for value, at in ((to_begin, 0), (to_end, 2)):
        if value is not None:
            parts.insert(at, as_tensor("ediff1d", value, t.device).reshape(-1)._astype(t.dtype))
    return made if len(parts) == 1 else concat(parts)


@public
def trapezoid(
    y: ArrayLike, /, x: ArrayLike | None = None, dx: float = 1.0, axis: int = -1
) -> Tensor:
    """The integral along an axis of what is linear between the samples `y`, at the places `x` (a
    vector, or of a shape that broadcasts) or `dx` apart. In floats."""
    t = as_floats("trapezoid", y)
    a = axis_of("trapezoid", axis, t.ndim)
    step: Any = dx
    if x is not None:
        places = as_floats("trapezoid", x, t.device)
        if places.ndim == 1:
            step = diff(places).reshape((-1,) + (1,) * (t.ndim - 1 - a))
        else:
            step = diff(places, axis=axis)
    high, low = (t[along(a, s)] for s in (slice(1, None), slice(None, -1)))
    return r.sum(step * (high + low) / 2, axis=a)


@public
def unwrap(
    p: ArrayLike, /, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Tensor:
    """`p` plus multiples of the period, so that no jump along an axis is more than half of it.

    Jumps below `discont` (half the period by default) stay. Integers keep their dtype if the period
    is one.
    """
    t = as_tensor("unwrap", p)
    whole = t.dtype.kind in "iu" and isinstance(period, (int, np.integer))
    t = t if whole else as_floats("unwrap", t)
    a = axis_of("unwrap", axis, t.ndim)
    step = diff(t, axis=a)
    half: Any = period // 2 if whole else period / 2
    low = -half
    rest = (step - low) % period + low
    if not whole or period % 2 == 0:
        rest = _select((rest == low) & (step > 0), half, rest)
    jump = _select(abs(step) < (half if discont is None else discont), 0, rest - step)
    first = t[along(a, slice(None, 1))]
    if t.shape[a] < 2:
        return t
    moved = t[along(a, slice(1, None))] + r.cumulative_sum(jump, axis=a)._astype(t.dtype)
    return concat([first, moved], axis=a)


# ---- slopes -------------------------------------------------------------------------------------


@public
def gradient(
    f: ArrayLike, /, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int = 1
) -> Any:
    """Slopes of samples: central differences inside, one-sided ones of `edge_order` 1 or 2 at the
    ends, along each axis; a tuple of tensors, or a tensor for one axis.

    varargs: nothing for samples 1 apart, a distance for all axes, or for each axis a distance or
    the vector of places. In floats. Raises ShapeError where an axis has fewer than edge_order + 1
    elements, ValueError, TypeError for another number of distances.
    """
    t = as_floats("gradient", f)
    axes = axes_of("gradient", axis, t.ndim)
    if edge_order not in (1, 2):
        raise ValueError(f"[gradient] edge_order is 1 or 2, not {edge_order!r}")
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"[gradient] {len(varargs)} distances for {len(axes)} axes")
    steps = (varargs or (1.0,)) * (len(axes) if len(varargs) < 2 else 1)
    made = tuple(_slope(t, a, h, edge_order) for a, h in zip(axes, steps, strict=True))
    return made[0] if len(made) == 1 else made


def _slope(t: Tensor, axis: int, step: Any, order: int) -> Tensor:
    n = t.shape[axis]
    if n < order + 1:
        raise ShapeError(
            f"[gradient] edge_order {order} takes {order + 1} elements or more along axis {axis}, "
            f"not {n}"
        )

    def part(i: int, j: int) -> Tensor:
        return t[along(axis, slice(i, j if j else None))]

    h = as_floats("gradient", step, t.device)._astype(t.dtype)
    if h.ndim == 0:
        inner = (part(2, 0) - part(0, -2)) / (2 * h)
        widths = [h] * 4
    else:
        if h.shape != (n,):
            raise ShapeError(
                f"[gradient] places of shape {h.shape} for {n} elements along axis {axis}"
            )
        d = diff(h).reshape((-1,) + (1,) * (t.ndim - 1 - axis))
        a, b = d[:-1], d[1:]
        inner = (
            part(0, -2) * (-b / (a * (a + b)))
            + part(1, -1) * ((b - a) / (a * b))
            + part(2, 0) * (a / (b * (a + b)))
        )
        widths = [d[0], d[min(1, n - 2)], d[-1], d[max(n - 3, 0)]]
    first = [part(i, i + 1) for i in range(order + 1)]
    last = [part(n - 1 - i, n - i) for i in range(order + 1)]
    ends = (_edge(first, widths[0], widths[1]), -_edge(last, widths[2], widths[3]))
    return concat([ends[0], inner, ends[1]], axis=axis)


def _edge(values: list[Tensor], a: Any, b: Any) -> Tensor:
    """The slope at the first of two or three neighbours that are `a` and `b` apart."""
    if len(values) == 2:
        single: Tensor = (values[1] - values[0]) / a
        return single
    x, y, z = values
    slope: Tensor = -(2 * a + b) / (a * (a + b)) * x + (a + b) / (a * b) * y - a / (b * (a + b)) * z
    return slope


# ---- lookups ------------------------------------------------------------------------------------


@public
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    /,
    left: float | None = None,
    right: float | None = None,
    period: float | None = None,
) -> Tensor:
    """At each `x` the value of the function that is linear between the points (xp, fp).

    xp: a vector that ascends, unless there is a `period`, by which x and xp are then reduced. left,
    right: values beyond its ends instead of the first and last of fp. NaN gives NaN. In floats.
    Raises ShapeError, ValueError for no points or a period of 0.
    """
    first = next((v.device for v in (x, xp, fp) if isinstance(v, Tensor)), None)
    t, px, py = (as_floats("interp", v, first) for v in (x, xp, fp))
    if px.ndim != 1 or px.shape != py.shape:
        raise ShapeError(f"[interp] xp and fp are vectors, not of shapes {px.shape}, {py.shape}")
    if px.size == 0:
        raise ValueError("[interp] takes one point or more")
    dtype = result_type(t.dtype, px.dtype, py.dtype)
    t, px, py = t._astype(dtype), px._astype(dtype), py._astype(dtype)
    if period is not None:
        if not period:
            raise ValueError("[interp] a period of 0 is none")
        width = abs(period)
        t, px = t % width, px % width
        order = argsort(px.detach())
        px, py = take(px, order, axis=0), take(py, order, axis=0)
        px = concat([px[-1:] - width, px, px[:1] + width])
        py = concat([py[-1:], py, py[:1]])
        left = right = None
    return _interpolated(t, px, py, left, right)


def _interpolated(
    t: Tensor, px: Tensor, py: Tensor, left: float | None, right: float | None
) -> Tensor:
    n = px.size
    places = searchsorted(px.detach(), t.detach(), side="right")
    low = _select(places > n - 1, n - 2, places - 1) if n > 1 else places * 0
    x0, y0 = (take(p, low, axis=0, mode="clip") for p in (px, py))
    x1, y1 = (take(p, low + 1, axis=0, mode="clip") for p in (px, py))
    width = x1 - x0
    level = width == 0
    slope = (y1 - y0) / _select(level, 1, width)
    inside = _select(level, y0, y0 + slope * (t - x0))
    y = _select(t == x1, y1, inside)
    y = _select(t > px[-1], py[-1] if right is None else right, y)
    y = _select(t < px[0], py[0] if left is None else left, y)
    return _select(isnan(t), t, y)


@public
def digitize(x: ArrayLike, bins: ArrayLike, /, right: bool = False) -> Tensor:
    """The number of the bin of each element, in int32: 0 before the first edge, len(bins) behind
    the last. `bins` ascend or descend; a bin has its lower edge, or with `right` its upper one.

    Raises ValueError for edges on the host that do neither, ShapeError, DTypeError.
    """
    t = as_tensor("digitize", x)
    data = host_data("digitize", bins)
    edges = as_tensor("digitize", bins, t.device)
    if edges.ndim != 1:
        raise ShapeError(f"[digitize] bins are a vector, not of shape {edges.shape}")
    side = "left" if right else "right"
    if data is None:
        if edges.size < 2:
            return searchsorted(edges, t, side=side)
        up = searchsorted(edges, t, side=side)
        down = edges.size - searchsorted(edges[::-1], t, side=side)
        return _select(edges[0] <= edges[-1], up, down)
    if data.dtype.kind not in "biuf":
        raise DTypeError(f"[digitize] bins are real numbers, not {data.dtype}")
    pairs = list(itertools.pairwise(data.tolist()))
    if all(a <= b for a, b in pairs):
        return searchsorted(edges, t, side=side)
    if not all(a >= b for a, b in pairs):
        raise ValueError("[digitize] bins must ascend or descend")
    return edges.size - searchsorted(edges[::-1], t, side=side)


# ---- convolution of vectors ---------------------------------------------------------------------


@public
def convolve(a: ArrayLike, v: ArrayLike, /, mode: str = "full") -> Tensor:
    """Sums of products of two vectors, one of them reversed, at each distance: len(a) + len(v) - 1
    of them; "same": as many as the longer has, in the middle; "valid": where they overlap wholly.

    One product of a matrix, which is a view, and a vector. Raises ShapeError, ValueError.
    """
    x, y = _vectors("convolve", a, v)
    if x.size < y.size:
        x, y = y, x
    return _slide("convolve", x, y[::-1], mode)


@public
def correlate(a: ArrayLike, v: ArrayLike, /, mode: str = "valid") -> Tensor:
    """Sums of products of two vectors at each distance: ``c[k] = sum(a[n + k] * v[n])``; the modes
    are those of `convolve`. Raises ShapeError, ValueError."""
    x, y = _vectors("correlate", a, v)
    if x.size < y.size:
        return _slide("correlate", y, x, mode)[::-1]
    return _slide("correlate", x, y, mode)


def _vectors(op: str, a: ArrayLike, v: ArrayLike) -> tuple[Tensor, Tensor]:
    x, y = (t if t.ndim else t.reshape(1) for t in as_tensors(op, (a, v)))
    if x.ndim != 1 or y.ndim != 1 or 0 in (x.size, y.size):
        raise ShapeError(f"[{op}] takes two vectors with elements, not {x.shape} and {y.shape}")
    dtype = result_type(x.dtype, y.dtype)
    return x._astype(dtype), y._astype(dtype)


def _slide(op: str, x: Tensor, y: Tensor, mode: str) -> Tensor:
    """Products of `y` with each window of the longer `x`."""
    n = y.size
    pads = {"valid": (0, 0), "same": (n // 2, n - n // 2 - 1), "full": (n - 1, n - 1)}
    if mode not in pads:
        raise ValueError(f"[{op}] mode is 'full', 'same' or 'valid', not {mode!r}")
    ends = [zeros((k,), dtype=x.dtype, device=x.device) for k in pads[mode]]
    if n > 1 and mode != "valid":
        x = concat([ends[0], x, ends[1]])
    return matmul(y, x._windows([n], [1], [1]))
