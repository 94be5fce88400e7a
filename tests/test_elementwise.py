"""Every row of the elementwise table: every dtype, layout and kind of scalar, against NumPy.

Parametrised from the table that the package was built with: a new row is tested with no edit here.
Its `domain` says where operands are drawn; its reference, evaluated in float64, what is right.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import DTYPES, LAYOUTS, dispatches
from references import ROWS, Array, Row, flushed
from tolerances import check, tolerance

CASES = [(row, dtype) for row in ROWS for dtype in DTYPES if row.takes(dtype)]
each_case = pytest.mark.parametrize(
    ("row", "dtype"), CASES, ids=[f"{row.name}-{dtype}" for row, dtype in CASES]
)
#: every driver computes every row in float32, or in what it has
each_case_some_short = pytest.mark.parametrize(
    ("row", "dtype"),
    [
        pytest.param(
            row, dtype, id=f"{row.name}-{dtype}", marks=[pytest.mark.short] * (dtype == "float32")
        )
        for row, dtype in CASES
    ],
)
INT_SPECIAL = {
    "int32": [0, 1, -1, 2, -2, 7, -7, 31, 32, 33, 2**31 - 1, -(2**31), -(2**31) + 1, 65536],
    "uint32": [0, 1, 2, 7, 31, 32, 33, 2**31 - 1, 2**31, 2**32 - 1, 65536],
}
FLOAT_SPECIAL = [
    0.0,
    -0.0,
    np.nan,
    np.inf,
    -np.inf,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    1000.0,
    -1000.0,
    3.4028235e38,
    -3.4028235e38,
    1.1754944e-38,
    -1.1754944e-38,
    1e-45,
    -3e-39,
    16777216.0,
    2147483648.0,
]


def draw(rng: np.random.Generator, domain: str, position: int, shape: Any, dtype: str) -> Array:
    """Ordinary operands of a domain."""
    if dtype == "bool" or (domain == "cond" and position == 0):
        return rng.random(shape) < 0.5
    if dtype != "float32":
        low = {"positive": 0, "shift": 0, "nonzero": 1}.get(domain, -100)
        high = {"shift": 40, "exponent": 80, "unit": 2, "positive": 12}.get(domain, 100)
        values = rng.integers(0 if dtype == "uint32" else low, high, shape).astype(dtype)
        if domain == "nonzero":
            if dtype == "int32":
                values *= rng.choice(np.array([-1, 1], dtype), shape)
            values[values == 0] = 1
        return values
    if domain == "positive":
        return rng.uniform(0.01, 20, shape).astype(np.float32)
    if domain == "unit":
        return rng.uniform(-1, 1, shape).astype(np.float32)
    if domain == "angle":
        return (rng.uniform(-1, 1, shape) * 10.0 ** rng.integers(-3, 5, shape)).astype(np.float32)
    if domain == "exponent":
        return rng.uniform(-80, 80, shape).astype(np.float32)
    if domain == "nonzero":
        return (rng.uniform(0.1, 30, shape) * rng.choice([-1, 1], shape)).astype(np.float32)
    if domain in ("int", "shift"):
        return rng.integers(-5 if domain == "int" else 0, 6, shape).astype(np.float32)
    return (rng.standard_normal(shape) * 10).astype(np.float32)


def verify(row: Row, operands: list[Array], result: wt.Tensor, name: str) -> None:
    """Against the reference.

    Where every true result is a float32, as of floor or maximum, results are exact. Else an error
    of the last places is allowed, and what the same error of an operand would make of the result.
    """
    compute = [
        o if row.rule == "select" and i == 0 else _converted(row, o) for i, o in enumerate(operands)
    ]
    expected = row.reference(compute)
    allowed: Any = 0.0
    if np.dtype(result.dtype.name).kind == "f":
        exact = expected.astype(np.float32)
        finite = np.isfinite(expected)
        if not np.array_equal(exact[finite].astype(np.float64), expected[finite]):
            allowed = _allowed(row, compute, expected)
        if np.abs(expected[finite]).max(initial=0) > 3.4e38:
            # At the edge of the range a last place decides between the largest number and infinity.
            got = result.numpy()
            edge = finite & (np.abs(expected) > 3.40e38) & np.isinf(got)
            expected = np.where(edge, np.sign(expected) * np.inf, expected)
    actual = result.numpy()
    if actual.dtype.kind == "f" or any(o.dtype.kind == "f" for o in compute):
        alternative = row.reference([flushed(o) for o in compute])
        if not np.array_equal(alternative, expected, equal_nan=True):
            for choice in (expected, alternative):
                same = np.asarray(actual == choice) | (np.isnan(actual) & np.isnan(choice))
                close = np.abs(actual - choice.astype(np.float64)) <= allowed
                expected = np.where(same | close, choice, expected)
    check(actual, expected, allowed=allowed, name=name)


def _converted(row: Row, operand: Array) -> Array:
    return operand.astype(row.computes_in(operand.dtype.name))


def _allowed(row: Row, operands: list[Array], expected: Array) -> Array:
    allowed = tolerance("float32").relative * np.abs(expected)
    for i, operand in enumerate(operands):
        if operand.dtype.kind != "f":
            continue
        for factor in (1 - 1.2e-7, 1 + 1.2e-7):
            moved = [o.astype(np.float64) if o.dtype.kind == "f" else o for o in operands]
            moved[i] = moved[i] * factor
            change = np.abs(row.reference(moved) - expected)
            smooth = change <= 1e-3 * np.abs(expected)  # else a jump, which no rounding excuses
            allowed = allowed + np.where(smooth & np.isfinite(change), change, 0)
    return np.where(np.isfinite(expected), allowed, 0.0)


@each_case
def test_layouts(row: Row, dtype: str, rng: np.random.Generator) -> None:
    shape = (6, 5, 8)
    for name, make in LAYOUTS.items():
        arrays = [draw(rng, row.domain, i, shape, dtype) for i in range(row.arity)]
        result = row.function(*(make(a) for a in arrays))
        assert result.dtype == row.result(dtype)
        verify(row, arrays, result, f"{row.name} {dtype} {name}")


@each_case
def test_broadcasting(row: Row, dtype: str, rng: np.random.Generator) -> None:
    shapes = [(3, 1, 5), (4, 1), (5,)]
    for order in ([0, 1, 2], [2, 0, 1]):
        arrays = [draw(rng, row.domain, i, shapes[order[i]], dtype) for i in range(row.arity)]
        result = row.function(*(wt.asarray(a) for a in arrays))
        verify(row, arrays, result, f"{row.name} {dtype} {[a.shape for a in arrays]}")
    repeated = draw(rng, row.domain, 0, (7, 1), dtype)
    arrays = [draw(rng, row.domain, i, (7, 3), dtype) for i in range(row.arity)]
    arrays[0] = np.broadcast_to(repeated, (7, 3))
    result = row.function(
        wt.asarray(repeated).broadcast_to((7, 3)), *(wt.asarray(a) for a in arrays[1:])
    )
    verify(row, arrays, result, f"{row.name} {dtype} broadcast_to")


@each_case
def test_small_shapes(row: Row, dtype: str, rng: np.random.Generator) -> None:
    for shape in [(), (1,), (3,), (0,), (2, 0, 3), (1, 1)]:
        arrays = [draw(rng, row.domain, i, shape, dtype) for i in range(row.arity)]
        result = row.function(*(wt.asarray(a) for a in arrays))
        assert result.shape == shape
        assert result.dtype == row.result(dtype)
        verify(row, [np.asarray(a) for a in arrays], result, f"{row.name} {dtype} {shape}")


@each_case_some_short
def test_special_values(row: Row, dtype: str) -> None:
    if dtype == "bool":
        special = np.array([False, True])
    elif dtype == "float32":
        special = np.array(FLOAT_SPECIAL, np.float32)
    else:
        special = np.array(INT_SPECIAL[dtype], dtype)
    grids = np.meshgrid(*([special] * row.arity), indexing="ij")
    arrays = [np.ascontiguousarray(g).reshape(-1) for g in grids]
    if row.rule == "select":
        arrays[0] = arrays[0] != 0
    if row.name == "pow" and dtype == "int32":
        keep = arrays[1] >= 0  # NumPy refuses negative whole exponents
        arrays = [a[keep] for a in arrays]
    result = row.function(*(wt.asarray(a) for a in arrays))
    verify(row, arrays, result, f"{row.name} {dtype}")


SCALARS: list[Any] = [
    True,
    3,
    2.5,
    np.bool_(True),
    np.int64(3),
    np.uint8(3),
    np.float32(2.5),
    np.float64(2.5),
]


def weak(dtype: str, scalar: Any) -> str:
    """The dtype that a tensor and a scalar meet in."""
    kind = np.asarray(scalar).dtype.kind
    if kind == "f" or dtype == "float32":
        return "float32"
    if dtype == "bool":
        return "bool" if kind == "b" else "int32"
    return dtype


BINARY = [(row, dtype) for row, dtype in CASES if row.arity == 2]


@pytest.mark.parametrize(
    ("row", "dtype"), BINARY, ids=[f"{row.name}-{dtype}" for row, dtype in BINARY]
)
def test_scalars(row: Row, dtype: str, rng: np.random.Generator) -> None:
    a = draw(rng, row.domain, 0, (11,), dtype)
    t = wt.asarray(a)
    for scalar in SCALARS:
        common = weak(dtype, scalar)
        if not row.takes(common) or (row.rule == "bits" and common == "float32"):
            with pytest.raises(wt.DTypeError, match=row.name):
                row.function(t, scalar)
            continue
        filled = np.full(a.shape, scalar).astype(common)
        for left in (False, True):
            operands = [filled, a.astype(common)] if left else [a.astype(common), filled]
            result = row.function(scalar, t) if left else row.function(t, scalar)
            assert result.dtype == row.result(common), (scalar, left)
            verify(row, operands, result, f"{row.name} {dtype} with {scalar!r} left={left}")


OPERATORS = [row for row in ROWS if row.dunder]


@pytest.mark.short
@pytest.mark.parametrize("row", OPERATORS, ids=[row.name for row in OPERATORS])
def test_operators_and_methods(row: Row, rng: np.random.Generator) -> None:
    dtype = "float32" if "f" in row.kinds else "int32"
    arrays = [draw(rng, row.domain, i, (4, 3), dtype) for i in range(row.arity)]
    tensors = [wt.asarray(a) for a in arrays]
    dunder = f"__{row.dunder}__"
    verify(row, arrays, getattr(tensors[0], dunder)(*tensors[1:]), dunder)
    verify(row, arrays, getattr(tensors[0], row.name)(*tensors[1:]), row.name)
    if row.arity == 1:
        return
    verify(row, arrays, getattr(tensors[0], dunder)(arrays[1]), f"{dunder} with an array")
    symbol = getattr(operator, row.dunder, None) or getattr(operator, row.dunder + "_")
    mixed = symbol(arrays[0], tensors[1])
    assert isinstance(mixed, wt.Tensor)
    verify(row, arrays, mixed, f"array {row.dunder} tensor")
    scalar = arrays[0].flat[0]
    for left in (scalar, scalar.item()):
        filled = np.full_like(arrays[1], scalar)
        verify(row, [filled, arrays[1]], symbol(left, tensors[1]), f"{left!r} {row.dunder} tensor")
    if row.rule != "compare":
        verify(row, arrays, getattr(tensors[1], f"__r{row.dunder}__")(arrays[0]), "reflected")
        if row.result(dtype) == dtype:
            handle = tensors[0]
            changed = getattr(handle, f"__i{row.dunder}__")(tensors[1])
            assert changed is handle
            verify(row, arrays, handle, "in place")


LOGICAL = [row for row in ROWS if row.rule == "logical" and row.arity == 2]


@pytest.mark.parametrize("row", LOGICAL, ids=[row.name for row in LOGICAL])
def test_truth_of_any_two_dtypes(row: Row, rng: np.random.Generator) -> None:
    for first, second in itertools.product(DTYPES, DTYPES):
        a = draw(rng, "int", 0, (4, 5), first)
        b = draw(rng, "int", 1, (5,), second)
        verify(row, [a, b], row.function(wt.asarray(a), wt.asarray(b)), f"{first} {second}")


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_one_kernel_whatever_the_dtype(row: Row, rng: np.random.Generator) -> None:
    """Casts of operands fuse: mixed dtypes and a bool result are still one dispatch."""
    arrays = [draw(rng, row.domain, i, (8, 8), "int32") for i in range(row.arity)]
    tensors = [wt.asarray(a) for a in arrays]
    if row.rule not in ("bits", "select") and "f" in row.kinds and row.arity == 2:
        tensors[1] = tensors[1].astype("float32").eval()
    assert dispatches(lambda: row.function(*tensors)) == 1


def test_signs_of_zero_survive() -> None:
    zeros = np.array([0.0, -0.0], np.float32)
    t = wt.asarray(zeros)
    for name, made, expected in [
        ("positive", wt.positive(t), zeros),
        ("negative", wt.negative(t), -zeros),
        ("abs", wt.abs(t), np.abs(zeros)),
        ("where", wt.where(wt.asarray(np.array([True, False])), t, t), zeros),
        *((name, getattr(wt, name)(t), zeros) for name in ("floor", "ceil", "trunc", "rint")),
        ("ceil of -0.5", wt.ceil(t - 0.5), np.array([-0.0, -0.0], np.float32)),
        ("round", wt.round(t, 2), zeros),
        ("copysign", wt.copysign(wt.abs(t), t), zeros),
        ("clip", wt.clip(t, -1, 1), zeros),
        ("sqrt", wt.sqrt(t), zeros),
        ("copy", t[::-1].copy(), zeros[::-1]),
    ]:
        assert np.array_equal(np.signbit(made.numpy()), np.signbit(expected)), name


def test_casts(rng: np.random.Generator) -> None:
    values = {
        "float32": np.array([0.0, -0.0, 1.9, -1.9, 100.5, 16777216.0, 0.001], np.float32),
        "int32": np.array([0, 1, -1, 2**31 - 1, -(2**31), 16777217, 5], np.int32),
        "uint32": np.array([0, 1, 2**31, 2**32 - 1, 16777217, 5, 7], np.uint32),
        "bool": np.array([True, False, True, True, False, False, True]),
    }
    for source, target in itertools.product(DTYPES, DTYPES):
        a = values[source]
        if target == "uint32" and source == "float32":
            a = np.abs(a)
        for make in (LAYOUTS["contiguous"], LAYOUTS["negative"], LAYOUTS["sliced"]):
            check(make(a).astype(target), a.astype(target), name=f"{source} to {target}")
    nans = wt.asarray(np.array([np.nan, np.inf, 0.0], np.float32))
    assert nans.astype("bool").tolist() == [True, True, False]


def test_three_operands_of_three_shapes(rng: np.random.Generator) -> None:
    cond, x, y = rng.random((4, 1)) < 0.5, rng.random((1, 6)), rng.random((3, 4, 1))
    x, y = x.astype(np.float32), y.astype(np.float32)
    check(wt.where(wt.asarray(cond), wt.asarray(x), wt.asarray(y)), np.where(cond, x, y))
    check(wt.where(wt.asarray(cond), 1.5, wt.asarray(y)), np.where(cond, np.float32(1.5), y))
    check(wt.where(wt.asarray(cond), wt.asarray(x), 0), np.where(cond, x, np.float32(0)))
    numbers = rng.integers(-1, 2, (4, 1), dtype=np.int32)
    check(wt.where(wt.asarray(numbers), 1, 2), np.where(numbers, np.int32(1), np.int32(2)))
