"""The family of kernels behind layer and RMS norm, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import LAYOUTS, device_has, dispatches, random_array, same_bits, setting
from wgtensor import nn
from wgtensor._core import normalize
from wgtensor.nn import functional as F

pytestmark = pytest.mark.limits

Array = np.ndarray[Any, Any]


def rows(x: Array, centred: bool, eps: float) -> tuple[Array, Array]:
    """Normalized rows, and one over their size."""
    x = x.astype(np.float64)
    d = x - x.mean(-1, keepdims=True) if centred else x
    scale = 1 / np.sqrt((d * d).mean(-1, keepdims=True) + eps)
    return d * scale, scale


def gradient(x: Array, g: Array, centred: bool, eps: float) -> Array:
    y, scale = rows(x, centred, eps)
    g = g.astype(np.float64)
    rest = g - y * (g * y).mean(-1, keepdims=True)
    return (rest - g.mean(-1, keepdims=True) if centred else rest) * scale


# Rows of a lane, of a workgroup, kept in registers and read again, whole vectors and not.
SHAPES = [(3, 5), (4, 64), (7, 33), (2, 1), (2, 300), (3, 1024), (2, 5000), (2, 9001), (1, 20000)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_gradients(
    shape: tuple[int, ...], centred: bool, dtype: str, rng: np.random.Generator
) -> None:
    if not device_has(dtype):
        pytest.skip(f"the adapter has no {dtype}")
    x = (3 * rng.normal(size=shape) + 1).astype(dtype)
    g = rng.normal(size=shape).astype(dtype)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    t = wt.asarray(x).requires_grad_()
    y = normalize(t, centred, 1e-3)
    np.testing.assert_allclose(
        y.detach().numpy(), rows(x, centred, 1e-3)[0], rtol=tolerance, atol=tolerance
    )
    y.backward(wt.asarray(g))
    assert t.grad is not None
    expected = gradient(x, g, centred, 1e-3)
    np.testing.assert_allclose(t.grad.numpy(), expected, rtol=tolerance, atol=5 * tolerance)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, rng: np.random.Generator) -> None:
    x = random_array(rng, (12, 20))
    dense = normalize(wt.asarray(x), True, 1e-5).numpy()
    y = normalize(LAYOUTS[layout](x), True, 1e-5).numpy()
    np.testing.assert_allclose(y, dense, rtol=2e-6, atol=2e-6)


def test_broadcast_gradients_and_edges(rng: np.random.Generator) -> None:
    x = random_array(rng, (6, 8))
    t = wt.asarray(x).requires_grad_()
    normalize(t, True, 1e-5).sum().backward()
    assert t.grad is not None
    np.testing.assert_allclose(t.grad.numpy(), 0, atol=1e-5)
    assert normalize(wt.zeros((0, 3)), True, 1e-5).shape == (0, 3)
    same_bits(normalize(wt.zeros((2, 3)), True, 1e-5), np.zeros((2, 3), np.float32))
    assert np.isnan(normalize(wt.asarray([[1.0, np.nan]]), False, 1e-5).numpy()).all()
    with pytest.raises(wt.ShapeError):
        normalize(wt.ones(()), True, 1e-5)
    with pytest.raises(wt.DTypeError):
        normalize(wt.ones(3, dtype="int32"), True, 1e-5)


def test_windows(rng: np.random.Generator) -> None:
    x, g = random_array(rng, (90, 64)), random_array(rng, (90, 64))
    with setting(max_binding=4096):
        device = wt.Device()
        t = wt.asarray(x, device=device).requires_grad_()
        y = normalize(t, True, 1e-5)
        y.backward(wt.asarray(g, device=device))
        assert t.grad is not None
        np.testing.assert_allclose(y.detach().numpy(), rows(x, True, 1e-5)[0], rtol=1e-5, atol=1e-5)
        expected = gradient(x, g, True, 1e-5)
        np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-5, atol=2e-5)
        # A small part of a large tensor, beside a large operand.
        part = wt.asarray(x, device=device)[3:5]
        same_bits(
            normalize(part, True, 1e-5) * 1, normalize(wt.asarray(x[3:5]), True, 1e-5).numpy()
        )


def test_one_kernel_each_way() -> None:
    x, w, b = (wt.ones(s).eval() for s in [(32, 48), (48,), (48,)])
    assert dispatches(lambda: F.gelu(F.layer_norm(x * 2, 48, w, b)) + x) == 1
    assert dispatches(lambda: F.rms_norm(x, 48, w) * 2) == 1
    t = wt.ones((32, 48)).eval().requires_grad_()
    g = wt.ones((32, 48)).eval()

    def both() -> list[wt.Tensor]:
        t.grad = None
        F.layer_norm(t, 48).backward(g)
        assert t.grad is not None
        return [t.grad]

    both()
    assert dispatches(both) == 1  # the result itself is not asked for


def test_epsilon_is_a_parameter() -> None:
    x = wt.ones((4, 16)).eval()
    normalize(x, True, 1e-5).eval()
    before = (wt.stats()["pipelines"], wt.stats()["plans"])
    for i in range(5):
        normalize(x, True, 1e-5 * (i + 2)).eval()
    assert (wt.stats()["pipelines"], wt.stats()["plans"]) == before


MODULES: list[tuple[Any, tuple[int, ...]]] = [
    (lambda: nn.LayerNorm(6), (3, 6)),
    (lambda: nn.LayerNorm((2, 3)), (3, 2, 3)),
    (lambda: nn.RMSNorm(6), (3, 6)),
    (lambda: nn.GroupNorm(2, 4), (2, 4, 3)),
    (lambda: nn.BatchNorm1d(4, track_running_stats=False), (5, 4)),
    (lambda: nn.Bilinear(3, 3, 2), (4, 3)),
    (lambda: nn.MultiheadAttention(4, 2, batch_first=True), (2, 3, 4)),
    (lambda: nn.TransformerEncoderLayer(4, 2, 6, 0.0, "gelu", norm_first=True), (3, 2, 4)),
]


@pytest.mark.parametrize("case", range(len(MODULES)))
def test_gradients_of_modules(case: int, rng: np.random.Generator) -> None:
    if not device_has("float64"):
        pytest.skip("the adapter has no float64")
    make, shape = MODULES[case]
    wt.random.manual_seed(case)
    layer = make().double()
    x = wt.asarray(rng.normal(size=shape)).requires_grad_()
    names = [n for n, _ in layer.named_parameters()]

    def run(a: wt.Tensor, *parameters: wt.Tensor) -> Any:
        for name, p in zip(names, parameters, strict=True):
            owner, _, last = name.rpartition(".")
            module = layer.get_submodule(owner)
            module._parameters.pop(last, None)
            module.__dict__[last] = p
        if isinstance(layer, nn.Bilinear):
            return layer(a, a)
        if isinstance(layer, nn.MultiheadAttention):
            return layer(a, a, a)[0]
        return layer(a)

    values = [p.detach().requires_grad_() for p in layer.parameters()]
    assert wt.autograd.gradcheck(run, (x, *values))
    if case < 3:
        assert wt.autograd.gradgradcheck(run, (x, *values))
