"""unique and its kin, isin and set operations against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sort_references as reference
import wgtensor as wt
from helpers import ALL_DTYPES, LAYOUTS, device_has, same_bits
from tolerances import check

pytestmark = pytest.mark.limits

OPERATIONS = ["intersect1d", "union1d", "setdiff1d", "setxor1d"]


def verify(a: reference.Array, t: wt.Tensor) -> None:
    """NumPy's unique with each NaN apart; values are those that stand first, bit by bit."""
    _, first, counts = np.unique(
        reference.comparable(a), return_index=True, return_counts=True, equal_nan=False
    )
    u = wt.unique_all(t)
    same_bits(u.values, a.reshape(-1)[first])
    check(u.indices, first.astype(np.int32))
    check(u.counts, counts.astype(np.int32))
    assert u.inverse_indices.shape == a.shape
    same = u.values.numpy()[u.inverse_indices.numpy()]
    np.testing.assert_array_equal(reference.comparable(same), reference.comparable(a))
    values = reference.comparable(a.reshape(-1)[first])
    np.testing.assert_array_equal(reference.comparable(wt.unique_values(t).numpy()), values)
    v, c = wt.unique_counts(t)
    np.testing.assert_array_equal(reference.comparable(v.numpy()), values)
    check(c, counts.astype(np.int32))
    v, i = wt.unique_inverse(t)
    check(i, u.inverse_indices.numpy())


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_dtypes(dtype: str, rng: np.random.Generator) -> None:
    if not device_has(dtype):
        pytest.skip("the adapter has no such dtype")
    for shape in [(1,), (2,), (33,), (7, 9), (4097,), (3, 4, 5)]:
        a = reference.disorder(rng, shape, dtype)
        verify(a, wt.asarray(a))


def test_sizes(rng: np.random.Generator) -> None:
    for n in (1, 2, 31, 32, 33, 127, 128, 1025, 70_001):
        for few in (1, 5, n):
            a = rng.integers(0, few, n).astype(np.int32)
            verify(a, wt.asarray(a))


def test_each_nan_has_a_place_of_its_own() -> None:
    a = np.array([np.nan, 1, np.nan, 2, np.nan, 1], np.float32)
    u = wt.unique_all(a)
    assert sorted(u.inverse_indices.tolist()) == [0, 0, 1, 2, 3, 4]
    check(u.counts, np.array([2, 1, 1, 1, 1], np.int32))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, rng: np.random.Generator) -> None:
    a = rng.integers(0, 9, (6, 8, 10)).astype(np.float32)
    verify(a, LAYOUTS[layout](a))


@pytest.mark.parametrize("equal_nan", [False, True])
def test_unique(equal_nan: bool) -> None:
    a = np.array([[3, np.nan, 1], [np.nan, 1, -0.0], [0.0, 3, 3]], np.float32)
    options: dict[str, Any] = {"equal_nan": equal_nan}
    check(wt.unique(a, **options), np.unique(a, **options))
    names = ("return_index", "return_inverse", "return_counts")
    for chosen in ([0], [1], [2], [0, 2], [0, 1, 2]):
        flags = {names[i]: True for i in chosen}
        got, expected = wt.unique(a, **flags, **options), np.unique(a, **flags, **options)
        for x, y in zip(got[1:], expected[1:], strict=True):
            check(x, y.astype(np.int32))


def test_parts_along_an_axis(rng: np.random.Generator) -> None:
    for shape in [(40, 3), (5, 4, 3), (1, 2), (30,), (0, 3), (4, 0)]:
        a = rng.integers(0, 2, shape).astype(np.int32)
        for axis in range(-1, a.ndim):
            e = np.unique(a, True, True, True, axis=axis)
            u = wt.unique(a, True, True, True, axis=axis)
            check(u[0], e[0], name=f"{shape} {axis}")
            for x, y in zip(u[1:], e[1:], strict=True):
                check(x, y.astype(np.int32), name=f"{shape} {axis}")
            check(wt.unique(a, axis=axis), e[0])


