"""Attention and the transformer's encoder against float64, head by head."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from wgtensor import nn
from wgtensor.nn import functional as F

pytestmark = pytest.mark.limits

Array = np.ndarray[Any, Any]


def check(actual: Any, expected: Array, tolerance: float = 1e-5) -> None:
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual.numpy(), expected, rtol=tolerance, atol=tolerance)


def values(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(size=shape).astype(np.float32)


def softmax(x: Array) -> Array:
    with np.errstate(all="ignore"):
        e = np.exp(x - np.where(np.isinf(x.max(-1, keepdims=True)), 0, x.max(-1, keepdims=True)))
        return np.nan_to_num(e / e.sum(-1, keepdims=True))


def attention(q: Array, k: Array, v: Array, added: Any = 0.0, scale: float | None = None) -> Array:
    q, k, v = (t.astype(np.float64) for t in (q, k, v))
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    return softmax(q @ np.swapaxes(k, -1, -2) * factor + added) @ v


def test_scaled_dot_product(rng: np.random.Generator) -> None:
    q, k, v = values(rng, 2, 3, 5, 4), values(rng, 2, 3, 7, 4), values(rng, 2, 3, 7, 6)
    f = F.scaled_dot_product_attention
    check(f(q, k, v), attention(q, k, v))
    check(f(q, k, v, scale=0.3), attention(q, k, v, scale=0.3))
    mask = rng.random((5, 7)) < 0.6
    mask[2] = False
    check(f(q, k, v, mask), attention(q, k, v, np.where(mask, 0, -np.inf)))
    bias = values(rng, 2, 1, 5, 7)
    check(f(q, k, v, bias), attention(q, k, v, bias))
    causal = np.where(np.tri(5, 7, dtype=bool), 0, -np.inf)
    check(f(q, k, v, is_causal=True), attention(q, k, v, causal))
    assert f(q, k, v, dropout_p=0.5).shape == (2, 3, 5, 6)
    with pytest.raises(wt.ShapeError, match="do not match"):
        f(q, k, v[..., :3, :])


def reference(m: nn.MultiheadAttention, q: Array, k: Array, v: Array, added: Any = 0.0) -> Any:
    """Batch first; a loop over heads."""
    e, h = m.embed_dim, m.num_heads
    p = {n: t.numpy().astype(np.float64) for n, t in m.state_dict().items()}
    weights = (
        np.split(p["in_proj_weight"], 3)
        if "in_proj_weight" in p
        else [p[f"{n}_proj_weight"] for n in "qkv"]
    )
    biases = np.split(p.get("in_proj_bias", np.zeros(3 * e)), 3)
    made = [x @ w.T + b for x, w, b in zip((q, k, v), weights, biases, strict=True)]
    out, maps = [], []
    for i in range(h):
        a, b, c = (t[..., i * (e // h) : (i + 1) * (e // h)] for t in made)
        extra = added[:, i] if np.ndim(added) == 4 else added
        weights_ = softmax(a @ np.swapaxes(b, -1, -2) / math.sqrt(e // h) + extra)
        maps.append(weights_)
        out.append(weights_ @ c)
    y = np.concatenate(out, -1) @ p["out_proj.weight"].T + p.get("out_proj.bias", 0)
    return y, np.stack(maps, 1)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dims", [(None, None), (6, 10)])
def test_multihead(bias: bool, dims: Any, rng: np.random.Generator) -> None:
    m = nn.MultiheadAttention(8, 2, bias=bias, kdim=dims[0], vdim=dims[1], batch_first=True)
    if bias:
        nn.init.normal_(m.in_proj_bias)
    q = values(rng, 3, 5, 8)
    k, v = values(rng, 3, 7, dims[0] or 8), values(rng, 3, 7, dims[1] or 8)
    y, maps = reference(m, q, k, v)
    out, weights = m(*map(wt.asarray, (q, k, v)))
    check(out, y)
    check(weights, maps.mean(1))
    each = m(*map(wt.asarray, (q, k, v)), average_attn_weights=False)[1]
    check(each, maps)
    assert m(*map(wt.asarray, (q, k, v)), need_weights=False)[1] is None
    single, w = m(*(wt.asarray(x[1]) for x in (q, k, v)))
    check(single, y[1])
    check(w, maps[1].mean(0))
    m.batch_first = False
    turned = (wt.asarray(np.swapaxes(x, 0, 1)) for x in (q, k, v))
    check(m(*turned)[0], np.swapaxes(y, 0, 1))


def test_self_attention_and_masks(rng: np.random.Generator) -> None:
    m = nn.MultiheadAttention(8, 2, batch_first=True)
    x = values(rng, 3, 5, 8)
    t = wt.asarray(x)
    check(m(t, t, t)[0], reference(m, x, x, x)[0])
    padding = np.zeros((3, 5), bool)
    padding[0, 3:] = True
    block = ~np.tri(5, dtype=bool)
    added = np.where(padding[:, None], -np.inf, 0) + np.where(block, -np.inf, 0)
    y = reference(m, x, x, x, added)[0]
    check(m(t, t, t, padding, attn_mask=block)[0], y)
    check(m(t, t, t, padding, is_causal=True)[0], y)
    number = np.where(block, -np.inf, 0).astype(np.float32)
    check(m(t, t, t, padding, attn_mask=number)[0], y)
    heads = values(rng, 6, 5, 5)
    y = reference(m, x, x, x, heads.reshape(3, 2, 5, 5))[0]
    check(m(t, t, t, attn_mask=heads)[0], y)
    with pytest.raises(ValueError, match="do not divide"):
        nn.MultiheadAttention(8, 3)
    with pytest.raises(wt.ShapeError, match="do not match"):
        m(t, t[0], t)


def normalized(x: Array) -> Array:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("norm_first", [True, False])
def test_encoder_layer(norm_first: bool, rng: np.random.Generator) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first).eval()
    x = values(rng, 3, 5, 8).astype(np.float64)
    p = {n: t.numpy().astype(np.float64) for n, t in layer.state_dict().items()}

    def attend(v: Array) -> Array:
        return reference(layer.self_attn, v, v, v)[0]

    def feed(v: Array) -> Array:
        h = np.maximum(v @ p["linear1.weight"].T + p["linear1.bias"], 0)
        return h @ p["linear2.weight"].T + p["linear2.bias"]

    if norm_first:
        y = x + attend(normalized(x))
        y = y + feed(normalized(y))
    else:
        y = normalized(x + attend(x))
        y = normalized(y + feed(y))
    t = wt.asarray(x.astype(np.float32))
    check(layer(t), y, 2e-5)
    causal = layer(t, is_causal=True).numpy()
    cut = layer(t[:, :3], is_causal=True).numpy()
    np.testing.assert_allclose(causal[:, :3], cut, rtol=1e-4, atol=1e-5)
    layer.train()
    assert not np.allclose(layer(t).numpy(), layer(t).numpy())


def test_encoder(rng: np.random.Generator) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, bias=False)
    encoder = nn.TransformerEncoder(layer, 3, nn.LayerNorm(8))
    assert len(list(encoder.parameters())) == 3 * len(list(layer.parameters())) + 2
    assert "layers.2.self_attn.in_proj_weight" in encoder.state_dict()
    assert encoder(wt.asarray(values(rng, 2, 4, 8))).shape == (2, 4, 8)
