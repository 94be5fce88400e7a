"""64-bit dtypes: every row of the elementwise table, folds, scans, products, softmax.

Integers are exact over all of their bits; rows of float64 are near their extended-precision truth
(tests/test_accuracy64.py measures how near, over all of the range).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import LAYOUTS, device_has, dispatches, setting
from references import ROWS, Array, Row
from tolerances import check, near_sum
from ulps import CHOICES
from ulps64 import DEFAULT_BOUND, TINY, Wide, distance, sizes, special_values, truth, why_not

WIDE = tuple(
    pytest.param(dtype, marks=pytest.mark.skipif(bool(why_not(dtype)), reason=why_not(dtype)))
    for dtype in ("int64", "uint64", "float64")
)
needs_float64 = pytest.mark.skipif(bool(why_not("float64")), reason=why_not("float64"))
each_wide = pytest.mark.parametrize("dtype", WIDE)
SMALL = [
    0,
    1,
    2,
    7,
    31,
    32,
    63,
    64,
    65,
    2**31,
    2**32 - 1,
    2**32,
    2**53 + 1,
    10**18,
    2**62,
    2**63 - 1,
]
INTEGERS = {
    "int64": [*SMALL, -1, -2, -7, -64, -(2**31), -6 * 10**17, -(2**63), -(2**63) + 1],
    "uint64": [*SMALL, 2**63, 2**63 + 1, 10**19, 2**64 - 2, 2**64 - 1],
}
CASES = [
    pytest.param(row, *dtype.values, id=f"{row.name}-{dtype.values[0]}", marks=dtype.marks)
    for row in ROWS
    for dtype in WIDE
    if row.takes(dtype.values[0])
    and (dtype.values[0] == "float64" or row.rule not in ("arith_float", "unary_float"))
]
each_case = pytest.mark.parametrize(("row", "dtype"), CASES)


def full_range(rng: np.random.Generator, shape: Any, dtype: str) -> Array:
    """Integers of any length, floats of common sizes."""
    if dtype == "float64":
        return rng.standard_normal(shape) * 2.0 ** rng.integers(-20, 20, shape)
    lengths = rng.integers(0, 64, shape).astype(np.uint64)
    bits = rng.integers(0, 2**64, shape, dtype=np.uint64) >> lengths
    return np.asarray(bits.view(np.int64) * rng.choice([-1, 1], shape)).astype(dtype)


def verify(row: Row, free: list[Array], result: wt.Tensor, name: str) -> None:
    operands = [*free, *(np.full_like(free[0], d) for d in row.defaults)]
    dtype = operands[-1].dtype.name
    assert result.dtype == ("bool" if row.result("int32") == "bool" else dtype)
    got = result.numpy()
    if row.name == "pow" and operands[0].dtype == np.int64:
        keep = operands[1] >= 0  # NumPy refuses negative whole exponents
        operands, got = [o[keep] for o in operands], got[keep]
    with np.errstate(all="ignore"):
        if operands[-1].dtype.kind != "f":
            expected = row.reference(operands)
            assert np.array_equal(got, expected), name
            return
        expected = truth(row, operands)
        if got.dtype.kind != "f":
            flat = [
                np.where(np.abs(o) < TINY, 0, o) if o.dtype.kind == "f" else o for o in operands
            ]
            same = (got == expected) | (got == truth(row, flat))
            assert same.all(), f"{name}: {[o[~same][:3] for o in operands]}"
            return
        error, kind = distance(got, expected, sizes(row, operands))
    normal = np.all([np.isnan(o) | (np.abs(o) >= TINY) | (o == 0) for o in operands], axis=0)
    kind &= normal & ~((row.name in CHOICES) & (got == 0))
    assert not kind.any(), f"{name}: {[o[kind][:3] for o in operands]} gave {got[kind][:3]}"
    bound = 16 if row.name == "pow" else DEFAULT_BOUND
    wrong = normal & (error > bound)
    assert not wrong.any(), f"{name}: {[o[wrong][:3] for o in operands]} gave {got[wrong][:3]}"


def operands_of(row: Row, make: Any) -> list[Array]:
    """Those without defaults."""
    arrays = [make() for _ in range(row.arity - len(row.defaults))]
    if row.rule == "select":
        arrays[0] = arrays[0] > 0
    return arrays


@each_case
def test_rows_over_layouts(row: Row, dtype: str, rng: np.random.Generator) -> None:
    for name, make in LAYOUTS.items():
        for shape in [(4, 3, 8), (5, 7)]:
            arrays = operands_of(row, lambda s=shape: full_range(rng, s, dtype))
            result = row.function(*(make(a) for a in arrays))
            verify(row, arrays, result, f"{row.name} {dtype} {name}")


@each_case
def test_rows_at_extremes(row: Row, dtype: str) -> None:
    """Every pair of special operands, NaN, infinities, bounds, zeros; at both vector widths."""
    if dtype == "float64":
        special = np.concatenate([special_values(), [1, -1, 2, -2, 0.5, -0.5, 3, 1e5, 2.0**53]])
    else:
        special = np.array(INTEGERS[dtype], dtype)
    grids = [
        g.reshape(-1)
        for g in np.meshgrid(*([special] * (row.arity - len(row.defaults))), indexing="ij")
    ]
    if row.rule == "select":
        grids[0] = grids[0] > 0
    for cut in (slice(None), slice(1, None, 2)):
        arrays = [np.ascontiguousarray(g[cut]) for g in grids]
        result = row.function(*(wt.asarray(g)[cut] for g in grids))
        verify(row, arrays, result, f"{row.name} {dtype} {cut}")


@each_case
def test_rows_of_small_shapes(row: Row, dtype: str, rng: np.random.Generator) -> None:
    for shape in [(), (1,), (0,), (2, 0, 3)]:
        arrays = operands_of(row, lambda s=shape: np.asarray(full_range(rng, s, dtype)))
        result = row.function(*(wt.asarray(a) for a in arrays))
        assert result.shape == shape
        verify(row, [a.reshape(-1) for a in arrays], result.reshape(-1), f"{row.name} {shape}")


SHAPES: list[tuple[tuple[int, ...], int | None]] = [
    ((7,), None),
    ((200003,), None),
    ((5, 1030), 1),
    ((1030, 5), 0),
    ((33, 65, 18), 1),
    ((2, 70000), 1),
]


@each_wide
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_reductions(
    dtype: str, shape: tuple[int, ...], axis: int | None, rng: np.random.Generator
) -> None:
    """Integer sums and products wrap at 64 bits, exactly."""
    a = full_range(rng, shape, dtype)
    t = wt.asarray(a)
    terms = a.size if axis is None else shape[axis]
    for name in ("max", "min", "any", "all", "count_nonzero", "argmax", "argmin"):
        expected = np.asarray(getattr(np, name)(a, axis=axis))
        check(getattr(wt, name)(t, axis=axis), expected, name=name)
    with np.errstate(all="ignore"):
        if dtype != "float64":
            check(wt.sum(t, axis=axis), np.sum(a, axis=axis), name="sum")
            check(
                wt.prod(t | 1, axis=axis), np.prod(a | np.array(1, dtype), axis=axis), name="prod"
            )
            return
    x = a.astype(Wide)
    magnitude = np.abs(x).sum(axis=axis)
    near_sum(wt.sum(t, axis=axis), x.sum(axis=axis), magnitude, terms=terms, name="sum")
    near_sum(wt.mean(t, axis=axis), x.mean(axis=axis), magnitude / terms, terms=terms, name="mean")
    var = x.var(axis=axis)
    near_sum(wt.var(t, axis=axis), var, var, terms=terms, name="var")
    near_sum(wt.std(t, axis=axis), np.sqrt(var), np.sqrt(var), terms=terms, name="std")
    top = x.max(axis=axis, keepdims=True)
    total = np.log(np.exp(x - top).sum(axis=axis)) + (
        top.item() if axis is None else top.squeeze(axis)
    )
    size = np.abs(total) + 1
    near_sum(wt.logsumexp(t, axis=axis), total, size, terms=terms, name="logsumexp")
    b = np.exp(rng.uniform(-1e-3, 1e-3, shape))
    product = b.astype(Wide).prod(axis=axis)
    near_sum(wt.prod(wt.asarray(b), axis=axis), product, product, terms=terms * 4, name="prod")


@each_wide
@pytest.mark.parametrize(("shape", "axis"), [s for s in SHAPES if len(s[0]) < 3])
def test_scans(
    dtype: str, shape: tuple[int, ...], axis: int | None, rng: np.random.Generator
) -> None:
    a, axis = full_range(rng, shape, dtype), axis or 0
    t = wt.asarray(a)
    check(wt.cumulative_max(t, axis=axis), np.maximum.accumulate(a, axis))
    check(wt.cumulative_min(t, axis=axis), np.minimum.accumulate(a, axis))
    if dtype != "float64":
        with np.errstate(all="ignore"):
            check(wt.cumulative_sum(t, axis=axis), np.cumsum(a, axis))
            one = np.array(1, dtype)
            check(wt.cumulative_prod(t | 1, axis=axis), np.cumprod(a | one, axis))
        return
    x = a.astype(Wide)
    magnitude = np.abs(x).cumsum(axis)
    near_sum(wt.cumulative_sum(t, axis=axis), x.cumsum(axis), magnitude, terms=shape[axis])
    b = np.exp(rng.uniform(-1e-3, 1e-3, shape))
    product = b.astype(Wide).cumprod(axis)
    near_sum(wt.cumulative_prod(wt.asarray(b), axis=axis), product, 2 * product, terms=shape[axis])


@needs_float64
def test_folds_of_nan_and_ties() -> None:
    a = np.array([[1.0, np.nan, 3, np.nan], [0.0, -0.0, 0, -0.0], [-np.inf, 5, np.inf, np.inf]])
    t = wt.asarray(a)
    for name in ("argmax", "argmin", "max", "min"):
        check(getattr(wt, name)(t, axis=1), getattr(np, name)(a, axis=1), name=name)
    for name in ("cumulative_max", "cumulative_min"):
        fold = np.maximum if name.endswith("max") else np.minimum
        check(getattr(wt, name)(t, axis=1), fold.accumulate(a, 1), name=name)


@needs_float64
@pytest.mark.parametrize("shape", [(7,), (5, 1030), (1030, 5), (2, 30000)])
def test_softmax(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    a = rng.standard_normal(shape) * 100
    a.flat[3] = -np.inf
    for axis in range(len(shape)):
        x = a.astype(Wide)
        z = x - x.max(axis, keepdims=True)
        total = np.exp(z).sum(axis, keepdims=True)
        soft, logs = np.exp(z) / total, z - np.log(total)
        held = wt.asarray(a).eval()
        assert dispatches(lambda held=held, axis=axis: wt.softmax(held, axis=axis)) == 1
        # An operand's error counts as often as its size.
        near_sum(wt.softmax(wt.asarray(a), axis=axis), soft, soft * 100, terms=shape[axis])
        size = np.maximum(np.abs(logs), 1)
        near_sum(wt.log_softmax(wt.asarray(a), axis=axis), logs, size, terms=shape[axis])


def product(a: Array, b: Array) -> tuple[Array, Array]:
    """The truth, and the sum of the terms' magnitudes."""
    if a.dtype.kind != "f":
        with np.errstate(all="ignore"):
            return a @ b, np.zeros(1)
    return a.astype(Wide) @ b.astype(Wide), np.abs(a) @ np.abs(b)


