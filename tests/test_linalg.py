"""Products above matmul, and norms: NumPy's values, and how many kernels they take."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import dispatches, random_array
from products import verify, wide
from tolerances import check, near

Array = np.ndarray[Any, Any]


# ---- products -----------------------------------------------------------------------------------


@pytest.mark.short
def test_vecdot(rng: np.random.Generator) -> None:
    for first, second, axis in [
        ((5,), (5,), -1),
        ((3, 5), (5,), -1),
        ((3, 1, 5), (4, 5), -1),
        ((5, 3), (5, 3), 0),
        ((2, 5, 3), (5, 3), -2),
        ((0,), (0,), -1),
        ((3, 0), (3, 0), -1),
    ]:
        for dtype in ("float32", "int32"):
            a, b = random_array(rng, first, dtype), random_array(rng, second, dtype)

            def expected(u: Array, v: Array, axis: int = axis) -> Array:
                return np.asarray((np.moveaxis(u, axis, -1) * np.moveaxis(v, axis, -1)).sum(-1))

            verify(
                lambda x, y, axis=axis: wt.vecdot(x, y, axis=axis),
                expected,
                a,
                b,
                name=f"{first} {second} {axis}",
            )
    x = wt.ones((4, 5))
    assert dispatches(lambda: wt.vecdot(x, x + 1)) == 1
    for wrong, error in [
        (lambda: wt.vecdot(x, wt.ones(4)), wt.ShapeError),
        (lambda: wt.vecdot(x, wt.ones((3, 5))), wt.ShapeError),
        (lambda: wt.vecdot(wt.ones(()), x), wt.ShapeError),
        (lambda: wt.vecdot(x > 0, x > 0), wt.DTypeError),
        (lambda: wt.vecdot(x, x, axis=2), IndexError),
    ]:
        with pytest.raises(error):
            wrong()


def test_tensordot(rng: np.random.Generator) -> None:
    for first, second, axes in [
        ((3, 4), (4, 5), 1),
        ((2, 3, 4), (3, 4, 5), 2),
        ((2, 3), (4, 5), 0),
        ((2, 3, 4), (4, 3, 2), ([0, 1], [2, 1])),
        ((2, 3, 4), (4, 3, 2), ((1,), (1,))),
        ((2, 3), (3, 2), (0, 1)),
        ((2, 3), (3, 2), ((-1, 0), (0, -1))),
        ((2, 3), (2, 3), 0),
        ((), (3,), 0),
        ((2, 0), (0, 3), 1),
    ]:
        for dtype in ("float32", "int32"):
            a, b = random_array(rng, first, dtype), random_array(rng, second, dtype)
            verify(
                lambda x, y, axes=axes: wt.tensordot(x, y, axes=axes),
                lambda u, v, axes=axes: np.tensordot(u, v, axes),
                a,
                b,
                name=f"{first} {second} {axes}",
            )
    x = wt.asarray(np.ones((2, 3, 4), np.float32))
    assert dispatches(lambda: wt.tensordot(x, x, axes=((0,), (0,)))) == 1
    for axes, error in [
        (1, wt.ShapeError),
        (4, wt.ShapeError),
        (-1, wt.ShapeError),
        (((0, 0), (0, 0)), ValueError),
        (((0, 1), (0,)), wt.ShapeError),
        (((0,),), ValueError),
        (((3,), (0,)), IndexError),
    ]:
        with pytest.raises(error):
            wt.tensordot(x, x, axes=axes)


def cross(a: Array, b: Array, axis: int) -> Array:
    """np.cross, also of vectors of 2 elements, which lie in a plane (NumPy 2.5 refuses them)."""
    a, b = (np.moveaxis(v, axis, -1) for v in (a, b))
    flat = a.shape[-1] == b.shape[-1] == 2
    a, b = (np.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, 3 - v.shape[-1])]) for v in (a, b))
    c = np.cross(a, b)
    return np.asarray(c[..., 2] if flat else np.moveaxis(c, -1, axis))


def test_other_products(rng: np.random.Generator) -> None:
    shapes = [((4,), (4,)), ((3, 4), (4,)), ((2, 3, 4), (5, 4)), ((), (3,)), ((2, 4), ())]
    for dtype in ("float32", "int32"):
        for first, second in shapes:
            a, b = random_array(rng, first, dtype), random_array(rng, second, dtype)
            verify(wt.inner, np.inner, a, b, name=f"inner {first} {second}")
            verify(wt.outer, np.outer, a, b, name=f"outer {first} {second}")
            verify(wt.kron, np.kron, a, b, name=f"kron {first} {second}")
        for first, second in [*shapes[:2], ((4, 3), (3, 4)), ((2, 4), (3, 4, 5)), *shapes[3:]]:
            a, b = random_array(rng, first, dtype), random_array(rng, second, dtype)
            verify(wt.dot, np.dot, a, b, name=f"dot {first} {second}")
            verify(wt.Tensor.dot, np.dot, a, b, name=f"dot {first} {second}")
        for first, second, axis in [
            ((3,), (3,), -1),
            ((4, 3), (3,), -1),
            ((2, 3, 4), (2, 3, 4), 1),
            ((3, 5), (3, 5), 0),
            ((3, 5), (3,), 0),
            ((2,), (2,), -1),
            ((4, 2), (3,), -1),
            ((5, 3), (4, 5, 2), -1),
            ((2, 5), (2, 5), 0),
        ]:
            a, b = random_array(rng, first, dtype), random_array(rng, second, dtype)
            e = cross(wide(a), wide(b), axis)
            made = wt.cross(wt.asarray(a), wt.asarray(b), axis=axis)
            check(made, e.astype(dtype), allowed=4e-6, name=f"cross {first}")
    kron = random_array(rng, (2, 3)), random_array(rng, (4, 5))
    x, y = (wt.asarray(a) for a in kron)
    assert dispatches(lambda: wt.kron(x, y)) == 1
    with pytest.raises(wt.ShapeError, match="2 or 3 elements"):
        wt.cross(x[:, :1], x[:, :1])
    with pytest.raises(wt.ShapeError):
        wt.inner(x, y)


def test_matrix_power(rng: np.random.Generator) -> None:
    a = rng.integers(-3, 4, (2, 4, 4), dtype=np.int32)
    for n in range(9):
        check(wt.linalg.matrix_power(a, n), np.linalg.matrix_power(a, n), name=f"{n}")
    t = wt.asarray(a)
    assert dispatches(lambda: wt.linalg.matrix_power(t, 8)) == 3
    for wrong, error in [
        (lambda: wt.linalg.matrix_power(t, -1), wt.UnsupportedError),
        (lambda: wt.linalg.matrix_power(t[:, 1:], 2), wt.ShapeError),
        (lambda: wt.linalg.matrix_power(t, 0.5), TypeError),
        (lambda: wt.linalg.matrix_power(t > 0, 2), wt.DTypeError),
    ]:
        with pytest.raises(error):
            wrong()


# ---- norms --------------------------------------------------------------------------------------


@pytest.mark.parametrize("keepdims", [False, True])
def test_norms(keepdims: bool, rng: np.random.Generator) -> None:
    a = random_array(rng, (3, 4, 5))
    t, e = wt.asarray(a), wide(a)
    for order in (0, 1, 2, 3, 0.5, -1, -2, np.inf, -np.inf):
        for axis in (None, 1, -1, (0, 2)):
            flat = e if axis is not None else e.reshape(-1)
            if isinstance(axis, tuple):
                flat = np.moveaxis(e, axis, (1, 2)).reshape(4, 15)
            with np.errstate(all="ignore"):
                expected = np.linalg.norm(flat, order, axis if isinstance(axis, int) else -1)
            if keepdims:
                kept = range(3) if axis is None else np.atleast_1d(axis) % 3
                expected = np.asarray(expected).reshape(
                    [1 if i in kept else n for i, n in enumerate(a.shape)]
                )
            made = wt.linalg.vector_norm(t, axis=axis, ord=order, keepdims=keepdims)
            near(made, expected, ops=40, name=f"{order} {axis}")
    for order in ("fro", 1, -1, np.inf, -np.inf):
        expected = np.linalg.norm(e, order, (-2, -1), keepdims=keepdims)
        made = wt.linalg.matrix_norm(t, ord=order, keepdims=keepdims)
        near(made, expected, ops=20, name=f"{order}")
        expected = np.linalg.norm(e, order, (2, 0), keepdims=keepdims)
        made = wt.linalg.norm(t, order, (2, 0), keepdims=keepdims)
        near(made, expected, ops=20, name=f"{order}")
    for args in [(), (None, 1), (2, 0), (None, (0, 1))]:
        expected = np.linalg.norm(e, *args, keepdims=keepdims)
        near(wt.linalg.norm(t, *args, keepdims=keepdims), expected, ops=20, name=f"{args}")


def test_norms_of_others(rng: np.random.Generator) -> None:
    a = random_array(rng, (6,), "int32")
    near(wt.linalg.norm(wt.asarray(a)), np.linalg.norm(a), ops=8)
    near(wt.linalg.vector_norm(wt.asarray(a > 0), ord=1), np.sum(a > 0).astype(np.float32))
    assert wt.linalg.vector_norm(wt.zeros(0)).item() == 0
    assert np.isnan(wt.linalg.vector_norm(wt.asarray([1.0, np.nan]), ord=np.inf).item())
    m = wt.zeros((2, 2))
    for wrong, error in [
        (lambda: wt.linalg.matrix_norm(m, ord=2), wt.UnsupportedError),
        (lambda: wt.linalg.matrix_norm(m, ord="nuc"), wt.UnsupportedError),
        (lambda: wt.linalg.matrix_norm(m, ord=3), ValueError),
        (lambda: wt.linalg.matrix_norm(m[0]), wt.ShapeError),
        (lambda: wt.linalg.vector_norm(m, ord="fro"), ValueError),
        (lambda: wt.linalg.norm(wt.zeros((2, 2, 2)), 1), ValueError),
        (lambda: wt.linalg.vector_norm(wt.zeros(0), ord=np.inf), ValueError),
    ]:
        with pytest.raises(error):
            wrong()


def test_namespace() -> None:
    """What it shares with the package is the same function."""
    for name in wt.linalg.__all__:
        assert re.fullmatch(r"[a-z_]+", name)
        assert getattr(wt.linalg, name).__doc__
    for name in ("matmul", "tensordot", "vecdot", "outer", "cross", "matrix_transpose"):
        assert getattr(wt, name) is getattr(wt.linalg, name)


def test_slope_of_the_norm_at_zero() -> None:
    x = wt.asarray([[0.0, 0.0], [3.0, 4.0]]).requires_grad_()
    wt.linalg.vector_norm(x, axis=1).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0, 0], [0.6, 0.8]], rtol=1e-6)
