"""Initial values of parameters, in place, with PyTorch's names and rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wgtensor import _core, random
from wgtensor._arrays import asarray
from wgtensor._core import ShapeError, Tensor
from wgtensor._naming import public
from wgtensor.nn._state import set_value
from wgtensor.random import Generator

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]
__dir__ = __all__.copy  # what there is, and not what it is made with

_GAINS = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "sigmoid"), 1.0),
    "tanh": 5 / 3,
    "relu": math.sqrt(2),
    "selu": 3 / 4,
}


@public
def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance of what passes a nonlinearity, as PyTorch has it.

    `param`: the negative slope of 'leaky_relu', 0.01 by default. Raises ValueError for other names.
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"[calculate_gain] unknown nonlinearity {nonlinearity!r}")
    return _GAINS[nonlinearity]


def fans(op: str, t: Tensor) -> tuple[int, int]:
    """Inputs and outputs of (out, in, kernel..): channels times places. Raises ShapeError."""
    if t.ndim < 2:
        raise ShapeError(f"[{op}] fans need two dimensions or more, not {t.shape}")
    places = math.prod(t.shape[2:])
    return t.shape[1] * places, t.shape[0] * places


@public
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform numbers in [a, b)."""
    made = random.uniform(
        tensor.shape, a, b, dtype=tensor.dtype, device=tensor.device, generator=generator
    )
    set_value(tensor, made)
    return tensor


@public
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normally distributed numbers."""
    made = random.normal(
        tensor.shape, mean, std, dtype=tensor.dtype, device=tensor.device, generator=generator
    )
    set_value(tensor, made)
    return tensor


@public
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normally distributed numbers within [a, b]."""
    made = random.truncated_normal(
        tensor.shape, mean, std, a, b, dtype=tensor.dtype, device=tensor.device, generator=generator
    )
    set_value(tensor, made)
    return tensor


@public
def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere."""
    set_value(tensor, _core.full(tensor.shape, val, tensor.dtype, tensor.device, "constant_"))
    return tensor


@public
def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0)


@public
def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1)


@public
def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere. Raises ShapeError."""
    if tensor.ndim != 2:
        raise ShapeError(f"[eye_] takes a matrix, not {tensor.shape}")
    rows, columns = tensor.shape
    set_value(tensor, _core.eye(rows, columns, 0, tensor.dtype, tensor.device))
    return tensor


@public
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Weights of a convolution that gives its input, channel by channel. Raises ShapeError."""
    shape = tensor.shape
    if not 3 <= tensor.ndim <= 5 or shape[0] % groups:
        raise ShapeError(f"[dirac_] takes (O, C, kernel..) with O in {groups} groups, not {shape}")
    made = np.zeros(shape, np.float32)
    rows = shape[0] // groups
    middle = tuple(n // 2 for n in shape[2:])
    for g in range(groups):
        for d in range(min(rows, shape[1])):
            made[(g * rows + d, d, *middle)] = 1
    return _from_host(tensor, made)


@public
def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform within gain sqrt(6 / (inputs + outputs)) (Glorot and Bengio 2010)."""
    bound = gain * math.sqrt(6 / sum(fans("xavier_uniform_", tensor)))
    return uniform_(tensor, -bound, bound, generator)


@public
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with deviation gain sqrt(2 / (inputs + outputs)) (Glorot and Bengio 2010)."""
    std = gain * math.sqrt(2 / sum(fans("xavier_normal_", tensor)))
    return normal_(tensor, 0.0, std, generator)


def _kaiming_std(op: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"[{op}] mode is 'fan_in' or 'fan_out', not {mode!r}")
    fan = fans(op, tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0


@public
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform within gain sqrt(3 / fan) (He et al. 2015); `a` is the slope of leaky_relu."""
    bound = math.sqrt(3) * _kaiming_std("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


@public
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal with deviation gain / sqrt(fan) (He et al. 2015); `a` is the slope of leaky_relu."""
    std = _kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity)
    return normal_(tensor, 0.0, std, generator)


@public
def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """gain times a matrix with orthonormal rows or columns, whichever are fewer (Saxe et al. 2013).

    Dimensions behind the first count as columns. The factor Q of a normally distributed matrix, by
    NumPy on the host. Raises ShapeError.
    """
    if tensor.ndim < 2:
        raise ShapeError(f"[orthogonal_] takes two dimensions or more, not {tensor.shape}")
    if tensor.size == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.size // tensor.shape[0]
    drawn = random.normal((rows, columns), device=tensor.device, generator=generator)
    tall = drawn.numpy().astype(np.float64)
    q, r = np.linalg.qr(tall.T if rows < columns else tall)
    q = q * np.where(np.diag(r) < 0, -1, 1)
    q = q.T if rows < columns else q
    return _from_host(tensor, (gain * q).reshape(tensor.shape).astype(np.float32))


@public
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Normal numbers, of which a share `sparsity` of each column, drawn by lot, is 0."""
    if tensor.ndim != 2:
        raise ShapeError(f"[sparse_] takes a matrix, not {tensor.shape}")
    rows = tensor.shape[0]
    keys = random.uniform(tensor.shape, device=tensor.device, generator=generator).numpy()
    places = keys.argsort(axis=0)[: math.ceil(sparsity * rows)]
    keep = np.ones(tensor.shape, np.bool_)
    np.put_along_axis(keep, places, False, axis=0)
    normal_(tensor, 0.0, std, generator)
    set_value(tensor, tensor.detach() * asarray(keep, device=tensor.device))
    return tensor


def _from_host(tensor: Tensor, values: np.ndarray[Any, Any]) -> Tensor:
    set_value(tensor, asarray(values, device=tensor.device)._astype(tensor.dtype))
    return tensor