LENGTHS = (1, 3, 33, 65, 130)


@each_wide
@pytest.mark.parametrize("m", LENGTHS)
@pytest.mark.parametrize("k", LENGTHS)
def test_matmul(dtype: str, m: int, k: int, rng: np.random.Generator) -> None:
    for n in LENGTHS:
        a, b = full_range(rng, (m, k), dtype), full_range(rng, (k, n), dtype)
        true, magnitude = product(a, b)
        for left in ("contiguous", "transposed"):
            for right in ("contiguous", "transposed"):
                result = LAYOUTS[left](a) @ LAYOUTS[right](b)
                near_sum(result, true, magnitude, terms=k, name=f"{(m, k, n)} {left} {right}")


@each_wide
@pytest.mark.parametrize("kernels", ["gpu", "software"])
def test_batched_matmul_with_an_epilogue(
    dtype: str, kernels: str, rng: np.random.Generator
) -> None:
    a, b = full_range(rng, (3, 1, 70, 40), dtype), full_range(rng, (2, 40, 36), dtype)
    c = full_range(rng, (36,), dtype)
    tensors = [wt.asarray(v).eval() for v in (a, b, c)]
    true, magnitude = product(a, b)
    with np.errstate(all="ignore"):
        true = np.maximum(true + c, np.array(5, dtype))

    def make() -> wt.Tensor:
        return wt.maximum(tensors[0] @ tensors[1] + tensors[2], 5)

    with setting(kernels=kernels):
        near_sum(make(), true, magnitude + np.abs(c.astype(np.float64)), terms=41)
        assert dispatches(make) == 1


