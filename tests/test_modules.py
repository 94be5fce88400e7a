"""Modules: attributes, walks, state, hooks, moves, text."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has, same_bits
from wgtensor import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.norm = nn.BatchNorm1d(3)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(3, 2, bias=False))
        self.scale = nn.Parameter(wt.ones(2))
        self.register_buffer("seen", wt.zeros(()), persistent=False)

    def forward(self, x: wt.Tensor) -> Any:
        return self.rest(self.norm(self.first(x))) * self.scale


NAMES = ["scale", "first.weight", "first.bias", "norm.weight", "norm.bias", "rest.1.weight"]
BUFFERS = ["norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]


def test_what_a_module_holds() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == NAMES
    assert [n for n, _ in net.named_buffers()] == ["seen", *BUFFERS]
    assert [n for n, _ in net.named_children()] == ["first", "norm", "rest"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "norm", "rest", "rest.0", "rest.1"]
    assert sorted(net.state_dict()) == sorted([*NAMES, *BUFFERS])
    assert all(isinstance(p, nn.Parameter) for p in net.parameters())
    assert net.get_submodule("rest.1") is net.rest[1]
    assert "first" in dir(net)
    assert [n for n, _ in net.named_parameters(recurse=False)] == ["scale"]


def test_shared_parts_count_once() -> None:
    net = nn.Module()
    net.a = nn.Linear(2, 2)
    net.b = net.a
    net.c = nn.Linear(2, 2)
    net.c.weight = net.a.weight
    assert [n for n, _ in net.named_parameters()] == ["a.weight", "a.bias", "c.bias"]
    assert len(list(net.modules())) == 3
    assert sorted(net.state_dict()) == [f"{m}.{n}" for m in "abc" for n in ("bias", "weight")]


def test_attributes() -> None:
    net = Net()
    kept = net.scale
    net.scale = None
    assert net.scale is None
    assert "scale" not in dict(net.named_parameters())
    net.scale = kept
    with pytest.raises(TypeError, match="takes a Parameter"):
        net.scale = wt.ones(2)
    net.seen = wt.ones(())
    assert dict(net.named_buffers())["seen"].item() == 1
    del net.first
    with pytest.raises(AttributeError, match="no attribute 'first'"):
        _ = net.first
    net.plain = 5
    assert net.plain == 5
    net.plain = nn.ReLU()
    assert "plain" in dict(net.named_children())
    with pytest.raises(KeyError, match="already"):
        net.register_buffer("forward", None)
    with pytest.raises(ValueError, match="dots"):
        net.register_parameter("a.b", None)
    with pytest.raises(TypeError, match="is a ndarray"):
        net.register_buffer("array", np.zeros(2))  # type: ignore[arg-type]

    class Early(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.ReLU()

    with pytest.raises(AttributeError, match="__init__"):
        Early()
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)


def test_parameters() -> None:
    p = nn.Parameter(wt.ones(3))
    assert isinstance(p, wt.Tensor)
    assert type(p + 1) is wt.Tensor
    assert "Parameter" in type(p).__name__
    q = copy.deepcopy(p)
    assert isinstance(q, nn.Parameter)
    assert q is not p
    same_bits(pickle.loads(pickle.dumps(p)), np.ones(3, np.float32))
    assert isinstance(pickle.loads(pickle.dumps(p)), nn.Parameter)
    with pytest.raises(TypeError):
        nn.Parameter([1, 2])  # type: ignore[arg-type]


def test_modes() -> None:
    net = Net()
    assert all(m.training for m in net.modules())
    assert net.eval() is net
    assert not any(m.training for m in net.modules())
    assert net.train().rest[0].training


def test_state_goes_round() -> None:
    a, b = Net(), Net()
    a(wt.asarray(np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)))
    state = a.state_dict()
    saved = {k: v.numpy() for k, v in state.items()}
    result = b.load_state_dict(state)
    assert result == ([], [])
    for name, t in b.state_dict().items():
        same_bits(t, saved[name])
    with_arrays = nn.Linear(4, 3)
    with_arrays.load_state_dict({"weight": np.ones((3, 4)), "bias": np.zeros(3)})
    assert with_arrays.weight.dtype == wt.float32
    # What was saved is not what is trained later.
    nn.init.zeros_(a.scale)
    same_bits(state["scale"], saved["scale"])


def test_every_mismatch_is_listed() -> None:
    net = Net()
    before = net.scale.numpy()
    state = net.state_dict()
    del state["first.bias"], state["norm.running_var"]
    state["extra"] = wt.zeros(1)
    state["first.weight"] = wt.zeros((4, 3))
    state["rest.1.weight"] = wt.zeros((1, 1))
    state["scale"] = wt.zeros(2)
    with pytest.raises(ValueError, match="missing") as info:
        net.load_state_dict(state)
    for name in ("first.bias", "norm.running_var", "extra", "first.weight", "rest.1.weight"):
        assert name in str(info.value)
    assert "(4, 3)" in str(info.value)
    assert "(3, 4)" in str(info.value)
    same_bits(net.scale, before)
    good = {k: v for k, v in state.items() if k not in ("first.weight", "rest.1.weight")}
    result = net.load_state_dict(good, strict=False)
    assert "first.bias" in result.missing_keys
    assert result.unexpected_keys == ["extra"]
    assert net.scale.tolist() == [0, 0]


def test_hooks() -> None:
    layer, seen = nn.Linear(2, 2), []
    before = layer.register_forward_pre_hook(lambda m, args: seen.append(("pre", len(args))))
    after = layer.register_forward_hook(lambda m, args, y: y * 0 + 7)
    assert (layer(wt.ones((1, 2))).numpy() == 7).all()
    assert seen == [("pre", 1)]
    before.remove()
    with after:
        pass
    assert not (layer(wt.ones((1, 2))).numpy() == 7).all()
    assert len(seen) == 1
    layer.register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    assert np.allclose(layer(wt.ones((1, 2))).numpy(), layer.bias.numpy())


def test_apply_and_to() -> None:
    net, visited = Net(), []
    net.apply(lambda m: visited.append(type(m).__name__))
    assert visited == ["Linear", "BatchNorm1d", "ReLU", "Linear", "Sequential", "Net"]
    weight = net.first.weight
    assert net.to(wt.float16) is net
    assert net.first.weight is weight
    assert weight.dtype == net.norm.running_mean.dtype == wt.float16
    assert net.norm.num_batches_tracked.dtype == wt.int32
    assert net.float().first.weight.dtype == wt.float32
    assert net.bfloat16().first.weight.dtype == wt.bfloat16
    assert net.to("float32").to(net.scale.device).scale.dtype == wt.float32
    if device_has("float64"):
        assert net.double().first.weight.dtype == wt.float64
        assert net.to(wt.ones(1)).first.weight.dtype == wt.float32
    with pytest.raises(wt.DTypeError, match="float dtype"):
        net.to(wt.int32)
    device = wt.Device()
    net.to(device)
    assert all(p.device == device for p in net.parameters())
    assert net(wt.ones((2, 4), device=device)).device == device


def test_text() -> None:
    text = repr(Net())
    assert text.startswith("Net(\n  (first): Linear(in_features=4, out_features=3, bias=True)\n")
    assert "  (rest): Sequential(\n    (0): ReLU()\n" in text
    assert repr(nn.Dropout(0.25)) == "Dropout(p=0.25, inplace=False)"
    assert repr(nn.LeakyReLU(0.2)) == "LeakyReLU(negative_slope=0.2)"


def test_copies() -> None:
    net = Net()
    other = copy.deepcopy(net)
    nn.init.zeros_(net.scale)
    assert other.scale.tolist() == [1, 1]
    assert [n for n, _ in other.named_parameters()] == NAMES
    again = pickle.loads(pickle.dumps(nn.Sequential(nn.Linear(2, 2), nn.Tanh())))
    assert isinstance(again[0].weight, nn.Parameter)


def test_containers() -> None:
    s = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert s(wt.ones((5, 2))).shape == (5, 1)
    assert len(s) == 3
    assert isinstance(s[:2], nn.Sequential)
    assert [n for n, _ in s[1:].named_children()] == ["1", "2"]
    s[1] = nn.Tanh()
    assert isinstance(s[-2], nn.Tanh)
    named = nn.Sequential({"a": nn.ReLU(), "b": nn.Tanh()})
    assert list(dict(named.named_children())) == ["a", "b"]
    items = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])
    items.append(nn.ReLU())
    items.insert(0, nn.Tanh())
    assert [type(m).__name__ for m in items] == ["Tanh", *["Linear"] * 3, "ReLU"]
    del items[0]
    assert len(items) == 4
    assert sorted(items.state_dict())[:2] == ["0.bias", "0.weight"]
    with pytest.raises(IndexError):
        items[4]
    d = nn.ModuleDict({"x": nn.ReLU()})
    d["y"] = nn.Linear(1, 2)
    assert list(d) == list(d.keys()) == ["x", "y"]
    assert "x" in d
    assert isinstance(d.pop("x"), nn.ReLU)
    assert len(d) == 1
    p = nn.ParameterList([wt.ones(2), nn.Parameter(wt.zeros(3))])
    p.append(wt.ones(1))
    assert [x.shape for x in p] == [(2,), (3,), (1,)]
    assert len(list(p.parameters())) == 3
    assert p[-1].shape == (1,)


def test_attributes_can_be_deleted() -> None:
    net = nn.Linear(2, 3)
    net.note = 3
    net.forward = lambda x: x  # type: ignore[method-assign]
    del net.note, net.forward
    assert net(wt.ones((1, 2))).shape == (1, 3)
    with pytest.raises(AttributeError, match="note"):
        del net.note
