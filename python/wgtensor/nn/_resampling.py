"""Images and signals in other sizes, surrounded, and with channels as places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor import _pad as padding
from wgtensor._arrays import ArrayLike, as_tensor, asarray
from wgtensor._core import ShapeError, Tensor
from wgtensor._indexing import take
from wgtensor._manipulation import as_int
from wgtensor._naming import public
from wgtensor.nn._module import Module

#: Modes, and the number of dimensions behind the channels that they are for.
_MODES = {"nearest": (1, 2, 3), "linear": (1,), "bilinear": (2,), "trilinear": (3,)}


@public
def interpolate(
    input: ArrayLike,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """(N, C, ..) in another size of its last dimensions, as PyTorch's.

    size, or scale_factor: one number or one for each dimension. mode: nearest, or linear, bilinear
    and trilinear for one to three of them; there align_corners keeps the corners' centres where
    they are, instead of the corners. Raises ShapeError, ValueError.
    """
    op = "interpolate"
    x = as_tensor(op, input)
    n = x.ndim - 2
    if mode not in _MODES:
        raise ValueError(f"[{op}] mode is one of {', '.join(_MODES)}, not {mode!r}")
    if n not in _MODES[mode]:
        raise ShapeError(f"[{op}] mode {mode!r} does not take an input of shape {x.shape}")
    if align_corners is not None and mode == "nearest":
        raise ValueError(f"[{op}] align_corners is for modes that are linear")
    sizes, scales = _sizes(op, x.shape[2:], size, scale_factor)
    y = x._astype(_core.unpacked(x.dtype))
    for i, (count, scale) in enumerate(zip(sizes, scales, strict=True)):
        y = _resampled(y, i + 2, count, scale, mode != "nearest", bool(align_corners))
    return y._astype(x.dtype)


def _sizes(
    op: str, shape: tuple[int, ...], size: Any, factor: Any
) -> tuple[list[int], list[float]]:
    """Sizes, and how far apart in the input neighbours are."""
    n = len(shape)
    if (size is None) == (factor is None):
        raise ValueError(f"[{op}] takes either size or scale_factor")
    given = factor if size is None else size
    every = list(given) if isinstance(given, (tuple, list)) else [given] * n
    if len(every) != n:
        raise ValueError(f"[{op}] takes one number or {n}, not {given!r}")
    if size is not None:
        sizes = [as_int(op, "size", s) for s in every]
        scales = [have / max(want, 1) for have, want in zip(shape, sizes, strict=True)]
    else:
        factors = [float(f) for f in every]
        if not all(f > 0 and math.isfinite(f) for f in factors):
            raise ValueError(f"[{op}] scale_factor is above 0, not {factor!r}")
        sizes = [math.floor(have * f) for have, f in zip(shape, factors, strict=True)]
        scales = [1 / f for f in factors]
    if min([*sizes, *shape]) < 1:
        raise ShapeError(f"[{op}] {shape} cannot become {tuple(sizes)}")
    return sizes, scales


def _resampled(
    x: Tensor, axis: int, count: int, scale: float, linear: bool, corners: bool
) -> Tensor:
    """Along one axis: two lookups whose places are known."""
    size = x.shape[axis]
    if size == count and scale == 1:
        return x
    to = np.arange(count)
    if not linear:
        return take(x, np.minimum((to * scale).astype(np.int64), size - 1), axis=axis)
    if corners:
        at = to * ((size - 1) / (count - 1) if count > 1 else 0.0)
    else:
        at = np.maximum((to + 0.5) * scale - 0.5, 0)
    first = np.minimum(at.astype(np.int64), size - 1)
    after = np.minimum(first + 1, size - 1)
    share = asarray(at - first, dtype=x.dtype, device=x.device)
    share = share.reshape((-1,) + (1,) * (x.ndim - 1 - axis))
    low = take(x, first, axis=axis)
    return low + (take(x, after, axis=axis) - low) * share


@public
def pad(input: ArrayLike, pad: Sequence[int], mode: str = "constant", value: float = 0) -> Tensor:
    """(.., ) with elements around it, by PyTorch's order: (left, right, top, bottom, ..), from the
    last dimension on; negative ones cut.

    mode: constant, reflect, replicate or circular. wgtensor.pad takes NumPy's order.
    """
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    x, widths = as_tensor("pad", input), [as_int("pad", "pad", w) for w in pad]
    if mode not in modes:
        raise ValueError(f"[pad] mode is one of {', '.join(modes)}, not {mode!r}")
    if len(widths) % 2 or len(widths) > 2 * x.ndim:
        raise ValueError(f"[pad] takes pairs for up to {x.ndim} dimensions, not {tuple(widths)}")
    pairs = [(0, 0)] * (x.ndim - len(widths) // 2)
    pairs += [(widths[i], widths[i + 1]) for i in range(len(widths) - 2, -1, -2)]
    if min(widths, default=0) < 0:
        cut = [
            slice(max(-a, 0), size - max(-b, 0))
            for (a, b), size in zip(pairs, x.shape, strict=True)
        ]
        x = x[tuple(cut)]
    around = [(max(a, 0), max(b, 0)) for a, b in pairs]
    options = {"constant_values": value} if mode == "constant" else {}
    return padding.pad(x, around, mode=modes[mode], **options)


@public
def pixel_shuffle(input: ArrayLike, upscale_factor: int) -> Tensor:
    """(.., C r^2, H, W) as (.., C, H r, W r) (Shi et al. 2016)."""
    x, r = as_tensor("pixel_shuffle", input), as_int("pixel_shuffle", "factor", upscale_factor)
    if x.ndim < 3 or r < 1 or x.shape[-3] % (r * r):
        raise ShapeError(f"[pixel_shuffle] a factor of {r} does not fit shape {x.shape}")
    *outer, c, h, w = x.shape
    n = len(outer)
    y = x.reshape((*outer, c // (r * r), r, r, h, w))
    y = y.permute((*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return y.reshape((*outer, c // (r * r), h * r, w * r))


@public
def pixel_unshuffle(input: ArrayLike, downscale_factor: int) -> Tensor:
    """The inverse of pixel_shuffle: (.., C, H r, W r) as (.., C r^2, H, W)."""
    op = "pixel_unshuffle"
    x, r = as_tensor(op, input), as_int(op, "factor", downscale_factor)
    if x.ndim < 3 or r < 1 or x.shape[-2] % r or x.shape[-1] % r:
        raise ShapeError(f"[{op}] a factor of {r} does not fit shape {x.shape}")
    *outer, c, h, w = x.shape
    n = len(outer)
    y = x.reshape((*outer, c, h // r, r, w // r, r))
    y = y.permute((*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return y.reshape((*outer, c * r * r, h // r, w // r))


class Upsample(Module):
    """interpolate() to a size, or by a factor."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
    ) -> None:
        super().__init__()
        if isinstance(scale_factor, (tuple, list)):
            scale_factor = tuple(float(f) for f in scale_factor)
        elif scale_factor is not None:
            scale_factor = float(scale_factor)
        self.size, self.scale_factor = size, scale_factor
        self.mode, self.align_corners = mode, align_corners

    def forward(self, input: ArrayLike) -> Tensor:
        return interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners)

    def extra_repr(self) -> str:
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)}, mode={self.mode!r}"


class PixelShuffle(Module):
    """pixel_shuffle by a factor."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: ArrayLike) -> Tensor:
        return pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"
