"""Gradients of views, pieces, reductions, softmax, scans, products and layers, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
import wgtensor.nn.functional as F
from helpers import device_has

pytestmark = pytest.mark.skipif(not device_has("float64"), reason="differences need float64")

Make = Callable[..., Any]


def real(*shape: int, seed: int = 0) -> wt.Tensor:
    rng = np.random.default_rng([seed, *shape])
    return wt.asarray(rng.standard_normal(shape)).requires_grad_()


VIEWS: dict[str, tuple[Make, tuple[int, ...]]] = {
    "reshape": (lambda x: x.reshape(3, 4), (2, 6)),
    "reshape of a turned one": (lambda x: x.T.reshape(3, 4), (2, 6)),
    "reshape to its own": (lambda x: x.reshape(2, 3) * x, (2, 3)),
    "permute": (lambda x: x.permute(2, 0, 1), (2, 3, 2)),
    "permute negative": (lambda x: x.permute(-1, 0, -2), (2, 3, 2)),
    "T": (lambda x: x.T, (2, 3)),
    "mT": (lambda x: x.mT, (2, 2, 3)),
    "broadcast_to": (lambda x: x.broadcast_to((2, 3, 4)), (3, 1)),
    "expand_dims": (lambda x: x.expand_dims((0, 2)), (2, 3)),
    "squeeze": (lambda x: x.squeeze(1), (2, 1, 3)),
    "diagonal": (lambda x: x.diagonal(), (3, 4)),
    "diagonal below": (lambda x: x.diagonal(-1, 2, 0), (3, 2, 4)),
    "trace": (lambda x: x.trace(), (3, 4)),
    "slice": (lambda x: x[1:, ::2], (3, 5)),
    "slice backwards": (lambda x: x[::-2, 1], (5, 3)),
    "integer": (lambda x: x[1], (3, 2)),
    "newaxis": (lambda x: x[:, None, ..., 0], (3, 2)),
    "empty slice": (lambda x: x[3:].sum() + x.sum(), (3,)),
    "flip": (lambda x: wt.flip(x, axis=0), (3, 2)),
    "flip all": (lambda x: wt.flip(x) * x, (3, 2)),
    "roll": (lambda x: wt.roll(x, (1, -1), axis=(0, 1)), (3, 4)),
    "rot90": (lambda x: wt.rot90(x), (2, 3)),
    "moveaxis": (lambda x: wt.moveaxis(x, 0, -1), (2, 3, 2)),
    "split": (lambda x: wt.split(x, 2, axis=1)[1], (2, 4)),
    "tile": (lambda x: wt.tile(x, (2, 2)), (2, 3)),
    "repeat": (lambda x: wt.repeat(x, 2, axis=0), (2, 3)),
    "repeat each": (lambda x: wt.repeat(x, [1, 0, 2], axis=1), (2, 3)),
    "astype": (lambda x: x.astype("float64") * 2, (3,)),
    "copy": (lambda x: x.copy(), (3,)),
    "tril": (lambda x: wt.tril(x), (3, 3)),
    "diag": (lambda x: wt.diag(x), (3,)),
    "pad zeros": (lambda x: wt.pad(x, 1), (2, 3)),
    "pad edge": (lambda x: wt.pad(x, ((1, 2), (0, 1)), mode="edge"), (2, 3)),
    "pad reflect": (lambda x: wt.pad(x, 1, mode="reflect"), (3, 3)),
    "pad wrap": (lambda x: wt.pad(x, 1, mode="wrap"), (3, 2)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    make, shape = VIEWS[name]
    assert wt.autograd.gradcheck(make, [real(*shape)])
    assert wt.autograd.gradgradcheck(lambda x: make(x * x), [real(*shape)])


def test_pieces() -> None:
    a, b = real(2, 3), real(2, 2, seed=1)
    assert wt.autograd.gradcheck(lambda a, b: wt.concat([a, b, a], axis=1), [a, b])
    assert wt.autograd.gradcheck(lambda a: wt.stack([a, a * 2]), [a])
    assert wt.autograd.gradcheck(lambda a, b: wt.concat([a, b], axis=None), [a, b])
    half = wt.asarray(np.ones((2, 1)), dtype="float16").requires_grad_()
    wt.concat([half, wt.ones((2, 2), dtype="float32")], axis=1).sum().backward()
    assert half.grad is not None
    assert half.grad.dtype == wt.float16


def assigned(x: wt.Tensor, v: wt.Tensor) -> wt.Tensor:
    y = x * 2
    y[1:, ::2] = v
    y[0] = 3.0
    y[0, 1] = v[0, 0] * v[0, 1]
    return y * y


def test_assignment() -> None:
    assert wt.autograd.gradcheck(assigned, [real(3, 4), real(2, 2, seed=1)])
    assert wt.autograd.gradgradcheck(assigned, [real(3, 4), real(2, 2, seed=1)])
    assert wt.autograd.gradcheck(assigned, [real(3, 4), real(1, 2, seed=1)])


REDUCTIONS: dict[str, Make] = {
    "sum": lambda x: x.sum(axis=1),
    "sum all": lambda x: x.sum(),
    "sum kept": lambda x: x.sum(axis=(0, 2), keepdims=True),
    "mean": lambda x: x.mean(axis=(0, -1)),
    "prod": lambda x: x.prod(axis=1),
    "prod of two axes": lambda x: x.prod(axis=(0, 2), keepdims=True),
    "max": lambda x: x.max(axis=2),
    "min": lambda x: x.min(axis=(0, 1), keepdims=True),
    "var": lambda x: x.var(axis=1, correction=1),
    "std": lambda x: x.std(axis=(1, 2)),
    "logsumexp": lambda x: x.logsumexp(axis=(0, 1)),
    "softmax": lambda x: x.softmax(axis=1),
    "log_softmax": lambda x: x.log_softmax(axis=-1),
    "cumsum": lambda x: x.cumsum(axis=1),
    "cumsum with a zero": lambda x: wt.cumulative_sum(x, axis=1, include_initial=True),
    "cumprod": lambda x: x.cumprod(axis=1),
    "cummax": lambda x: wt.cumulative_max(x, axis=1),
    "cummin": lambda x: wt.cumulative_min(x, axis=0),
    "sort": lambda x: wt.sort(x, axis=1),
    "sort down": lambda x: wt.sort(x, axis=-1, descending=True),
    "cumprod with a one": lambda x: wt.cumulative_prod(x, axis=0, include_initial=True),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str) -> None:
    assert wt.autograd.gradcheck(REDUCTIONS[name], [real(2, 3, 2)])
    assert wt.autograd.gradgradcheck(REDUCTIONS[name], [real(2, 3, 2)])


def slope(make: Make, *values: Any) -> list[float]:
    x = wt.asarray(np.array(values, float)).requires_grad_()
    make(x).sum().backward()
    assert x.grad is not None
    got: list[float] = x.grad.tolist()
    return got


def test_ties_and_zeros() -> None:
    assert slope(lambda x: x.max(), 1, 3, 3, 3, 0) == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 0])
    assert slope(lambda x: x.min(), 2, 2) == [0.5, 0.5]
    assert slope(lambda x: x.std(), 2, 2, 2) == [0, 0, 0]
    assert slope(lambda x: x.prod(), 2, 0, 3) == [0, 6, 0]
    assert slope(lambda x: x.prod(), 2, 0, 0) == [0, 0, 0]
    inf = np.inf
    assert slope(lambda x: x.logsumexp(), -inf, -inf) == [0, 0]
    for zeros in ([2, 0, 3, 4], [0, 2, 0, 5], [1, 2, 3, 0], [0, 0, 1, 1]):
        values = np.array(zeros, float)
        x = wt.asarray(values).requires_grad_()
        assert wt.autograd.gradcheck(lambda x: x.cumprod(axis=0) * wt.asarray([1.0, 2, 3, 4]), [x])


def test_sorts_and_running_extrema_with_ties() -> None:
    weights = wt.asarray([1.0, 10, 100, 1000], dtype="float64")
    assert slope(lambda x: wt.sort(x) * weights, 2, 1, 2, 0) == [100, 10, 1000, 1]
    assert slope(lambda x: wt.cumulative_max(x) * weights, 1, 3, 3, 2) == [1, 10, 1100, 0]
    assert slope(lambda x: wt.cumulative_min(x) * weights, 2, 2, 3, 1) == [1, 110, 0, 1000]
    assert slope(lambda x: wt.cumulative_max(x) * weights, 1, np.nan, 3, 2)[1:] == [1110, 0, 0]


def test_orders_and_choices() -> None:
    x = real(3, 5)
    rows: dict[str, Make] = {
        "topk": lambda x: wt.topk(x, 2, axis=1)[0],
        "median": lambda x: wt.median(x, axis=1),
        "quantile": lambda x: wt.quantile(x, [0.1, 0.6], axis=0),
        "unique": lambda x: wt.unique_values(x),
        "mask": lambda x: x[x > 0] * 2,
        "segment_sum": lambda x: wt.segment_sum(x, wt.asarray([0, 1, 0]), 2),
        "bincount": lambda x: wt.bincount(wt.asarray([0, 1, 1, 0, 2]), weights=x[0], minlength=4),
    }
    for name, make in rows.items():
        assert wt.autograd.gradcheck(make, [x]), name


def test_places_require_no_grad() -> None:
    x = real(3)
    for made in (x.argmax(), x.any(), x.count_nonzero() if hasattr(x, "count_nonzero") else x > 0):
        assert not made.requires_grad
    assert not wt.count_nonzero(x).requires_grad


MATMULS = [
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((2, 2, 3), (3, 4)),
    ((2, 3), (2, 3, 4)),
    ((2, 1, 2, 3), (3, 3, 2)),
    ((3,), (2, 3, 2)),
    ((2, 2, 3), (3,)),
    ((1, 3), (3, 1)),
]


@pytest.mark.parametrize("shapes", MATMULS, ids=str)
def test_matmul(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = real(*shapes[0]), real(*shapes[1], seed=1)
    assert wt.autograd.gradcheck(lambda a, b: a @ b, [a, b])
    assert wt.autograd.gradgradcheck(lambda a, b: a @ b, [a, b])


PRODUCTS: dict[str, tuple[Make, tuple[int, ...], tuple[int, ...]]] = {
    "vecdot": (lambda a, b: wt.vecdot(a, b, axis=0), (3, 2), (3, 2)),
    "outer": (lambda a, b: wt.outer(a, b), (2,), (3,)),
    "tensordot": (lambda a, b: wt.tensordot(a, b, axes=((0, 2), (1, 0))), (2, 3, 2), (2, 2, 2)),
    "kron": (lambda a, b: wt.kron(a, b), (2, 2), (1, 2)),
    "cross": (lambda a, b: wt.cross(a, b), (2, 3), (2, 3)),
    "einsum": (lambda a, b: wt.einsum("bij,bjk->ik", a, b), (2, 2, 3), (2, 3, 2)),
    "einsum trace": (lambda a, b: wt.einsum("ii,ij->j", a, b), (2, 2), (2, 3)),
    "norm": (lambda a, b: wt.linalg.vector_norm(a * b, axis=1), (2, 3), (3,)),
    "turned": (lambda a, b: a.mT[:, ::-1] @ b, (3, 2), (3, 2)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    make, a, b = PRODUCTS[name]
    assert wt.autograd.gradcheck(make, [real(*a), real(*b, seed=1)])


CONVOLUTIONS: dict[str, tuple[Make, tuple[int, ...], tuple[int, ...]]] = {
    "1d": (F.conv1d, (2, 2, 5), (3, 2, 3)),
    "strides": (lambda x, w: F.conv1d(x, w, stride=2, padding=1), (1, 2, 6), (2, 2, 3)),
    "dilation": (lambda x, w: F.conv1d(x, w, dilation=2, padding=2), (1, 1, 6), (2, 1, 3)),
    "2d": (lambda x, w: F.conv2d(x, w, padding="same"), (1, 2, 3, 4), (2, 2, 3, 2)),
    "groups": (lambda x, w: F.conv2d(x, w, groups=2, stride=2), (2, 4, 4, 3), (4, 2, 2, 2)),
    "no batch": (lambda x, w: F.conv2d(x, w), (2, 4, 3), (2, 2, 2, 2)),
    "one window": (lambda x, w: F.conv2d(x, w), (3, 2, 3, 3), (2, 2, 3, 3)),
    "left over": (lambda x, w: F.conv1d(x, w, stride=3), (1, 1, 9), (1, 1, 2)),
    "3d": (lambda x, w: F.conv3d(x, w), (1, 1, 3, 2, 3), (1, 1, 2, 2, 2)),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str) -> None:
    make, x, w = CONVOLUTIONS[name]
    assert wt.autograd.gradcheck(make, [real(*x), real(*w, seed=1)])


def test_second_derivatives_of_a_convolution() -> None:
    make = CONVOLUTIONS["strides"][0]
    assert wt.autograd.gradgradcheck(make, [real(1, 2, 6), real(2, 2, 3, seed=1)])


POOLS: dict[str, Make] = {
    "max": lambda x: F.max_pool2d(x, 2),
    "max, overlapping": lambda x: F.max_pool2d(x, 3, stride=1, padding=1),
    "max, dilated": lambda x: F.max_pool2d(x, 2, stride=2, dilation=2),
    "avg": lambda x: F.avg_pool2d(x, 2),
    "avg, overlapping": lambda x: F.avg_pool2d(x, 3, stride=2, padding=1),
    "avg, ceil": lambda x: F.avg_pool2d(x, 2, stride=2, ceil_mode=True, count_include_pad=False),
}


@pytest.mark.parametrize("name", POOLS)
def test_pooling(name: str) -> None:
    assert wt.autograd.gradcheck(POOLS[name], [real(1, 2, 5, 4)])


def test_an_input_gradient_writes_no_windows() -> None:
    """What a convolution's gradients take is near the size of its operands, not 9 times that."""
    x, w = wt.ones((4, 16, 32, 32)).requires_grad_(), wt.ones((16, 16, 3, 3)).requires_grad_()
    y = F.conv2d(x, w, padding=1)
    y.backward(wt.ones(y.shape))
    assert x.grad is not None
    assert w.grad is not None
    text = wt.explain(x.grad) + wt.explain(w.grad)
    assert str((4, 16, 3, 3, 32, 32)) not in text, text
    np.testing.assert_allclose(x.grad.numpy()[0, 0, 1, 1], 16 * 9)
    np.testing.assert_allclose(w.grad.numpy()[0, 0, 1, 1], 4 * 32 * 32)


def test_layers_composed_in_python() -> None:
    x, y = real(3, 4), real(3, 4, seed=1)
    assert wt.autograd.gradcheck(lambda x, y: wt.clip(x, -0.5, y), [x, y])
    assert wt.autograd.gradcheck(lambda x: wt.nan_to_num(x) * wt.round(x), [x])
    assert wt.autograd.gradcheck(lambda x: wt.linalg.matrix_norm(x), [x])
