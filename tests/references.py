"""Rows of the elementwise table, and what they should give: their references in float64.

A row's reference is a text of Python in `np`, the operands x, y and z, and the functions of
`HELPERS`, which NumPy lacks. It is written so that float64 itself loses nothing that float32 shows.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import wgtensor as wt
from wgtensor._generated import TABLE

Array = np.ndarray[Any, Any]


def _vectorised(function: Callable[[float], float], pole: float) -> Callable[[Array], Array]:
    """A function of `math` over arrays in float64; `pole` where it raises."""

    def at(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return pole

    over = np.vectorize(at, otypes=[np.float64])
    return lambda x: over(np.asarray(x, np.float64))


def _erfinv(x: float) -> float:
    """By the quantiles of the normal distribution; by the first terms of the series near 0."""
    if abs(x) == 1:
        return math.copysign(math.inf, x)
    if abs(x) < 1e-3:
        t = math.pi * x * x / 4
        return math.sqrt(math.pi) / 2 * x * (1 + t / 3 + 7 * t * t / 30)
    return statistics.NormalDist().inv_cdf((1 + x) / 2) / math.sqrt(2)


def _sinc(x: Array) -> Array:
    """sin(pi x) / (pi x) with x reduced exactly: NumPy's is off zero at whole numbers."""
    a = np.abs(np.asarray(x, np.float64))
    whole = np.rint(a)
    with np.errstate(all="ignore"):
        sine = np.sin(np.pi * (a - whole)) * np.where(whole % 2 == 0, 1, -1)
        return np.where(a == 0, 1, np.where(np.isinf(a), 0, sine / (np.pi * a)))


def _maximum(larger: Callable[[Array, Array], Array], sign: int) -> Callable[..., Array]:
    """NumPy's, but 0 counts as more than -0: NumPy takes the one or the other by its place."""

    def at(x: Array, y: Array) -> Array:
        with np.errstate(invalid="ignore"):
            r = larger(x, y)
            if r.dtype.kind != "f":
                return r
            negative = (np.signbit(sign * x) & np.signbit(sign * y)) ^ (sign < 0)
            return np.where((x == 0) & (y == 0), np.where(negative, -0.0, 0.0), r)

    return at


def _nextafter(x: Array, y: Array) -> Array:
    return np.nextafter(np.float32(x), np.float32(y)).astype(np.float64)


def _lerp(x: Array, y: Array, z: Array) -> Array:
    """From the nearer end, as nothing cancels; weighted where an end is infinite."""
    near = np.where(z < 0.5, x + z * (y - x), y - (1 - z) * (y - x))
    return np.where(np.isfinite(x) & np.isfinite(y), near, (1 - z) * x + z * y)


#: rows that their own text does not give in float64 to the last place of float32
TRUTHS: dict[str, Callable[..., Array]] = {
    "sinc": _sinc,
    "nextafter": _nextafter,
    "lerp": _lerp,
    "maximum": _maximum(np.maximum, 1),
    "minimum": _maximum(np.minimum, -1),
    "fmax": _maximum(np.fmax, 1),
    "fmin": _maximum(np.fmin, -1),
}


def tanhshrink(x: Array) -> Array:
    """x - tanh(x); near 0 as (x cosh(x) - sinh(x)) / cosh(x), by the series of the numerator."""
    x = np.asarray(x, np.float64)
    squared, term, total = x * x, np.ones_like(x), np.zeros_like(x)
    for k in range(1, 12):
        term = term * squared / (2 * k * (2 * k + 1))
        total += 2 * k * term
    return np.where(np.abs(x) < 0.5, x * total / np.cosh(x), x - np.tanh(x))


HELPERS: dict[str, Callable[..., Array]] = {
    "erf": _vectorised(math.erf, math.nan),
    "erfc": _vectorised(math.erfc, math.nan),
    "tanhshrink": tanhshrink,
    "erfinv": _vectorised(_erfinv, math.nan),
    "lgamma": _vectorised(math.lgamma, math.inf),
}


def kind_of(dtype: str) -> str:
    """b, i, u or f."""
    return wt._dtypes.to_dtype(dtype).kind


class Row(NamedTuple):
    """A row of the table, as `_generated.TABLE` holds it."""

    name: str
    arity: int
    parameters: str
    rule: str
    kinds: str
    numpy: str
    domain: str
    dunder: str
    doc: str

    def takes(self, dtype: str) -> bool:
        if self.rule in ("arith_float", "unary_float", "logical", "predicate"):
            return True
        return kind_of(dtype) in self.kinds

    def computes_in(self, dtype: str) -> str:
        to_float = self.rule in ("arith_float", "unary_float") and kind_of(dtype) != "f"
        return "float32" if to_float else dtype

    def result(self, dtype: str) -> str:
        if self.rule in ("compare", "logical", "predicate"):
            return "bool"
        return self.computes_in(dtype)

    @property
    def defaults(self) -> list[float]:
        """Of the last operands; the others have none."""
        texts = [p.partition("=")[2] for p in self.parameters.split(",")]
        return [float(t) for t in texts if t]

    def reference(self, operands: Sequence[Array]) -> Array:
        """In float64 where operands are floats."""
        wide = [o.astype(np.float64) if o.dtype.kind == "f" else o for o in operands]
        if self.name in TRUTHS:
            return np.asarray(TRUTHS[self.name](*wide))
        names: dict[str, Any] = dict(zip("xyz", wide, strict=False))
        return np.asarray(eval(self.numpy, {"np": np, **HELPERS, **names}))

    def function(self, *operands: Any, **parameters: Any) -> wt.Tensor:
        result: wt.Tensor = getattr(wt, self.name)(*operands, **parameters)
        return result


ROWS = [Row(*row) for row in TABLE]


def flushed(a: Array) -> Array:
    """Denormals as zeros: what a device may read them as."""
    if a.dtype.kind != "f":
        return a
    return np.where(np.abs(a) < np.finfo(a.dtype).tiny, a * a.dtype.type(0), a)