@each_wide
def test_large_matmul(dtype: str, rng: np.random.Generator) -> None:
    """Of the largest tile, and of a long shared axis."""
    for m, k, n in [(330, 320, 310), (20, 70000, 24)]:
        a, b = full_range(rng, (m, k), dtype), full_range(rng, (k, n), dtype)
        true, magnitude = product(a, b)
        near_sum(wt.asarray(a) @ wt.asarray(b), true, magnitude, terms=k)


def test_comparing_widened_numbers_with_a_zero_that_compilers_find() -> None:
    if not device_has("int64"):
        pytest.skip("no int64 here")
    a, b = np.array([-128, 3, -4, 5], np.int32), np.arange(4)
    t, x = wt.asarray(a), wt.asarray(b)
    for zero, none in ((x ^ x, b ^ b), (x - x, b - b)):
        assert (t > zero).tolist() == (a > none).tolist()
        assert (t < zero).tolist() == (a < none).tolist()
        assert wt.where(t > zero, t, zero).tolist() == np.where(a > none, a, none).tolist()


@pytest.mark.parametrize(
    ("first", "end", "step", "dtype"),
    [
        (2**60, 2**60 + 10, 3, "int64"),
        (-(2**63), 2**63 - 1, 2**62 + 1, "int64"),
        (2**62, -(2**62), -(2**61) - 7, "int64"),
        (2**64 - 1, 2**64 - 20, -3, "uint64"),
        (0, 2**64, 2**63 + 5, "uint64"),
    ],
)
def test_ranges_beyond_float64(first: int, end: int, step: int, dtype: str) -> None:
    if not device_has(dtype):
        pytest.skip(f"no {dtype} here")
    assert wt.arange(first, end, step, dtype=dtype).tolist() == list(range(first, end, step))


