"""Elementwise results where adapters differ: integers at their ends, shifts, casts, NaN, angles.

Operands cover whole grids of small and extreme values, in vectors of four and one at a time, as
arrays and as scalars.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has
from tolerances import check

pytestmark = pytest.mark.short

Array = np.ndarray[Any, Any]
#: int32's and uint32's ends, powers of two and their neighbours, small numbers of both signs
NUMBERS = {
    "int32": [
        *range(-18, 19),
        *(s * (1 << k) + d for k in (15, 16, 30) for s in (-1, 1) for d in (-1, 0, 1)),
        *(-(2**31), -(2**31) + 1, -(2**31) + 2, 2**31 - 2, 2**31 - 1),
    ],
    "uint32": [
        *range(19),
        *((1 << k) + d for k in (15, 16, 30, 31) for d in (-1, 0, 1)),
        *(2**32 - 2, 2**32 - 1),
    ],
}
SIZES = pytest.mark.parametrize("odd", [False, True], ids=["by four", "one by one"])
each_int = pytest.mark.parametrize("dtype", ["int32", "uint32"])


def grid(first: list[int], second: list[int], dtype: str, odd: bool) -> tuple[Array, Array]:
    pairs = list(itertools.product(first, second))
    if odd == (len(pairs) % 4 == 0):
        pairs = pairs * (3 if odd else 1) + pairs[:1] * (1 if odd else -len(pairs) % 4)
    a = np.array(pairs, np.int64).astype(dtype)
    return a[:, 0].copy(), a[:, 1].copy()


def wrapped(values: Array, dtype: str) -> Array:
    return (values & 0xFFFFFFFF).astype(np.uint32).astype(dtype)


def floor_divided(a: Array, b: Array) -> Array:
    a, b = a.astype(object), b.astype(object)
    return np.array([x // y if y else 0 for x, y in zip(a, b, strict=True)], np.int64)


def modulo(a: Array, b: Array) -> Array:
    a, b = a.astype(object), b.astype(object)
    return np.array([x % y if y else 0 for x, y in zip(a, b, strict=True)], np.int64)


def truncated(a: Array, b: Array) -> Array:
    """C's remainder."""
    a, b = a.astype(object), b.astype(object)
    values = [
        (abs(x) % abs(y)) * (-1 if x < 0 else 1) if y else 0 for x, y in zip(a, b, strict=True)
    ]
    return np.array(values, np.int64)


@SIZES
@each_int
@pytest.mark.parametrize(
    ("function", "truth"),
    [(wt.floor_divide, floor_divided), (wt.remainder, modulo), (wt.fmod, truncated)],
    ids=["floor_divide", "remainder", "fmod"],
)
def test_whole_divisions(
    function: Callable[..., wt.Tensor],
    truth: Callable[[Array, Array], Array],
    dtype: str,
    odd: bool,
) -> None:
    """Python's own // and %, by zero 0, and -2^31 // -1 wraps."""
    a, b = grid(NUMBERS[dtype], NUMBERS[dtype], dtype, odd)
    expected = wrapped(truth(a, b), dtype)
    check(function(wt.asarray(a), wt.asarray(b)), expected, name=f"{function} {dtype}")
    for scalar in (0, 1, 2, 7, *((-1, -3, -(2**31)) if dtype == "int32" else (2**31,))):
        if scalar >= 2**31:
            continue  # Python integers are int32 to a tensor without a dtype
        filled = np.full_like(a, scalar)
        check(function(wt.asarray(a), scalar), wrapped(truth(a, filled), dtype), name=f"{scalar}")
        check(function(scalar, wt.asarray(b)), wrapped(truth(np.full_like(b, scalar), b), dtype))


