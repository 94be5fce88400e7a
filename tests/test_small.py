"""Dtypes that share words: rows, folds, products, views at odd places, writes of parts of words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import LAYOUTS, numpy_dtype, same_bits
from references import ROWS, Array, Row

pytestmark = pytest.mark.short

INTEGERS = ("int8", "uint8", "int16", "uint16")
FLOATS = ("float16", "bfloat16")
SMALL = (*INTEGERS, *FLOATS)
KEEPS = [r for r in ROWS if r.rule not in ("arith_float", "unary_float", "select")]


def values(rng: np.random.Generator, shape: Any, dtype: str) -> Array:
    """Integers of the whole range, floats of common sizes."""
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    return rng.standard_normal(shape).astype(numpy_dtype(dtype))


@pytest.mark.parametrize("row", KEEPS, ids=lambda r: r.name)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_rows(row: Row, dtype: str, rng: np.random.Generator) -> None:
    if not row.takes(dtype) or row.defaults:
        pytest.skip("the row takes no integers")
    a = [values(rng, 301, dtype) for _ in range(row.arity)]
    if row.name == "pow":
        a[1] = a[1] & np.array(15, dtype)
    if row.domain == "shift":
        a[1] = a[1] & np.array(31, dtype)
    if row.domain == "nonzero":
        a[1][a[1] == 0] = 1
    result = row.function(*map(wt.asarray, a))
    expected = row.reference(a)
    assert result.dtype == ("bool" if expected.dtype == bool else dtype)
    assert np.array_equal(result.numpy(), expected)


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r.takes("float32") and r.name != "nextafter"], ids=lambda r: r.name
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_rows_are_those_of_float32(row: Row, dtype: str, rng: np.random.Generator) -> None:
    """Rounded once; test_elementwise.py compares float32 with its references."""
    a = [wt.asarray(values(rng, 301, dtype)) for _ in range(row.arity)]
    if row.rule == "select":
        a[0] = a[0] > 0
    wide = [t if t.dtype == wt.bool else t.astype("float32") for t in a]
    result, expected = row.function(*a), row.function(*wide)
    if expected.dtype != wt.bool:
        assert result.dtype == dtype
        expected = expected.astype(dtype)
    same_bits(result, expected.numpy())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", SMALL)
def test_operands_in_any_layout(layout: str, dtype: str, rng: np.random.Generator) -> None:
    a, b = values(rng, (5, 6, 7), dtype), values(rng, (6, 7), dtype)
    x, y = LAYOUTS[layout](a), LAYOUTS[layout](b)
    same_bits(x + y, a + b)
    same_bits(x[1:, ::-1, 1:6:3] - y[::-1, 1:6:3], a[1:, ::-1, 1:6:3] - b[::-1, 1:6:3])
    same_bits(x[3, 1:, 3].copy(), a[3, 1:, 3])
    same_bits(wt.broadcast_to(y[:, 1:2], (3, 6, 5)).copy(), np.broadcast_to(b[:, 1:2], (3, 6, 5)))


@pytest.mark.parametrize("dtype", ["bool", *SMALL])
def test_writes(dtype: str, rng: np.random.Generator) -> None:
    """Parts of words, of every length and start; the neighbours stay."""
    a = values(rng, (7, 13), dtype) if dtype != "bool" else rng.random((7, 13)) < 0.5
    keys: list[Any] = [1, (2, 3), (0, slice(1, 4)), (slice(None), 5), slice(1, 6, 2)]
    keys += [(slice(None, None, -2), slice(3, None, 3)), (slice(2, 3), slice(12, 8, -1)), ...]
    for key in keys:
        t, expected = wt.asarray(a), a.copy()
        t[key] = wt.asarray(a)[::-1, ::-1][key]
        expected[key] = a[::-1, ::-1][key]
        same_bits(t, expected)
        t[key] = 1
        expected[key] = 1
        same_bits(t, expected)
    if dtype != "bool":
        t, expected = wt.asarray(a), a.copy()
        t[::-2] += 3
        expected[::-2] += np.array(3, a.dtype)
        t[1:, 2:9:3] *= t[1:, 2:9:3]
        expected[1:, 2:9:3] *= expected[1:, 2:9:3]
        same_bits(t, expected)


@pytest.mark.parametrize("dtype", SMALL)
def test_moves(dtype: str, rng: np.random.Generator) -> None:
    a, b = values(rng, (5, 3), dtype), values(rng, (5, 4), dtype)
    x, y = wt.asarray(a), wt.asarray(b)
    same_bits(wt.concat([x, y, x[:, 1:]], axis=1), np.concatenate([a, b, a[:, 1:]], 1))
    same_bits(wt.stack([x, x]), np.stack([a, a]))
    same_bits(wt.roll(x, 2, axis=0), np.roll(a, 2, axis=0))
    same_bits(wt.pad(x, 1), np.pad(a, 1))
    same_bits(wt.flip(x.T), np.flip(a.T))
    same_bits(wt.repeat(x, 3, axis=1), np.repeat(a, 3, axis=1))
    same_bits(wt.tril(x), np.tril(a))
    same_bits(wt.tile(x, (2, 3)), np.tile(a, (2, 3)))


@pytest.mark.parametrize("shape", [(3, 5), (70, 33), (1000,)])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_folds_of_integers(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    a = values(rng, shape, dtype)
    x = wt.asarray(a)
    wide = "int32" if dtype.startswith("i") else "uint32"
    for axis in (None, 0, -1):
        same_bits(x.sum(axis=axis), np.asarray(a.sum(axis=axis, dtype=wide)))
        same_bits(x.prod(axis=axis), np.asarray(a.prod(axis=axis, dtype=wide)))
        same_bits(x.max(axis=axis), np.asarray(a.max(axis=axis)))
        same_bits(x.min(axis=axis), np.asarray(a.min(axis=axis)))
        assert np.array_equal(x.argmax(axis=axis).numpy(), a.argmax(axis=axis))
        same_bits(x.any(axis=axis), np.asarray(a.any(axis=axis)))
    same_bits(x.T.cumsum(axis=0), a.T.cumsum(axis=0, dtype=wide))
    same_bits(wt.cumulative_max(x, axis=0), np.maximum.accumulate(a, axis=0))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_products_of_integers_wrap(dtype: str, rng: np.random.Generator) -> None:
    for m, k, n in ((1, 5, 1), (3, 4, 5), (33, 70, 18), (64, 64, 64)):
        a, b = values(rng, (m, k), dtype), values(rng, (k, n), dtype)
        same_bits(wt.asarray(a) @ wt.asarray(b), a @ b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_are_summed_in_float32(dtype: str) -> None:
    """Sums on the way that the dtype itself does not hold, or that would stop to grow in it."""
    d = numpy_dtype(dtype)
    large = float(wt.finfo(dtype).max)
    x = wt.asarray(np.array([large / 2, large / 2, large / 4, -large / 2, -large / 2]).astype(d))
    expected = np.asarray(x.numpy().astype(np.float64).sum()).astype(d)
    same_bits(x.sum(), expected)
    same_bits(x @ wt.ones(5, dtype=dtype), expected)
    ones = wt.ones(1_000_000, dtype=dtype)
    assert ones.mean().item() == 1
    assert ones.sum(dtype="float32").item() == 1e6
    assert wt.ones(4096, dtype=dtype).sum().item() == 4096
    row = wt.ones((2, 4096), dtype=dtype)
    assert (row @ row.T).tolist() == [[4096.0] * 2] * 2
    assert wt.var(row).item() == 0
    assert wt.cumulative_sum(row[0])[-1].item() == 4096
    assert wt.softmax(row, axis=-1)[0, :2].tolist() == [2.0**-12] * 2
    if dtype == "float16":
        a = wt.full((3, 200), 300.0, dtype=dtype)  # 200 * 90000 on the way to 0
        signs = wt.asarray([300.0, -300.0] * 100, dtype=dtype)
        assert (a @ signs).tolist() == [0, 0, 0]
        assert (a @ wt.stack([signs, signs], axis=1)).tolist() == [[0, 0]] * 3
        assert (a @ a.T)[0, 0].item() == float("inf")
        x, y = a[0, :4], wt.asarray([300.0, 300, -300, -299], dtype=dtype)
        assert wt.vecdot(x, y).item() == wt.einsum("i,i->", x, y).item() == 300
        assert wt.einsum("ij,j->i", a[:, :4], y).tolist() == [300] * 3
        assert wt.linalg.vector_norm(wt.full((10_000,), 600.0, dtype=dtype)).item() == 60_000
        ids = wt.zeros(3, dtype="int32")
        assert wt.segment_mean(wt.full((3,), 60_000.0, dtype=dtype), ids, 1).tolist() == [60_000]


@pytest.mark.parametrize("shape", [(40, 50), (2, 3, 65)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_folds_of_floats(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    a = values(rng, shape, dtype)
    x, wide = wt.asarray(a), a.astype(np.float64)
    eps = float(wt.finfo(dtype).eps)
    for axis in (None, 0, -1):
        for name in ("sum", "mean", "var"):
            r = getattr(x, name)(axis=axis)
            assert r.dtype == dtype
            expected = np.asarray(getattr(wide, name)(axis=axis))
            size = np.abs(wide).sum(axis=axis) * 1e-6
            error = np.abs(r.numpy().astype(np.float64) - expected)
            assert (error <= eps * 0.51 * np.abs(expected) + size).all(), name
        same_bits(x.max(axis=axis), np.asarray(a.max(axis=axis)))
        assert np.array_equal(x.argmin(axis=axis).numpy(), wide.argmin(axis=axis))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nextafter_is_told_to_be_missing(dtype: str) -> None:
    """A float32 next to a 16-bit float would round back to it."""
    with pytest.raises(wt.DTypeError, match=rf"\[nextafter\].*{dtype}"):
        wt.nextafter(wt.ones(2, dtype=dtype), 2.0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_leaves_16_bit_arithmetic_is_what_would_be_read(dtype: str) -> None:
    """Comparisons, predicates and casts of a fused expression agree with its stored value."""
    h = wt.asarray(np.linspace(-300, 300, 97, dtype=np.float32)).astype(dtype).eval()
    stored = (h * h).eval()
    assert wt.all(h * h == stored).item()
    assert not wt.any(h * h != stored).item()
    assert np.array_equal((h * h).astype("float32").numpy(), stored.astype("float32").numpy())
    assert np.array_equal(wt.isinf(h * h).numpy(), wt.isinf(stored).numpy())
    assert wt.sum(h * h).item() == wt.sum(stored).item()
