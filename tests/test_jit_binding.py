"""Recorded functions and what they know by name: rebound variables, parameters, kinds of values."""

from __future__ import annotations

import dataclasses
import math
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import AsyncIterator, Iterator
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from wgtensor import nn, optim
from wgtensor.nn import functional as F

pytestmark = pytest.mark.short
factor = wt.asarray([2.0])


def test_variables_that_are_bound_anew() -> None:
    global factor
    w, scale, table = wt.asarray([1.0]), 1.0, {"b": [wt.asarray([10.0])]}
    f = wt.jit(lambda x: x * w * scale * factor + table["b"][0])
    x = wt.ones(1)
    assert f(x).item() == 12
    w = wt.asarray([2.0])
    assert f(x).item() == 14
    scale = 3.0
    assert f(x).item() == 22
    factor = wt.asarray([1.0])
    assert f(x).item() == 16
    table["b"][0] = wt.asarray([20.0])
    assert f(x).item() == 26
    table["b"] = [wt.asarray([30.0])]
    assert f(x).item() == 36
    table = {"b": [wt.asarray([40.0])]}
    assert f(x).item() == 46
    factor = wt.asarray([2.0])


def test_functions_that_a_function_calls() -> None:
    w, activation = wt.asarray([-2.0]), F.relu

    def inner(x: wt.Tensor) -> wt.Tensor:
        return activation(x * w)

    f = wt.jit(lambda x: inner(x) + 1)
    assert f(wt.ones(1)).item() == 1
    w = wt.asarray([3.0])
    assert f(wt.ones(1)).item() == 4
    activation = F.relu6
    w *= 5
    assert f(wt.ones(1)).item() == 7


class Model:
    def __init__(self) -> None:
        self.w, self.power, self.calls = wt.full((2,), 3.0), 1, 0

    def run(self, x: wt.Tensor) -> wt.Tensor:
        self.calls += 1
        return x * self.w**self.power


def test_attributes() -> None:
    model = Model()
    f, x = wt.jit(model.run), wt.ones(2)
    assert f(x).tolist() == [3, 3]
    model.w = wt.full((2,), 4.0)
    assert f(x).tolist() == [4, 4]
    model.power = 2
    for _ in range(3):
        assert f(x).tolist() == [16, 16]
    assert model.calls == 3


@pytest.mark.parametrize("how", ["module", "function", "argument"])
def test_parameters_and_modules_that_are_replaced(how: str) -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    x = wt.asarray([[1.0, -1.0]])
    given = wt.jit(lambda m, x: m(x))
    f: Any = {
        "module": wt.jit(net),
        "function": wt.jit(lambda x: net(x)),
        "argument": lambda x: given(net, x),
    }[how]

    def check() -> None:
        for _ in range(2):
            np.testing.assert_allclose(f(x).numpy(), net(x).detach().numpy(), rtol=1e-6)

    check()
    net[0].weight = nn.Parameter(wt.random.normal((2, 2)))
    check()
    net[1] = nn.Tanh()
    check()
    net[0].bias = None
    check()
    net.append(nn.Linear(2, 3))
    check()


def test_a_tensor_that_the_function_itself_replaces_is_refused() -> None:
    class Cell:
        state = None

        def __init__(self) -> None:
            self.state = wt.zeros(2)

        def step(self, x: wt.Tensor) -> wt.Tensor:
            self.state = self.state * 0.5 + x
            return self.state

    cell = Cell()
    with pytest.raises(RuntimeError, match=r"\[jit\].*'state'.*in place"):
        wt.jit(cell.step)(wt.ones(2))
    assert cell.state.tolist() == [0, 0]

    def in_place(x: wt.Tensor) -> wt.Tensor:
        cell.state[...] = cell.state * 0.5 + x
        return cell.state * 1

    f = wt.jit(in_place)
    assert [f(wt.ones(2)).tolist()[0] for _ in range(3)] == [1.0, 1.5, 1.75]


def test_many_bindings_keep_few_recordings() -> None:
    w = wt.ones(1)
    f = wt.jit(lambda x: x * w)
    for i in range(40):
        w = wt.full((1,), float(i))
        assert f(wt.ones(1)).item() == i
    assert sum(len(known) for known in f._recordings.values()) <= 8


def test_no_arguments_on_another_device() -> None:
    device = wt.Device()
    w = wt.ones(3, device=device)
    f = wt.jit(lambda: w * 2 + wt.ones(3, device=device))
    for _ in range(2):
        result = f()
        assert result.tolist() == [3, 3, 3]
        assert result.device == device
    net = nn.Linear(3, 2).to(device)
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    def step() -> wt.Tensor:
        optimizer.zero_grad()
        loss = net(w.reshape(1, 3)).sum()
        loss.backward()
        optimizer.step()
        return loss

    run = wt.jit(step)
    losses = [run().item() for _ in range(3)]
    assert losses[0] - losses[1] == pytest.approx(0.8, rel=1e-5)


def test_numbers_in_the_key() -> None:
    calls = []

    def f(x: wt.Tensor, n: Any) -> wt.Tensor:
        calls.append(n)
        return wt.copysign(x, n) if n == 0 else x + n

    g, x = wt.jit(f), wt.ones(1)
    assert [g(x, n).item() for n in (0.0, -0.0, 0.0, -0.0)] == [1, -1, 1, -1]
    assert len(calls) == 2
    for nan in (math.nan, float("nan"), -float("-nan") * 1):
        assert math.isnan(g(x, nan).item())
    assert len(calls) <= 4  # a NaN has a sign
    calls.clear()
    for n in (1, 1.0, True, np.float32(1), np.float64(1)):
        g(x, n)
    assert len(calls) == 5
    for n in (1, 1.0, True, np.float32(1), np.float64(1)):
        g(x, n)
    assert len(calls) == 5


@dataclasses.dataclass
class Batch:
    x: wt.Tensor
    scale: float
    more: list[wt.Tensor] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Fixed:
    y: wt.Tensor


Pair = namedtuple("Pair", ["first", "second"])  # noqa: PYI024


def test_kinds_of_structures() -> None:
    calls = []

    def f(b: Batch, o: Any, p: Any) -> Any:
        calls.append(b)
        assert type(b) is Batch
        total = b.x * b.scale + b.more[0] + sum(o.values()) + p.first
        return Fixed(total), o.copy(), Pair(p.second, total)

    g = wt.jit(f)
    for kind in (dict, OrderedDict, lambda items: defaultdict(list, items)):
        o = kind([("b", wt.ones(1)), ("a", wt.ones(1))])
        for n in (1.0, 2.0):
            batch = Batch(wt.full((1,), n), 3.0, [wt.ones(1)])
            fixed, back, pair = g(batch, o, Pair(wt.ones(1), wt.zeros(1)))
            assert isinstance(fixed, Fixed)
            assert fixed.y.item() == 3 * n + 4
            assert (type(back), list(back)) == (type(o), ["b", "a"])
            assert isinstance(pair, Pair)
            assert pair.second.item() == 3 * n + 4
    assert len(calls) == 3
    g(Batch(wt.ones(1), 4.0, [wt.ones(1)]), {"b": wt.ones(1)}, Pair(wt.ones(1), wt.ones(1)))
    assert len(calls) == 4


def test_what_is_no_plain_function() -> None:
    async def coroutine() -> None: ...

    async def generator() -> AsyncIterator[int]:
        yield 1

    def numbers() -> Iterator[int]:
        yield 1

    for bad in (3, None, "f", coroutine, generator, numbers):
        with pytest.raises(TypeError, match=r"^\[jit\] takes a function"):
            wt.jit(bad)  # type: ignore[arg-type]
