"""Casts between all dtypes: rounding to even, wrapping, saturation, NaN; equal on every adapter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import ALL_DTYPES, LAYOUTS, device_has, numpy_dtype, same_bits, special_values

Array = np.ndarray[Any, Any]
SMALL_FLOATS = ("float16", "bfloat16")


def saturated(a: Array, to: np.dtype[Any]) -> Array:
    """Floats as integers: fractions cut, the nearest bound outside, NaN zero."""
    limits = np.iinfo(to)
    out = []
    for v in a.astype(np.float64).reshape(-1).tolist():
        if v != v:
            out.append(0)
        elif abs(v) == float("inf"):
            out.append(int(limits.max if v > 0 else limits.min))
        else:
            out.append(min(max(int(v), int(limits.min)), int(limits.max)))
    return np.array(out, to).reshape(a.shape)


def cast(a: Array, dtype: str) -> Array:
    """What astype must give."""
    to = numpy_dtype(dtype)
    if to.kind in "iu" and a.dtype.kind not in "biu":
        return saturated(a, to)
    return a.astype(to)


def agree(actual: wt.Tensor, expected: Array, exact_nan: bool = False) -> None:
    """Bit by bit; a NaN may be any other but where its payload is told to stay."""
    a = actual.numpy()
    if not exact_nan and expected.dtype.kind not in "biu":
        assert a.dtype == expected.dtype
        nan = np.isnan(expected.astype(np.float64))
        assert np.array_equal(np.isnan(a.astype(np.float64)), nan)
        a, expected = np.where(nan, np.zeros_like(a), a), np.where(nan, np.zeros_like(a), expected)
    same_bits(a, expected)


def has(*dtypes: str) -> None:
    for d in dtypes:
        if not device_has(d):
            pytest.skip(f"the device has no {d}")


# float32 denormals are the device's to flush, as operands and as results; float64 reaches them by
# rounding.
def without_denormals(a: Array, to: str) -> Array:
    if not {to, a.dtype.name} & {"float32", "bfloat16"} or a.dtype.kind in "biu":
        return a
    magnitude = np.abs(a.astype(np.float64))
    return a[~((magnitude > 0) & (magnitude < 2.0**-126))]


@pytest.mark.parametrize("source", ALL_DTYPES)
@pytest.mark.parametrize("to", ALL_DTYPES)
def test_every_pair(source: str, to: str) -> None:
    has(source, to)
    a = without_denormals(special_values(source), to)
    agree(wt.asarray(a).astype(to), cast(a, to))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", ["int8", "uint16", "float16", "bfloat16", "int64"])
@pytest.mark.parametrize("to", ["bool", "uint8", "int16", "float16", "float32", "float64"])
def test_layouts(layout: str, source: str, to: str, rng: np.random.Generator) -> None:
    has(source, to)
    a = rng.integers(0, 120, (3, 5, 7)).astype(numpy_dtype(source))
    agree(LAYOUTS[layout](a).astype(to), cast(a, to))


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
def test_every_16_bit_pattern_widens(dtype: str) -> None:
    patterns = np.arange(65536, dtype=np.uint16)
    a = patterns.view(numpy_dtype(dtype))
    wide = wt.asarray(a).astype("float32")
    if dtype == "bfloat16":
        same_bits(wide, (patterns.astype(np.uint32) << 16).view(np.float32))
    else:
        same_bits(wide, a.astype(np.float32))
    same_bits(wide.astype(dtype), a)  # payloads of NaNs too


def around_ties(dtype: str) -> Array:
    """All finite numbers of a 16-bit float, what lies midway, and the float32 next to both."""
    patterns = np.arange(65535, dtype=np.uint16)
    d = numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        low, high = (p.view(d).astype(np.float32) for p in (patterns, patterns + np.uint16(1)))
        middle = (low.astype(np.float64) + high.astype(np.float64)) / 2
    v = np.concatenate([low, middle.astype(np.float32)])
    v = v[np.isfinite(v)].view(np.int32)
    return np.concatenate([v, v + 1, v - 1]).view(np.float32)


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
def test_float32_rounds_to_even(dtype: str, rng: np.random.Generator) -> None:
    ties = around_ties(dtype)
    anything = rng.integers(0, 2**32, 100_000, dtype=np.uint32).view(np.float32)
    a = without_denormals(np.concatenate([ties, anything, [np.float32(65520), 65519.996]]), dtype)
    a = a.astype(np.float32)
    agree(wt.asarray(a).astype(dtype), a.astype(numpy_dtype(dtype)))


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
def test_float64_rounds_once(dtype: str) -> None:
    """Just above and below a tie, by less than float32 sees."""
    has("float64")
    ties = around_ties(dtype).astype(np.float64)
    ties = ties[np.isfinite(ties) & (np.abs(ties) > 2.0**-120)]
    d = numpy_dtype(dtype)
    for factor, toward in ((1 + 2.0**-45, np.inf), (1 - 2.0**-45, 0)):
        a = ties * factor
        # From a float32 at the tie the right result is the neighbour on that side.
        single = a.astype(np.float32)
        odd = np.where(np.abs(single) > np.abs(a), np.nextafter(single, np.float32(0)), single)
        bits = np.where(odd == a, odd.view(np.uint32), odd.view(np.uint32) | np.uint32(1))
        expected = bits.astype(np.uint32).view(np.float32).astype(d)
        agree(wt.asarray(a).astype(dtype), expected)
        if dtype == "float16":
            assert np.array_equal(expected, a.astype(np.float16)), toward


def test_scalars_round_once() -> None:
    for value in (1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11 - 2.0**-40, 65519.9999999, 65520.0, 2**-25):
        expected = np.array(value).astype(np.float16)
        same_bits(wt.full((), value, dtype="float16"), expected)
        same_bits(wt.asarray(value, dtype="float16"), expected)


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_floats_saturate(source: str, rng: np.random.Generator) -> None:
    has(source)
    d = numpy_dtype(source)
    edges = [
        s * (2.0**k + e)
        for k in (7, 8, 15, 16, 31, 32, 63, 64)
        for e in (-1, 0, 1)
        for s in (1, -1)
    ]
    a = np.concatenate(
        [np.array(edges), rng.standard_normal(500) * 10.0 ** rng.integers(-2, 25, 500)]
    ).astype(d)
    a = np.concatenate([a, np.array([np.nan, np.inf, -np.inf, -0.0], d)])
    for to in ALL_DTYPES:
        if device_has(to) and np.dtype(numpy_dtype(to)).kind in "iu":
            same_bits(wt.asarray(a).astype(to), saturated(a, np.dtype(to)))


@pytest.mark.parametrize("source", ["int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_wrap(source: str, rng: np.random.Generator) -> None:
    has(source)
    limits = np.iinfo(source)
    a = rng.integers(limits.min, limits.max, 1000, dtype=source, endpoint=True)
    for to in ALL_DTYPES:
        if device_has(to) and to != "bfloat16":
            agree(wt.asarray(a).astype(to), a.astype(to))


def test_small_results_wrap() -> None:
    """Computed in 32 bits, kept as what the dtype holds, also on the way through a fused kernel."""
    a = np.arange(-128, 128).astype(np.int8)
    x = wt.asarray(a)
    same_bits(x * x, a * a)
    same_bits((x * x) // 7, (a * a) // np.int8(7))
    same_bits((x + 100) > 0, (a + np.int8(100)) > 0)
    u = np.arange(256).astype(np.uint8)
    y = wt.asarray(u)
    same_bits(y - 200, u - np.uint8(200))
    same_bits(~y >> 1, ~u >> np.uint8(1))
    same_bits(-y, -u)
    same_bits(abs(x), np.abs(a))
    same_bits((y << 3) // 2, (u << np.uint8(3)) // np.uint8(2))


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
def test_small_floats_are_computed_in_float32(dtype: str) -> None:
    """What a kernel keeps to itself is not rounded on the way; what it writes is."""
    d = numpy_dtype(dtype)
    a = np.linspace(-5, 5, 999).astype(d)
    x = wt.asarray(a)
    agree(x * x, a * a)
    square = x * x
    square.eval()
    wt.synchronize()
    agree(square.copy() + x, a * a + a)
    single = a.astype(np.float32)
    fused, exact = (x * x) * x + x, (single * single * single + single).astype(np.float64)
    error = np.abs(fused.numpy().astype(np.float64) - exact)
    assert (error <= float(wt.finfo(dtype).eps) * 0.5001 * np.abs(exact)).all()
    big = wt.full(3, float(wt.finfo(dtype).max), dtype=dtype)
    assert (big * 2).tolist() == [float("inf")] * 3
