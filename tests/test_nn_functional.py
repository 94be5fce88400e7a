"""Layers and their functions against float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import dispatches, same_bits
from wgtensor import nn
from wgtensor.nn import functional as F

Array = np.ndarray[Any, Any]


def check(actual: wt.Tensor, expected: Array, tolerance: float = 2e-6) -> None:
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual.numpy(), expected, rtol=tolerance, atol=tolerance)


def values(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(size=shape).astype(np.float32)


def test_linear_maps(rng: np.random.Generator) -> None:
    x, w, b = values(rng, 4, 7, 6), values(rng, 5, 6), values(rng, 5)
    check(F.linear(x, w, b), x.astype(np.float64) @ w.T + b, 1e-5)
    check(F.linear(x[0, 0], w), x[0, 0].astype(np.float64) @ w.T, 1e-5)
    u, v, m = values(rng, 9, 3), values(rng, 9, 4), values(rng, 5, 3, 4)
    expected = np.einsum("ni,kij,nj->nk", u.astype(np.float64), m, v)
    check(F.bilinear(u, v, m, b), expected + b, 1e-5)
    layer = nn.Bilinear(3, 4, 5)
    assert layer(wt.asarray(u), wt.asarray(v)).shape == (9, 5)
    assert nn.Linear(6, 5)(wt.asarray(x)).shape == (4, 7, 5)
    assert dispatches(lambda: F.relu(nn.Linear(6, 5)(wt.asarray(x).eval()))) <= 3
    with pytest.raises(wt.ShapeError, match="do not match"):
        F.linear(x, wt.ones((5, 7)))
    assert nn.Flatten()(wt.asarray(x)).shape == (4, 42)
    assert nn.Flatten(0, 1)(wt.asarray(x)).shape == (28, 6)
    assert nn.Unflatten(1, (7, 6))(nn.Flatten()(wt.asarray(x))).shape == (4, 7, 6)
    assert nn.Identity(5, a=3)(7) == 7


def normalized(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    x = x.astype(np.float64)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


@pytest.mark.parametrize("shape", [(3, 5), (4, 7, 64), (2, 300), (2, 3, 4, 5), (1, 5000)])
def test_layer_and_rms_norm(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x = 3 * values(rng, *shape) + 1
    w, b = values(rng, shape[-1]), values(rng, shape[-1])
    check(F.layer_norm(x, shape[-1], w, b), normalized(x, (-1,), 1e-5) * w + b, 1e-5)
    size = np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-4)
    check(F.rms_norm(x, shape[-1], w, 1e-4), x / size * w, 1e-5)
    check(F.layer_norm(x, shape[-2:]), normalized(x, (-2, -1), 1e-5), 1e-5)
    layer = nn.LayerNorm(shape[-1], bias=False)
    check(layer(wt.asarray(x)), normalized(x, (-1,), 1e-5), 1e-5)
    check(nn.RMSNorm(shape[-1], eps=1e-4)(wt.asarray(x)), x / size, 1e-5)


def test_norms_of_large_means_and_small_floats(rng: np.random.Generator) -> None:
    x = values(rng, 8, 100) + 1e4
    check(F.layer_norm(x, 100), normalized(x, (-1,), 1e-5), 2e-3)
    half = (100 * values(rng, 8, 100)).astype(np.float16)
    y = F.layer_norm(half, 100)
    assert y.dtype == wt.float16
    check(y, normalized(half, (-1,), 1e-5), 2e-3)
    check(F.rms_norm(half, 100), half / np.sqrt((half.astype(np.float64) ** 2).mean(-1, keepdims=True)), 2e-3)  # fmt: skip # noqa: E501
    assert not np.isnan(F.layer_norm(wt.zeros((2, 3)), 3).numpy()).any()


def test_group_norm(rng: np.random.Generator) -> None:
    x, w, b = values(rng, 2, 6, 5, 4), values(rng, 6), values(rng, 6)
    grouped = normalized(x.reshape(2, 3, 2, 5, 4), (2, 3, 4), 1e-5).reshape(x.shape)
    expected = grouped * w[:, None, None] + b[:, None, None]
    check(F.group_norm(x, 3, w, b), expected, 1e-5)
    check(nn.GroupNorm(3, 6)(wt.asarray(x)), grouped, 1e-5)
    check(nn.GroupNorm(6, 6)(wt.asarray(x[:, :, 0, 0])), 0 * x[:, :, 0, 0])
    with pytest.raises(wt.ShapeError, match="do not divide"):
        F.group_norm(x, 4)
    with pytest.raises(ValueError, match="do not divide"):
        nn.GroupNorm(4, 6)


@pytest.mark.parametrize("shape", [(16, 3), (6, 3, 5)])
def test_batch_norm(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    layer = nn.BatchNorm1d(3)
    w, b = values(rng, 3), values(rng, 3)
    layer.load_state_dict({"weight": w, "bias": b}, strict=False)
    axes = (0, 2)[: len(shape) - 1]
    wide = (3, *(1,) * (len(shape) - 2))
    mean, var = np.zeros(3), np.ones(3)
    for _ in range(3):
        x = 2 * values(rng, *shape) + 1
        y = layer(wt.asarray(x))
        check(y, normalized(x, axes, 1e-5) * w.reshape(wide) + b.reshape(wide), 1e-5)
        mean = 0.9 * mean + 0.1 * x.mean(axes, dtype=np.float64)
        var = 0.9 * var + 0.1 * x.var(axes, dtype=np.float64, ddof=1)
    check(layer.running_mean, mean, 1e-5)
    check(layer.running_var, var, 1e-5)
    assert layer.num_batches_tracked.item() == 3
    layer.eval()
    scaled = (x - mean.reshape(wide)) / np.sqrt(var.reshape(wide) + 1e-5)
    check(layer(wt.asarray(x)), scaled * w.reshape(wide) + b.reshape(wide), 1e-5)
    assert layer.num_batches_tracked.item() == 3
    free = nn.BatchNorm1d(3, affine=False, track_running_stats=False).eval()
    check(free(wt.asarray(x)), normalized(x, axes, 1e-5), 1e-5)
    even = nn.BatchNorm1d(3, momentum=None)
    for i in range(3):
        even(wt.asarray(np.full((2, 3), i, np.float32)))
    check(even.running_mean, np.ones(3))
    with pytest.raises(ValueError, match="one value"):
        nn.BatchNorm1d(3)(wt.ones((1, 3)))
    with pytest.raises(wt.ShapeError, match="channels"):
        nn.BatchNorm1d(3)(wt.ones((2, 4)))


def test_dropout() -> None:
    x = wt.ones((400, 500)).eval()
    wt.random.manual_seed(0)
    y = F.dropout(x, 0.3).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.7)}
    assert abs((y == 0).mean() - 0.3) < 0.005
    assert not np.array_equal(F.dropout(x, 0.3).numpy(), y)
    wt.random.manual_seed(0)
    assert np.array_equal(F.dropout(x, 0.3).numpy(), y)
    assert F.dropout(x, 1.0).numpy().max() == 0
    assert F.dropout(x, 0.0).numpy().min() == 1
    layer = nn.Dropout(0.9)
    assert layer(x).numpy().min() == 0
    assert layer.eval()(x) is x
    channels = F.dropout2d(wt.ones((20, 30, 4, 5)), 0.5).numpy()
    assert (channels == channels[:, :, :1, :1]).all()
    assert 0.4 < (channels == 0).mean() < 0.6
    assert nn.Dropout1d(0.5)(wt.ones((2, 3, 4))).shape == (2, 3, 4)
    for make in (lambda: nn.Dropout(1.5), lambda: F.dropout(x, -0.1)):
        with pytest.raises(ValueError, match="probability"):
            make()


def test_the_gradient_of_dropout_has_its_mask() -> None:
    x = wt.ones((64, 64)).eval().requires_grad_()
    y = F.dropout(x, 0.25)
    y.sum().backward()
    assert x.grad is not None
    same_bits(x.grad, y.detach().numpy())
    w = wt.ones((64, 64)).eval()

    def step() -> list[Any]:
        x.grad = None
        loss = (F.dropout(x, 0.25) * w).sum()
        loss.backward()
        return [loss, x.grad]

    step()
    assert dispatches(step) == 2  # each makes the mask for itself


def test_dropout_fuses() -> None:
    x, w = wt.ones((64, 64)).eval(), wt.ones((64, 64)).eval()
    assert dispatches(lambda: F.dropout(F.relu(x @ w), 0.5) * 2 + x) == 1


def test_activations(rng: np.random.Generator) -> None:
    x = values(rng, 4, 6)
    x64 = x.astype(np.float64)
    t = wt.asarray(x)
    same_bits(nn.GELU(approximate="tanh")(t), wt.gelu_tanh(t).numpy())
    same_bits(nn.LeakyReLU(0.2)(t), wt.leaky_relu(t, 0.2).numpy())
    same_bits(nn.Hardtanh(-0.5, max_val=0.25)(t), np.clip(x, -0.5, 0.25))
    same_bits(nn.ReLU(inplace=True)(t), np.maximum(x, 0))
    same_bits(nn.Threshold(0.1, 20)(t), np.where(x > 0.1, x, np.float32(20)))
    check(nn.Softmax(dim=0)(t), np.exp(x64) / np.exp(x64).sum(0))
    check(nn.Softmin(dim=1)(t), np.exp(-x64) / np.exp(-x64).sum(1, keepdims=True))
    check(F.glu(t), x64[:, :3] / (1 + np.exp(-x64[:, 3:])))
    check(nn.GLU(dim=0)(t), x64[:2] / (1 + np.exp(-x64[2:])))
    check(F.softplus(t * 100, beta=2.0), np.logaddexp(0, 200 * x64) / 2)
    assert F.softmax(t, dtype=wt.float16).dtype == wt.float16
    layer = nn.PReLU(6)
    check(layer(t), np.where(x > 0, x, 0.25 * x64))
    w = values(rng, 3)
    y = values(rng, 2, 3, 4)
    check(F.prelu(y, w), np.where(y > 0, y, w[:, None].astype(np.float64) * y))
    for p in (1.0, 2.0, 3.0, math.inf):
        norm = np.linalg.norm(x64, ord=p, axis=1, keepdims=True)
        check(F.normalize(t, p), x64 / norm)
    assert not np.isnan(F.normalize(wt.zeros((2, 2))).numpy()).any()
    with pytest.raises(wt.ShapeError, match="odd"):
        F.glu(wt.ones(3))
    with pytest.raises(TypeError, match="needs threshold"):
        nn.Threshold(value=1)
    with pytest.raises(TypeError, match="takes"):
        nn.ReLU(3)


def test_every_activation_module_runs() -> None:
    x = wt.ones((2, 4))
    for name in nn.__all__:
        cls: Any = getattr(nn, name)
        if isinstance(cls, type) and issubclass(cls, nn._activations.Activation):
            arguments = (0.5, 1.0) if name == "Threshold" else ()
            assert cls(*arguments)(x).ndim == 2
            assert cls.__doc__


def test_embedding(rng: np.random.Generator) -> None:
    layer = nn.Embedding(7, 3, padding_idx=2)
    w = layer.weight.detach().numpy()
    assert (w[2] == 0).all()
    index = rng.integers(0, 7, (4, 5)).astype(np.int32)
    same_bits(layer(wt.asarray(index)).detach(), w[index])
    assert layer(3).shape == (3,)
    assert abs(nn.Embedding(200, 50).weight.detach().numpy().std() - 1) < 0.05
    layer.zero_grad()
    (layer(wt.asarray(index)) * 2).sum().backward()
    counts = 2 * np.bincount(index.reshape(-1), minlength=7)
    counts[2] = 0
    assert layer.weight.grad is not None
    same_bits(layer.weight.grad, np.repeat(counts[:, None], 3, 1).astype(np.float32))
    with pytest.raises(IndexError):
        layer(wt.asarray(np.int32([7]))).detach().numpy()
    with pytest.raises(ValueError, match="padding_idx"):
        nn.Embedding(7, 3, padding_idx=7)
    with pytest.raises(wt.ShapeError, match="matrix"):
        F.embedding(index, w[0])


def test_gumbel_softmax() -> None:
    wt.random.manual_seed(0)
    logits = wt.asarray(np.log(np.float32([0.1, 0.2, 0.7])))
    y = F.gumbel_softmax(logits.broadcast_to((20_000, 3)), hard=True).numpy()
    assert np.allclose(y.sum(1), 1, atol=1e-6)
    assert np.allclose(y.mean(0), [0.1, 0.2, 0.7], atol=0.02)
    soft = F.gumbel_softmax(logits, tau=0.5).numpy()
    assert abs(soft.sum() - 1) < 1e-6


def test_convolution_modules(rng: np.random.Generator) -> None:
    x = wt.asarray(values(rng, 2, 4, 9, 8))
    layer = nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2)
    assert layer.weight.shape == (6, 2, 3, 3)
    expected = F.conv2d(x, layer.weight, layer.bias, 2, 1, 1, 2)
    same_bits(layer(x), expected.numpy())
    bound = 1 / math.sqrt(18)
    assert np.abs(layer.weight.numpy()).max() <= bound
    assert nn.Conv1d(3, 2, 5, bias=False)(wt.ones((1, 3, 9))).shape == (1, 2, 5)
    assert nn.Conv3d(1, 2, 2)(wt.ones((1, 1, 3, 3, 3))).shape == (1, 2, 2, 2, 2)
    assert nn.MaxPool2d(2)(x).shape == (2, 4, 4, 4)
    same_bits(nn.AvgPool2d(3, 2, 1, ceil_mode=True)(x), F.avg_pool2d(x, 3, 2, 1, True).numpy())
    assert nn.MaxPool1d(2, dilation=2)(wt.ones((1, 1, 9))).shape == (1, 1, 4)
    assert nn.AvgPool1d(3)(wt.ones((1, 1, 9))).shape == (1, 1, 3)
    with pytest.raises(ValueError, match="groups"):
        nn.Conv2d(3, 4, 1, groups=2)
    with pytest.raises(TypeError, match="takes"):
        nn.MaxPool1d(2, count_include_pad=True)
