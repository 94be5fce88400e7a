"""Pooling: reductions over a view of windows, which no kernel writes."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor import _generated as rows
from wgtensor._arrays import ArrayLike, as_tensor, asarray
from wgtensor._core import Tensor
from wgtensor._dtypes import float32, iinfo, int32
from wgtensor._functions import arange
from wgtensor._naming import public
from wgtensor._pad import pad
from wgtensor.autograd import Function
from wgtensor.nn._windows import Sizes, Windows, check_batch, sizes_of


@public
def max_pool1d(
    input: ArrayLike,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Largest elements of windows over L of (N, C, L) or (C, L); see max_pool2d."""
    return _max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode)


@public
def max_pool2d(
    input: ArrayLike,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Largest elements of windows over (H, W) of (N, C, H, W) or (C, H, W), as PyTorch's; NaN wins.

    stride: kernel_size by default. padding: at most half the kernel, and never the largest.
    ceil_mode: one more window where the last ones leave elements out. Raises ShapeError where no
    window fits, ValueError for other arguments, DTypeError for bool.
    """
    return _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)


@public
def avg_pool1d(
    input: ArrayLike,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Means of windows over L of (N, C, L) or (C, L); see avg_pool2d."""
    args = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    return _avg_pool("avg_pool1d", 1, input, *args)


@public
def avg_pool2d(
    input: ArrayLike,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Means of windows over (H, W) of (N, C, H, W) or (C, H, W), as PyTorch's; integers in float32.

    stride, padding, ceil_mode: as of max_pool2d, with zeros for padding. count_include_pad: whether
    those count as elements; what ceil_mode adds never does. Raises as max_pool2d.
    """
    args = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    return _avg_pool("avg_pool2d", 2, input, *args)


def _windows(
    op: str,
    n: int,
    shape: tuple[int, ...],
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
) -> Windows:
    """With ceil_mode also those that begin before the input's end, for which padding grows."""
    sizes = sizes_of(op, "kernel_size", kernel_size, n, 1)
    steps = sizes if stride is None else sizes_of(op, "stride", stride, n, 1)
    dilations = sizes_of(op, "dilation", dilation, n, 1)
    widths = sizes_of(op, "padding", padding, n, 0)
    if any(2 * width > size for width, size in zip(widths, sizes, strict=True)):
        raise ValueError(
            f"[{op}] padding {padding!r} is above half of the kernel_size {kernel_size!r}"
        )
    windows = Windows(op, sizes, steps, dilations, tuple((p, p) for p in widths))
    counts = windows.counts(shape)
    if not ceil_mode:
        return windows
    pairs = []
    for size, span, step, width, count in zip(
        shape, windows.spans, steps, widths, counts, strict=True
    ):
        left_out = size + 2 * width - span - (count - 1) * step
        if left_out > 0 and count * step < size + width:
            count += 1
        pairs.append((width, max((count - 1) * step + span - size - width, width)))
    return Windows(op, sizes, steps, dilations, tuple(pairs))


def _view(t: Tensor, n: int, windows: Windows, fill: Any) -> Tensor:
    """[.., place in the window.., windows..]"""
    if any(map(any, windows.padding)):
        widths = [(0, 0)] * (t.ndim - n) + list(windows.padding)
        t = pad(t, widths, constant_values=fill)
    return t._windows(windows.sizes, windows.steps, windows.dilations)


def _axes(t: Tensor, n: int) -> tuple[int, ...]:
    return tuple(range(t.ndim - 2 * n, t.ndim - n))


class _Largest(Function):
    """The maxima of windows; as in PyTorch the first of equal ones has the gradient."""

    @staticmethod
    def forward(ctx: Any, view: Tensor, n: int) -> Tensor:
        ctx.save_for_backward(view)
        ctx.n = n
        return view.max(axis=_axes(view, n))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (view,) = ctx.saved_tensors
        axes = _axes(view, ctx.n)
        sizes = tuple(view.shape[a] for a in axes)
        places = arange(math.prod(sizes), dtype=int32, device=view.device)
        first = view.detach()._argmax(axes, True) == places.reshape(*sizes, *(1,) * ctx.n)
        outer = grad.reshape(view.shape[: axes[0]] + (1,) * ctx.n + grad.shape[-ctx.n :])
        return rows.where(first, outer, 0), None


def _max_pool(
    op: str,
    n: int,
    input: ArrayLike,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
) -> Tensor:
    t = as_tensor(op, input)
    check_batch(op, t, n)
    windows = _windows(op, n, t.shape[-n:], kernel_size, stride, padding, dilation, ceil_mode)
    lowest = -math.inf if t.dtype.kind == "f" else iinfo(t.dtype).min
    view = _view(t, n, windows, lowest)
    largest: Tensor = (
        _Largest.apply(view, n) if view.requires_grad else view.max(axis=_axes(view, n))
    )
    return largest


def _seen(windows: Windows, shape: tuple[int, ...], width: tuple[int, ...], d: int) -> Any:
    """How many of the elements of dimension d, and of so many around them, each window sees."""
    count = windows.counts(shape)[d]
    first = np.arange(count) * windows.steps[d] - windows.padding[d][0]
    end = np.minimum(first + windows.sizes[d], shape[d] + width[d])
    return end - np.maximum(first, -width[d])


def _avg_pool(
    op: str,
    n: int,
    input: ArrayLike,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
) -> Tensor:
    t = as_tensor(op, input)
    check_batch(op, t, n)
    shape = t.shape[-n:]
    windows = _windows(op, n, shape, kernel_size, stride, padding, 1, ceil_mode)
    result = t.dtype if t.dtype.kind == "f" else float32
    t = t._astype(result)._astype(_core.unpacked(result))
    view = _view(t, n, windows, 0)
    total = view.sum(axis=_axes(view, n))
    width = tuple(p[0] if count_include_pad else 0 for p in windows.padding)
    seen = functools.reduce(np.multiply.outer, (_seen(windows, shape, width, d) for d in range(n)))
    if seen.min() == seen.max():
        return (total / int(seen.max()))._astype(result)
    counts = asarray(seen.astype(np.float32), device=t.device)
    return (total / counts)._astype(result)
