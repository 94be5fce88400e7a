"""Normalization: over features, groups of channels, or a batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wgtensor import _core
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._dtypes import finfo, int32
from wgtensor._naming import public
from wgtensor.nn import init
from wgtensor.nn._linear import new_parameter
from wgtensor.nn._module import Module
from wgtensor.nn._state import set_value

# ---- functions ----------------------------------------------------------------------------------


def _input(op: str, x: ArrayLike) -> Tensor:
    t = as_tensor(op, x)
    if t.dtype.kind != "f":
        raise DTypeError(f"[{op}] takes floats, not {t.dtype}")
    return t


def _shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


def _last_axes(op: str, t: Tensor, shape: tuple[int, ...], *parameters: Any) -> tuple[int, ...]:
    if not shape or t.shape[-len(shape) :] != shape:
        raise ShapeError(f"[{op}] an input of shape {t.shape} does not end in {shape}")
    for p in parameters:
        if p is not None and p.shape != shape:
            raise ShapeError(f"[{op}] weight and bias have the shape {shape}, not {p.shape}")
    return tuple(range(t.ndim - len(shape), t.ndim))


def _wide(t: Tensor) -> Tensor:
    """16-bit floats as float32, so that statistics are."""
    return t._astype(_core.unpacked(t.dtype))


def _over_last(x: Tensor, axes: tuple[int, ...], centred: bool, eps: float) -> Tensor:
    t = _wide(x)
    if len(axes) == 1:
        return _core.normalize(t, centred, eps)
    rows = t.reshape((*t.shape[: axes[0]], math.prod(t.shape[axes[0] :])))
    return _core.normalize(rows, centred, eps).reshape(t.shape)


def _scaled(y: Tensor, weight: Any, bias: Any) -> Tensor:
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


@public
def layer_norm(
    input: ArrayLike,
    normalized_shape: int | Sequence[int],
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) weight + bias over the last dimensions (Ba et al. 2016).

    var is the mean of squared differences. weight and bias have normalized_shape. 16-bit floats are
    computed in float32. Raises ShapeError, DTypeError for what is no float.
    """
    x = _input("layer_norm", input)
    axes = _last_axes("layer_norm", x, _shape(normalized_shape), weight, bias)
    return _scaled(_over_last(x, axes, True, eps), weight, bias)._astype(x.dtype)


@public
def rms_norm(
    input: ArrayLike,
    normalized_shape: int | Sequence[int],
    weight: ArrayLike | None = None,
    eps: float | None = None,
) -> Tensor:
    """x / sqrt(mean(x^2) + eps) weight over the last dimensions (Zhang and Sennrich 2019).

    eps is the dtype's distance from 1 to the next number by default, as in PyTorch.
    """
    x = _input("rms_norm", input)
    axes = _last_axes("rms_norm", x, _shape(normalized_shape), weight)
    tiny = float(finfo(x.dtype).eps) if eps is None else eps
    return _scaled(_over_last(x, axes, False, tiny), weight, None)._astype(x.dtype)


def _per_channel(p: Any, ndim: int) -> Any:
    return None if p is None else as_tensor("norm", p).reshape((-1, *(1,) * (ndim - 2)))


