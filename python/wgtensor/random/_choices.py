"""Orders and choices by lot."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._dtypes import float32, int32, to_dtype
from wgtensor._functions import Shape
from wgtensor._generated import isfinite, log, minimum, nextafter
from wgtensor._indexing import take, take_along_axis
from wgtensor._manipulation import axis_of, stack
from wgtensor._naming import public
from wgtensor._reductions import cumulative_sum
from wgtensor._searching import searchsorted
from wgtensor._sorting import argsort
from wgtensor.random._distributions import _dims, bits, gumbel, randint, uniform
from wgtensor.random._generator import Generator


@public
def randperm(
    n: int, *, dtype: Any = None, device: DeviceLike = None, generator: Generator | None = None
) -> Tensor:
    """The integers below n in an order by lot: the places of n sorted words of 32 random bits.

    Equal words, of which there are some for n above 2^16, keep their order. int32 by default.
    """
    d = int32 if dtype is None else to_dtype(dtype)
    keys = bits(operator.index(n), device=device, generator=generator)
    return argsort(keys)._astype(d)


@public
def permutation(
    x: int | ArrayLike,
    axis: int = 0,
    *,
    device: DeviceLike = None,
    generator: Generator | None = None,
) -> Tensor:
    """The integers below x, or the slices of x along an axis, in an order by lot."""
    if isinstance(x, (int, np.integer)):
        return randperm(int(x), device=device, generator=generator)
    t = as_tensor("permutation", x, device)
    a = axis_of("permutation", axis, t.ndim)
    order = randperm(t.shape[a], device=t.device, generator=generator)
    return take(t, order, axis=a)


@public
def shuffle(x: Tensor, axis: int = 0, *, generator: Generator | None = None) -> None:
    """Puts the slices of x along an axis in an order by lot, in place."""
    if not isinstance(x, Tensor):
        raise TypeError(f"[shuffle] takes a tensor, not {type(x).__name__}")
    x[...] = permutation(x, axis, generator=generator)


@public
def choice(
    a: int | ArrayLike,
    shape: Shape | None = None,
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike = None,
    generator: Generator | None = None,
) -> Tensor:
    """Integers below a, or slices of a along an axis, drawn with or without repetition.

    p: their probabilities, alike by default. The result has `shape` in place of the axis. Raises
    ValueError for more draws than there are without repetition and for probabilities as
    multinomial's weights, ShapeError for another number of them.
    """
    whole = isinstance(a, (int, np.integer))
    t = None if whole else as_tensor("choice", a, device)
    n = int(a) if t is None else t.shape[axis_of("choice", axis, t.ndim)]
    dims = () if shape is None else _dims("choice", shape)
    count = math.prod(dims)
    where = device if t is None else t.device
    if n < 1 or (not replace and count > n):
        raise ValueError(f"[choice] {count} of {n}: there are not so many")
    if p is not None:
        weights = as_tensor("choice", p, where)
        if weights.shape != (n,):
            raise ShapeError(f"[choice] probabilities of shape {weights.shape} for {n}")
        if not isinstance(p, Tensor):
            _check_weights(np.asarray(p))
        drawn = multinomial(weights, count, replace, generator=generator)
    elif replace:
        drawn = randint(n, shape=count, device=where, generator=generator)
    else:
        drawn = randperm(n, device=where, generator=generator)[:count]
    drawn = drawn.reshape(dims)
    return drawn if t is None else take(t, drawn, axis=axis_of("choice", axis, t.ndim))


@public
def multinomial(
    p: ArrayLike, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Indices drawn by weights p along the last axis: (n,) to (num_samples,), (m, n) to (m, ..).

    Weights need not sum to 1. Without replacement the places of the largest log(p) + Gumbel noise
    (Gumbel 1954; Vieira 2014), those of weight 0 last; with it, random numbers looked up among the
    running sums. int32. Raises ValueError for more draws than weights without replacement, and for
    weights that are negative, infinite or NaN, or all 0: at once where they are host data, else
    with the next read.
    """
    t = as_tensor("multinomial", p)
    if not isinstance(p, Tensor):
        _check_weights(np.asarray(p))
    if t.ndim not in (1, 2) or t.shape[-1] == 0:
        raise ShapeError(f"[multinomial] takes (n,) or (m, n), not {t.shape}")
    if t.dtype.kind == "b":
        raise DTypeError("[multinomial] is not defined for bool: cast with astype()")
    t = t._astype(_core.unpacked(t.dtype) if t.dtype.kind == "f" else float32)
    if isinstance(p, Tensor):
        t = t + _core.checked(~((t >= 0) & isfinite(t)), "multinomial", _WRONG)._astype(t.dtype)
    k = operator.index(num_samples)
    if k < 0 or (not replacement and k > t.shape[-1]):
        raise ValueError(f"[multinomial] {k} draws of {t.shape[-1]} weights")
    if replacement:
        return _with_replacement(t, k, generator)
    noise = gumbel(t.shape, dtype=t.dtype, device=t.device, generator=generator)
    drawn = argsort(log(t) + noise, descending=True)
    largest = take_along_axis(t, drawn[..., :1], -1)
    return drawn[..., :k]._astype(int32) + _any_weight(largest)


def _with_replacement(t: Tensor, k: int, generator: Generator | None) -> Tensor:
    """Places of random shares of the sum among the running sums."""
    sums = cumulative_sum(t, axis=-1)
    total = sums[..., -1:]
    shape = (*t.shape[:-1], k)
    u = uniform(shape, dtype=t.dtype, device=t.device, generator=generator)
    # Below the sum, also where the product is rounded up: so what has weight 0 is never found.
    share = minimum(u * total, nextafter(total, 0))
    if t.ndim == 1:
        return searchsorted(sums, share, side="right")._astype(int32) + _any_weight(total)
    rows = [searchsorted(sums[i], share[i], side="right") for i in range(t.shape[0])]
    return stack(rows)._astype(int32) + _any_weight(total)


_WRONG = "weights are finite and not negative"
_NONE = "all weights are 0"


def _check_weights(p: np.ndarray[Any, Any]) -> None:
    if p.dtype.kind not in "iuf" or p.ndim == 0:
        return
    if not (np.isfinite(p) & (p >= 0)).all():
        raise ValueError(f"[multinomial] {_WRONG}")
    if not (p.sum(axis=-1) > 0).all():
        raise ValueError(f"[multinomial] {_NONE}")


def _any_weight(largest: Tensor) -> Tensor:
    """0, checked where no weight is above it."""
    return _core.checked(~(largest > 0), "multinomial", _NONE)._astype(int32)
