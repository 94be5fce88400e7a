"""Other sizes, surroundings and orders of images; dicts of parameters; recurrent networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from wgtensor import nn, optim
from wgtensor.nn import functional as F


def test_sizes() -> None:
    x = wt.asarray([[[1.0, 2.0, 4.0]]])
    assert F.interpolate(x, scale_factor=2).tolist() == [[[1, 1, 2, 2, 4, 4]]]
    assert F.interpolate(x, 2).tolist() == [[[1, 2]]]
    assert F.interpolate(x, 5, mode="linear", align_corners=True).tolist() == [[[1, 1.5, 2, 3, 4]]]
    assert nn.Upsample(scale_factor=2)(x).shape == (1, 1, 6)
    half = F.interpolate(x.astype("float16"), 6, mode="linear")
    assert half.dtype == wt.float16


def test_surroundings_in_two_orders() -> None:
    x = wt.arange(6).reshape(2, 3)
    assert F.pad(x, (1, 0)).tolist() == [[0, 0, 1, 2], [0, 3, 4, 5]]
    assert F.pad(x, (0, 0, 1, -1), value=7).tolist() == [[7, 7, 7], [0, 1, 2]]
    image = wt.arange(16).reshape(1, 4, 2, 2)
    shuffled = F.pixel_shuffle(image, 2)
    assert shuffled[0, 0, 0].tolist() == [0, 4, 1, 5]
    assert F.pixel_unshuffle(shuffled, 2).tolist() == image.tolist()
    assert nn.PixelShuffle(2)(image).shape == (1, 1, 4, 4)


def test_dicts_of_parameters() -> None:
    d = nn.ParameterDict({"a": wt.ones(2)})
    d["b"] = nn.Parameter(wt.zeros(1))
    d["a"] = wt.zeros(3)
    assert list(d) == ["a", "b"]
    assert [n for n, _ in d.named_parameters()] == ["a", "b"]
    assert d["a"].shape == (3,)
    assert d["a"].requires_grad
    assert ("a" in d, len(d), [*d.keys()], len(list(d.values()))) == (True, 2, ["a", "b"], 2)
    del d["b"]
    assert [k for k, _ in d.items()] == ["a"]
    assert repr(d) == "ParameterDict(a: (3,))"


def test_a_recurrent_network_learns_and_is_recorded() -> None:
    """To say whether a sequence has more ones than zeros."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, (9, 64, 1)).astype(np.float32)
    y = (x.mean(axis=(0, 2)) > 0.5).astype(np.int32)
    for make in (nn.LSTM, nn.GRU):
        wt.random.manual_seed(1)
        net, scores = make(1, 12), nn.Linear(12, 2)
        optimizer = optim.Adam([*net.parameters(), *scores.parameters()], lr=0.03)

        def step(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
            loss = F.cross_entropy(scores(net(x)[0][-1]), y)  # noqa: B023
            loss.backward()
            optimizer.step()  # noqa: B023
            optimizer.zero_grad()  # noqa: B023
            return loss

        run = wt.jit(step)
        losses = [run(wt.asarray(x), wt.asarray(y)).item() for _ in range(40)]
        assert losses[-1] < 0.25 < losses[0]


def test_a_projected_lstm() -> None:
    """The equations of Sak, Senior and Beaufays (2014), by NumPy."""
    net = nn.LSTM(3, 5, num_layers=2, bidirectional=True, proj_size=2)
    x = np.random.default_rng(4).standard_normal((4, 6, 3)).astype(np.float32)
    y, (h, c) = net(wt.asarray(x))
    assert (y.shape, h.shape, c.shape) == ((4, 6, 4), (4, 6, 2), (4, 6, 5))
    assert repr(net) == "LSTM(3, 5, num_layers=2, bidirectional=True, proj_size=2)"
    names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"]
    assert [*net.state_dict()][:5] == [f"{n}_l0" for n in names]

    def sigmoid(a: Any) -> Any:
        return 1 / (1 + np.exp(-a))

    def run(x: Any, suffix: str) -> Any:
        w_ih, w_hh, b_ih, b_hh, w_hr = (net.state_dict()[n + suffix].numpy() for n in names)
        h, c, out = np.zeros((6, 2)), np.zeros((6, 5)), []
        for t in x:
            i, f, g, o = np.split(t @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, axis=-1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = (sigmoid(o) * np.tanh(c)) @ w_hr.T
            out.append(h)
        return np.stack(out)

    layer = x
    for k in range(2):
        back = run(layer[::-1], f"_l{k}_reverse")[::-1]
        layer = np.concatenate([run(layer, f"_l{k}"), back], axis=-1)
    np.testing.assert_allclose(y.numpy(), layer, rtol=1e-4, atol=1e-6)
    again, _ = net(wt.asarray(x), (wt.zeros((4, 6, 2)), wt.zeros((4, 6, 5))))
    np.testing.assert_array_equal(again.numpy(), y.numpy())
    y.sum().backward()
    assert all(p.grad is not None for p in net.parameters())


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda: nn.LSTM(3, 4, proj_size=4)),
        (wt.ShapeError, lambda: nn.LSTM(3, 4, proj_size=2)(
            wt.ones((5, 1, 3)), (wt.ones((1, 1, 4)), wt.ones((1, 1, 4))))),
        (ValueError, lambda: F.interpolate(wt.ones((1, 1, 2)))),
        (ValueError, lambda: F.interpolate(wt.ones((1, 1, 2)), 3, 2.0)),
        (ValueError, lambda: F.interpolate(wt.ones((1, 1, 2)), 3, mode="cubic")),
        (wt.ShapeError, lambda: F.interpolate(wt.ones((1, 1, 2)), 3, mode="bilinear")),
        (wt.ShapeError, lambda: F.interpolate(wt.ones((1, 1, 2)), 0)),
        (ValueError, lambda: F.pad(wt.ones(3), (1, 2, 3))),
        (ValueError, lambda: F.pad(wt.ones(3), (1, 2), "mirror")),
        (wt.ShapeError, lambda: F.pixel_shuffle(wt.ones((3, 2, 2)), 2)),
        (wt.ShapeError, lambda: nn.LSTM(3, 4)(wt.ones((5, 2, 4)))),
        (wt.ShapeError, lambda: nn.GRU(3, 4)(wt.ones((5, 2, 3)), wt.ones((1, 2, 5)))),
        (ValueError, lambda: nn.RNN(3, 4, nonlinearity="sin")),
        (ValueError, lambda: F.conv_transpose1d(wt.ones((1, 2, 3)), wt.ones((2, 1, 3)),
                                                output_padding=1)),
        (wt.ShapeError, lambda: F.conv_transpose1d(wt.ones((1, 2, 3)), wt.ones((3, 1, 3)))),
        (wt.ShapeError, lambda: F.instance_norm(wt.ones((1, 2)))),
        (ValueError, lambda: nn.TransformerDecoderLayer(4, 2, activation="sin")),
        (ValueError, lambda: optim.swa_utils.get_ema_avg_fn(2.0)),
    ],
)  # fmt: skip
def test_errors(error: type[Exception], call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=r"^\["):
        call()