def test_float_divisions_of_both_signs() -> None:
    """Floor division and remainder over a grid of quarters, against NumPy's in float32."""
    numbers = (np.arange(-24, 25) / 4).astype(np.float32)
    a, b = (g.reshape(-1) for g in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        for name in ("floor_divide", "remainder", "fmod"):
            made = getattr(wt, name)(wt.asarray(a), wt.asarray(b)).numpy()
            expected = getattr(np, name)(a, b)
            assert np.array_equal(made, expected, equal_nan=True), name
            zero = expected == 0
            assert np.array_equal(np.signbit(made[zero]), np.signbit(expected[zero])), name


@SIZES
@each_int
def test_arithmetic_wraps(dtype: str, odd: bool) -> None:
    a, b = grid(NUMBERS[dtype], NUMBERS[dtype], dtype, odd)
    x, y = wt.asarray(a), wt.asarray(b)
    wide = a.astype(np.int64), b.astype(np.int64)
    check(x + y, wrapped(wide[0] + wide[1], dtype))
    check(x - y, wrapped(wide[0] - wide[1], dtype))
    low = (wide[0] & 0xFFFFFFFF).astype(np.uint64) * (wide[1] & 0xFFFFFFFF).astype(np.uint64)
    check(x * y, (low & np.uint64(0xFFFFFFFF)).astype(np.uint32).astype(dtype))
    check(-x, wrapped(-wide[0], dtype))
    check(abs(x), wrapped(np.abs(wide[0]), dtype))
    check(wt.square(x), (a.astype(np.uint32) ** 2).astype(dtype))


COUNTS = [*range(8), 15, 16, 30, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 2**31 - 1]


@SIZES
@each_int
@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
def test_shifts_by_any_count(dtype: str, left: bool, odd: bool) -> None:
    counts = [*COUNTS, *((-1, -2, -32, -(2**31)) if dtype == "int32" else (2**31, 2**32 - 1))]
    a, n = grid(NUMBERS[dtype], counts, dtype, odd)
    expected = []
    for x, c in zip(a.tolist(), n.tolist(), strict=True):
        count = c if 0 <= c < 32 else 32
        expected.append((x << count if left else x >> count) & 0xFFFFFFFF)
    truth = np.array(expected, np.uint32).astype(dtype)
    function = wt.bitwise_left_shift if left else wt.bitwise_right_shift
    check(function(wt.asarray(a), wt.asarray(n)), truth, name=dtype)
    symbol = operator.lshift if left else operator.rshift
    check(symbol(wt.asarray(a), wt.asarray(n)), truth, name=f"{dtype} operator")
    for count in (0, 1, 31, 32, 33, 64):
        keep = n == count
        check(symbol(wt.asarray(a[keep]), count), truth[keep], name=f"{dtype} by {count}")


def test_shifts_refuse_what_has_no_bits_to_shift() -> None:
    for operands in ((wt.ones(3), 1), (wt.ones(3, dtype="bool"), wt.ones(3, dtype="bool"))):
        with pytest.raises(wt.DTypeError, match="bitwise_left_shift"):
            wt.bitwise_left_shift(*operands)


CASTS = [
    *(0.0, -0.0, 0.5, -0.5, 0.999, -0.999, 1.5, -1.5, 1e9, -1e9, 3e9, -3e9, 1e20, -1e20),
    *(2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0, 4294967040.0, 4294967296.0),
    *(np.inf, -np.inf, np.nan, -np.nan, 3.4e38, -3.4e38, 1e-45, -1e-45),
]


@pytest.mark.parametrize("size", [len(CASTS), 4 * len(CASTS)])
@each_int
def test_casts_saturate(dtype: str, size: int) -> None:
    """What the dtype has not becomes its nearest end, NaN 0."""
    values = np.resize(np.array(CASTS, np.float32), size)
    ends = np.iinfo(dtype)
    whole = np.trunc(np.nan_to_num(values.astype(np.float64), nan=0.0))
    expected = np.clip(whole, ends.min, ends.max).astype(dtype)
    t = wt.asarray(values)
    check(t.astype(dtype), expected, name=dtype)
    check((t * 1).astype(dtype) + 0, expected, name=f"{dtype}, fused")


FLOATS = np.array(
    [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 3.4e38, -3.4e38, 2.5, -2.5, 1e-30],
    np.float32,
)


@pytest.mark.parametrize("position", range(9))
def test_nan_in_every_position(position: int) -> None:
    """Of vectors of four and of the rest: it stays where it is and touches nothing else."""
    a = np.linspace(-3, 3, 9, dtype=np.float32)
    b = a[::-1].copy()
    a[position] = np.nan
    x, y = wt.asarray(a), wt.asarray(b)
    with np.errstate(invalid="ignore"):
        for name in ("maximum", "minimum", "fmax", "fmin"):
            check(getattr(wt, name)(x, y), getattr(np, name)(a, b), name=name)
            check(getattr(wt, name)(y, x), getattr(np, name)(b, a), name=name)
            check(getattr(wt, name)(x, 0.5), getattr(np, name)(a, np.float32(0.5)), name=name)
        check(wt.clip(x, -1, 1), np.clip(a, -1, 1), name="clip")
        check(wt.clip(y, x, 1), np.clip(b, a, 1), name="clip from NaN")
        check(wt.clip(y, -1, x), np.clip(b, -1, a), name="clip to NaN")
        check(wt.relu(x), np.maximum(a, 0), name="relu")
        check(wt.isnan(x), np.isnan(a), name="isnan")
        check(wt.isnan(x * 2 - 1), np.isnan(a), name="isnan, fused")
        check(wt.sign(x), np.sign(a), name="sign")
        check(wt.where(wt.isnan(x), 0, x), np.where(np.isnan(a), 0, a), name="where")
        for t in (x, x[::2], x[::-1]):
            host = t.numpy()
            assert np.isnan(wt.max(t).item()) == np.isnan(host).any()
            assert np.isnan(wt.min(t).item()) == np.isnan(host).any()


def test_extrema_of_all_pairs() -> None:
    """NaN wins or loses, 0 is more than -0, from either side."""
    a, b = (g.reshape(-1) for g in np.meshgrid(FLOATS, FLOATS))
    x, y = wt.asarray(a), wt.asarray(b)
    for name in ("maximum", "minimum", "fmax", "fmin"):
        made, turned = getattr(wt, name)(x, y).numpy(), getattr(wt, name)(y, x).numpy()
        with np.errstate(invalid="ignore"):
            check(made, getattr(np, name)(a, b), name=name)
        number = ~np.isnan(made)
        assert np.array_equal(np.signbit(made[number]), np.signbit(turned[number])), name
        zeros = (a == 0) & (b == 0)
        both, either = np.signbit(a) & np.signbit(b), np.signbit(a) | np.signbit(b)
        assert np.array_equal(np.signbit(made[zeros]), (both if "max" in name else either)[zeros])


def test_predicates_see_bits_not_values() -> None:
    a = np.resize(FLOATS, 16)
    x = wt.asarray(a)
    for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"):
        check(getattr(wt, name)(x), getattr(np, name)(a), name=name)
    b = a[~np.isnan(a)]  # products may give NaN another sign
    for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"):
        ones = wt.asarray(np.ones_like(b))
        check(getattr(wt, name)(wt.asarray(b) * ones), getattr(np, name)(b), name=name)
    assert wt.isnan(x * wt.asarray(np.ones_like(a))).tolist() == np.isnan(a).tolist()


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "arctan"])
def test_angles_of_any_size(name: str) -> None:
    """To +-1000 and the ends of float32; infinities are no angle, but a limit of atan."""
    rng = np.random.default_rng(5)
    large = 10.0 ** rng.uniform(4, 38.5, 500) * rng.choice([-1, 1], 500)
    a = np.concatenate([[1000, -1000, 0.0, -0.0, 3.4028235e38], large]).astype(np.float32)
    exact = getattr(np, name)(a.astype(np.float64))
    made = getattr(wt, "atan" if name == "arctan" else name)(wt.asarray(a)).numpy()
    assert np.all(np.abs(made - exact) <= 4 * np.spacing(np.abs(exact).astype(np.float32)))
    assert np.array_equal(np.signbit(made[:4]), np.signbit(exact[:4]))
    infinite = wt.asarray(np.array([np.inf, -np.inf, np.nan], np.float32))
    ends = getattr(wt, "atan" if name == "arctan" else name)(infinite).numpy()
    if name == "arctan":
        assert ends[:2].tolist() == [np.float32(np.pi / 2), -np.float32(np.pi / 2)]
    else:
        assert np.isnan(ends).all()


