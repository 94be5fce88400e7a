"""Pooling to a size that is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, as_tensor, asarray
from wgtensor._core import ShapeError, Tensor
from wgtensor._manipulation import as_int, moveaxis
from wgtensor._naming import public
from wgtensor.nn._module import Module
from wgtensor.nn._windows import check_batch


@public
def adaptive_avg_pool1d(input: ArrayLike, output_size: Any) -> Tensor:
    """Means of `output_size` parts of L of (N, C, L) or (C, L); see adaptive_avg_pool2d."""
    return _adaptive("adaptive_avg_pool1d", 1, input, output_size)


@public
def adaptive_avg_pool2d(input: ArrayLike, output_size: Any) -> Tensor:
    """Means of parts of (N, C, H, W) or (C, H, W), of which there are (H', W').

    Part i of n goes from floor(i H / n) to ceil((i + 1) H / n), as PyTorch's. A size of None stays.
    """
    return _adaptive("adaptive_avg_pool2d", 2, input, output_size)


def _adaptive(op: str, n: int, input: ArrayLike, output_size: Any) -> Tensor:
    x = as_tensor(op, input)
    check_batch(op, x, n)
    wanted = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if len(wanted) != n:
        raise ValueError(f"[{op}] output_size is one integer or {n}, not {output_size!r}")
    y = x._astype(_core.unpacked(x.dtype))
    for i, size in enumerate(wanted):
        if size is not None:
            y = _averaged(op, y, x.ndim - n + i, as_int(op, "output_size", size))
    return y._astype(x.dtype)


def _averaged(op: str, x: Tensor, axis: int, count: int) -> Tensor:
    """By a mean where all parts are alike and lie apart, else by a product."""
    size = x.shape[axis]
    if count < 1 or size < 1:
        raise ShapeError(f"[{op}] {count} parts of axis {axis} of {x.shape}")
    if size == count:
        return x
    if size % count == 0:
        split = (*x.shape[:axis], count, size // count, *x.shape[axis + 1 :])
        return x.reshape(split).mean(axis=axis + 1)
    shares = np.zeros((size, count))
    for i in range(count):
        first, end = i * size // count, -(-(i + 1) * size // count)
        shares[first:end, i] = 1 / (end - first)
    matrix = asarray(shares.astype(np.float32), device=x.device)._astype(x.dtype)
    if x.dtype.itemsize == 8:
        matrix = asarray(shares, dtype=x.dtype, device=x.device)
    return moveaxis(moveaxis(x, axis, -1) @ matrix, -1, axis)


class _AdaptiveAvgPool(Module):
    function: Callable[..., Tensor]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: ArrayLike) -> Tensor:
        return type(self).function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """adaptive_avg_pool1d to a size."""

    function = staticmethod(adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """adaptive_avg_pool2d to a size."""

    function = staticmethod(adaptive_avg_pool2d)
