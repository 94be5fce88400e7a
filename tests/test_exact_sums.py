"""Sums of float32 in places that are data: exact, rounded once, in any order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import setting

pytestmark = pytest.mark.limits

Array = np.ndarray[Any, Any]
SPREADS = [(-3, 3), (-9, 9), (60, 100), (-50, 10), (-80, 30), (-149, -120), (-149, 127)]
PLACES = [2, 7, 100, 1000, 40_000]


@pytest.fixture(
    params=[{"kernels": "software"}, {"kernels": "gpu"}, {"kernels": "gpu", "limits": "default"}],
    ids=["software", "gpu", "no 64 bits"],
)
def device(request: pytest.FixtureRequest) -> wt.Device:
    with setting(**request.param):
        made = wt.Device()
        made.synchronize()
    return made


def of(device: wt.Device, data: Any) -> wt.Tensor:
    a = np.asarray(data)
    if a.itemsize == 8:
        a = a.astype(np.int32 if a.dtype.kind == "i" else np.float32)
    return wt.asarray(a, device=device)


def rounded(number: int) -> float:
    """A multiple of 2^-149 to the nearest float32, ties to even."""
    size = abs(number)
    spare = max(size.bit_length() - 24, 0)
    kept, rest = size >> spare, size & ((1 << spare) - 1)
    half = (1 << spare) >> 1
    if spare and (rest > half or (rest == half and kept & 1)):
        kept += 1
    return math.copysign(math.ldexp(kept, spare - 149) if spare < 256 else math.inf, number)


def exact(base: Array, ids: Array, values: Array) -> Array:
    """Each sum by integers of any size, rounded once."""
    sums = [int(math.ldexp(v, 149)) for v in base.tolist()]
    for i, v in zip(ids.tolist(), values.tolist(), strict=True):
        sums[i] += int(math.ldexp(v, 149))
    with np.errstate(over="ignore"):
        return np.array([rounded(s) for s in sums]).astype(np.float32)


def bits(t: Any) -> Array:
    return np.asarray(t if isinstance(t, np.ndarray) else t.numpy()).view(np.uint32)


def scattered(device: wt.Device, base: Array, ids: Array, values: Array) -> wt.Tensor:
    return wt.index_add(of(device, base), 0, of(device, ids), of(device, values))


@pytest.mark.parametrize("places", PLACES)
def test_any_magnitudes(places: int, device: wt.Device, rng: np.random.Generator) -> None:
    n = max(places, 20_000)
    ids = rng.integers(0, places, n)
    # of one limb, two, three, five, eight, and both ends of the range
    for low, high in SPREADS:
        values = np.ldexp(rng.uniform(-1, 1, n), rng.integers(low, high, n)).astype(np.float32)
        base = np.ldexp(rng.uniform(-1, 1, places), rng.integers(low, high, places))
        base = base.astype(np.float32) + 0  # no -0
        expected = exact(base, ids, values)
        np.testing.assert_array_equal(bits(scattered(device, base, ids, values)), bits(expected))
        # The order of the numbers is of no account.
        order = rng.permutation(n)
        np.testing.assert_array_equal(
            bits(scattered(device, base, ids[order], values[order])), bits(expected)
        )


def test_one_place(rng: np.random.Generator) -> None:
    with setting(kernels="gpu"):  # others sum one after the other
        device = wt.Device()
        device.synchronize()
    values = np.ldexp(rng.uniform(-1, 1, 20_000), rng.integers(-99, 99, 20_000)).astype(np.float32)
    ids, base = np.zeros(values.size, np.int32), np.ones(1, np.float32)
    expected = exact(base, ids, values)
    np.testing.assert_array_equal(bits(scattered(device, base, ids, values)), bits(expected))


def test_every_exponent_comes_back(device: wt.Device) -> None:
    """One number to a place: all exponents, mantissas that reach from one limb to the next."""
    words = (np.arange(255, dtype=np.uint32)[:, None] << 23) | np.array(
        [0, 1, 0x7FFFFF, 0x400001, 0x555555, 0x2AAAAA], np.uint32
    )
    values = np.concatenate([words.ravel(), words.ravel() | 0x80000000]).view(np.float32)
    values = values[values != 0]
    ids = np.arange(values.size)
    zero = np.zeros(values.size, np.float32)
    np.testing.assert_array_equal(bits(scattered(device, zero, ids, values)), bits(values))
    # .. and cancel.
    np.testing.assert_array_equal(bits(scattered(device, -values, ids, values)), bits(zero))
    both = np.concatenate([ids, ids[::-1]])
    twice = scattered(device, zero, both, values[both])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(bits(twice), bits(values + values))


def test_rounds_to_the_nearest_even(device: wt.Device) -> None:
    one = np.float32(1)
    ulp, half = np.float32(2.0**-23), np.float32(2.0**-24)
    tiny = np.float32(2.0**-149)
    sums = [
        ([one, half], one),
        ([one, half, tiny], one + ulp),
        ([one, half, -tiny], one),
        ([one, ulp, half], one + 2 * ulp),
        ([-one, -half, -tiny], -one - ulp),
        ([one, half / 2, half / 2], one),
        ([one, np.float32(2.0**127), np.float32(-(2.0**127))], one),
        ([np.finfo(np.float32).max] * 2, np.float32(np.inf)),
        ([np.finfo(np.float32).max, np.float32(2.0**103)], np.float32(np.inf)),
        ([np.finfo(np.float32).max, np.float32(2.0**102)], np.finfo(np.float32).max),
        ([np.finfo(np.float32).max] * 3 + [np.finfo(np.float32).min] * 2, np.finfo(np.float32).max),
        ([tiny, tiny, tiny], 3 * tiny),
        ([np.float32(2.0**-126), -tiny], np.float32(2.0**-126 - 2.0**-149)),
    ]
    ids = np.concatenate([[i] * len(s[0]) for i, s in enumerate(sums)])
    values = np.concatenate([np.array(s[0], np.float32) for s in sums])
    expected = np.array([s[1] for s in sums], np.float32)
    zero = np.zeros(len(sums), np.float32)
    np.testing.assert_array_equal(bits(scattered(device, zero, ids, values)), bits(expected))


def test_what_is_no_finite_number(device: wt.Device) -> None:
    inf, nan = np.inf, np.nan
    numbers = [[1, inf], [inf, -inf], [nan, 1], [-inf, 2], [inf, nan], [3, 4], [inf, inf], [-inf]]
    ids = np.concatenate([[i] * len(v) for i, v in enumerate(numbers)])
    values = np.concatenate([np.array(v, np.float32) for v in numbers])
    with np.errstate(invalid="ignore"):
        expected = np.array([np.sum(np.array(v, np.float32)) for v in numbers])
        for base in (0.0, 5.0, inf, -inf, nan):
            b = np.full(len(numbers), base, np.float32)
            result = scattered(device, b, ids, values).numpy()
            np.testing.assert_array_equal(result, expected + np.float32(base))


def test_signs_of_zeros(device: wt.Device) -> None:
    base = np.array([0.0, -0.0, -0.0, -0.0, 0.0, -0.0, 1.0, -1.0], np.float32)
    ids = np.array([0, 1, 2, 4, 5, 5, 6, 7, 7])
    values = np.array([-0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -1.0, 2.0, -1.0], np.float32)
    expected = base.copy()
    np.add.at(expected, ids, values)
    np.testing.assert_array_equal(bits(scattered(device, base, ids, values)), bits(expected))


@pytest.mark.parametrize("places", [2, 100, 5000])
@pytest.mark.parametrize("columns", [1, 3])
def test_hot_places_and_columns(
    places: int, columns: int, device: wt.Device, rng: np.random.Generator
) -> None:
    n = 30_000
    values = rng.standard_normal((n, columns)).astype(np.float32)
    values[::7] *= 1e20
    values[5] = np.inf
    values[11] = -0.0
    ids = rng.integers(0, places, n)
    ids[: n // 2] = 0  # half of them in one place
    result = wt.segment_sum(of(device, values), of(device, ids), places)
    assert result.shape == (places, columns)
    finite = np.where(np.isfinite(values), values, 0)
    for c in range(columns):
        expected = exact(np.zeros(places, np.float32), ids, finite[:, c])
        expected[ids[5]] = np.inf
        np.testing.assert_array_equal(bits(result[:, c]), bits(expected))


@pytest.mark.parametrize("number", [0.0, -0.0, 1.5, -3e38, 1e-40, np.inf, np.nan])
def test_a_base_that_is_one_number(
    number: float, device: wt.Device, rng: np.random.Generator
) -> None:
    """It is a parameter of the kernels: the same bits as from memory, whatever else reads it."""
    x = wt.asarray(rng.standard_normal(3000).astype(np.float32), device=device)
    i = wt.asarray(rng.integers(0, 40, 3000).astype(np.int32), device=device)
    held = wt.asarray(np.full(50, number, np.float32), device=device)
    expected = wt.index_add(held, 0, i, x).numpy().view(np.uint32)
    for view in (False, True):
        base = (
            wt.full((10, 5), number, device=device) if view else wt.full(50, number, device=device)
        )
        flat = base.reshape(-1)
        sums, after = wt.index_add(flat, 0, i, x), flat * 1
        wt.eval(sums, after)
        np.testing.assert_array_equal(sums.numpy().view(np.uint32), expected)
        np.testing.assert_array_equal(flat.numpy().view(np.uint32), held.numpy().view(np.uint32))

    @wt.jit
    def replayed(v: float) -> wt.Tensor:
        return wt.index_add(wt.full(50, v, device=device), 0, i, x)

    for v in (2.0, number, number):
        direct = wt.index_add(wt.full(50, v, device=device), 0, i, x).numpy()
        np.testing.assert_array_equal(replayed(v).numpy().view(np.uint32), direct.view(np.uint32))


def test_windows(rng: np.random.Generator) -> None:
    """Numbers above the largest binding, whose accumulators are not."""
    places, n = 40, 3000
    values = rng.standard_normal(n).astype(np.float32)
    ids = rng.integers(0, places, n).astype(np.int32)
    expected = exact(np.zeros(places, np.float32), ids, values)
    with setting(max_binding=4096, debug=True):
        device = wt.Device()
        device.synchronize()
    v, i = of(device, values), of(device, ids)
    np.testing.assert_array_equal(bits(wt.segment_sum(v + 0, i, places)), bits(expected))


def test_functions_made_of_them(device: wt.Device, rng: np.random.Generator) -> None:
    n = 50_000
    values = rng.standard_normal(n).astype(np.float32)
    ids = rng.integers(0, 30, n)
    zero = np.zeros(30, np.float32)
    expected = exact(zero, ids, values)
    np.testing.assert_array_equal(
        bits(wt.bincount(of(device, ids), weights=of(device, values))), bits(expected)
    )
    t = of(device, zero)
    np.add.at(t, of(device, ids), of(device, values))
    np.testing.assert_array_equal(bits(t), bits(expected))
    # The numbers may depend on what they are added to, and on one another.
    x = of(device, values[:30])
    r = wt.index_add(x, 0, of(device, ids), wt.take(x, of(device, ids)) * 2)
    np.testing.assert_array_equal(bits(r), bits(exact(values[:30], ids, values[:30][ids] * 2)))
    x = wt.index_add(x, 0, of(device, ids), of(device, values))
    np.testing.assert_array_equal(bits(x), bits(exact(values[:30], ids, values)))
    half = wt.segment_sum(of(device, values.astype(np.float16)), of(device, ids), 30)
    wide = exact(zero, ids, values.astype(np.float16).astype(np.float32))
    np.testing.assert_array_equal(half.numpy(), wide.astype(np.float16))


def test_none_and_one(device: wt.Device) -> None:
    assert wt.segment_sum(
        wt.zeros(0, device=device), wt.zeros(0, dtype="int32", device=device), 3
    ).tolist() == [0, 0, 0]
    assert wt.segment_sum(of(device, [2.5]), of(device, [0]), 1).tolist() == [2.5]
    with pytest.raises(IndexError, match=r"\[segment_sum\] index 7 is"):
        wt.segment_sum(
            wt.ones(9, device=device), of(device, [0, 1, 2, 3, 7, 0, 1, 2, 3]), 5
        ).numpy()


def test_places_that_are_none(device: wt.Device) -> None:
    """What leads nowhere is left out."""
    t = wt.zeros(3, device=device)
    np.add.at(t, of(device, [0, 3, 2, -4, 1, 2, 0]), of(device, [1.0, 2, 3, 4, 5, 6, 7]))
    with pytest.raises(IndexError, match=r"\[add.at\] index (3|-4) is"):
        t.numpy()
    assert t.tolist() == [8, 5, 9]


@pytest.mark.parametrize("scale", [1, 2**15])
@pytest.mark.parametrize("n", [2**24 - 1, 2**24])
def test_as_many_as_limbs_take(n: int, scale: int) -> None:
    """One place has them all, each as large as a limb takes."""
    with setting(kernels="gpu"):
        device = wt.Device()
        device.synchronize()
    number = np.float32(2**24 - 1) * np.float32(scale)
    for sign in (1, -1):
        base = of(device, np.array([sign, 0, 3], np.float32))
        sums = wt.index_add(
            base, 0, wt.zeros(n, dtype="int32", device=device), np.float32(sign) * number
        )
        expected = rounded((sign * n * int(number) + sign) << 149)
        assert sums.tolist() == [np.float32(expected), 0, 3]