def test_angles_of_points_in_all_quadrants() -> None:
    """atan2 with signed zeros and infinities, as C's."""
    ends = np.array([0.0, -0.0, 1.0, -1.0, 3.0, -3.0, np.inf, -np.inf, 1e-30, -1e30], np.float32)
    y, x = (g.reshape(-1) for g in np.meshgrid(ends, ends))
    made = wt.atan2(wt.asarray(y), wt.asarray(x)).numpy()
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    normal = (np.abs(exact) >= 2.0**-126) | (exact == 0)
    error = np.abs(made - exact)[normal]
    assert np.all(error <= 4 * np.spacing(np.abs(exact[normal]).astype(np.float32)))
    assert np.array_equal(np.signbit(made), np.signbit(exact))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_denormal_numbers_are_not_equal_to_zero(dtype: str) -> None:
    if not device_has(dtype):
        pytest.skip("the adapter has no such dtype")
    bits = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
    sign = 1 << (8 * bits[dtype](0).itemsize - 1)
    integers = np.array([0, sign, 1, sign + 1, 2], bits[dtype])
    t = wt.bitcast(wt.asarray(integers), dtype)
    same = np.eye(5, dtype=np.bool_)
    same[:2, :2] = True
    check(t[:, None] == t, same)
    check(t[:, None] != t, ~same)
    check(t.astype("bool"), np.array([False, False, True, True, True]))