@public
def group_norm(
    input: ArrayLike,
    num_groups: int,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """layer_norm of each group of channels of (N, C, ..), weight and bias of (C,) (Wu, He 2018).

    Raises ShapeError where the groups do not divide the channels.
    """
    x = _input("group_norm", input)
    if x.ndim < 2 or num_groups < 1 or x.shape[1] % num_groups:
        raise ShapeError(
            f"[group_norm] {num_groups} groups do not divide the channels of {x.shape}"
        )
    size = math.prod(x.shape[1:]) // num_groups
    y = layer_norm(_wide(x).reshape((x.shape[0], num_groups, size)), size, eps=eps)
    scale, shift = (_per_channel(p, x.ndim) for p in (weight, bias))
    return _scaled(y.reshape(x.shape), scale, shift)._astype(x.dtype)


@public
def batch_norm(
    input: ArrayLike,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of (N, C, ..) less its mean, over its deviation (Ioffe and Szegedy 2015).

    In training by the batch's own statistics, of which running_mean and running_var take over the
    share `momentum` (the variance over n - 1); else by those two. Raises ValueError in training for
    one value to a channel, ShapeError.
    """
    x = _input("batch_norm", input)
    if x.ndim < 2:
        raise ShapeError(f"[batch_norm] takes (N, C, ..), not {x.shape}")
    t = _wide(x)
    axes = (0, *range(2, x.ndim))
    if training or running_mean is None or running_var is None:
        n = x.size // x.shape[1] if x.shape[1] else 0
        if n < 2:
            raise ValueError(f"[batch_norm] one value to a channel, or none, in {x.shape}")
        mean = t.mean(axis=axes, keepdims=True)
        centred = t - mean
        variance = (centred * centred).mean(axis=axes, keepdims=True)
        if training and running_mean is not None and running_var is not None:
            _take_share(running_mean, mean, momentum)
            _take_share(running_var, variance * (n / (n - 1)), momentum)
    else:
        centred = t - _per_channel(running_mean, x.ndim)
        variance = _per_channel(running_var, x.ndim)
    scale, shift = (_per_channel(p, x.ndim) for p in (weight, bias))
    return _scaled(centred * (variance + eps).rsqrt(), scale, shift)._astype(x.dtype)


def _take_share(running: Tensor, now: Tensor, momentum: float) -> None:
    value = now.detach().reshape(running.shape)._astype(running.dtype)
    set_value(running, running * (1 - momentum) + value * momentum)


# ---- modules ------------------------------------------------------------------------------------


class _Scaling(Module):
    """weight and bias of one shape, which begin as ones and zeros; either may be left out."""

    def _parameters_of(
        self, shape: tuple[int, ...], affine: bool, bias: bool, device: Any, dtype: Any
    ) -> None:
        for name, there in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, new_parameter(shape, dtype, device) if there else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets weight to ones and bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)


class LayerNorm(_Scaling):
    """layer_norm over the last dimensions, with weight and bias."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._parameters_of(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input: ArrayLike) -> Tensor:
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        affine = self.elementwise_affine
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={affine}"


class RMSNorm(_Scaling):
    """rms_norm over the last dimensions, with a weight."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        there = elementwise_affine
        self.register_parameter(
            "weight", new_parameter(self.normalized_shape, dtype, device) if there else None
        )
        self.reset_parameters()

    def forward(self, input: ArrayLike) -> Tensor:
        return rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        affine = self.elementwise_affine
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={affine}"


class GroupNorm(_Scaling):
    """group_norm of (N, C, ..), with a weight and a bias for each channel."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_groups < 1 or num_channels % num_groups:
            raise ValueError(
                f"[GroupNorm] {num_groups} groups do not divide {num_channels} channels"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self._parameters_of((num_channels,), affine, True, device, dtype)

    def forward(self, input: ArrayLike) -> Tensor:
        return group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class _BatchNorm(_Scaling):
    dimensions: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        names = ("running_mean", "running_var", "num_batches_tracked")
        like = new_parameter((num_features,), dtype, device)
        made = (like.detach(), like.detach() + 1, _core.full((), 0, int32, device))
        for name, value in zip(names, made, strict=True):
            self.register_buffer(name, value if track_running_stats else None)
        self._parameters_of((num_features,), affine, True, device, dtype)

    def reset_running_stats(self) -> None:
        """Sets the statistics to mean 0 and variance 1."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def forward(self, input: ArrayLike) -> Tensor:
        x = as_tensor(type(self).__name__, input)
        if x.ndim not in self.dimensions or x.shape[1] != self.num_features:
            raise ShapeError(
                f"[{type(self).__name__}] takes {self.num_features} channels in dimension 1 of "
                f"{' or '.join(map(str, self.dimensions))}, not {x.shape}"
            )
        momentum = self.momentum
        if self.training and self.track_running_stats:
            set_value(self.num_batches_tracked, self.num_batches_tracked + 1)
            if momentum is None:  # all batches alike
                momentum = 1 / float(self.num_batches_tracked)
        return batch_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training,
            0.0 if momentum is None else momentum,
            self.eps,
        )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    """batch_norm of (N, C) or (N, C, L), with running statistics that eval() mode uses."""

    dimensions = (2, 3)


class BatchNorm2d(_BatchNorm):
    """batch_norm of (N, C, H, W), with running statistics that eval() mode uses."""

    dimensions = (4,)


class BatchNorm3d(_BatchNorm):
    """batch_norm of (N, C, D, H, W), with running statistics that eval() mode uses."""

    dimensions = (5,)
