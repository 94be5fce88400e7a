"""Every elementwise function with float results is within its bound, as docs/accuracy.md shows."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import ulps64
import wgtensor as wt
from references import Row
from ulps import FLOAT_ROWS, LIMITS, distance, measure, operands

TOOL = Path(__file__).resolve().parent.parent / "tools" / "accuracy.py"


@pytest.mark.short
@pytest.mark.parametrize("row", FLOAT_ROWS, ids=[row.name for row in FLOAT_ROWS])
def test_within_its_bound(row: Row) -> None:
    result = measure(row, 1 << 14)
    assert result.points >= 1 << 13
    assert result.ok, result


@pytest.mark.skipif(bool(ulps64.why_not("float64")), reason=ulps64.why_not("float64"))
@pytest.mark.parametrize("row", ulps64.ROWS64, ids=[row.name for row in ulps64.ROWS64])
def test_float64_within_its_bound(row: Row) -> None:
    result = ulps64.measure(row, 1 << 12)
    assert result.points >= 1 << 11
    assert result.ok, result


@pytest.mark.parametrize("row", FLOAT_ROWS, ids=[row.name for row in FLOAT_ROWS])
def test_points_cover_all_of_the_range(row: Row) -> None:
    values = operands(row, 1 << 17)
    assert values[0].size >= 100_000
    for v in values[: row.arity - len(row.defaults)]:
        if v.dtype == np.bool_:
            assert v.any()
            assert not v.all()
            continue
        limit = LIMITS.get(row.name, np.inf)
        for near, low, high in [
            ("zero", 1e-38, 1e-30),
            ("one", 0.99999, 1.00001),
            ("overflow", 87, 90),
            ("the largest", 1e36, np.inf),
        ]:
            if low < limit:
                for sign in (-1, 1):
                    inside = (sign * v >= low) & (sign * v <= high)
                    assert np.unique(v[inside]).size >= 10, f"near {near}"


def test_distance() -> None:
    """A unit is the spacing of float32 at the true result; kinds are told apart."""
    one, next_ = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    largest = np.finfo(np.float32).max
    got = np.array([next_, one, 0, 0, 1e-45, np.inf, largest, -1], np.float32)
    true = np.array([1, 1 + 2.0**-25, 1e-39, 2.0**-126, 0, 2.0**128, 1e300, 1])
    error, kind = distance(got, true)
    assert error.tolist() == [1, 0.25, 0, 2.0**23, 1, 0, 1, 2.0**24]
    assert not kind.any()
    got = np.array([np.nan, 1, np.inf, 1, 0.0, -0.0], np.float32)
    assert distance(got, np.array([1, np.nan, -np.inf, np.inf, -0.0, 0.0]))[1].all()
    assert distance(got[1:2], np.array([1 + 2.0**-20]), size=2.0)[0].tolist() == [4]


@pytest.mark.skipif(not ulps64.EXTENDED, reason="NumPy has no extended precision")
def test_distance_of_float64() -> None:
    one = np.float64(1)
    next_ = np.nextafter(one, 2.0)
    largest = np.finfo(np.float64).max
    got = np.array([next_, one, 0, 5e-324, np.inf, largest, -1])
    true = np.array([1, 1 + ulps64.Wide(2.0) ** -54, 1e-310, 0, largest, largest, 1], ulps64.Wide)
    error, kind = ulps64.distance(got, true)
    assert error.tolist() == [1, 0.25, 0, 1, 1, 0, 2.0**53]
    assert not kind.any()
    got = np.array([np.nan, 1, np.inf, 1, 0.0, -0.0])
    true = np.array([1, np.nan, -np.inf, np.inf, -0.0, 0.0], ulps64.Wide)
    assert ulps64.distance(got, true)[1].all()


def test_the_page_shows_what_was_measured() -> None:
    spec = importlib.util.spec_from_file_location("accuracy_tool", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page()
    assert list(tool.RESULTS.glob("*.json"))


@pytest.mark.short
def test_results_that_are_numbers_are_exact() -> None:
    """Whole powers and roots that float32 holds, and logarithms of powers of their base."""
    bases, exponents = [], []
    for y in range(2, 25):
        m = np.arange(1, int(2 ** (24 / y)) + 1)
        bases.append(np.concatenate([m, -m]))
        exponents.append(np.full(2 * m.size, y))
    squares = np.arange(1, 4096) ** 2
    bases += [squares, np.arange(-5000, 5001), 2.0 ** np.arange(-126, 127)]
    exponents += [np.full(squares.size, 0.5), np.ones(10001), np.full(253, -1)]
    x, y = np.concatenate(bases).astype(np.float32), np.concatenate(exponents).astype(np.float32)
    true = np.power(x.astype(np.float64), y.astype(np.float64))
    assert np.array_equal(wt.pow(wt.asarray(x), wt.asarray(y)).numpy(), true)
    whole = np.arange(-126, 128, dtype=np.float32)
    powers = (2.0 ** whole.astype(np.float64)).astype(np.float32)
    assert np.array_equal(wt.exp2(wt.asarray(whole)).numpy(), powers)
    assert np.array_equal(wt.log2(wt.asarray(powers)).numpy(), whole)
    tens = np.arange(11, dtype=np.float32)
    assert np.array_equal(wt.log10(wt.asarray(np.float32(10.0) ** tens)).numpy(), tens)


@pytest.mark.skipif(bool(ulps64.why_not("float64")), reason=ulps64.why_not("float64"))
def test_float64_results_that_are_numbers_are_exact() -> None:
    bases, exponents = [], []
    for y in range(2, 54):
        m = np.unique(np.geomspace(1, 2 ** (53 / y), 500).astype(np.int64))
        bases.append(np.concatenate([m, -m]))
        exponents.append(np.full(2 * m.size, y))
    squares = np.arange(1, 5000) ** 2
    bases += [squares, np.arange(-5000, 5001), 2.0 ** np.arange(-1022, 1023)]
    exponents += [np.full(squares.size, 0.5), np.ones(10001), np.full(2045, -1)]
    x, y = np.concatenate(bases).astype(np.float64), np.concatenate(exponents).astype(np.float64)
    true = np.power(x.astype(ulps64.Wide), y.astype(ulps64.Wide))
    assert np.array_equal(wt.pow(wt.asarray(x), wt.asarray(y)).numpy(), true)
    whole = np.arange(-1022, 1024, dtype=np.float64)
    powers = 2.0**whole
    assert np.array_equal(wt.exp2(wt.asarray(whole)).numpy(), powers)
    assert np.array_equal(wt.log2(wt.asarray(powers)).numpy(), whole)
    tens = np.arange(23, dtype=np.float64)
    assert np.array_equal(wt.log10(wt.asarray(10.0**tens)).numpy(), tens)