def test_quotients_and_roots_are_rounded_correctly() -> None:
    """Also next to halves: products of neighbours, squares and their neighbours."""
    rng = np.random.default_rng(6)
    bits = rng.integers(0x3F000000, 0x40800000, (2, 40_001), dtype=np.uint32)
    a, b = bits.view(np.float32)
    product = (a.astype(np.float64) * b).astype(np.float32)
    for n in (a, product, np.nextafter(product, np.float32(0)), np.nextafter(product, b + a)):
        check(wt.asarray(n) / wt.asarray(b), n / b, name="divide")
    square = (a.astype(np.float64) ** 2).astype(np.float32)
    for n in (a, square, np.nextafter(square, np.float32(0)), np.nextafter(square, a + square)):
        check(wt.sqrt(wt.asarray(n)), np.sqrt(n), name="sqrt")
    check(wt.reciprocal(wt.asarray(a)), np.float32(1) / a, name="reciprocal")


@each_int
def test_divisors(dtype: str) -> None:
    a, b = grid(NUMBERS[dtype], NUMBERS[dtype], dtype, odd=True)
    with np.errstate(all="ignore"):
        check(wt.gcd(wt.asarray(a), wt.asarray(b)), np.gcd(a, b), name="gcd")
        check(wt.lcm(wt.asarray(a), wt.asarray(b)), np.lcm(a, b), name="lcm")
    fibonacci = [1, 1]
    while fibonacci[-1] < 2**30:  # the longest run of Euclid's algorithm
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    pairs = np.array(fibonacci[:-1], dtype), np.array(fibonacci[1:], dtype)
    check(wt.gcd(*map(wt.asarray, pairs)), np.ones(pairs[0].size, dtype), name="Fibonacci")
