"""pad in every mode, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import DTYPES, dispatches, random_array
from tolerances import check, near

WIDTHS: list[Any] = [
    2,
    (1, 3),
    ((0, 2), (1, 0)),
    ((2,), (1,)),
    ((0, 0), (4, 5)),
    {-1: (2, 1)},
    {0: 3},
    0,
]
COPYING = ["edge", "wrap", "reflect", "symmetric"]


@pytest.mark.short
@pytest.mark.parametrize("dtype", DTYPES)
def test_constant(dtype: str, rng: np.random.Generator) -> None:
    a = random_array(rng, (3, 4), dtype)
    t = wt.asarray(a)
    for width in WIDTHS:
        check(wt.pad(t, width), np.pad(a, width), name=f"{width}")
        for value in (1, (1, 0), ((1, 2), (3, 0)), ((5,), (6,))):
            e = np.pad(a, width, constant_values=value)
            check(wt.pad(t, width, constant_values=value), e, name=f"{width} {value}")
    check(wt.pad(t.T[::-1], 1), np.pad(a.T[::-1], 1))
    check(wt.pad(t[:0], 2), np.pad(a[:0], 2))
    check(wt.pad(t[0, 0], 0), a[0, 0])
    cube = random_array(rng, (2, 1, 3), dtype)
    values = ((1, 2), (3, 4), (5, 6))
    e = np.pad(cube, ((1, 2), (0, 1), (2, 0)), constant_values=values)
    check(wt.pad(cube, ((1, 2), (0, 1), (2, 0)), constant_values=values), e)


def test_kernels(rng: np.random.Generator) -> None:
    """A fill and a piece; a piece for each stretch that is copied, corners too."""
    t = wt.asarray(random_array(rng, (6, 7)))
    assert dispatches(lambda: wt.pad(t * 2 + 1, 1)) == 2
    assert dispatches(lambda: wt.pad(t, 1, constant_values=((1, 2), (3, 4)))) == 5
    assert dispatches(lambda: wt.pad(t, 1, "edge")) == 9
    assert dispatches(lambda: wt.pad(t, ((0, 0), (2, 2)), "reflect")) == 3
    assert dispatches(lambda: wt.pad(t, 2, "empty")) == 1
    assert dispatches(lambda: wt.pad(t, 0, "wrap")) == 0


@pytest.mark.parametrize("mode", COPYING)
@pytest.mark.parametrize("dtype", DTYPES)
def test_copying_modes(mode: str, dtype: str, rng: np.random.Generator) -> None:
    for shape in [(4, 5), (1, 3), (2, 2), (3, 1)]:
        a = random_array(rng, shape, dtype)
        t = wt.asarray(a)
        for width in [*WIDTHS, 7, ((9, 11), (0, 13))]:
            check(wt.pad(t, width, mode), np.pad(a, width, mode), name=f"{shape} {width}")
    a = random_array(rng, (3, 2, 4), dtype)
    check(wt.pad(wt.asarray(a), 1, mode), np.pad(a, 1, mode))
    check(wt.pad(wt.asarray(a).T, (2, 1), mode), np.pad(a.T, (2, 1), mode))


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_odd_reflections(mode: str, rng: np.random.Generator) -> None:
    for dtype in ("int32", "float32"):
        for shape in [(4, 5), (1, 6), (6,)]:
            a = random_array(rng, shape, dtype)
            for width in (1, 3, (0, 2)):
                e = np.pad(a.astype(np.float64), width, mode, reflect_type="odd").astype(dtype)
                made = wt.pad(wt.asarray(a), width, mode, reflect_type="odd")
                bound = 0 if dtype == "int32" else 4e-6
                check(made, e, allowed=bound, name=f"{dtype} {shape} {width}")
    ramp = np.arange(5, dtype=np.int32)
    # Through many mirrors, a line stays a line.
    e = np.arange(-17, 22, dtype=np.int32)
    if mode == "reflect":
        check(wt.pad(wt.asarray(ramp), 17, mode, reflect_type="odd"), e)


@pytest.mark.parametrize("mode", ["maximum", "minimum", "mean", "median"])
def test_statistics(mode: str, rng: np.random.Generator) -> None:
    for dtype in DTYPES:
        a = random_array(rng, (4, 5), dtype)
        t = wt.asarray(a)
        for width in WIDTHS:
            for length in (None, 1, 2, (3, 2), ((1, 2), (9, 3))):
                if dtype == "bool" and mode == "mean" and width == 0:
                    continue
                e = np.pad(a, width, mode, stat_length=length)
                made = wt.pad(t, width, mode, stat_length=length)
                name = f"{dtype} {width} {length}"
                if dtype == "float32" and mode in ("mean", "median"):
                    check(made, e, allowed=1e-6, name=name)
                else:
                    check(made, e, name=name)
    with pytest.raises(ValueError, match="stat_length"):
        wt.pad(t, 1, mode, stat_length=-1)


def test_ramps(rng: np.random.Generator) -> None:
    for dtype in ("int32", "uint32", "float32"):
        a = random_array(rng, (4, 5), dtype)
        t = wt.asarray(a)
        for width in WIDTHS:
            for ends in (0, 9, (3, 40), ((1, 2), (30, 4))):
                e = np.pad(a, width, "linear_ramp", end_values=ends)
                made = wt.pad(t, width, "linear_ramp", end_values=ends)
                near(made, e, ops=8, name=f"{dtype} {width} {ends}")
    big = wt.asarray(np.array([2**31 - 1], np.int32))
    made = wt.pad(big, (50000, 0), "linear_ramp").numpy()
    e = (np.arange(50000, dtype=np.int64) * (2**31 - 1)) // 50000
    np.testing.assert_array_equal(made[:-1], e)


def test_errors() -> None:
    t = wt.zeros((2, 3))
    for wrong, error, text in [
        (lambda: wt.pad(t, 1, lambda *a: None), TypeError, "function"),
        (lambda: wt.pad(t, 1, "other"), ValueError, "mode must be"),
        (lambda: wt.pad(t, 1, "edge", constant_values=1), ValueError, "does not take"),
        (lambda: wt.pad(t, -1), ValueError, "negative"),
        (lambda: wt.pad(t, 1.5), TypeError, "integers"),
        (lambda: wt.pad(t, ((1, 2), (3, 4), (5, 6))), ValueError, "does not fit"),
        (lambda: wt.pad(t[:0], 1, "reflect"), ValueError, "empty"),
        (lambda: wt.pad(t, 1, "reflect", reflect_type="even?"), ValueError, "reflect_type"),
        (lambda: wt.pad(t, 1, "maximum", stat_length=0), ValueError, "stat_length"),
    ]:
        with pytest.raises(error, match=text):
            wrong()
    made = wt.pad(t + 1, ((1, 2), (0, 1)), "empty")
    assert made.shape == (5, 4)
    check(made[1:3, :3], np.ones((2, 3), np.float32))
    check(wt.pad(t[:0], ((0, 0), (1, 1)), "edge"), np.zeros((0, 5), np.float32))
