"""Losses against float64, element by element and class by class."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has, dispatches
from wgtensor import nn
from wgtensor.nn import functional as F

Array = np.ndarray[Any, Any]
N, D = 37, 5


def check(actual: wt.Tensor, expected: Any, rtol: float = 2e-6) -> None:
    assert actual.dtype == wt.float32
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(actual.numpy(), expected, rtol=rtol, atol=1e-6)


def reductions(make: Callable[..., wt.Tensor], expected: Array) -> None:
    check(make(reduction="none"), expected)
    check(make(reduction="sum"), expected.sum(), 1e-5)
    check(make(), expected.mean(), 1e-5)


def log(x: Array) -> Array:
    return np.maximum(np.log(x), -100)


def softplus(x: Array) -> Array:
    return np.logaddexp(0, x)


ELEMENTWISE: dict[str, tuple[Callable[..., wt.Tensor], Callable[[Array, Array], Array], str]] = {
    "mse": (F.mse_loss, lambda x, y: (x - y) ** 2, "real"),
    "l1": (F.l1_loss, lambda x, y: abs(x - y), "real"),
    "smooth l1": (
        lambda x, y, **k: F.smooth_l1_loss(x, y, beta=0.7, **k),
        lambda x, y: np.where(abs(x - y) < 0.7, (x - y) ** 2 / 1.4, abs(x - y) - 0.35),
        "real",
    ),
    "smooth l1 of beta 0": (
        lambda x, y, **k: F.smooth_l1_loss(x, y, beta=0.0, **k),
        lambda x, y: abs(x - y),
        "real",
    ),
    "huber": (
        lambda x, y, **k: F.huber_loss(x, y, delta=0.7, **k),
        lambda x, y: np.where(abs(x - y) <= 0.7, (x - y) ** 2 / 2, 0.7 * (abs(x - y) - 0.35)),
        "real",
    ),
    "bce": (
        F.binary_cross_entropy,
        lambda x, y: -(y * log(x) + (1 - y) * log(1 - x)),
        "unit",
    ),
    "bce with logits": (
        F.binary_cross_entropy_with_logits,
        lambda x, y: y * softplus(-x) + (1 - y) * softplus(x),
        "logits",
    ),
    "bce with logits, weights": (
        lambda x, y, **k: F.binary_cross_entropy_with_logits(
            x, y, weight=np.float32(2), pos_weight=np.float32([1, 2, 3, 0.5, 0]), **k
        ),
        lambda x, y: 2 * (y * np.array([1, 2, 3, 0.5, 0]) * softplus(-x) + (1 - y) * softplus(x)),
        "logits",
    ),
    "kl": (F.kl_div, lambda x, y: y * (np.log(y) - x), "unit"),
    "kl of logarithms": (
        lambda x, y, **k: F.kl_div(x, y, log_target=True, **k),
        lambda x, y: np.exp(y) * (y - x),
        "real",
    ),
    "poisson": (F.poisson_nll_loss, lambda x, y: np.exp(x) - y * x, "real"),
    "poisson of rates": (
        lambda x, y, **k: F.poisson_nll_loss(x, y, log_input=False, **k),
        lambda x, y: x - y * np.log(x + 1e-8),
        "unit",
    ),
    "soft margin": (F.soft_margin_loss, lambda x, y: softplus(-x * y), "signs"),
    "hinge": (
        F.hinge_embedding_loss,
        lambda x, y: np.where(y == 1, x, np.maximum(0, 1 - x)),
        "signs",
    ),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name: str, rng: np.random.Generator) -> None:
    loss, reference, kind = ELEMENTWISE[name]
    x = rng.normal(size=(N, D)).astype(np.float32)
    y = rng.normal(size=(N, D)).astype(np.float32)
    if kind == "unit":
        x, y = (rng.uniform(0.01, 0.99, (N, D)).astype(np.float32) for _ in range(2))
    if kind == "logits":
        x, y = x * 20, rng.uniform(size=(N, D)).astype(np.float32)
    if kind == "signs":
        y = np.sign(y)
    expected = reference(x.astype(np.float64), y.astype(np.float64))
    reductions(lambda **k: loss(wt.asarray(x), wt.asarray(y), **k), expected)


def test_edges() -> None:
    zero_one = wt.asarray(np.float32([0, 1, 0, 1]))
    targets = wt.asarray(np.float32([0, 1, 1, 0]))
    check(F.binary_cross_entropy(zero_one, targets, reduction="none"), [0, 0, 100, 100])
    big = wt.asarray(np.float32([1e4, -1e4]))
    y = wt.asarray(np.float32([0, 1]))
    check(F.binary_cross_entropy_with_logits(big, y, reduction="none"), [1e4, 1e4])
    check(F.kl_div(big * 0, y, reduction="none"), [0, 0])
    check(F.kl_div(big.reshape(2, 1) * 0 - 1, y.reshape(2, 1), reduction="batchmean"), 0.5)


def test_gaussian(rng: np.random.Generator) -> None:
    x, y, v = (rng.uniform(0.1, 2, (N, D)).astype(np.float32) for _ in range(3))
    v[0] = 1e-9
    bounded = np.maximum(v.astype(np.float64), 1e-6)
    expected = (np.log(bounded) + (x.astype(np.float64) - y) ** 2 / bounded) / 2
    reductions(lambda **k: F.gaussian_nll_loss(x, y, v, **k), expected)
    check(
        F.gaussian_nll_loss(x, y, v, full=True, reduction="none"),
        expected + math.log(2 * math.pi) / 2,
    )


def test_vectors(rng: np.random.Generator) -> None:
    a, b, c = (rng.normal(size=(N, D)).astype(np.float32) for _ in range(3))
    x, y, z = (t.astype(np.float64) for t in (a, b, c))
    sign = np.where(rng.random(N) < 0.5, np.int32(1), np.int32(-1))
    cos = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    expected = np.where(sign == 1, 1 - cos, np.maximum(0, cos - 0.2))
    reductions(lambda **k: F.cosine_embedding_loss(a, b, sign, margin=0.2, **k), expected)
    check(F.cosine_similarity(a, b), cos)

    def distance(u: Array, v: Array, p: float) -> Array:
        return np.linalg.norm(u - v + 1e-6, ord=p, axis=1)

    for p in (1.0, 2.0, 3.0, math.inf):
        check(F.pairwise_distance(a, b, p), distance(x, y, p))
        near, far = distance(x, y, p), distance(x, z, p)
        expected = np.maximum(0, near - far + 0.5)
        reductions(lambda p=p, **k: F.triplet_margin_loss(a, b, c, 0.5, p, **k), expected)
        expected = np.maximum(0, near - np.minimum(far, distance(y, z, p)) + 1)
        check(F.triplet_margin_loss(a, b, c, p=p, swap=True, reduction="none"), expected)
    s = np.sign(c)
    expected = np.maximum(0, -s * (x - y) + 0.3)
    reductions(lambda **k: F.margin_ranking_loss(a, b, s, 0.3, **k), expected)
    t = rng.random((N, D)) < 0.5
    each = (t * softplus(-x) + (1 - t) * softplus(x)).mean(1)
    reductions(lambda **k: F.multilabel_soft_margin_loss(a, t, **k), each)


def cross_entropy(
    x: Array, y: Array, weight: Array, ignore: int, smoothing: float, reduction: str
) -> Any:
    """One sample after the other, classes in dimension 1."""
    x = np.moveaxis(x, 1, -1)
    logp = x - np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True))
    logp = logp - x.max(-1, keepdims=True)
    losses, total = np.zeros(y.shape), 0.0
    for i in np.ndindex(y.shape):
        if y[i] == ignore:
            continue
        total += weight[y[i]]
        right = -weight[y[i]] * logp[i][y[i]]
        even = -(weight * logp[i]).sum() / len(weight)
        losses[i] = (1 - smoothing) * right + smoothing * even
    return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / total}[reduction]


@pytest.mark.parametrize("shape", [(N, D), (4, D, 3), (2, D, 3, 4)])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(
    shape: tuple[int, ...], smoothing: float, weighted: bool, rng: np.random.Generator
) -> None:
    x = (5 * rng.normal(size=shape)).astype(np.float32)
    y = rng.integers(0, D, (shape[0], *shape[2:]))
    w = rng.uniform(0.5, 2, D).astype(np.float32) if weighted else np.ones(D, np.float32)
    for ignore, targets in ((-100, y), (2, y), (-100, np.where(y == 1, -100, y))):
        for reduction in ("none", "sum", "mean"):
            expected = cross_entropy(
                x.astype(np.float64), targets, w.astype(np.float64), ignore, smoothing, reduction
            )
            actual = F.cross_entropy(
                wt.asarray(x),
                wt.asarray(targets.astype(np.int32)),
                w if weighted else None,
                ignore,
                reduction,
                smoothing,
            )
            check(actual, expected, 1e-5)


def test_cross_entropy_of_probabilities(rng: np.random.Generator) -> None:
    for shape in [(N, D), (4, D, 3)]:
        x = rng.normal(size=shape).astype(np.float32)
        p = rng.random(shape).astype(np.float32)
        w = rng.uniform(0.5, 2, D).astype(np.float32)
        wide = w.reshape((-1, *(1,) * (len(shape) - 2)))
        x64 = x.astype(np.float64)
        logp = x64 - np.log(np.exp(x64).sum(1, keepdims=True))
        for s in (0.0, 0.3):
            loss = partial(F.cross_entropy, x, p, w, label_smoothing=s)
            reductions(loss, -(logp * (p * (1 - s) + s / D) * wide).sum(1))


def test_nll_and_one_sample(rng: np.random.Generator) -> None:
    x = rng.normal(size=(N, D)).astype(np.float32)
    y = rng.integers(0, D, N).astype(np.int32)
    logp = F.log_softmax(wt.asarray(x))
    check(F.nll_loss(logp, y), F.cross_entropy(x, y).numpy())
    check(F.nll_loss(logp, y, np.arange(D, dtype=np.float32), ignore_index=3, reduction="none"),
          F.cross_entropy(x, y, np.arange(D, dtype=np.float32), 3, "none").numpy())  # fmt: skip
    check(F.cross_entropy(x[0], y[0]), F.cross_entropy(x[:1], y[:1]).numpy())
    for dtype in ("uint8", "int16", "uint32"):
        check(F.cross_entropy(x, y.astype(dtype)), F.cross_entropy(x, y).numpy())
    assert math.isnan(F.cross_entropy(x, np.full(N, -100, np.int32)).item())
    huge = np.float32([[1e4, 0, -1e4]])
    check(F.cross_entropy(huge, np.int32([2])), 2e4)
    blocked = np.float32([[0, -np.inf, 0]])
    check(F.cross_entropy(blocked, np.int32([0])), math.log(2))


def test_multi_margin(rng: np.random.Generator) -> None:
    x = rng.normal(size=(N, D)).astype(np.float32)
    y = rng.integers(0, D, N).astype(np.int32)
    w = rng.uniform(0.5, 2, D).astype(np.float32)
    for p in (1, 2):
        gap = np.maximum(0, 0.8 - x[np.arange(N), y][:, None].astype(np.float64) + x) ** p
        gap[np.arange(N), y] = 0
        each = w[y] * gap.sum(1) / D
        reductions(lambda p=p, **k: F.multi_margin_loss(x, y, p, 0.8, w, **k), each)


def test_gradients_of_classes(rng: np.random.Generator) -> None:
    x = rng.normal(size=(6, D)).astype(np.float32)
    y = np.int32([0, 4, -100, 2, 1, 4])
    t = wt.asarray(x).requires_grad_()
    F.cross_entropy(t, wt.asarray(y)).backward()
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    expected = (p - (np.arange(D) == y[:, None])) / 5
    expected[2] = 0
    assert t.grad is not None
    check(t.grad, expected, 1e-5)

    if device_has("float64"):
        wide = wt.asarray(x[:, :4].astype(np.float64)).requires_grad_()
        targets = wt.asarray(np.int32([0, 3, 1, 2, 1, 3]))
        assert wt.autograd.gradcheck(lambda a: F.cross_entropy(a, targets), (wide,))
        assert wt.autograd.gradgradcheck(lambda a: F.cross_entropy(a, targets), (wide,))


def test_classes_that_there_are_not() -> None:
    for y in (5, -1):
        loss = F.cross_entropy(wt.ones((3, D)), wt.asarray(np.int32([0, y, 1])))
        with pytest.raises(IndexError):
            loss.item()


def test_kernels_of_cross_entropy() -> None:
    x = wt.ones((16, D)).eval().requires_grad_()
    y = wt.zeros(16, dtype="int32").eval()

    def step() -> list[wt.Tensor]:
        x.grad = None
        loss = F.cross_entropy(x, y)
        loss.backward()
        assert x.grad is not None
        return [loss, x.grad]

    step()
    assert dispatches(step) == 3


def test_modules(rng: np.random.Generator) -> None:
    x = wt.asarray(rng.normal(size=(N, D)).astype(np.float32))
    y = wt.asarray(rng.integers(0, D, N).astype(np.int32))
    w = wt.asarray(rng.random(D).astype(np.float32))
    loss = nn.CrossEntropyLoss(weight=w, label_smoothing=0.1)
    assert list(loss.state_dict()) == ["weight"]
    check(loss(x, y), F.cross_entropy(x, y, w, label_smoothing=0.1).numpy())
    check(nn.MSELoss(reduction="sum")(x, x * 2), F.mse_loss(x, x * 2, "sum").numpy())
    check(nn.HuberLoss(delta=0.5)(x, x * 2), F.huber_loss(x, x * 2, delta=0.5).numpy())
    check(nn.TripletMarginLoss(p=1.0)(x, x, x), 1.0)
    for name in nn.__all__:
        if name.endswith("Loss"):
            assert getattr(nn, name)().forward.__doc__ is None
            assert getattr(nn, name).__doc__
    with pytest.raises(TypeError, match="takes"):
        nn.MSELoss(weight=w)


@pytest.mark.parametrize(
    ("error", "make"),
    [
        (wt.ShapeError, lambda: F.mse_loss(wt.ones((3, 1)), wt.ones(3))),
        (wt.DTypeError, lambda: F.mse_loss(wt.ones(3, dtype="int32"), wt.ones(3))),
        (ValueError, lambda: F.mse_loss(wt.ones(3), wt.ones(3), reduction="all")),
        (wt.ShapeError, lambda: F.cross_entropy(wt.ones((3, 4)), np.zeros(4, np.int32))),
        (wt.ShapeError, lambda: F.cross_entropy(wt.ones((3, 4)), wt.ones((3, 5)))),
        (wt.DTypeError, lambda: F.cross_entropy(wt.ones((3, 4)), np.zeros(3, np.bool_))),
        (wt.ShapeError, lambda: F.nll_loss(wt.ones((3, 4)), np.zeros(3, np.int32), wt.ones(3))),
        (ValueError, lambda: F.cross_entropy(wt.ones((3, 4)), np.zeros(3, np.int32),
                                             label_smoothing=1.5)),
        (ValueError, lambda: F.huber_loss(wt.ones(3), wt.ones(3), delta=0.0)),
    ],
)  # fmt: skip
def test_errors(error: type[Exception], make: Callable[[], Any]) -> None:
    with pytest.raises(error, match=r"^\["):
        make()


def test_cross_entropy_of_saturated_probabilities() -> None:
    p = wt.asarray([100.0, -100.0, 0.0]).requires_grad_()
    F.binary_cross_entropy(F.sigmoid(p), wt.asarray([1.0, 0.0, 1.0])).backward()
    np.testing.assert_allclose(p.grad.numpy(), [0, 0, -1 / 6], atol=1e-6)
    loss = F.binary_cross_entropy(wt.asarray([0.0, 1.0]), wt.asarray([1.0, 0.0]), reduction="none")
    assert loss.tolist() == [100, 100]


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_classes_that_32_bits_do_not_hold(dtype: str) -> None:
    if not device_has(dtype):
        pytest.skip("no 64 bits")
    x = wt.asarray(np.array([[0.0, 5.0, 1.0]], "float32"))
    wrong = [2**32 + 1, 2**32, 2**63 - 1] + ([-(2**32), -(2**63)] if dtype == "int64" else [2**63])
    for c in wrong:
        target = wt.asarray(np.array([c], dtype))
        for loss in (F.cross_entropy, F.nll_loss, F.multi_margin_loss):
            with pytest.raises(IndexError, match="out of bounds for axis 1 with size 3"):
                loss(x, target).item()
