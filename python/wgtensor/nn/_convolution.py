"""Convolutions: products of the weights with a view of windows over the input."""

from __future__ import annotations

import math

from wgtensor import _core
from wgtensor._arrays import ArrayLike
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._dtypes import result_type
from wgtensor._manipulation import as_int, as_tensors
from wgtensor._naming import public
from wgtensor._pad import pad
from wgtensor.nn._windows import (
    Padding,
    Sizes,
    Windows,
    check_batch,
    padding_of,
    sizes_of,
    spans_of,
)


@public
def conv1d(
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (N, C, L) or (C, L) with (O, C / groups, k); see conv2d."""
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@public
def conv2d(
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (N, C, H, W) or (C, H, W) with (O, C / groups, kh, kw), as PyTorch's.

    Gives (N, O, H', W') with H' = (H + padding - dilation * (kh - 1) - 1) // stride + 1, plus bias
    (O,). padding: zeros on both sides, one number or one for each dimension, pairs (before, after)
    for each, 'valid', or 'same' for strides of 1. Operands promote; integers wrap, 16-bit floats
    are summed in float32. One kernel, with what follows elementwise, besides the copy that pads.
    Raises ShapeError where shapes or groups do not match, ValueError for other arguments,
    DTypeError for bool.
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@public
def conv3d(
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (N, C, D, H, W) or (C, D, H, W) with (O, C / groups, kd, kh, kw); see
    conv2d.
    """
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _convolve(
    op: str,
    n: int,
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    groups: int,
) -> Tensor:
    x, w, *rest = as_tensors(op, (input, weight) if bias is None else (input, weight, bias))
    groups = as_int(op, "groups", groups)
    _check(op, n, x, w, rest, groups)
    steps = sizes_of(op, "stride", stride, n, 1)
    dilations = sizes_of(op, "dilation", dilation, n, 1)
    widths = padding_of(op, padding, steps, spans_of(w.shape[2:], dilations))
    windows = Windows(op, w.shape[2:], steps, dilations, widths)
    counts = windows.counts(x.shape[-n:])
    dtype = result_type(x, w, *rest)
    wide = _core.unpacked(dtype)
    x, w, *rest = (t._astype(dtype)._astype(wide) for t in (x, w, *rest))
    if any(map(any, widths)):
        x = pad(x, [(0, 0)] * (x.ndim - n) + list(widths))
    made = _product(op, n, x, w, windows, counts, groups)
    made = made.reshape((*x.shape[: -n - 1], w.shape[0], *counts))
    if rest:
        made = made + rest[0].reshape((-1, *(1,) * n))
    return made._astype(dtype)


def _check(op: str, n: int, x: Tensor, w: Tensor, rest: list[Tensor], groups: int) -> None:
    check_batch(op, x, n)
    if w.ndim != n + 2:
        raise ShapeError(
            f"[{op}] the weight has {n + 2} dimensions, (O, C / groups, kernel): not {w.shape}"
        )
    if w.dtype.kind == "b":
        raise DTypeError(f"[{op}] is not defined for bool: cast with astype()")
    if groups < 1:
        raise ValueError(f"[{op}] groups must be 1 or more, not {groups}")
    channels = x.shape[-n - 1]
    if channels != w.shape[1] * groups:
        raise ShapeError(
            f"[{op}] an input of shape {x.shape} has {channels} channels, and the weight {w.shape} "
            f"with groups={groups} takes {w.shape[1] * groups}"
        )
    if w.shape[0] % groups:
        raise ShapeError(
            f"[{op}] groups={groups} do not divide the {w.shape[0]} rows of the weight"
        )
    if 0 in w.shape[2:]:
        raise ShapeError(f"[{op}] the kernel of the weight {w.shape} is empty")
    if rest and rest[0].shape != w.shape[:1]:
        raise ShapeError(f"[{op}] bias of shape {rest[0].shape}, not {w.shape[:1]}")


def _product(
    op: str, n: int, x: Tensor, w: Tensor, windows: Windows, counts: tuple[int, ...], groups: int
) -> Tensor:
    """The result in some shape that its own is a reshape of."""
    batched = x.ndim == n + 2
    if groups > 1:
        x = x.reshape((*x.shape[: -n - 1], groups, x.shape[-n - 1] // groups, *x.shape[-n:]))
        w = w.reshape((groups, w.shape[0] // groups, *w.shape[1:]))
    view = x._windows(windows.sizes, windows.steps, windows.dilations)
    if groups == 1 and batched and math.prod(counts) == 1:
        # A window to each image: the batch gives the rows of one product, not many small ones.
        images = view.squeeze(tuple(range(view.ndim - n, view.ndim)))
        columns = w.permute((*range(1, n + 2), 0))
        return _core.contract(images, columns, 1, 1, n + 1, op)
    return _core.contract(w, view, 1, n, n + 1, op)
