"""Matrix products: a grid of sizes, layouts, batches, vectors, integers, and what fuses to them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import LAYOUTS, dispatches, random_array, setting
from tolerances import check, near_sum

Array = np.ndarray[Any, Any]

GRID = [1, 2, 3, 4, 7, 8, 16, 17, 31, 32, 33, 64, 65, 100, 128, 129]


def expect(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(np.matmul(a.astype(np.float64), b.astype(np.float64)))
    return np.asarray(np.matmul(a, b))


def verify(a: Array, b: Array, x: wt.Tensor, y: wt.Tensor, name: str = "") -> None:
    result = x @ y
    name = f"{name} {a.dtype}{a.shape} @ {b.shape}"
    if a.dtype.kind == "f":
        magnitude = expect(np.abs(a), np.abs(b))
        near_sum(result, expect(a, b), magnitude, terms=a.shape[-1], name=name)
    else:
        check(result, expect(a, b), name=name)


@pytest.mark.parametrize("m", GRID)
def test_grid(m: int, rng: np.random.Generator) -> None:
    """For each M a changing part of all N and K: every pair of them occurs with some M."""
    at = GRID.index(m)
    for i, n in enumerate(GRID):
        for j in range(at % 4, len(GRID), 4):
            k = GRID[(i + j) % len(GRID)]
            a, b = random_array(rng, (m, k)), random_array(rng, (k, n))
            verify(a, b, wt.asarray(a), wt.asarray(b))


@pytest.mark.short
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(1, 1, 1), (2, 3, 4), (33, 17, 65), (64, 64, 64), (130, 70, 190), (5, 1000, 6), (257, 3, 2)],
)
def test_sizes(m: int, k: int, n: int, rng: np.random.Generator) -> None:
    for dtype in ("float32", "int32", "uint32"):
        a, b = random_array(rng, (m, k), dtype), random_array(rng, (k, n), dtype)
        verify(a, b, wt.asarray(a), wt.asarray(b))


@pytest.mark.parametrize("size", [256, 384, 500])
def test_large(size: int, rng: np.random.Generator) -> None:
    a, b = random_array(rng, (size, size + 3)), random_array(rng, (size + 3, size - 1))
    verify(a, b, wt.asarray(a), wt.asarray(b))


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_layouts(left: str, right: str, rng: np.random.Generator) -> None:
    for m, k, n in [(12, 20, 16), (9, 7, 5), (40, 33, 64)]:
        a, b = random_array(rng, (m, k)), random_array(rng, (k, n))
        verify(a, b, LAYOUTS[left](a), LAYOUTS[right](b), f"{left} {right}")


def test_transposed_operands_are_not_copied(rng: np.random.Generator) -> None:
    a, b = random_array(rng, (48, 64)), random_array(rng, (48, 64))
    x, y = wt.asarray(a), wt.asarray(b)
    assert dispatches(lambda: x.T @ y) == 1
    assert dispatches(lambda: x @ y.T) == 1
    assert dispatches(lambda: x[::2] @ y[1::3].T) == 1
    verify(a.T, b, x.T, y)
    verify(a, b.T, x, y.T)
    verify(a[::2], b[1::3].T, x[::2], y[1::3].T)


BATCHES = [
    ((3, 4, 5), (5, 6)),
    ((4, 5), (3, 5, 6)),
    ((3, 4, 5), (3, 5, 6)),
    ((1, 4, 5), (3, 5, 6)),
    ((2, 1, 4, 5), (3, 5, 6)),
    ((2, 3, 4, 8), (2, 3, 8, 12)),
    ((2, 1, 3, 4, 5), (2, 1, 5, 6)),
    ((5,), (5,)),
    ((5,), (5, 6)),
    ((4, 5), (5,)),
    ((5,), (3, 5, 6)),
    ((3, 4, 5), (5,)),
    ((1, 5), (5, 1)),
    ((4, 1), (1, 6)),
    ((7, 1, 5), (7, 5, 1)),
    ((70, 33, 17), (70, 17, 20)),
]


@pytest.mark.short
@pytest.mark.parametrize(("first", "second"), BATCHES)
def test_ranks_and_batches(
    first: tuple[int, ...], second: tuple[int, ...], rng: np.random.Generator
) -> None:
    for dtype in ("float32", "int32"):
        a, b = random_array(rng, first, dtype), random_array(rng, second, dtype)
        verify(a, b, wt.asarray(a), wt.asarray(b))


def test_batches_through_views(rng: np.random.Generator) -> None:
    a, b = random_array(rng, (3, 8, 6, 10)), random_array(rng, (8, 10, 5))
    x, y = wt.asarray(a), wt.asarray(b)
    for name, u, v, s, t in [
        (
            "permuted",
            a.transpose(1, 0, 2, 3),
            b[:, None],
            wt.permute_dims(x, (1, 0, 2, 3)),
            y[:, None],
        ),
        ("reversed", a[::-1, ::-2], b[::2], x[::-1, ::-2], y[::2]),
        ("broadcast", np.broadcast_to(a[:, :1], a.shape), b, x[:, :1].broadcast_to(a.shape), y),
        ("batch last", a.transpose(0, 2, 1, 3), b[:6], wt.permute_dims(x, (0, 2, 1, 3)), y[:6]),
        ("shifted", a[:, 1:, 1:, 2:], b[1:, 2:, 1:], x[:, 1:, 1:, 2:], y[1:, 2:, 1:]),
        ("rows apart", a[..., ::2, :], b[..., ::-1], x[..., ::2, :], y[..., ::-1]),
    ]:
        verify(u, v, s, t, name)
    same = wt.asarray(np.ones((), np.float32)).broadcast_to((4, 7))
    check(same @ same.T, np.full((4, 4), 7, np.float32))


@pytest.mark.short
def test_nothing_to_multiply() -> None:
    for first, second in [
        ((3, 0), (0, 4)),
        ((0, 5), (5, 4)),
        ((3, 5), (5, 0)),
        ((0, 0), (0, 0)),
        ((0, 3, 5), (5, 4)),
        ((2, 3, 0), (0, 4)),
        ((0,), (0,)),
        ((0,), (0, 3)),
    ]:
        for dtype in ("float32", "int32"):
            a, b = np.ones(first, dtype), np.ones(second, dtype)
            result = wt.asarray(a) @ wt.asarray(b)
            check(result, a @ b, name=f"{first} {second}")
            check(result + 1, a @ b + np.ones((), dtype), name=f"{first} {second}")


def test_integers_wrap(rng: np.random.Generator) -> None:
    for dtype in ("int32", "uint32"):
        for shape in [(5, 30), (40, 33), (1, 64)]:
            info = np.iinfo(dtype)
            a = rng.integers(info.min, info.max, shape, dtype=dtype)
            b = rng.integers(info.min, info.max, (shape[1], 19), dtype=dtype)
            verify(a, b, wt.asarray(a), wt.asarray(b))
    x = wt.asarray(np.array([[1, 2], [3, 4]], np.int32))
    assert (x @ wt.ones((2, 2))).dtype == "float32"


def test_nan_and_infinity() -> None:
    for m, n in [(4, 4), (33, 20), (1, 5)]:
        a, b = np.ones((m, 24), np.float32), np.ones((24, n), np.float32)
        a[0, 3], b[5, n - 1], a[m - 1, 20] = np.inf, -np.inf, np.nan
        verify(a, b, wt.asarray(a), wt.asarray(b))


# ---- fused work ---------------------------------------------------------------------------------

SHAPES = [(8, 16, 12), (33, 20, 7), (64, 48, 32), (100, 10, 1), (1, 40, 30), (130, 64, 260)]


@pytest.mark.parametrize(("m", "k", "n"), SHAPES)
def test_epilogues(m: int, k: int, n: int, rng: np.random.Generator) -> None:
    a, b = random_array(rng, (m, k)), random_array(rng, (k, n))
    bias, residual, column = (
        random_array(rng, (n,)),
        random_array(rng, (m, n)),
        random_array(rng, (m, 1)),
    )
    x, y, tb, tr, tc = (wt.asarray(v) for v in (a, b, bias, residual, column))
    e, magnitude = expect(a, b), expect(np.abs(a), np.abs(b))
    for name, make, expected in [
        ("bias relu", lambda: wt.relu(x @ y + tb), np.maximum(e + bias, 0)),
        ("residual", lambda: x @ y + tr, e + residual),
        (
            "all",
            lambda: wt.relu(x @ y * 0.5 + tb) - tr * tc,
            np.maximum(e * 0.5 + bias, 0) - residual * column,
        ),
        ("compare", lambda: wt.where(x @ y > tr, tr, x @ y), np.minimum(e, residual)),
        ("transposed", lambda: (x @ y).T + tc.T, e.T + column.T),
        ("sliced", lambda: (x @ y)[::-1, 1:] * 2, e[::-1, 1:] * 2),
        ("twice", lambda: (x @ y) * (x @ y), e * e),
    ]:
        allowed = magnitude + np.abs(residual) + np.abs(bias) + np.abs(residual * column)
        if name == "transposed":
            allowed = allowed.T
        if name == "sliced":
            allowed = allowed[::-1, 1:] * 2
        if name == "twice":
            allowed = magnitude * magnitude * 2
        near_sum(make(), expected, allowed, terms=k, name=f"{name} {m} {k} {n}")


@pytest.mark.short
def test_fused_epilogues_are_one_dispatch(rng: np.random.Generator) -> None:
    x = wt.asarray(random_array(rng, (64, 40)))
    w = wt.asarray(random_array(rng, (40, 32)))
    b = wt.asarray(random_array(rng, (32,)))
    r = wt.asarray(random_array(rng, (64, 32)))
    assert dispatches(lambda: wt.relu(x @ w + b)) == 1
    assert dispatches(lambda: x @ w * 2 + b + r) == 1
    assert dispatches(lambda: wt.tanh(x @ w + b) @ w.T) == 2


def test_two_products_in_one_expression(rng: np.random.Generator) -> None:
    a, b, c, d = (random_array(rng, (24, 24)) for _ in range(4))
    x, y, z, u = (wt.asarray(v) for v in (a, b, c, d))
    e = expect(a, b) + expect(c, d)
    magnitude = expect(abs(a), abs(b)) + expect(abs(c), abs(d))
    near_sum(x @ y + z @ u, e, magnitude, terms=48)
    near_sum(
        wt.relu(x @ y - z @ u), np.maximum(expect(a, b) - expect(c, d), 0), magnitude, terms=48
    )
    p = x @ y
    near_sum(p + p.T, expect(a, b) + expect(a, b).T, magnitude * 3, terms=48)
    chain = (x @ y) @ (z @ u)
    e = expect(expect(a, b), expect(c, d))
    np.testing.assert_allclose(chain.numpy(), e, rtol=1e-4, atol=1e-3)


@pytest.mark.short
def test_one_operand_twice(rng: np.random.Generator) -> None:
    a = random_array(rng, (36, 36))
    x = wt.asarray(a)
    verify(a, a, x, x)
    verify(a, a.T, x, x.T)
    verify(a.T, a, x.T, x)
    near_sum(x @ x + x, expect(a, a) + a, expect(abs(a), abs(a)) + abs(a), terms=36)
    near_sum(x @ x + x.T, expect(a, a) + a.T, expect(abs(a), abs(a)) + abs(a.T), terms=36)
    y = wt.asarray(a) * 2
    near_sum(y @ y, expect(a * 2, a * 2), expect(abs(a), abs(a)) * 4, terms=36)


def test_operands_that_are_expressions(rng: np.random.Generator) -> None:
    a, b = random_array(rng, (20, 30)), random_array(rng, (30, 25))
    x, y = wt.asarray(a), wt.asarray(b)
    near_sum(
        (x * 2 + 1) @ (y - 0.5),
        expect(a * 2 + 1, b - np.float32(0.5)),
        expect(abs(a) * 2 + 1, abs(b) + 0.5),
        terms=30,
    )
    s = x.softmax(axis=-1) @ y.softmax(axis=0)
    p, q = np.exp(a) / np.exp(a).sum(-1, keepdims=True), np.exp(b) / np.exp(b).sum(0)
    np.testing.assert_allclose(s.numpy(), p @ q, rtol=1e-5)
    total = (x @ y).sum(axis=1, keepdims=True) / (x @ y).max()
    e = expect(a, b)
    np.testing.assert_allclose(
        total.numpy(), e.sum(1, keepdims=True) / e.max(), rtol=1e-4, atol=1e-4
    )


def test_unfused_agrees(rng: np.random.Generator) -> None:
    a, b, c = random_array(rng, (20, 30)), random_array(rng, (30, 25)), random_array(rng, (25,))
    x, y, z = (wt.asarray(v) for v in (a, b, c))
    fused = wt.tanh(x @ y * 0.1 + z).numpy()
    with setting(max_fusion=1):
        assert dispatches(lambda: wt.tanh(x @ y * 0.1 + z)) == 4
        apart = wt.tanh(x @ y * 0.1 + z).numpy()
    np.testing.assert_allclose(fused, apart, rtol=1e-5, atol=1e-6)


def test_numpy_on_either_side(rng: np.random.Generator) -> None:
    a, b = random_array(rng, (5, 6), "int32"), random_array(rng, (6, 7), "int32")
    for result in (
        a @ wt.asarray(b),
        wt.asarray(a) @ b,
        wt.matmul(a, b),
        np.matmul(a, wt.asarray(b)),
    ):
        assert isinstance(result, wt.Tensor)
        check(result, a @ b)
    x = wt.asarray(a[:, :5])
    x @= wt.asarray(b[:5, :5])
    check(x, a[:, :5] @ b[:5, :5])


def test_every_batch_pattern(rng: np.random.Generator) -> None:
    """Batches of 1 and 3 on either side, in every combination of two axes."""
    for s1, s2 in itertools.product(itertools.product((1, 3), repeat=2), repeat=2):
        a, b = random_array(rng, (*s1, 5, 6), "int32"), random_array(rng, (*s2, 6, 4), "int32")
        verify(a, b, wt.asarray(a), wt.asarray(b))
