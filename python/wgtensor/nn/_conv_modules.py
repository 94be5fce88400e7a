"""Modules of convolution and pooling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor
from wgtensor._core import Parameter, Tensor
from wgtensor._pad import pad
from wgtensor.nn import init
from wgtensor.nn._convolution import conv1d, conv2d, conv3d
from wgtensor.nn._linear import new_parameter, uniform_by_fan
from wgtensor.nn._module import Module
from wgtensor.nn._pooling import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from wgtensor.nn._windows import Padding, Sizes, check_batch, padding_of, sizes_of, spans_of

#: PyTorch's names, and those of pad().
_PADDING_MODES = {
    "zeros": "constant",
    "reflect": "reflect",
    "replicate": "edge",
    "circular": "wrap",
}


class Channels(Module):
    """What convolutions and transposed ones share: channels in groups, a weight and a bias."""

    function: Callable[..., Tensor]
    dimensions: int
    weight: Parameter
    bias: Parameter | None

    def _set_channels(self, inside: int, outside: int, groups: int, kernel_size: Sizes) -> None:
        """Raises ValueError."""
        name = type(self).__name__
        if groups < 1 or inside % groups or outside % groups:
            raise ValueError(
                f"[{name}] groups={groups} do not divide {inside} and {outside} channels"
            )
        self.in_channels, self.out_channels, self.groups = inside, outside, groups
        self.kernel_size = sizes_of(name, "kernel_size", kernel_size, self.dimensions, 1)

    def _add_parameters(self, first: int, second: int, bias: bool, dtype: Any, device: Any) -> None:
        """A weight of the shape (first, second, kernel)."""
        self.weight = new_parameter((first, second, *self.kernel_size), dtype, device)
        self.register_parameter(
            "bias", new_parameter((self.out_channels,), dtype, device) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the initial values anew, uniform within 1 / sqrt(the weight's second dimension
        times the kernel's size)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            uniform_by_fan(self.bias, init.fans("reset_parameters", self.weight)[0])


class _Convolution(Channels):
    """padding_mode: what surrounds the input: zeros, reflect, replicate or circular."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Padding = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"[{type(self).__name__}] padding_mode is one of {', '.join(_PADDING_MODES)}, "
                f"not {padding_mode!r}"
            )
        self.padding_mode = padding_mode
        self._set_channels(in_channels, out_channels, groups, kernel_size)
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self._add_parameters(out_channels, in_channels // groups, bias, dtype, device)

    def forward(self, input: ArrayLike) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = self._surrounded(input), 0
        window = (self.stride, padding, self.dilation, self.groups)
        return type(self).function(input, self.weight, self.bias, *window)

    def _surrounded(self, input: ArrayLike) -> Tensor:
        """With what the mode puts around it."""
        name, n = type(self).__name__, self.dimensions
        x = as_tensor(name, input)
        check_batch(name, x, n)
        steps = sizes_of(name, "stride", self.stride, n, 1)
        spans = spans_of(self.kernel_size, sizes_of(name, "dilation", self.dilation, n, 1))
        widths = padding_of(name, self.padding, steps, spans)
        mode = _PADDING_MODES[self.padding_mode]
        return pad(x, [(0, 0)] * (x.ndim - n) + list(widths), mode=mode)

    def extra_repr(self) -> str:
        n, name = self.dimensions, type(self).__name__
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={sizes_of(name, 'stride', self.stride, n, 1)}"
        padding: Any = self.padding
        if not isinstance(padding, (str, tuple, list)):
            padding = (padding,) * n
        if padding != (0,) * n:
            text += f", padding={padding}"
        dilation = sizes_of(name, "dilation", self.dilation, n, 1)
        if dilation != (1,) * n:
            text += f", dilation={dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class Conv1d(_Convolution):
    """conv1d of (N, C, L) with a weight (out_channels, in_channels / groups, k) and a bias."""

    function, dimensions = staticmethod(conv1d), 1


class Conv2d(_Convolution):
    """conv2d of (N, C, H, W) with a weight (out_channels, in_channels / groups, kh, kw), a bias."""

    function, dimensions = staticmethod(conv2d), 2


class Conv3d(_Convolution):
    """conv3d of (N, C, D, H, W) with a weight (out_channels, in_channels / groups, kernel)."""

    function, dimensions = staticmethod(conv3d), 3


class _Pooling(Module):
    function: Callable[..., Tensor]
    names: tuple[str, ...]

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, **options: Any
    ) -> None:
        super().__init__()
        if not set(options) <= set(self.names):
            raise TypeError(f"[{type(self).__name__}] takes {', '.join(self.names)}")
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.options = options

    def forward(self, input: ArrayLike) -> Tensor:
        window = (self.kernel_size, self.stride, self.padding)
        return type(self).function(input, *window, **self.options)

    def extra_repr(self) -> str:
        stride = self.kernel_size if self.stride is None else self.stride
        text = f"kernel_size={self.kernel_size}, stride={stride}, padding={self.padding}"
        for name, default in (("dilation", 1), ("ceil_mode", False)):
            if "dilation" in self.names:  # PyTorch's text of means has neither
                text += f", {name}={self.options.get(name, default)}"
        return text


class MaxPool1d(_Pooling):
    """max_pool1d; also takes dilation and ceil_mode by name."""

    function, names = staticmethod(max_pool1d), ("dilation", "ceil_mode")


class MaxPool2d(_Pooling):
    """max_pool2d; also takes dilation and ceil_mode by name."""

    function, names = staticmethod(max_pool2d), ("dilation", "ceil_mode")


class AvgPool1d(_Pooling):
    """avg_pool1d; also takes ceil_mode and count_include_pad by name."""

    function, names = staticmethod(avg_pool1d), ("ceil_mode", "count_include_pad")


class AvgPool2d(_Pooling):
    """avg_pool2d; also takes ceil_mode and count_include_pad by name."""

    function, names = staticmethod(avg_pool2d), ("ceil_mode", "count_include_pad")