def test_numbers_and_lists_beside_64_bits() -> None:
    """Keep all of their bits, in functions, operators, writes and searches."""
    if not (device_has("int64") and device_has("float64")):
        pytest.skip("no 64 bits here")
    a = np.array([0.1, 0.2, 0.3])
    t, numbers = wt.asarray(a), a.tolist()
    assert (t == numbers).tolist() == [True] * 3
    assert wt.array_equal(t, numbers)
    assert wt.isclose(numbers, t, rtol=0, atol=0).tolist() == [True] * 3
    assert wt.isin(t, 0.1).tolist() == [True, False, False]
    assert wt.searchsorted(t, numbers).tolist() == [0, 1, 2]
    assert wt.union1d(t, 0.1).tolist() == numbers
    assert wt.concat([t, [0.7]]).tolist() == [*numbers, 0.7]
    assert wt.stack([t, numbers]).tolist() == [numbers] * 2
    for write in (
        lambda u: u.__setitem__(slice(0, 2), [0.7, 0.9]),
        lambda u: u.__setitem__([0, 1], [0.7, 0.9]),
        lambda u: wt.put(u, [0, 1], [0.7, 0.9]),
        lambda u: wt.place(u, [True, True, False], [0.7, 0.9]),
        lambda u: wt.put_along_axis(u, [0, 1], [0.7, 0.9]),
    ):
        u = t.copy()
        write(u)
        assert u.tolist() == [0.7, 0.9, 0.3]
    assert wt.scatter(t, 0, [0], 0.7).tolist() == [0.7, 0.2, 0.3]
    b = wt.asarray(np.array([2**40, 5]))
    assert wt.isin(b, 2**40).tolist() == [True, False]
    assert (b == [2**40, 5]).tolist() == [True, True]
    assert wt.where(b > 9, [2**41, 0], b).tolist() == [2**41, 5]
    b[[0]] = [2**41]
    assert b.tolist() == [2**41, 5]
    assert wt.asarray([[2**63], [1]], dtype="uint64").tolist() == [[2**63], [1]]
    assert wt.add(wt.ones(1, dtype="float16"), [0.5]).dtype == "float32"
    with pytest.raises(OverflowError, match=r"2\*\*64|fit"):
        wt.asarray([2**64, 1], dtype="uint64")