def test_gradients() -> None:
    """They go to the elements that stand first."""
    x = wt.asarray([3.0, 1.0, 3.0, 2.0, 1.0]).requires_grad_()
    (wt.unique_values(x) * wt.asarray([1.0, 10.0, 100.0])).sum().backward()
    check(x.grad, np.array([100, 1, 0, 10, 0], np.float32))
    x = wt.asarray([3.0, 1.0, 2.0]).requires_grad_()
    wt.setdiff1d(x, [1.0]).sum().backward()
    check(x.grad, np.array([1, 0, 1], np.float32))


def test_nothing() -> None:
    for shape in [(0,), (3, 0)]:
        a = np.zeros(shape, np.float32)
        verify(a, wt.asarray(a))
        check(wt.unique(a), np.unique(a))
        check(wt.isin(a, [1.0]), np.isin(a, [1.0]))
        check(wt.isin([1.0, 2.0], a), np.array([False, False]))
        for op in OPERATIONS:
            check(getattr(wt, op)(a, np.ones(2, "f4")), getattr(np, op)(a, np.ones(2, "f4")))
            check(getattr(wt, op)(np.ones(2, "f4"), a), getattr(np, op)(np.ones(2, "f4"), a))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "uint16", "float16", "float32"])
def test_isin(dtype: str, rng: np.random.Generator) -> None:
    for n, m in [(1, 1), (100, 3), (3000, 700), (50, 5000)]:
        a, b = (reference.disorder(rng, (k,), dtype) for k in (n, m))
        b[: n // 2] = a[: m // 2][: len(b[: n // 2])] if n <= 2 * m else b[0]
        check(wt.isin(a, b), np.isin(a, b))
        check(wt.isin(a, b, invert=True), np.isin(a, b, invert=True))
    check(wt.isin(wt.asarray([[1, 2], [3, 4]]), 3), np.array([[False, False], [True, False]]))
    check(wt.isin(wt.asarray([1, 2]), 1.5), np.array([False, False]))


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8", "int16"])
def test_set_operations(op: str, dtype: str, rng: np.random.Generator) -> None:
    for n, m in [(1, 1), (5, 40), (300, 300), (5000, 70)]:
        a, b = (rng.integers(0, 100, k).astype(dtype) for k in (n, m))
        check(getattr(wt, op)(a, b), getattr(np, op)(a, b))
        check(getattr(wt, op)(a.reshape(-1, 1), wt.asarray(b)[::-1]), getattr(np, op)(a, b))
    if dtype == "float32":
        a, b = np.array([1, np.nan, np.nan, 2, -0.0], "f4"), np.array([2, np.nan, 0.0, 7], "f4")
        check(getattr(wt, op)(a, b), getattr(np, op)(a, b))
    if op != "union1d":
        a, b = (rng.permutation(200)[:90].astype(dtype) for _ in range(2))
        e = getattr(np, op)(a, b, assume_unique=True)
        check(getattr(wt, op)(a, b, assume_unique=True), e)


def test_places_of_what_both_have(rng: np.random.Generator) -> None:
    for n in (3, 200, 5000):
        a, b = (rng.integers(0, 150, k).astype(np.int32) for k in (n, 300))
        got = wt.intersect1d(a, b, return_indices=True)
        for x, y in zip(got, np.intersect1d(a, b, return_indices=True), strict=True):
            check(x, y.astype(np.int32))


def test_dtypes_promote() -> None:
    r = wt.union1d(wt.asarray([1, 2], dtype="int8"), wt.asarray([2.5], dtype="float32"))
    check(r, np.array([1, 2, 2.5], np.float32))


@given(st.lists(st.integers(-5, 5), max_size=60), st.lists(st.integers(-5, 5), max_size=60))
def test_any_sets(x: list[int], y: list[int]) -> None:
    a, b = (np.array(v, np.int32) for v in (x, y))
    for op in OPERATIONS:
        check(getattr(wt, op)(a, b), getattr(np, op)(a, b))
    check(wt.isin(a, b), np.isin(a, b))
