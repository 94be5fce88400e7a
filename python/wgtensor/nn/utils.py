"""What is done with the gradients and values of many parameters."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Iterator

from wgtensor import _core
from wgtensor._core import Tensor
from wgtensor._generated import abs as magnitude
from wgtensor._generated import maximum, minimum
from wgtensor._manipulation import concat
from wgtensor._naming import public
from wgtensor.nn._state import set_value

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
]
__dir__ = __all__.copy  # what there is, and not what it is made with


def _each(tensors: Iterable[Tensor] | Tensor) -> list[Tensor]:
    """A tensor, or several, as a list. Raises TypeError for what is none."""
    each = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    for t in each:
        if not isinstance(t, Tensor):
            raise TypeError(f"takes tensors, not {type(t).__name__}")
    return each


def _total(sums: Iterator[Tensor]) -> Tensor:
    """Each sum is added to by the kernel that makes the next one."""
    return functools.reduce(operator.add, sums)


@public
def get_total_norm(tensors: Iterable[Tensor] | Tensor, norm_type: float = 2.0) -> Tensor:
    """The norm of all elements of the tensors together: of any order, `inf` for the largest."""
    each = _each(tensors)
    if not each:
        raise ValueError("[get_total_norm] no tensors")
    wide = [t._astype(_core.unpacked(t.dtype)) for t in each]
    if norm_type == math.inf:
        return functools.reduce(maximum, (magnitude(t).max() for t in wide))
    if norm_type == 2:
        return _total((t * t).sum() for t in wide).sqrt()
    total = _total((magnitude(t) ** norm_type).sum() for t in wide)
    return total ** (1 / norm_type)


@public
def clip_grad_norm_(
    parameters: Iterable[Tensor] | Tensor,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scales gradients so that all together have at most max_norm. Returns the norm before.

    The factor is min(1, max_norm / (norm + 1e-6)); nothing is read on the host, unless
    error_if_nonfinite asks for a RuntimeError where the norm is no number.
    """
    each = _each(parameters)
    grads = [p.grad.detach() for p in each if p.grad is not None]
    if not grads:
        return _zero(each)
    norm = get_total_norm(grads, norm_type)
    if error_if_nonfinite and not math.isfinite(float(norm)):
        raise RuntimeError(f"[clip_grad_norm_] the norm of the gradients is {float(norm)}")
    factor = minimum(max_norm / (norm + 1e-6), 1.0)
    for p in each:
        if p.grad is not None:
            set_value(p.grad, p.grad.detach() * factor._astype(p.grad.dtype))
    return norm


def _zero(parameters: list[Tensor]) -> Tensor:
    from wgtensor._functions import zeros

    return zeros((), device=parameters[0].device if parameters else None)


@public
def clip_grad_value_(parameters: Iterable[Tensor] | Tensor, clip_value: float) -> None:
    """Moves each element of the gradients into [-clip_value, clip_value]; NaN stays."""
    for p in _each(parameters):
        if p.grad is not None:
            g = p.grad.detach()
            set_value(p.grad, maximum(minimum(g, clip_value), -clip_value))


@public
def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements one after the other."""
    return concat([p.reshape(-1) for p in _each(parameters)])


@public
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Takes the values of parameters from what parameters_to_vector() gave."""
    each = _each(parameters)
    if vec.shape != (sum(p.size for p in each),):
        raise ValueError(f"[vector_to_parameters] a vector of shape {vec.shape} does not fit")
    at = 0
    for p in each:
        set_value(p, vec[at : at + p.size].detach().reshape(p.shape))
        at += p.size
