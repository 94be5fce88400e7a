"""Functions made of several rows: clip, round, isclose, nan_to_num, divmod; other names of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import LAYOUTS, dispatches
from tolerances import check
from wgtensor._generated import ALIASES

Array = np.ndarray[Any, Any]


@pytest.fixture
def a(rng: np.random.Generator) -> Array:
    return (rng.standard_normal((5, 7)) * 4).astype(np.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_clip(a: Array, layout: str) -> None:
    t = LAYOUTS[layout](a)
    row = np.linspace(-2, 2, 7, dtype=np.float32)
    for low, high in [(-1, 2), (None, 0.5), (-0.5, None), (2, -1), (row, 3), (-row, row[::-1])]:
        bounds = [wt.asarray(np.array(b)) if isinstance(b, np.ndarray) else b for b in (low, high)]
        expected = np.clip(a, low, high)
        check(wt.clip(t, *bounds), expected, name=f"{low} {high}")
        check(t.clip(*bounds), expected, name="method")
        check(wt.clip(t, min=bounds[0], max=bounds[1]), expected, name="by name")
    check(wt.clip(t), a, name="no bounds")
    dense, high = wt.asarray(a), wt.asarray(row)
    assert dispatches(lambda: wt.clip(dense, -1, high)) == 1
    check(np.clip(t, -1, 1), np.clip(a, -1, 1), name="np.clip")


def test_clip_keeps_dtypes_and_refuses_what_it_should(a: Array) -> None:
    whole = wt.asarray(np.arange(-5, 5, dtype=np.int32))
    assert wt.clip(whole, -2, 3).dtype == wt.int32
    check(wt.clip(whole, -2, 3), np.clip(np.arange(-5, 5), -2, 3).astype(np.int32))
    assert wt.clip(whole, 0.5).dtype == wt.float32
    positive = wt.asarray(np.arange(10, dtype=np.uint32))
    check(positive.clip(2, 7), np.clip(np.arange(10, dtype=np.uint32), 2, 7))
    with pytest.raises(wt.ShapeError):
        wt.clip(wt.asarray(a), wt.zeros(3))
    out = wt.zeros(10, dtype=wt.int32)
    assert wt.clip(whole, 0, 1, out=out) is out
    check(out, np.clip(np.arange(-5, 5), 0, 1).astype(np.int32))
    with pytest.raises(wt.ShapeError, match="clip"):
        wt.clip(whole, 0, 1, out=wt.zeros(3, dtype=wt.int32))


@pytest.mark.parametrize("decimals", [-40, -3, -1, 0, 1, 2, 5, 20, 44, 60])
def test_round_floats(a: Array, decimals: int) -> None:
    """NumPy's way in float64: within a unit of the last place of float32."""
    x = np.concatenate([a.reshape(-1) * 100, [0.5, 1.5, 2.5, -0.5, np.inf, -np.inf, np.nan, 1e30]])
    x = x.astype(np.float32)
    with np.errstate(all="ignore"):
        exact = np.round(x.astype(np.float64), decimals)
    exact = np.where(np.isfinite(x) & ~np.isfinite(exact), x, exact)
    if decimals > 20:
        exact = x.astype(np.float64)
    made = wt.round(wt.asarray(x), decimals)
    # Scaled in float32, a number next to a half may fall to its other side.
    scale = 10.0**-decimals if abs(decimals) < 10 else 0.0
    with np.errstate(all="ignore"):
        tie = np.abs(np.abs(x * 10.0**decimals) % 1 - 0.5) < 1e-4
    allowed = 2.4e-7 * np.abs(exact) + np.where(tie, scale, 0)
    check(made, exact, allowed=np.where(np.isfinite(allowed), allowed, 0), name=str(decimals))
    check(wt.asarray(x).round(decimals), made.numpy())


