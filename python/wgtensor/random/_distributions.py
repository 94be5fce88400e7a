"""Tensors of random numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor, leaf
from wgtensor._core import DTypeError, Tensor
from wgtensor._dtypes import DType, float32, get_default_dtype, int32, to_dtype, uint32, uint64
from wgtensor._functions import Shape, broadcast_shapes
from wgtensor._generated import erfinv, log
from wgtensor._naming import public
from wgtensor.random._generator import Generator, generator_of

#: a number, or a tensor that broadcasts to the result
Parameter = ArrayLike


def _floats(op: str, dtype: Any) -> DType:
    d = get_default_dtype() if dtype is None else to_dtype(dtype)
    if d.kind != "f":
        raise DTypeError(f"[{op}] makes floats, not {d}")
    return d


def _dims(op: str, shape: Shape) -> tuple[int, ...]:
    try:
        dims = tuple(shape) if isinstance(shape, (tuple, list)) else (operator.index(shape),)  # type: ignore[arg-type]
        return tuple(operator.index(n) for n in dims)
    except TypeError:
        raise TypeError(f"[{op}] a shape is an integer or several, not {shape!r}") from None


def _draw(
    kind: str,
    op: str,
    shape: Shape,
    dtype: DType,
    device: DeviceLike,
    generator: Generator | None,
) -> Tensor:
    dims = _dims(op, shape)
    seed, offset = generator_of(op, generator)._take(math.prod(dims))
    return _core.random(kind, dims, dtype, device, seed, offset)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _finite(op: str, **values: float) -> None:
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"[{op}] {name} must be finite, not {value}")


def _drawn_and_moved(
    kind: str,
    op: str,
    shape: Shape | None,
    shift: Parameter,
    scale: Parameter,
    dtype: Any,
    device: DeviceLike,
    generator: Generator | None,
) -> Tensor:
    """Numbers of a standard distribution, times `scale`, plus `shift`."""
    d = _floats(op, dtype)
    if _is_number(shift) and _is_number(scale):
        _finite(op, shift=float(shift), scale=float(scale))
        t = _draw(kind, op, () if shape is None else shape, d, device, generator)
        if shift == 0:
            return t if scale == 1 else t * float(scale)
        return _core.affine(t, float(scale), float(shift))
    a = shift if _is_number(shift) else as_tensor(op, shift, device)
    b = scale if _is_number(scale) else as_tensor(op, scale, device)
    first = a if isinstance(a, Tensor) else b
    if shape is None:
        shape = broadcast_shapes(*(x.shape for x in (a, b) if isinstance(x, Tensor)))
    t = _draw(kind, op, shape, d, first.device if device is None else device, generator)
    result: Tensor = t * b + a
    return result._astype(d)


@public
def uniform(
    shape: Shape | None = None,
    low: Parameter = 0.0,
    high: Parameter = 1.0,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Floats in [low, high): low + u (high - low), with u of 24 bits (float64 53, float16 11,
    bfloat16 8). Numbers for low and high give the same bits on every device.

    Tensors for low and high broadcast to `shape`, or give it. Where low + u (high - low) is rounded
    up, high itself can come. Raises DTypeError for what is no float.
    """
    if _is_number(low) and _is_number(high):
        span: Any = float(high) - float(low)
    else:
        span = as_tensor("uniform", high, device) - as_tensor("uniform", low, device)
    made = _drawn_and_moved("uniform", "uniform", shape, low, span, dtype, device, generator)
    return leaf(made, requires_grad)


