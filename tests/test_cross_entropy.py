"""The kernels behind cross entropy and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import LAYOUTS, device_has, dispatches, random_array, setting
from wgtensor._core import cross_entropy, weighted_mean
from wgtensor.nn import functional as F

pytestmark = pytest.mark.limits

Array = np.ndarray[Any, Any]


def reference(x: Array, t: Array, axis: int) -> tuple[Array, Array, Array]:
    """Losses, and their slopes by scores and targets, in float64."""
    x, t = x.astype(np.float64), t.astype(np.float64)
    d = x - x.max(axis, keepdims=True)
    logs = d - np.log(np.exp(d).sum(axis, keepdims=True))
    losses = -np.where(t == 0, 0, t * logs).sum(axis)
    return losses, np.exp(logs) * t.sum(axis, keepdims=True) - t, -logs


# Rows of a lane, of a workgroup, of several; strided ones; whole vectors and not.
SHAPES = [
    ((3, 5), 1), ((4, 64), 1), ((7, 33), 1), ((2, 1), 1), ((2, 300), 1), ((3, 5000), 1),
    ((1, 200000), 1), ((4, 5, 6), 1), ((2, 10, 30, 40), 1), ((5,), 0), ((300, 7), 0),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(SHAPES)))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_values_and_gradients(
    case: int, dtype: str, shift: float, rng: np.random.Generator
) -> None:
    """Large scores lose nothing: a loss is a difference to the largest of them."""
    if not device_has(dtype):
        pytest.skip(f"the adapter has no {dtype}")
    shape, axis = SHAPES[case]
    x = (3 * rng.normal(size=shape) + shift).astype(dtype)
    t = np.where(rng.random(shape) < 0.3, 0, rng.random(shape)).astype(dtype)
    scores, targets = (wt.asarray(a).requires_grad_() for a in (x, t))
    loss = cross_entropy(scores, targets, axis)
    expected, by_scores, by_targets = reference(x, t, axis)
    g = rng.normal(size=expected.shape).astype(dtype)
    loss.backward(wt.asarray(g))
    tolerance = 2e-6 if dtype == "float32" else 1e-14
    spread = np.expand_dims(g.astype(np.float64), axis)
    for found, right in (
        (loss.detach(), expected),
        (scores.grad, by_scores * spread),
        (targets.grad, by_targets * spread),
    ):
        assert found is not None
        np.testing.assert_allclose(found.numpy(), right, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, rng: np.random.Generator) -> None:
    x, t = random_array(rng, (12, 20)), rng.random((12, 20)).astype(np.float32)
    for axis in (0, 1):
        loss = cross_entropy(LAYOUTS[layout](x), LAYOUTS[layout](t), axis)
        np.testing.assert_allclose(loss.numpy(), reference(x, t, axis)[0], rtol=3e-6)


def test_windows(rng: np.random.Generator) -> None:
    x = random_array(rng, (90, 64))
    y = rng.integers(0, 64, 90).astype(np.int32)
    hot = np.eye(64, dtype=np.float32)[y]
    with setting(max_binding=4096):
        device = wt.Device()
        for axis in (0, 1):
            losses = cross_entropy(
                wt.asarray(x, device=device), wt.asarray(hot, device=device), axis
            )
            np.testing.assert_allclose(losses.numpy(), reference(x, hot, axis)[0], rtol=3e-6)
        scores = wt.asarray(x, device=device).requires_grad_()
        loss = F.cross_entropy(scores, wt.asarray(y, device=device))
        loss.backward()
        losses, slopes, _ = reference(x, hot, 1)
        assert loss.item() == pytest.approx(losses.mean(), rel=1e-6)
        assert scores.grad is not None
        np.testing.assert_allclose(scores.grad.numpy(), slopes / 90, rtol=1e-5, atol=1e-8)
        a, b = random_array(rng, (70, 64)), rng.random((70, 64)).astype(np.float32)
        mean = weighted_mean(*(wt.asarray(v, device=device) for v in (a, b)))
        assert mean.item() == pytest.approx(a.sum() / b.sum(), abs=1e-5)


def test_infinities_and_nan() -> None:
    """As PyTorch's: a class that cannot be costs infinitely much, a row without classes is NaN."""
    inf, nan = np.inf, np.nan
    x = np.array([[0, -inf], [1, 2], [-inf, -inf], [nan, 1], [inf, 0]], np.float32)
    first = np.array([[1, 0]] * 5, np.float32)
    for t, expected in ((first, [0, 1.3132616, nan, nan, nan]),
                        (1 - first, [inf, 0.3132616, nan, nan, nan])):  # fmt: skip
        loss = cross_entropy(wt.asarray(x), wt.asarray(t), 1)
        np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-6)