def test_round_halves_to_even() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.25, 0.75], np.float32)
    check(wt.round(wt.asarray(x)), np.array([0, 2, 2, -0.0, -2, -2, 0, 1], np.float32))
    check(np.round(wt.asarray(x), 1), np.round(x, 1))
    quarters = np.array([0.125, 0.375, 0.625, -0.125], np.float32)
    check(wt.round(wt.asarray(quarters), 2), np.array([0.12, 0.38, 0.62, -0.12], np.float32))
    assert dispatches(lambda: wt.round(wt.asarray(quarters).eval(), 2)) == 1


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
@pytest.mark.parametrize("decimals", [2, 0, -1, -2, -5, -9, -10, -30])
def test_round_integers(dtype: str, decimals: int) -> None:
    """Exactly, halves to even."""
    low = -(2**31) if dtype == "int32" else 0
    values = [*range(max(low, -160), 160), 10**9, 15 * 10**8, 2 * 10**9, 2**31 - 1, low, 123456789]
    unit = 10 ** max(-decimals, 0)
    expected = [((2 * v + unit) // (2 * unit)) * unit for v in values]
    for i, v in enumerate(values):
        if (2 * v + unit) % (2 * unit) == 0 and (expected[i] // unit) % 2:
            expected[i] -= unit
    truth = (np.array(expected, object) & 0xFFFFFFFF).astype(np.uint32).astype(dtype)
    t = wt.asarray(np.array(values, dtype))
    check(wt.round(t, decimals), truth, name=f"{decimals}")
    assert wt.round(t, decimals).dtype == dtype


def test_round_refuses() -> None:
    with pytest.raises(TypeError, match=r"\[round\] decimals"):
        wt.round(wt.ones(3), 1.5)  # type: ignore[arg-type]
    with pytest.raises(wt.DTypeError):
        wt.round(wt.ones(3, dtype="bool"))


@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose_floats(equal_nan: bool) -> None:
    numbers = [0.0, -0.0, 1.0, 1 + 5e-6, 1 + 2e-5, -1.0, 1e-9, 1e-7, np.inf, -np.inf, np.nan, 3e38]
    x, y = (g.reshape(-1) for g in np.meshgrid(*[np.array(numbers, np.float32)] * 2))
    for tolerances in ({}, {"rtol": 0.0, "atol": 0.0}, {"rtol": 0.0, "atol": 1e-6}, {"rtol": 0.1}):
        made = wt.isclose(wt.asarray(x), wt.asarray(y), equal_nan=equal_nan, **tolerances)
        assert made.dtype == wt.bool
        check(made, np.isclose(x, y, equal_nan=equal_nan, **tolerances), name=str(tolerances))
    s, t = wt.asarray(x).eval(), wt.asarray(y).eval()
    assert dispatches(lambda: wt.isclose(s, t, equal_nan=equal_nan)) == 1


def test_isclose_integers_and_mixed() -> None:
    """Integers by their exact difference, which may need all bits."""
    ends = np.array([-(2**31), 2**31 - 1, 2**31 - 2, 0, 1, 100, 101, 16777217, 16777216], np.int32)
    x, y = (g.reshape(-1) for g in np.meshgrid(ends, ends))
    for tolerances in ({"rtol": 0.0, "atol": 0.0}, {}, {"rtol": 0.0, "atol": 1.0}):
        made = wt.isclose(wt.asarray(x), wt.asarray(y), **tolerances)
        expected = np.isclose(x.astype(np.int64), y.astype(np.int64), **tolerances)
        check(made, expected, name=str(tolerances))
    assert wt.isclose(wt.asarray([1, 2]), 1.0).tolist() == [True, False]
    assert wt.isclose([1.0, 2.0], wt.asarray([1.0, 3.0])).tolist() == [True, False]
    truth = wt.asarray([True, False])
    assert wt.isclose(truth, wt.asarray([True, True])).tolist() == [True, False]


def test_all_of_it() -> None:
    """allclose and array_equal read, and give Python's bool."""
    nan = float("nan")
    for x, y in [([1.0, 2], [1.0, 2]), ([1.0, 2], [1.0, 2.1]), ([1.0, nan], [1.0, nan]), ([], [])]:
        a, b = np.array(x, np.float32), np.array(y, np.float32)
        for equal_nan in (False, True):
            made = wt.allclose(wt.asarray(a), b, equal_nan=equal_nan)
            assert made is np.allclose(a, b, equal_nan=equal_nan)
            made = wt.array_equal(a, wt.asarray(b), equal_nan=equal_nan)
            assert made is np.array_equal(a, b, equal_nan=equal_nan)
    assert wt.allclose(wt.ones((2, 3)), 1)
    assert wt.allclose(wt.asarray([100.0]), [101.0], rtol=0.02)
    assert not wt.array_equal(wt.ones((2, 3)), wt.ones((3, 2)))
    assert not wt.array_equal(wt.ones(3), 1)
    assert wt.array_equal(wt.asarray([1, 2]), [1.0, 2.0])


def test_nan_to_num() -> None:
    x = np.array([np.nan, -np.nan, np.inf, -np.inf, 1.5, -0.0, 3e38], np.float32)
    t = wt.asarray(x)
    check(wt.nan_to_num(t), np.nan_to_num(x))
    made = wt.nan_to_num(t, nan=7.0, posinf=1.0, neginf=-2.0)
    check(made, np.nan_to_num(x, nan=7.0, posinf=1.0, neginf=-2.0))
    assert dispatches(lambda: wt.nan_to_num(t * 2)) == 1
    for other in (wt.asarray([1, 2]), wt.asarray([True, False])):
        assert wt.nan_to_num(other).tolist() == other.tolist()


def test_divmod() -> None:
    x, y = np.arange(-9, 9, dtype=np.int32), np.resize(np.array([3, -4, 5], np.int32), 18)
    calls: list[Callable[[], Any]] = [
        lambda: wt.divmod(wt.asarray(x), wt.asarray(y)),
        lambda: divmod(wt.asarray(x), y),
        lambda: divmod(x, wt.asarray(y)),
        lambda: np.divmod(wt.asarray(x), y),
    ]
    for call in calls:
        quotient, rest = call()
        check(quotient, x // y)
        check(rest, x % y)
    quotient, rest = divmod(7, wt.asarray(y))
    check(quotient, 7 // y)
    check(rest, 7 % y)
    with pytest.raises(wt.UnsupportedError, match="divmod"):
        np.divmod(wt.asarray(x), y, out=(x.copy(), x.copy()))


def test_other_names() -> None:
    """Each is the row itself, and listed."""
    for name, row in ALIASES.items():
        assert getattr(wt, name) is getattr(wt, row), name
        assert name in wt.__all__
        if hasattr(np, name):
            numpy = getattr(np, name)
            assert isinstance(numpy(*[wt.asarray([1])] * numpy.nin), wt.Tensor), name


def test_comparisons_with_integers_that_the_dtype_does_not_hold() -> None:
    """As NumPy: the answer is known, and nothing wraps."""
    for dtype in ("int8", "uint8", "int32", "uint32"):
        a = np.array([0, 1, 100], dtype)
        t = wt.asarray(a)
        for scalar in (2**40, -(2**40), 300, -300, 2**70, -(2**70)):
            for f in (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal):
                ours = getattr(wt, f.__name__)
                assert ours(t, scalar).tolist() == f(a, scalar).tolist(), (dtype, scalar, f)
                assert ours(scalar, t).tolist() == f(scalar, a).tolist(), (dtype, scalar, f)


UNCHANGED: list[tuple[str, Callable[[wt.Tensor], wt.Tensor]]] = [
    ("rot90", lambda x: wt.rot90(x, 4)),
    ("pad", lambda x: wt.pad(x, 0)),
    ("matrix_power", lambda x: wt.linalg.matrix_power(x, 1)),
    ("atleast_1d", wt.atleast_1d),
    ("atleast_2d", wt.atleast_2d),
    ("atleast_3d", lambda x: wt.atleast_3d(x.reshape(2, 2, 1)).reshape(2, 2)),
    ("roll", lambda x: wt.roll(x, 0)),
    ("tile", lambda x: wt.tile(x, 1)),
    ("flip", lambda x: wt.flip(x, axis=())),
    ("permute_dims", lambda x: wt.permute_dims(x, (0, 1))),
    ("reshape", lambda x: wt.reshape(x, (2, 2))),
    ("squeeze", wt.squeeze),
    ("broadcast_to", lambda x: wt.broadcast_to(x, (2, 2))),
    ("concat", lambda x: wt.concat([x])),
    ("clip", wt.clip),
    ("round", wt.round),
    ("nan_to_num", lambda x: wt.nan_to_num(x.astype("int32")).astype("float32")),
    ("astype", lambda x: x.astype("float32")),
    ("sum", lambda x: wt.sum(x, axis=())),
]


@pytest.mark.parametrize("change", [c for _, c in UNCHANGED], ids=[n for n, _ in UNCHANGED])
def test_results_are_tensors_of_their_own(change: Callable[[wt.Tensor], wt.Tensor]) -> None:
    """Also where nothing changes: an assignment to the result leaves the operand as it was."""
    x = wt.ones((2, 2))
    y = change(x)
    y[0] = 5
    assert x.tolist() == [[1, 1], [1, 1]]
    assert y.tolist() == [[5, 5], [1, 1]]


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "isposinf", "isneginf"])
def test_predicates_of_integers_are_no_literals(name: str) -> None:
    """Lavapipe compiled remainders of what was computed from one for ever."""
    x = wt.asarray(np.array([1, -8, 6, 3], np.int32))
    found = getattr(wt, name)(x)
    expected = float(name == "isfinite")
    assert found.tolist() == [bool(expected)] * 4
    check(wt.floor_divide(wt.tan(found), x), np.floor(np.tan(expected) / x.numpy()))


def test_promotion_of_three_is_that_of_any_order() -> None:
    """A float decides, also where two integers meet first."""
    operands = [wt.asarray(np.ones(3, d)) for d in ("uint32", "int32", "float32")]
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        made = wt.lerp(*(operands[i] for i in order))
        assert made.dtype == "float32"
        assert made.tolist() == [1, 1, 1]