@public
def normal(
    shape: Shape | None = None,
    mean: Parameter = 0.0,
    std: Parameter = 1.0,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normally distributed floats, mean + std z with z by Box and Muller (1958).

    Tensors for mean and std broadcast to `shape`, or give it. Raises DTypeError for what is no
    float, ValueError for a negative std.
    """
    if _is_number(std) and std < 0:
        raise ValueError(f"[normal] a standard deviation is not negative: {std}")
    made = _drawn_and_moved("normal", "normal", shape, mean, std, dtype, device, generator)
    return leaf(made, requires_grad)


@public
def exponential(
    shape: Shape | None = None,
    scale: Parameter = 1.0,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Exponentially distributed floats, -scale log(u): above 0, with mean `scale`."""
    if _is_number(scale) and scale < 0:
        raise ValueError(f"[exponential] a scale is not negative: {scale}")
    made = _drawn_and_moved(
        "exponential", "exponential", shape, 0.0, scale, dtype, device, generator
    )
    return leaf(made, requires_grad)


@public
def gumbel(
    shape: Shape | None = None,
    loc: Parameter = 0.0,
    scale: Parameter = 1.0,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Floats of the standard Gumbel distribution, loc - scale log(-log(u))."""
    d = _floats("gumbel", dtype)
    if shape is None:
        shape = broadcast_shapes(
            *(() if _is_number(x) else as_tensor("gumbel", x).shape for x in (loc, scale))
        )
    wide = d if d.itemsize == 8 else float32
    g = -log(_draw("exponential", "gumbel", shape, wide, device, generator))
    if _is_number(loc) and _is_number(scale):
        made = _core.affine(g, float(scale), float(loc))
    else:
        made = g * scale + loc
    made = made._astype(d)
    return leaf(made, requires_grad)


@public
def truncated_normal(
    shape: Shape = (),
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normally distributed floats within [a, b], by the inverse of the distribution function.

    An interval more than four standard deviations beside the mean is coarse: there the distribution
    function has few values next to 1. Raises ValueError for std <= 0 or a >= b.
    """
    op = "truncated_normal"
    d = _floats(op, dtype)
    _finite(op, mean=mean, std=std)
    if not std > 0 or not a < b:
        raise ValueError(f"[{op}] takes std > 0 and a < b, not std={std}, a={a}, b={b}")
    low, high = ((x - mean) / std for x in (a, b))
    first, last = (math.erf(x * math.sqrt(0.5)) for x in (low, high))
    wide = d if d.itemsize == 8 else float32
    u = _draw("uniform", op, shape, wide, device, generator)
    z = erfinv(_core.affine(u, last - first, first)) * math.sqrt(2)
    made = _core.affine(z, std, mean).clip(a, b)._astype(d)
    return leaf(made, requires_grad)


@public
def bernoulli(
    p: Parameter = 0.5,
    shape: Shape | None = None,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    generator: Generator | None = None,
) -> Tensor:
    """1 with probability p, else 0; of the dtype of a float tensor p, else the default float.

    A number p counts with 32 bits, a tensor, which broadcasts to `shape` or gives it, with 24.
    Raises ValueError for probabilities outside of [0, 1]: for those of a tensor with the next read.
    """
    op = "bernoulli"
    if _is_number(p):
        d = get_default_dtype() if dtype is None else to_dtype(dtype)
        dims = _dims(op, () if shape is None else shape)
        return coin(op, float(p), dims, device, generator)._astype(d)
    t = as_tensor(op, p, device)
    default = t.dtype if t.dtype.kind == "f" else get_default_dtype()
    d = default if dtype is None else to_dtype(dtype)
    wide = t.dtype if t.dtype.itemsize == 8 and t.dtype.kind == "f" else float32
    u = _draw("uniform", op, t.shape if shape is None else shape, wide, t.device, generator)
    if not isinstance(p, Tensor):
        a = np.asarray(p)
        if not ((a >= 0) & (a <= 1)).all():
            raise ValueError(f"[{op}] {_PROBABILITIES}")
        return (u < t)._astype(d)
    wrong = _core.checked(~((t >= 0) & (t <= 1)), op, _PROBABILITIES)
    return (u < t + wrong._astype(t.dtype))._astype(d)


_PROBABILITIES = "probabilities lie in [0, 1]"


def coin(
    op: str, p: float, dims: tuple[int, ...], device: DeviceLike, generator: Generator | None
) -> Tensor:
    """True with probability p, by one comparison of 32 bits. Raises ValueError."""
    if not 0 <= p <= 1:
        raise ValueError(f"[{op}] a probability lies in [0, 1], not {p}")
    words = _draw("bits", op, dims, uint32, device, generator)
    limit = round(p * 2**32)
    return words < 0 if limit == 0 else words <= limit - 1


@public
def randint(
    low: int,
    high: int | Shape | None = None,
    shape: Shape | None = None,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    generator: Generator | None = None,
) -> Tensor:
    """Integers in [low, high), or [0, low) without high; int32 by default.

    floor(w (high - low) / 2^64) for 64 random bits w: with up to 2^32 different integers none comes
    more often than another by 2^-32 of its chance, nor with more by 2^-64. A shape may take the
    place of `high`, as in PyTorch. Raises ValueError where there is no integer, OverflowError where
    the dtype does not hold them.
    """
    op = "randint"
    if shape is None and isinstance(high, (tuple, list)):
        high, shape = None, high
    d = int32 if dtype is None else to_dtype(dtype)
    if d.kind not in "iu":
        raise DTypeError(f"[{op}] makes integers, not {d}: cast with astype()")
    try:
        first, end = (0, low) if high is None else (low, high)
        first, end = operator.index(first), operator.index(end)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"[{op}] low and high are integers, not {low!r} and {high!r}") from None
    if first >= end:
        raise ValueError(f"[{op}] there is no integer from {first} up to, without it, {end}")
    bounds = np.iinfo(d.numpy)
    if first < bounds.min or end - 1 > bounds.max:
        raise OverflowError(f"[{op}] integers from {first} to {end - 1} do not fit {d}")
    dims = _dims(op, () if shape is None else shape)
    seed, offset = generator_of(op, generator)._take(math.prod(dims))
    word = uint64 if d.itemsize == 8 else uint32
    span = (end - first) % 2 ** (8 * word.itemsize)
    t = _core.random_below(span, dims, word, device, seed, offset)._astype(d)
    return t if first == 0 else t + first


@public
def rand(
    *shape: int | Sequence[int],
    dtype: Any = None,
    device: DeviceLike = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """uniform() in [0, 1) by PyTorch's and NumPy's name: rand(2, 3) or rand((2, 3))."""
    made = uniform(_sizes("rand", shape), dtype=dtype, device=device, generator=generator)
    return leaf(made, requires_grad)


@public
def randn(
    *shape: int | Sequence[int],
    dtype: Any = None,
    device: DeviceLike = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """normal() with mean 0 and deviation 1 by PyTorch's and NumPy's name: randn(2, 3)."""
    made = normal(_sizes("randn", shape), dtype=dtype, device=device, generator=generator)
    return leaf(made, requires_grad)


def _sizes(op: str, shape: tuple[Any, ...]) -> tuple[int, ...]:
    return _dims(op, shape[0] if len(shape) == 1 else shape)


@public
def rand_like(x: ArrayLike, /, *, dtype: Any = None, generator: Generator | None = None) -> Tensor:
    """uniform() in [0, 1) with the shape, dtype and device of `x`."""
    t = as_tensor("rand_like", x)
    return uniform(t.shape, dtype=dtype or t.dtype, device=t.device, generator=generator)


@public
def randn_like(x: ArrayLike, /, *, dtype: Any = None, generator: Generator | None = None) -> Tensor:
    """normal() with the shape, dtype and device of `x`."""
    t = as_tensor("randn_like", x)
    return normal(t.shape, dtype=dtype or t.dtype, device=t.device, generator=generator)


@public
def bits(
    shape: Shape = (), *, device: DeviceLike = None, generator: Generator | None = None
) -> Tensor:
    """Words of 32 random bits, uint32."""
    return _draw("bits", "bits", shape, uint32, device, generator)