def test_rows_that_do_not_count_have_no_gradient() -> None:
    x = wt.asarray([[np.nan, 1.0], [1.0, 2.0], [-np.inf, -np.inf]]).requires_grad_()
    y = wt.asarray(np.array([9, 0, 9], np.int32))
    for reduction in ("mean", "sum"):
        x.grad = None
        loss = F.cross_entropy(x, y, ignore_index=9, reduction=reduction)
        loss.backward()
        assert loss.item() == pytest.approx(1.3132616)
        assert x.grad is not None
        np.testing.assert_allclose(
            x.grad.numpy(), [[0, 0], [-0.731059, 0.731059], [0, 0]], rtol=1e-5
        )
    all_ignored = F.cross_entropy(x, wt.full(3, 9, dtype="int32"), ignore_index=9)
    assert np.isnan(all_ignored.item())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_are_summed_in_float32(dtype: str, rng: np.random.Generator) -> None:
    x = wt.asarray(rng.normal(size=(6, 3000)), dtype=dtype).requires_grad_()
    y = wt.asarray(rng.integers(0, 3000, 6).astype(np.int32))
    loss = F.cross_entropy(x, y, label_smoothing=0.1)
    loss.backward()
    wide = x.detach().astype("float32").requires_grad_()
    exact = F.cross_entropy(wide, y, label_smoothing=0.1)
    exact.backward()
    assert (loss.dtype.name, x.grad is not None) == (dtype, True)
    assert loss.item() == exact.detach().astype(dtype).item()
    assert x.grad is not None
    assert wide.grad is not None
    assert x.grad.dtype.name == dtype
    assert x.grad.tolist() == wide.grad.astype(dtype).tolist()


def test_second_derivatives(rng: np.random.Generator) -> None:
    if not device_has("float64"):
        pytest.skip("the adapter has no float64")
    x, t = (wt.asarray(rng.random((3, 4))).requires_grad_() for _ in range(2))
    assert wt.autograd.gradcheck(lambda a, b: cross_entropy(a, b, 1), (x, t))
    assert wt.autograd.gradgradcheck(lambda a, b: cross_entropy(a, b, 0), (x, t))
    assert wt.autograd.gradcheck(weighted_mean, (x, t))
    assert wt.autograd.gradgradcheck(weighted_mean, (x, t))
    y = wt.asarray(np.array([1, 3, -100], np.int32))
    for options in ({}, {"label_smoothing": 0.2}, {"reduction": "none"}):
        assert wt.autograd.gradgradcheck(
            lambda a, o=options: F.cross_entropy(a, y, **o),
            (x,),
        )


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.2}, {"reduction": "sum"}])
def test_class_weights_have_gradients(options: dict[str, Any], rng: np.random.Generator) -> None:
    if not device_has("float64"):
        pytest.skip("the adapter has no float64")
    x, w = (wt.asarray(rng.random(s) + 0.5).requires_grad_() for s in ((4, 3), (3,)))
    y = wt.asarray(np.array([0, 2, 2, -100], np.int32))
    assert wt.autograd.gradcheck(lambda a, b: F.cross_entropy(a, y, b, **options), (x, w))


KERNELS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((16, 300), {}),
    ((16, 300), {"label_smoothing": 0.1}),
    ((16, 300), {"weighted": True}),
    ((16, 300), {"weighted": True, "label_smoothing": 0.1}),
    ((16, 300), {"reduction": "sum"}),
    ((16, 300), {"probabilities": True}),
    ((4, 10, 20, 20), {}),
]


@pytest.mark.parametrize("case", range(len(KERNELS)))
def test_three_kernels_with_the_gradient(case: int, rng: np.random.Generator) -> None:
    """One for the rows, one for their mean or sum, one for the gradient."""
    shape, given = KERNELS[case]
    options = dict(given)
    x = wt.asarray(random_array(rng, shape)).requires_grad_()
    if options.pop("probabilities", False):
        y = wt.asarray(rng.random(shape).astype(np.float32))
    else:
        y = wt.asarray(rng.integers(0, shape[1], (shape[0], *shape[2:])).astype(np.int32))
    w = wt.ones(shape[1]).eval() if options.pop("weighted", False) else None

    def step() -> list[wt.Tensor]:
        x.grad = None
        loss = F.cross_entropy(x, y, w, **options)
        loss.backward()
        assert x.grad is not None
        return [loss, x.grad]

    step()
    assert dispatches(step) == 3


def test_kept_losses_share_memory(rng: np.random.Generator) -> None:
    """A loss is a word of its kernel's result: thousands of them are moved together."""
    x = wt.asarray(random_array(rng, (3, 5)))
    y = wt.zeros(3, dtype="int32").eval()
    kept = [F.cross_entropy(x + i % 7, y).eval() for i in range(1500)]
    values = [k.item() for k in kept]
    np.testing.assert_allclose(values, values[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (wt.ShapeError, lambda: cross_entropy(wt.ones((2, 3)), wt.ones((2, 1)), 1)),
        (wt.DTypeError, lambda: cross_entropy(wt.ones(2, dtype="int32"), wt.ones(2), 0)),
        (wt.ShapeError, lambda: weighted_mean(wt.ones(2), wt.ones(3))),
        (wt.ShapeError, lambda: F.cross_entropy(wt.ones((2, 3)), wt.zeros(2, dtype="int32"),
                                                wt.ones(2))),
        (IndexError, lambda: F.cross_entropy(wt.ones((2, 3)), wt.full(2, 3, dtype="int32")).item()),
        (IndexError, lambda: F.cross_entropy(wt.ones((2, 3)), np.array([0, -1]))),
        (IndexError, lambda: F.nll_loss(wt.ones((2, 3)), [3, 0])),
    ],
)  # fmt: skip
def test_errors(error: type[Exception], call: Any) -> None:
    with pytest.raises(error, match=r"^\["):
        call()
