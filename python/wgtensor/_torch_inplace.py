"""PyTorch's methods that write their result into the tensor: their names end in an underscore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtensor import _generated as rows
from wgtensor._arrays import ArrayLike
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._elementwise import clip
from wgtensor._naming import as_method

# Functions of the tensor alone, by their names here.
_UNARY = {
    "abs_": "abs",
    "neg_": "negative",
    "sqrt_": "sqrt",
    "rsqrt_": "rsqrt",
    "square_": "square",
    "reciprocal_": "reciprocal",
    "exp_": "exp",
    "log_": "log",
    "sin_": "sin",
    "cos_": "cos",
    "tanh_": "tanh",
    "sigmoid_": "sigmoid",
    "relu_": "relu",
    "floor_": "floor",
    "ceil_": "ceil",
    "trunc_": "trunc",
    "sign_": "sign",
}
_RANK = {"b": 0, "i": 1, "u": 1, "f": 2}  # of kinds: a result of one up to the tensor's is cast


def _written(name: str, t: Tensor, result: Tensor) -> Tensor:
    """The tensor with a result in it. Raises ShapeError where that is larger, DTypeError where it
    is of a higher kind: floats are not cut to integers in silence."""
    if result.shape != t.shape:
        raise ShapeError(f"[{name}] a result of shape {result.shape} for shape {t.shape}")
    if _RANK[result.dtype.kind] > _RANK[t.dtype.kind]:
        raise DTypeError(f"[{name}] a result of {result.dtype} does not fit a tensor of {t.dtype}")
    t[...] = result
    return t


def _scaled(x: ArrayLike, factor: Any) -> ArrayLike:
    return x if isinstance(factor, (int, float)) and factor == 1 else rows.multiply(x, factor)


def _add_(self: Tensor, other: ArrayLike, *, alpha: Any = 1) -> Tensor:
    """Adds alpha times another tensor or number; returns the tensor."""
    return _written("add_", self, rows.add(self, _scaled(other, alpha)))


def _sub_(self: Tensor, other: ArrayLike, *, alpha: Any = 1) -> Tensor:
    """Subtracts alpha times another tensor or number; returns the tensor."""
    return _written("sub_", self, rows.subtract(self, _scaled(other, alpha)))


def _mul_(self: Tensor, other: ArrayLike) -> Tensor:
    """Multiplies by another tensor or number; returns the tensor."""
    return _written("mul_", self, rows.multiply(self, other))


def _div_(self: Tensor, other: ArrayLike) -> Tensor:
    """Divides a tensor of floats by another tensor or number; returns the tensor."""
    return _written("div_", self, rows.divide(self, other))


def _pow_(self: Tensor, exponent: ArrayLike) -> Tensor:
    """Raises the elements to a power; returns the tensor."""
    return _written("pow_", self, rows.pow(self, exponent))


def _clamp_(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Moves the elements between two bounds; returns the tensor."""
    return _written("clamp_", self, clip(self, min, max))


def _lerp_(self: Tensor, end: ArrayLike, weight: ArrayLike) -> Tensor:
    """Adds weight times the way to `end`: self + weight (end - self); returns the tensor."""
    return _written("lerp_", self, rows.lerp(self, end, weight))


def _addcmul_(self: Tensor, tensor1: ArrayLike, tensor2: ArrayLike, *, value: Any = 1) -> Tensor:
    """Adds value times tensor1 times tensor2; returns the tensor."""
    product = _scaled(rows.multiply(tensor1, tensor2), value)
    return _written("addcmul_", self, rows.add(self, product))


def _addcdiv_(self: Tensor, tensor1: ArrayLike, tensor2: ArrayLike, *, value: Any = 1) -> Tensor:
    """Adds value times tensor1 over tensor2; returns the tensor."""
    quotient = _scaled(rows.divide(tensor1, tensor2), value)
    return _written("addcdiv_", self, rows.add(self, quotient))


def _unary(name: str, of: str) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return _written(name, self, getattr(rows, of)(self))

    method.__doc__ = f"Writes what `{of}` gives of the elements; returns the tensor."
    return method


_METHODS: dict[str, Callable[..., Any]] = {
    "add_": _add_,
    "sub_": _sub_,
    "mul_": _mul_,
    "div_": _div_,
    "pow_": _pow_,
    "clamp_": _clamp_,
    "lerp_": _lerp_,
    "addcmul_": _addcmul_,
    "addcdiv_": _addcdiv_,
    **{name: _unary(name, of) for name, of in _UNARY.items()},
}
METHODS = {name: as_method(name, method) for name, method in _METHODS.items()}
