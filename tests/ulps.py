"""How far rows of the elementwise table are from the truth, in units of the last place.

A unit is the spacing of float32 at the true result; the truth is the row's reference in float64.
`python tools/accuracy.py` measures every row at many points, tests/test_accuracy.py at a few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import wgtensor as wt
from references import HELPERS, ROWS, Array, Row, flushed

TINY = 2.0**-126  # the least normal float32; what is smaller may be flushed to zero
OVER = 2.0**128  # the first number that float32 has not

#: units of the last place; rows whose every result is a float32, as floor, must be exact
DEFAULT_BOUND = 4.0
BOUNDS = {
    "pow": 16.0,
    # correctly rounded
    "add": 0.5,
    "subtract": 0.5,
    "multiply": 0.5,
    "divide": 0.5,
    "square": 0.5,
    "sqrt": 0.5,
    "reciprocal": 0.5,
}
#: where magnitudes of operands end
LIMITS = {"sin": 1e4, "cos": 1e4, "tan": 1e4}


def _terms(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """The larger of the terms of logaddexp: the larger operand, and the logarithm beside it.

    Not less than what makes a flushed denormal one unit.
    """

    def size(x: Array, y: Array) -> Array:
        larger = np.maximum(x, y)
        terms = np.maximum(np.abs(larger), function(x, y) - larger)
        return np.maximum(np.nan_to_num(terms, posinf=0), TINY * 2.0**24)

    return size


#: functions that choose one of their operands: of two zeros either, as in NumPy
CHOICES = ("maximum", "minimum", "fmax", "fmin", "clip", "relu", "relu6", "hardtanh")
#: Results that cross zero where no float32 is their root: where they are smaller than this size,
#: the unit is that of the size. As in other libraries, a sum of terms of that size rounds.
SIZES: dict[str, Callable[..., Array]] = {
    # the terms of the reflection, whose difference crosses zero, and the rounding of a logarithm
    "lgamma": lambda x: np.where(x < -0.5, np.maximum(HELPERS["lgamma"](np.abs(x)), 1), 0),
    "logaddexp": _terms(np.logaddexp),
    "logaddexp2": _terms(np.logaddexp2),
    "lerp": lambda x, y, z: np.maximum(np.abs((1 - z) * x), np.abs(z * y)),
}

#: Where formulas change, saturate, overflow, underflow or cross zero: points are dense near them.
CENTRES = (
    *(2.0**k for k in (-126, -100, -63, -24, -23, -12, -3, -2, -1, 0, 1, 2, 3, 4, 7, 23, 24, 31)),
    *(2.0**k for k in (32, 63, 64, 100, 127)),
    *(k * np.pi / 4 for k in range(1, 9)),
    *(np.log(2) * k for k in (0.5, 1.0, 1.5)),
    *(np.sqrt(0.5), np.sqrt(2.0), np.e, 1 / np.e, 1 / 3, 0.625, 3.0, 6.0, 1e4),
    *(87.33655, 88.72284, 89.41599, 103.97208),  # exp, sinh and cosh
    *(126.0, 149.0, 37.92978, 38.53184, 44.85347),  # exp2, exp10
    *(9.010913, 10.0, 13.2, 14.2, 16.64, 17.33, 18.7, 20.1),  # tanh, erfc, sigmoid, softplus
)


def special_values() -> Array:
    a = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 3e-39, -1.1e-38, 3.4028235e38]
    return np.array([*a, -3.4028235e38], np.float32)


def _from_bits(bits: Array) -> Array:
    return np.ascontiguousarray(bits.astype(np.uint32)).view(np.float32)


def _all_magnitudes(rng: np.random.Generator, count: int) -> Array:
    """Evenly over the logarithm of normal numbers, both signs."""
    step = (0x7F800000 - 0x00800000) / count
    bits = 0x00800000 + ((np.arange(count) + rng.random(count)) * step).astype(np.int64)
    return _from_bits(bits) * rng.choice(np.array([-1, 1], np.float32), count)


def _around_centres(rng: np.random.Generator, count: int) -> Array:
    """Half next to the centres, half at distances spread over powers of two."""
    centres = np.array(CENTRES, np.float32).view(np.uint32).astype(np.int64)
    each = max(count // centres.size, 8)
    steps = np.concatenate(
        [
            np.arange(-(each // 4), each // 4),
            (2.0 ** rng.uniform(2, 22, each // 2) * rng.choice([-1, 1], each // 2)).astype(int),
        ]
    )
    near = np.clip(centres[:, None] + steps[None, :], 0x00800000, 0x7F7FFFFF).reshape(-1)
    return _from_bits(near) * rng.choice(np.array([-1, 1], np.float32), near.size)


def points(count: int) -> Array:
    """At least `count` operands: all magnitudes, near the centres, evenly over some intervals."""
    rng = np.random.default_rng(1)
    part = count // 16
    denormals = rng.integers(1, 0x00800000, part // 4)
    return np.concatenate(
        [
            special_values(),
            _from_bits(denormals) * np.float32(-1) ** (denormals & 1).astype(np.float32),
            _all_magnitudes(rng, 6 * part),
            _around_centres(rng, 6 * part),
            *(rng.uniform(-b, b, part).astype(np.float32) for b in (1, 16, 110, 1e4)),
        ]
    )


def pairs(count: int) -> tuple[Array, Array]:
    """At least `count` pairs of operands."""
    rng = np.random.default_rng(2)
    part = count // 8 + 1

    def sign() -> Array:
        return rng.choice(np.array([-1, 1], np.float32), part)

    few, many = special_values(), points(2 * part)
    grid = np.meshgrid(np.concatenate([few, np.array([1, -1, 2, -3, 0.5], np.float32)]), few)
    x, magnitude = _all_magnitudes(rng, part), _all_magnitudes(rng, part)
    base = np.abs(_all_magnitudes(rng, part))
    base[::2] = 1 + 2.0 ** -rng.uniform(0, 24, base[::2].size) * rng.choice([-1, 1], base[::2].size)
    base = np.where((base == 1) | (base == 0), np.float32(1.5), base)
    small, whole = rng.uniform(-50, 50, part).astype(np.float32), rng.integers(-64, 65, part)
    scale = 2.0 ** rng.uniform(-30, 30, part)
    made = [
        (grid[0].reshape(-1), grid[1].reshape(-1)),
        (x, rng.permutation(magnitude)),
        (x, x * scale * sign()),
        # powers in the range of float32, up to both of its ends
        (base, (rng.uniform(-152, 130, part) * np.log(2) / np.log(base.astype(np.float64)))),
        (rng.uniform(-100, 100, part), rng.uniform(-100, 100, part)),
        (small, whole),
        (rng.choice(many, part), rng.choice(many, part)),
        (small, -small * (1 + 2.0 ** -rng.uniform(1, 24, part) * sign())),
        (rng.uniform(-2, 2, part), rng.uniform(-2, 2, part)),
    ]
    with np.errstate(over="ignore"):
        both = [np.concatenate([np.float32(p[i]).reshape(-1) for p in made]) for i in (0, 1)]
    return both[0], both[1]


def operands(row: Row, count: int) -> list[Array]:
    """What the row is measured at; operands with defaults have those."""
    free = row.arity - len(row.defaults)
    chosen: list[Array]
    if free == 1:
        chosen = [points(count)]
    else:
        chosen = list(pairs(count))
        if free == 3:
            chosen.append(np.random.default_rng(3).permutation(chosen[0]))
    if row.rule == "select":
        chosen[0] = chosen[0] > 0
    limit = LIMITS.get(row.name, np.inf)
    if limit < np.inf:
        keep = ~(np.abs(chosen[0]) > limit) | np.isinf(chosen[0])
        chosen = [c[keep] for c in chosen]
    return [*chosen, *(np.float32(d) for d in row.defaults)]


@dataclass
class Result:
    """Of one row."""

    name: str
    bound: float
    points: int
    ulp: float
    at: list[float] = field(default_factory=list)
    got: float = 0.0
    specials: int = 0  # results that are wrong about NaN, infinity or the sign of zero
    special_at: list[float] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return self.ulp <= self.bound and self.specials == 0


def distance(got: Array, true: Array, size: Array | float = 0.0) -> tuple[Array, Array]:
    """Errors in units of the last place, and which results differ in kind (those have no error)."""
    g, t = got.astype(np.float64), true
    kind = np.isnan(g) != np.isnan(t)
    kind |= np.isinf(t) & (g != t)
    kind |= (t == 0) & (g == 0) & (np.signbit(g) != np.signbit(t))
    fine = np.isfinite(t) & ~np.isnan(g)
    g = np.clip(np.where(fine, g, 0), -OVER, OVER)
    t = np.clip(np.where(fine, t, 0), -OVER, OVER)
    exponent = np.frexp(np.maximum(np.maximum(np.abs(t), size), TINY))[1] - 1
    unit = np.ldexp(1.0, np.minimum(exponent, 127) - 23)
    error = np.abs(g - t) / unit
    return np.where((np.abs(t) < TINY) & (g == 0), 0, error), kind


def measure(row: Row, count: int) -> Result:
    """The row at `count` points or more. Operands and results that are denormal may be flushed."""
    values = operands(row, count)
    tensors = [wt.asarray(v) for v in values[: row.arity - len(row.defaults)]]
    got = row.function(*tensors).numpy()
    with np.errstate(all="ignore"):
        size = SIZES[row.name](*(v.astype(np.float64) for v in values)) if row.name in SIZES else 0
        true = row.reference(values)
        error, kind = distance(got, true, size)
        again, other = distance(got, row.reference([flushed(v) for v in values]), size)
    score = np.where(kind, np.inf, error)
    error = np.where(np.where(other, np.inf, again) < score, again, error)
    kind &= other
    if row.name in CHOICES:
        kind &= (got != 0) | (true != 0)
    normal = true[(np.abs(true) >= TINY) & (np.abs(true) < OVER)]
    bound = BOUNDS.get(row.name, DEFAULT_BOUND)
    with np.errstate(over="ignore"):
        if np.array_equal(normal.astype(np.float32).astype(np.float64), normal):
            bound = 0.0
    error = np.where(kind, 0, error)
    worst, first = int(np.argmax(error)), int(np.argmax(kind))

    def at(i: int) -> list[float]:
        return [float(v[i]) for v in values if np.ndim(v)]

    result = Result(row.name, bound, got.size, float(error[worst]), at(worst), float(got[worst]))
    result.specials = int(kind.sum())
    result.special_at = at(first) if result.specials else []
    return result


#: rows with float results
FLOAT_ROWS = [r for r in ROWS if "f" in r.kinds and r.result("float32") == "float32"]
