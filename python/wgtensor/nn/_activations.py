"""Activations: what PyTorch has besides the rows of the elementwise table, and their modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtensor import _generated as g
from wgtensor import random
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor
from wgtensor._core import ShapeError, Tensor
from wgtensor._dtypes import to_dtype
from wgtensor._manipulation import along, axis_of
from wgtensor._naming import public
from wgtensor.nn import init
from wgtensor.nn._linear import new_parameter
from wgtensor.nn._module import Module

# ---- functions ----------------------------------------------------------------------------------


@public
def gelu(input: ArrayLike, approximate: str = "none") -> Tensor:
    """x times the distribution function of the standard normal; 'tanh' for its approximation."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"[gelu] approximate is 'none' or 'tanh', not {approximate!r}")
    return g.gelu(input) if approximate == "none" else g.gelu_tanh(input)


@public
def softplus(input: ArrayLike, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta, and x itself where beta x is above the threshold."""
    x = as_tensor("softplus", input)
    return g.where(x * beta > threshold, x, g.softplus(x, beta))


def _with_dtype(op: str, input: ArrayLike, dtype: Any) -> Tensor:
    x = as_tensor(op, input)
    return x if dtype is None else x._astype(to_dtype(dtype))


@public
def softmax(input: ArrayLike, dim: int = -1, dtype: Any = None) -> Tensor:
    """exp(x - max) over its sum along `dim`, of `input` in `dtype`; rows of -inf give zeros."""
    return _with_dtype("softmax", input, dtype)._softmax(dim)


@public
def log_softmax(input: ArrayLike, dim: int = -1, dtype: Any = None) -> Tensor:
    """x - logsumexp(x) along `dim`, of `input` in `dtype`."""
    return _with_dtype("log_softmax", input, dtype)._softmax(dim, True)


@public
def softmin(input: ArrayLike, dim: int = -1, dtype: Any = None) -> Tensor:
    """softmax(-x)."""
    return (-_with_dtype("softmin", input, dtype))._softmax(dim)


@public
def glu(input: ArrayLike, dim: int = -1) -> Tensor:
    """The first half along `dim` times sigmoid of the second. Raises ShapeError for odd sizes."""
    x = as_tensor("glu", input)
    d = axis_of("glu", dim, x.ndim)
    if x.shape[d] % 2:
        raise ShapeError(f"[glu] size {x.shape[d]} of dimension {d} of {x.shape} is odd")
    half = x.shape[d] // 2
    return x[along(d, slice(half))] * x[along(d, slice(half, None))].sigmoid()


@public
def prelu(input: ArrayLike, weight: ArrayLike) -> Tensor:
    """x where positive, else weight x: one weight, or one for each channel (dimension 1)."""
    x, w = as_tensor("prelu", input), as_tensor("prelu", weight)
    if w.size > 1 and x.ndim > 1:
        w = w.reshape((-1, *(1,) * (x.ndim - 2)))
    return g.leaky_relu(x, w)


@public
def normalize(input: ArrayLike, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x over its p-norm along `dim`, or over eps where that is larger."""
    x = as_tensor("normalize", input)
    size = g.abs(x)
    norm = size.max(axis=dim, keepdims=True) if p == float("inf") else _norm(x, p, dim)
    return x / g.maximum(norm, eps)


def _norm(x: Tensor, p: float, dim: int) -> Tensor:
    if p == 2:
        return (x * x).sum(axis=dim, keepdims=True).sqrt()
    return (g.abs(x) ** p).sum(axis=dim, keepdims=True) ** (1 / p)


@public
def gumbel_softmax(
    logits: ArrayLike, tau: float = 1.0, hard: bool = False, dim: int = -1
) -> Tensor:
    """softmax((logits + Gumbel noise) / tau); `hard`: one-hot, with the soft one's gradient."""
    x = as_tensor("gumbel_softmax", logits)
    noise = random.gumbel(x.shape, dtype=x.dtype, device=x.device)
    soft = ((x + noise) / tau)._softmax(dim)
    if not hard:
        return soft
    firm = (soft == soft.max(axis=dim, keepdims=True))._astype(soft.dtype).detach()
    return firm - soft.detach() + soft


# ---- modules ------------------------------------------------------------------------------------


class Activation(Module):
    """A function of one tensor, with numbers that the constructor takes by position or name."""

    function: Callable[..., Tensor]
    defaults: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        kwargs.pop("inplace", None)  # results take over buffers anyway
        name = type(self).__name__
        if len(args) > len(self.defaults) or not set(kwargs) <= set(self.defaults):
            raise TypeError(f"[{name}] takes {', '.join(self.defaults) or 'no arguments'}")
        values = {**self.defaults, **dict(zip(self.defaults, args, strict=False)), **kwargs}
        if missing := [k for k, v in values.items() if v is ...]:
            raise TypeError(f"[{name}] needs {', '.join(missing)}")
        self.arguments = values

    def forward(self, input: ArrayLike) -> Tensor:
        return type(self).function(input, *self.arguments.values())

    def extra_repr(self) -> str:
        if list(self.arguments) == ["lambd"]:
            return str(self.arguments["lambd"])
        return ", ".join(f"{k}={v!r}" for k, v in self.arguments.items())


def _activation(name: str, function: Callable[..., Tensor], **defaults: Any) -> type[Activation]:
    doc = (function.__doc__ or "").split("\n\n")[0].strip()
    body = {"function": staticmethod(function), "defaults": defaults, "__doc__": doc}
    return type(name, (Activation,), {**body, "__module__": __name__})


ReLU = _activation("ReLU", g.relu)
ReLU6 = _activation("ReLU6", g.relu6)
LeakyReLU = _activation("LeakyReLU", g.leaky_relu, negative_slope=0.01)
ELU = _activation("ELU", g.elu, alpha=1.0)
CELU = _activation("CELU", g.celu, alpha=1.0)
SELU = _activation("SELU", g.selu)
GELU = _activation("GELU", gelu, approximate="none")
SiLU = _activation("SiLU", g.silu)
Mish = _activation("Mish", g.mish)
Softplus = _activation("Softplus", softplus, beta=1.0, threshold=20.0)
Softsign = _activation("Softsign", g.softsign)
Tanh = _activation("Tanh", g.tanh)
Sigmoid = _activation("Sigmoid", g.sigmoid)
LogSigmoid = _activation("LogSigmoid", g.logsigmoid)
Hardsigmoid = _activation("Hardsigmoid", g.hardsigmoid)
Hardswish = _activation("Hardswish", g.hardswish)
Hardtanh = _activation("Hardtanh", g.hardtanh, min_val=-1.0, max_val=1.0)
Hardshrink = _activation("Hardshrink", g.hardshrink, lambd=0.5)
Softshrink = _activation("Softshrink", g.softshrink, lambd=0.5)
Tanhshrink = _activation("Tanhshrink", g.tanhshrink)
Threshold = _activation("Threshold", g.threshold, threshold=..., value=...)
Softmax = _activation("Softmax", softmax, dim=-1)
LogSoftmax = _activation("LogSoftmax", log_softmax, dim=-1)
Softmin = _activation("Softmin", softmin, dim=-1)
GLU = _activation("GLU", glu, dim=-1)


class PReLU(Module):
    """x where positive, else weight x, with a weight for each of num_parameters channels."""

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = new_parameter((num_parameters,), dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets all weights to the initial one."""
        init.constant_(self.weight, self.init)

    def forward(self, input: ArrayLike) -> Tensor:
        return prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
