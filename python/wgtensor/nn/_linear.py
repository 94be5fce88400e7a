"""Linear maps, and modules that only move elements."""

from __future__ import annotations

import math
from typing import Any

from wgtensor import _core
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor
from wgtensor._core import Parameter, ShapeError, Tensor
from wgtensor._dtypes import get_default_dtype, to_dtype
from wgtensor._einsum import einsum
from wgtensor._manipulation import as_tensors, axis_of, flatten
from wgtensor._naming import public
from wgtensor.nn import init
from wgtensor.nn._module import Module


def new_parameter(shape: tuple[int, ...], dtype: Any, device: DeviceLike) -> Parameter:
    """A parameter with values that are still to be set."""
    d = get_default_dtype() if dtype is None else to_dtype(dtype)
    return Parameter(_core.full(shape, 0, d, device, "Parameter"))


def uniform_by_fan(t: Parameter, fan: int) -> None:
    """PyTorch's default for biases: uniform within 1 / sqrt(fan)."""
    bound = 1 / math.sqrt(fan) if fan > 0 else 0.0
    init.uniform_(t, -bound, bound)


@public
def linear(input: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None) -> Tensor:
    """input @ weight.T + bias for (.., in), (out, in) and (out,). Raises ShapeError."""
    if not (isinstance(input, Tensor) and isinstance(weight, Tensor)):
        given = (input, weight) if bias is None else (input, weight, bias)
        input, weight, *rest = as_tensors("linear", given)
        bias = rest[0] if rest else None
    elif bias is not None and not isinstance(bias, Tensor):
        bias = as_tensor("linear", bias, input.device)
    return _core.linear(input, weight, bias)


@public
def bilinear(
    input1: ArrayLike, input2: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None
) -> Tensor:
    """x1 W_k x2 + bias_k for each k, of (.., in1), (.., in2), (out, in1, in2), (out,)."""
    a, b, w = as_tensors("bilinear", (input1, input2, weight))
    if w.ndim != 3 or a.shape[-1:] != w.shape[1:2] or b.shape[-1:] != w.shape[2:]:
        raise ShapeError(
            f"[bilinear] inputs of shapes {a.shape} and {b.shape} do not match a weight {w.shape}"
        )
    y = einsum("...i,kij,...j->...k", a, w, b)
    return y if bias is None else y + as_tensor("bilinear", bias)


class Identity(Module):
    """Gives its input; takes any arguments."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Flatten(Module):
    """The dimensions from start_dim to end_dim as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return flatten("Flatten", input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several."""

    def __init__(self, dim: int, unflattened_size: tuple[int, ...]) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        d = axis_of("Unflatten", self.dim, input.ndim)
        return input.reshape((*input.shape[:d], *self.unflattened_size, *input.shape[d + 1 :]))

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Linear(Module):
    """input @ weight.T + bias: (.., in_features) to (.., out_features).

    weight is (out_features, in_features); both begin uniform within 1 / sqrt(in_features).
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = new_parameter((out_features, in_features), dtype, device)
        self.register_parameter(
            "bias", new_parameter((out_features,), dtype, device) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the initial values anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            uniform_by_fan(self.bias, self.in_features)

    def forward(self, input: ArrayLike) -> Tensor:
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={bias}"


class Bilinear(Module):
    """x1 weight[k] x2 + bias[k]: (.., in1_features), (.., in2_features) to (.., out_features)."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        self.weight = new_parameter((out_features, in1_features, in2_features), dtype, device)
        self.register_parameter(
            "bias", new_parameter((out_features,), dtype, device) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the initial values anew, uniform within 1 / sqrt(in1_features)."""
        for p in self.parameters():
            uniform_by_fan(p, self.in1_features)

    def forward(self, input1: ArrayLike, input2: ArrayLike) -> Tensor:
        return bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
