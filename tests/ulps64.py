"""How far float64 rows of the elementwise table are from the truth, in units of the last place.

A unit is the spacing of float64 at the true result. The truth is the row's reference in NumPy's
80-bit extended precision, whose own error is about a thousandth of a unit, or, where that loses
more or NumPy has no such function, mpmath's with 30 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

import wgtensor as wt
from helpers import device_has
from references import ROWS, Array, Row
from ulps import BOUNDS, CHOICES, DEFAULT_BOUND, Result

Wide = np.longdouble
#: whether NumPy has more precision than float64 here
EXTENDED = np.finfo(Wide).nmant > 52


def why_not(dtype: str) -> str:
    """What is missing to check the dtype here; empty where nothing is."""
    if not device_has(dtype):
        return f"the device has no {dtype}"
    return "" if EXTENDED or dtype != "float64" else "NumPy has no extended precision here"


TINY = 2.0**-1022
OVER = Wide(2.0) ** 1024


def _by_mpmath(function: Callable[[Any], Any], pole: float) -> Callable[[Array], Array]:
    """A function of mpmath over an array, as extended floats; `pole` where it raises."""

    def at(value: float) -> Any:
        if np.isnan(value):
            return Wide(np.nan)
        try:
            with mpmath.workdps(30):
                made = function(mpmath.mpf(float(value)))
                high = float(made)
                if high == 0:  # mpmath knows neither -0 nor underflow
                    return np.copysign(Wide(0), Wide(value))
                return Wide(high) + Wide(float(made - high)) if np.isfinite(high) else Wide(high)
        except (ValueError, ZeroDivisionError, OverflowError):
            return Wide(pole)

    def over(x: Array) -> Array:
        flat = np.asarray(x, np.float64).reshape(-1)
        return np.array([at(v) for v in flat], Wide).reshape(np.shape(x))

    return over


def _lgamma(x: Any) -> Any:
    if mpmath.isinf(x):
        return mpmath.inf
    with mpmath.workdps(45):
        return mpmath.log(abs(mpmath.gamma(x))) if abs(x) < 150 else mpmath.re(mpmath.loggamma(x))


def _tanhshrink(x: Any) -> Any:
    if abs(x) < 1e-8:
        return x**3 / 3
    with mpmath.workdps(60):
        return x - mpmath.tanh(x)


def _gelu(x: Any) -> Any:
    if mpmath.isinf(x):
        return x if x > 0 else mpmath.mpf(0)
    return x * mpmath.erfc(min(-x / mpmath.sqrt(2), 1000)) / 2


def _gelu_tanh(x: Array) -> Array:
    t = np.maximum(np.minimum(x, 99), -99)
    v = np.sqrt(8 / _PI) * (t + t * t * t * Wide("0.044715"))
    return np.where(x > 50, x, np.where(x < -50, Wide(-0.0), t / (1 + np.exp(-v))))


def _sinc(x: Array) -> Array:
    a = np.abs(x)
    whole = np.rint(a)
    sine = np.sin(_PI * (a - whole)) * np.where(np.fmod(whole, 2) == 0, 1, -1)
    return np.where(a == 0, Wide(1), np.where(np.isinf(a), Wide(0), sine / (_PI * a)))


def _logit(x: Array) -> Array:
    middle = np.abs(x - 0.5) < 0.25
    return np.where(
        middle, 2 * np.arctanh(np.where(middle, 2 * x - 1, 0)), np.log(x) - np.log1p(-x)
    )


def _lerp(x: Array, y: Array, z: Array) -> Array:
    near = np.where(z < 0.5, x + z * (y - x), y - (1 - z) * (y - x))
    return np.where(np.isfinite(x) & np.isfinite(y), near, (1 - z) * x + z * y)


_PI = Wide("3.14159265358979323846264338327950288")
HELPERS: dict[str, Callable[..., Array]] = {
    "erf": _by_mpmath(mpmath.erf, np.nan),
    "erfc": _by_mpmath(lambda x: mpmath.erfc(min(x, 1000)), np.nan),
    "erfinv": _by_mpmath(mpmath.erfinv, np.nan),
    "lgamma": _by_mpmath(_lgamma, np.inf),
    "tanhshrink": _by_mpmath(_tanhshrink, np.nan),
}
TRUTHS: dict[str, Callable[..., Array]] = {
    "gelu": _by_mpmath(_gelu, np.nan),
    "gelu_tanh": _gelu_tanh,
    "sinc": _sinc,
    "logit": _logit,
    "lerp": _lerp,
    "nextafter": lambda x, y: np.nextafter(np.float64(x), np.float64(y)).astype(Wide),
    "rad2deg": lambda x: x * (180 / _PI),
    "deg2rad": lambda x: x * (_PI / 180),
    "selu": lambda x: np.where(
        x > 0, Wide("1.0507009873554805") * x, Wide("1.7580993408473766") * np.expm1(x)
    ),
}
_TERMS = {"logaddexp": np.logaddexp, "logaddexp2": np.logaddexp2}


def truth(row: Row, operands: list[Array]) -> Array:
    wide = [o.astype(Wide) if o.dtype.kind == "f" else o for o in map(np.asarray, operands)]
    if row.name in TRUTHS:
        return np.asarray(TRUTHS[row.name](*wide))
    names: dict[str, Any] = dict(zip("xyz", wide, strict=False))
    return np.asarray(eval(row.numpy, {"np": np, **HELPERS, **names}))


def sizes(row: Row, operands: list[Array]) -> Array | float:
    """As ulps.SIZES: of the terms of a sum that crosses zero."""
    if row.name == "lgamma":
        x = operands[0]
        magnitude = HELPERS["lgamma"](np.where(x < -0.5, np.abs(x), 1))
        return np.where(x < -0.5, np.maximum(magnitude, 1), 0)
    if row.name in _TERMS:
        larger = np.maximum(*operands).astype(Wide)
        logarithm = _TERMS[row.name](*(o.astype(Wide) for o in operands)) - larger
        terms = np.maximum(np.abs(larger), logarithm)
        return np.maximum(np.nan_to_num(terms, posinf=0), TINY * 2.0**53)
    if row.name == "lerp":
        x, y, z = (o.astype(Wide) for o in operands)
        return np.maximum(np.abs((1 - z) * x), np.abs(z * y))
    return 0.0


CENTRES = (
    *(2.0**k for k in (-1022, -900, -511, -53, -52, -28, -12, -3, -2, -1, 0, 1, 2, 3, 4, 7, 28)),
    *(2.0**k for k in (52, 53, 63, 64, 511, 1023)),
    *(k * np.pi / 4 for k in range(1, 9)),
    *(np.log(2) * k for k in (0.5, 1.0, 1.5, 2.5)),
    *(np.sqrt(0.5), np.sqrt(2.0), np.e, 1 / np.e, 1 / 3, 0.45, 0.65, 3.0, 6.0, 8.0, 22.0, 1e5),
    *(709.782712893384, 745.1332191019411, 708.3964185322641, 710.4758600739439, 26.543, 27.226),
    *(1024.0, 1074.0, 308.2547155599167, 38.5, 18.7, 36.7),
)


def special_values() -> Array:
    a = [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324, 3e-310, -1.1e-308]
    return np.array([*a, 1.7976931348623157e308, -1.7976931348623157e308])


def points(count: int) -> Array:
    """At least `count` operands: all magnitudes, near the centres, evenly over some intervals."""
    rng = np.random.default_rng(1)
    part = count // 16
    centres = np.array(CENTRES).view(np.uint64).astype(np.int64)
    each = max(6 * part // centres.size, 8)
    steps = np.concatenate(
        [
            np.arange(-(each // 4), each // 4),
            (2.0 ** rng.uniform(2, 51, each // 2) * rng.choice([-1, 1], each // 2)).astype(int),
        ]
    )
    near = np.clip((centres[:, None] + steps[None, :]).reshape(-1), 1 << 52, (0x7FF << 52) - 1)
    all_magnitudes = 2.0 ** rng.uniform(-1022, 1023.9, 3 * part)
    common = 2.0 ** rng.uniform(-60, 60, 3 * part)
    made = np.concatenate(
        [near.view(np.float64), all_magnitudes, common, rng.uniform(0, 1e-308, part // 4)]
    )
    return np.concatenate(
        [
            special_values(),
            made * rng.choice([-1.0, 1.0], made.size),
            *(rng.uniform(-b, b, part) for b in (1, 16, 800, 1e5)),
        ]
    )


def pairs(count: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(2)
    part = count // 8 + 1
    few, many = special_values(), points(2 * part)
    grid = np.meshgrid(np.concatenate([few, [1, -1, 2, -3, 0.5]]), few)
    x, y = (2.0 ** rng.uniform(-1022, 1023.9, part) * rng.choice([-1.0, 1.0], part) for _ in "xy")
    base = 2.0 ** rng.uniform(-1022, 1023.9, part)
    base[::2] = 1 + 2.0 ** -rng.uniform(0, 53, base[::2].size) * rng.choice([-1, 1], base[::2].size)
    base = np.where(base == 1, 1.5, base)
    small = rng.uniform(-50, 50, part)
    sign = rng.choice([-1.0, 1.0], part)
    made = [
        (grid[0].reshape(-1), grid[1].reshape(-1)),
        (x, y),
        (x, np.clip(x * sign, -(2.0**990), 2.0**990) * 2.0 ** rng.uniform(-30, 30, part)),
        # powers in the range of float64, up to both of its ends
        (base, rng.uniform(-1080, 1030, part) * np.log(2) / np.log(base)),
        (rng.uniform(-100, 100, part), rng.uniform(-100, 100, part)),
        (small, rng.integers(-64, 65, part).astype(np.float64)),
        (rng.choice(many, part), rng.choice(many, part)),
        (small, -small * (1 + 2.0 ** -rng.uniform(1, 53, part) * sign)),
        (rng.uniform(-2, 2, part), rng.uniform(-2, 2, part)),
    ]
    both = [np.concatenate([np.float64(p[i]).reshape(-1) for p in made]) for i in (0, 1)]
    return both[0], both[1]


def operands(row: Row, count: int) -> list[Array]:
    free = row.arity - len(row.defaults)
    chosen: list[Array] = [points(count)] if free == 1 else list(pairs(count))
    if free == 3:
        chosen.append(np.random.default_rng(3).permutation(chosen[0]))
    if row.rule == "select":
        chosen[0] = chosen[0] > 0
    return [*chosen, *(np.float64(d) for d in row.defaults)]


def distance(got: Array, true: Array, size: Array | float = 0.0) -> tuple[Array, Array]:
    """Errors in units of the last place, and which results differ in kind (those have no error)."""
    g = got.astype(Wide)
    t = true
    kind = np.isnan(g) != np.isnan(t)
    kind |= np.isinf(t) & (g != t)
    kind |= (t == 0) & (g == 0) & (np.signbit(g) != np.signbit(t))
    fine = np.isfinite(true) & ~np.isnan(g)
    g = np.clip(np.where(fine, g, 0), -OVER, OVER)
    t = np.clip(np.where(fine, true, 0), -OVER, OVER)
    exponent = np.frexp(np.maximum(np.maximum(np.abs(t), size), TINY))[1] - 1
    error = np.abs(g - t) / np.ldexp(Wide(1.0), np.minimum(exponent, 1023) - 52)
    return np.where((np.abs(t) < TINY) & (g == 0), 0, error).astype(np.float64), kind


def flushed(a: Array) -> Array:
    return np.where(np.abs(a) < TINY, a * 0.0, a) if a.dtype.kind == "f" else a


def measure(row: Row, count: int) -> Result:
    """The row at `count` points or more. Operands and results that are denormal may be flushed."""
    values = operands(row, count)
    tensors = [wt.asarray(v) for v in values[: row.arity - len(row.defaults)]]
    got = row.function(*tensors).numpy()
    with np.errstate(all="ignore"):
        size, true = sizes(row, values), truth(row, values)
        error, kind = distance(got, true, size)
        again, other = error.copy(), kind.copy()
        small = np.zeros(got.shape, bool)
        for v in values:
            small |= np.abs(v) < TINY if np.ndim(v) else False
        parts = [v[small] if np.ndim(v) else v for v in values]
        part = size[small] if np.ndim(size) else size
        again[small], other[small] = distance(
            got[small], truth(row, [flushed(v) for v in parts]), part
        )
    score = np.where(kind, np.inf, error)
    error = np.where(np.where(other, np.inf, again) < score, again, error)
    kind &= other
    if row.name in CHOICES:
        kind &= (got != 0) | (true != 0)
    normal = true[(np.abs(true) >= TINY) & (np.abs(true) < OVER)]
    bound = BOUNDS.get(row.name, DEFAULT_BOUND)
    with np.errstate(over="ignore"):
        if np.array_equal(normal.astype(np.float64).astype(Wide), normal):
            bound = 0.0
    error = np.where(kind, 0, error)
    worst, first = int(np.argmax(error)), int(np.argmax(kind))

    def at(i: int) -> list[float]:
        return [float(v[i]) for v in values if np.ndim(v)]

    result = Result(row.name, bound, got.size, float(error[worst]), at(worst), float(got[worst]))
    result.specials = int(kind.sum())
    result.special_at = at(first) if result.specials else []
    return result


#: rows with float64 results
ROWS64 = [r for r in ROWS if "f" in r.kinds and r.result("float32") == "float32"]
