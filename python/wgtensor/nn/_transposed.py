"""Transposed convolutions: convolutions of an input that is spread by the stride."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtensor import _core
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor
from wgtensor._core import ShapeError, Tensor
from wgtensor._manipulation import as_int, as_tensors, flip
from wgtensor._naming import public
from wgtensor._pad import pad
from wgtensor.nn._conv_modules import Channels
from wgtensor.nn._convolution import conv1d, conv2d, conv3d
from wgtensor.nn._windows import Sizes, check_batch, sizes_of, spans_of

_PLAIN: dict[int, Callable[..., Tensor]] = {1: conv1d, 2: conv2d, 3: conv3d}


@public
def conv_transpose1d(
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """The gradient of conv1d by its input, as a function of (N, C, L); see conv_transpose2d."""
    window = (stride, padding, output_padding, groups, dilation)
    return _transpose("conv_transpose1d", 1, input, weight, bias, *window)


@public
def conv_transpose2d(
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """The gradient of conv2d by its input, as a function of (N, C, H, W) or (C, H, W), plus bias.

    weight: (C, O / groups, kh, kw). Gives (N, O, H', W') with H' = (H - 1) stride - 2 padding +
    dilation (kh - 1) + output_padding + 1. output_padding is below stride or dilation. Raises
    ShapeError, ValueError, DTypeError as conv2d.
    """
    window = (stride, padding, output_padding, groups, dilation)
    return _transpose("conv_transpose2d", 2, input, weight, bias, *window)


def _transpose(
    op: str,
    n: int,
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
) -> Tensor:
    x, w = as_tensors(op, (input, weight))
    check_batch(op, x, n)
    groups = as_int(op, "groups", groups)
    steps = sizes_of(op, "stride", stride, n, 1)
    dilations = sizes_of(op, "dilation", dilation, n, 1)
    widths = sizes_of(op, "padding", padding, n, 0)
    extra = sizes_of(op, "output_padding", output_padding, n, 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, steps, dilations, strict=True)):
        raise ValueError(f"[{op}] output_padding {extra} is not below stride {steps} or dilation")
    if w.ndim != n + 2 or w.shape[0] != x.shape[-n - 1] or groups < 1 or w.shape[0] % groups:
        raise ShapeError(
            f"[{op}] an input of shape {x.shape} and a weight {w.shape}, (C, O / groups, kernel), "
            f"with groups={groups} do not match"
        )
    spans = spans_of(w.shape[2:], dilations)
    around = [(0, 0)] * (x.ndim - n)
    for size, step, span, width, more in zip(
        x.shape[-n:], steps, spans, widths, extra, strict=True
    ):
        if (size - 1) * step - 2 * width + span + more < 1:
            raise ShapeError(f"[{op}] an input of shape {x.shape} leaves no result")
        around.append((span - 1 - width, span - 1 - width + more))
    x = _cut(_spread(x, n, steps), around)
    return _PLAIN[n](x, _turned(w, n, groups), bias, 1, 0, dilations, groups)


def _spread(x: Tensor, n: int, steps: tuple[int, ...]) -> Tensor:
    """With step - 1 zeros between neighbours."""
    if all(step == 1 for step in steps):
        return x
    sizes = ((size - 1) * step + 1 for size, step in zip(x.shape[-n:], steps, strict=True))
    made = _core.full((*x.shape[:-n], *sizes), 0, x.dtype, x.device, "conv_transpose")
    made[(..., *(slice(None, None, step) for step in steps))] = x
    return made


def _cut(x: Tensor, around: list[tuple[int, int]]) -> Tensor:
    """Padded by zeros, or shorter where a width is negative."""
    widths = [(max(a, 0), max(b, 0)) for a, b in around]
    if any(map(any, widths)):
        x = pad(x, widths)
    if min(min(pair) for pair in around) < 0:
        x = x[
            tuple(
                slice(max(-a, 0), size - max(-b, 0))
                for (a, b), size in zip(around, x.shape, strict=True)
            )
        ]
    return x


def _turned(w: Tensor, n: int, groups: int) -> Tensor:
    """(C, O / groups, kernel) as the weight of the convolution: (O, C / groups, kernel turned)."""
    inside, outside = w.shape[0] // groups, w.shape[1]
    w = flip(w, axis=tuple(range(2, n + 2)))
    w = w.reshape((groups, inside, outside, *w.shape[2:]))
    w = w.permute((0, 2, 1, *range(3, n + 3)))
    return w.reshape((groups * outside, inside, *w.shape[3:]))


class _ConvTranspose(Channels):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name, n = type(self).__name__, self.dimensions
        self._set_channels(in_channels, out_channels, groups, kernel_size)
        self.stride = sizes_of(name, "stride", stride, n, 1)
        self.padding = sizes_of(name, "padding", padding, n, 0)
        self.output_padding = sizes_of(name, "output_padding", output_padding, n, 0)
        self.dilation = sizes_of(name, "dilation", dilation, n, 1)
        self._add_parameters(in_channels, out_channels // groups, bias, dtype, device)

    def forward(self, input: ArrayLike, output_size: Any = None) -> Tensor:
        """output_size: the result's last dimensions, which choose output_padding."""
        name, n = type(self).__name__, self.dimensions
        x = as_tensor(name, input)
        check_batch(name, x, n)
        extra = self.output_padding
        if output_size is not None:
            extra = self._extra(x.shape[-n:], tuple(output_size)[-n:])
        window = (self.stride, self.padding, extra, self.groups, self.dilation)
        return type(self).function(x, self.weight, self.bias, *window)

    def _extra(self, sizes: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
        spans = spans_of(self.kernel_size, self.dilation)
        least = [
            (size - 1) * step - 2 * width + span
            for size, step, width, span in zip(sizes, self.stride, self.padding, spans, strict=True)
        ]
        extra = tuple(w - m for w, m in zip(wanted, least, strict=True))
        if any(not 0 <= e < s for e, s in zip(extra, self.stride, strict=True)):
            raise ValueError(
                f"[{type(self).__name__}] output_size {wanted} is not between {tuple(least)} and a "
                f"stride of {self.stride} more"
            )
        return extra

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        n = self.dimensions
        defaults = {"padding": (0,) * n, "dilation": (1,) * n, "output_padding": (0,) * n}
        for name, default in {**defaults, "groups": 1}.items():
            value = getattr(self, name)
            text += "" if value == default else f", {name}={value}"
        return text + ("" if self.bias is not None else ", bias=False")


class ConvTranspose1d(_ConvTranspose):
    """conv_transpose1d of (N, C, L) with a weight (in_channels, out_channels / groups, k)."""

    function, dimensions = staticmethod(conv_transpose1d), 1


class ConvTranspose2d(_ConvTranspose):
    """conv_transpose2d of (N, C, H, W) by a weight (in_channels, out_channels / groups, kernel)."""

    function, dimensions = staticmethod(conv_transpose2d), 2
