"""Arguments of modules that PyTorch's have: norms of embeddings, padding modes, names, states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from wgtensor import nn, optim
from wgtensor.nn import functional as F


def test_norms_of_embeddings(rng: np.random.Generator) -> None:
    start = rng.normal(size=(6, 4)).astype(np.float32) * 3
    for order in (1.0, 2.0, np.inf):
        layer = nn.Embedding.from_pretrained(start, freeze=False, max_norm=1.5, norm_type=order)
        at = np.array([[1, 4], [4, 5]], np.int32)
        found = layer(at).detach().numpy()
        norms = np.linalg.norm(start, ord=order, axis=1, keepdims=True)
        limited = np.where(norms > 1.5, start * 1.5 / (norms + 1e-7), start)
        np.testing.assert_allclose(found, limited[at], rtol=1e-5)
        expected = start.copy()
        expected[[1, 4, 5]] = limited[[1, 4, 5]]
        np.testing.assert_allclose(layer.weight.detach().numpy(), expected, rtol=1e-5)
        assert layer.weight.requires_grad
    with pytest.raises(TypeError, match="max_norm"):
        F.embedding(at, start, None, 1.0)


def test_gradients_of_embeddings_by_frequency() -> None:
    layer = nn.Embedding(4, 2, padding_idx=0, scale_grad_by_freq=True)
    layer(wt.asarray(np.array([1, 1, 1, 2, 0, 0], np.int32))).sum().backward()
    assert layer.weight.grad is not None
    np.testing.assert_allclose(
        layer.weight.grad.numpy(), [[0, 0], [1, 1], [1, 1], [0, 0]], rtol=1e-6
    )
    assert repr(layer) == "Embedding(4, 2, padding_idx=0, scale_grad_by_freq=True)"
    assert not nn.Embedding.from_pretrained(np.ones((2, 3), np.float32)).weight.requires_grad


@pytest.mark.parametrize(
    ("mode", "numpy"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
def test_padding_modes(mode: str, numpy: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3, 7, 6)).astype(np.float32)
    layer = nn.Conv2d(3, 4, (3, 2), stride=(2, 1), padding=(1, 2), padding_mode=mode)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (2, 2)], mode=numpy)  # type: ignore[call-overload]
    expected = F.conv2d(padded, layer.weight, layer.bias, (2, 1))
    np.testing.assert_allclose(layer(x).detach().numpy(), expected.detach().numpy(), rtol=1e-5)
    same = nn.Conv1d(3, 2, 4, padding="same", padding_mode=mode)
    assert same(x[:, :, 0]).shape == (2, 2, 6)
    assert f"padding_mode={mode}" in repr(same)
    with pytest.raises(ValueError, match="padding_mode"):
        nn.Conv1d(3, 2, 3, padding_mode="mirror")


def test_names_of_what_is_shared() -> None:
    layer = nn.Linear(2, 2)
    net = nn.Sequential(layer, nn.ReLU(), layer)
    assert [n for n, _ in net.named_parameters()] == ["0.weight", "0.bias"]
    assert [n for n, _ in net.named_parameters(remove_duplicate=False)] == [
        "0.weight", "0.bias", "2.weight", "2.bias",
    ]  # fmt: skip
    assert [n for n, _ in net.named_modules()] == ["", "0", "1"]
    assert [n for n, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1", "2"]
    norm = nn.BatchNorm1d(2)
    pair = nn.ModuleList([norm, norm])
    assert len(list(pair.named_buffers(remove_duplicate=False))) == 6


def test_chains_that_are_added() -> None:
    a, b, c = nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)
    net = nn.Sequential(a, b) + nn.Sequential(c)
    assert list(net) == [a, b, c]
    assert isinstance(net, nn.Sequential)
    net += nn.Sequential(b)
    assert list(net) == [a, b, c, b]
    assert net.pop(-1) is b
    assert net(wt.ones((4, 2))).shape == (4, 1)
    both = nn.ModuleList([a]) + nn.ModuleList([c])
    assert list(both) == [a, c]
    assert isinstance(both, nn.ModuleList)
    with pytest.raises(TypeError):
        net + 3


def test_data_of_parameters() -> None:
    p = nn.Parameter(wt.ones(2))
    assert not p.data.requires_grad
    p.data = wt.asarray([3.0, 4.0])
    p.data += 1
    assert p.tolist() == [4, 5]
    assert p.requires_grad
    assert p.is_leaf
    (p * p).sum().backward()
    assert p.grad is not None
    assert p.grad.tolist() == [8, 10]
    with pytest.raises(TypeError, match="data"):
        p.data = 3  # type: ignore[assignment]


def test_one_hot_of_what_is_there() -> None:
    for classes in ([1, 3, 0], wt.asarray(np.array([1, 3, 0], np.int32))):
        assert F.one_hot(classes).tolist() == np.eye(4)[[1, 3, 0]].tolist()
    assert F.one_hot([0, 1], num_classes=3).shape == (2, 3)
    assert F.one_hot(wt.zeros((0,), dtype="int32")).shape == (0, 0)
    with pytest.raises(ValueError, match="negative"):
        F.one_hot(wt.asarray(np.array([1, -1], np.int32)))
    with pytest.raises(RuntimeError, match="jit"):
        wt.jit(lambda x: F.one_hot(x))(wt.asarray(np.array([1], np.int32)))


def test_gradients_of_outputs_may_be_arrays() -> None:
    x = wt.ones((2, 2)).requires_grad_()
    (x * 2).backward(np.array([[1, 2], [3, 4]]))
    assert x.grad is not None
    assert x.grad.tolist() == [[2, 4], [6, 8]]
    (given,) = wt.autograd.grad(x * 2, x, np.ones((2, 2), np.float32))
    assert given.tolist() == [[2, 2], [2, 2]]
    x.grad = None
    wt.autograd.backward([x.sum(), x.sum()], [1.0, None])
    assert x.grad.tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [
        (TypeError, "dict of names.*int", lambda: nn.Linear(1, 1).load_state_dict(5)),
        (TypeError, "list", lambda: nn.Linear(1, 1).load_state_dict([1])),
        (ValueError, "no state and no param_groups",
         lambda: optim.Adam(nn.Linear(1, 1).parameters()).load_state_dict({})),
        (TypeError, "NoneType",
         lambda: optim.Adam(nn.Linear(1, 1).parameters()).load_state_dict(None)),
    ],
)  # fmt: skip
def test_states_that_are_none(error: type[Exception], text: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=text):
        call()
