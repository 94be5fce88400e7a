"""What recordings see of the world beside tensors: plain values in lists and dicts, hooks, the
defaults of dtype and device."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from wgtensor import nn, optim

X = np.arange(3, dtype="float32")


class Counted:
    """A function that counts how often Python runs it."""

    def __init__(self, function: Any) -> None:
        self.runs = 0

        def run(*args: Any) -> Any:
            self.runs += 1
            return function(*args)

        self.call = wt.jit(run)

    def __call__(self, *args: Any) -> Any:
        return self.call(*args)


def test_plain_values_in_dicts_and_lists() -> None:
    options: dict[str, Any] = {"scale": 2.0, "inner": {"shift": 1}}
    factors = [3.0, 1.0]

    def f(x: wt.Tensor) -> wt.Tensor:
        y = x * options["scale"] + options["inner"]["shift"]
        if options.get("halved"):
            y = y / 2
        for k in factors:
            y = y * k
        return y

    run, x = Counted(f), wt.asarray(X)

    def check(runs: int) -> None:
        for _ in range(3):
            np.testing.assert_allclose(run(x).numpy(), f(wt.asarray(X)).numpy())
        assert run.runs == runs

    check(1)
    options["scale"] = 5.0
    check(2)
    options["inner"]["shift"] = 7
    check(3)
    options["halved"] = True  # which was not there
    check(4)
    factors[1] = 4.0
    check(5)
    factors.append(0.5)
    check(6)
    del options["halved"]
    check(7)
    options["unread"] = 1
    check(7)
    options["scale"] = 2.0 + 3.0  # another object, the same number
    check(7)


def test_a_dict_that_is_gone_through() -> None:
    table = {"a": 1.0, "b": 2.0}

    def f(x: wt.Tensor) -> wt.Tensor:
        for key, value in table.items():
            x = x + value if key == "a" else x * value
        return x

    run, x = Counted(f), wt.asarray(X)
    assert run(x).tolist() == [2, 4, 6]
    table["b"] = 3.0
    assert run(x).tolist() == [3, 6, 9]
    table["c"] = 0.0
    assert run(x).tolist() == [0, 0, 0]
    assert run.runs == 3


def test_what_the_function_itself_writes_is_no_part_of_it() -> None:
    seen: list[int] = []
    counts = {"calls": 0}

    def f(x: wt.Tensor) -> wt.Tensor:
        seen.append(len(seen))
        counts["calls"] += 1
        return x + 1

    run, x = Counted(f), wt.asarray(X)
    for _ in range(5):
        run(x)
    assert run.runs <= 2


def test_rates_and_steps_of_an_optimizer_record_nothing_anew() -> None:
    w = nn.Parameter(wt.asarray(X))
    optimizer = optim.Adam([w], lr=0.1)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    words = {"lr": 1.0, "step": 2.0}

    def step(x: wt.Tensor) -> wt.Tensor:
        loss = ((w - x) ** 2).sum() * words["lr"] * words["step"]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return sum(v * loss for v in words.values())

    run = Counted(step)
    for _ in range(6):
        run(wt.ones(3))
        schedule.step()
    assert run.runs == 1


class Trainer:
    """Its step reads some of its state; what it notes down is no part of the step."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.best = {"loss": 0.0, "step": 0.0}
        self.options = {"scale": 2.0}
        self.runs = 0
        self.jitted = wt.jit(self.step)

    def step(self, x: wt.Tensor) -> wt.Tensor:
        self.runs += 1
        return self.scaled(x).sum()

    def scaled(self, x: wt.Tensor) -> wt.Tensor:
        return x * self.options["scale"]

    def fit(self, x: wt.Tensor) -> float:
        loss = self.jitted(x).item()
        self.losses.append(float(loss))
        self.best["loss"] = float(loss)
        self.best["step"] += 1
        return float(loss)


def test_notes_beside_a_step_record_nothing_anew() -> None:
    trainer, x = Trainer(), wt.asarray(X)
    for _ in range(6):
        assert trainer.fit(x) == 6
    assert trainer.runs == 1
    trainer.options["scale"] = 3.0
    assert trainer.fit(x) == 9
    assert trainer.runs == 2


class Powered:
    power = 2

    def __call__(self, x: wt.Tensor) -> wt.Tensor:
        return x**self.power


def test_attributes_of_classes() -> None:
    own = Powered()
    run, x = Counted(lambda t: own(t)), wt.asarray(X)
    try:
        assert run(x).tolist() == run(x).tolist() == [0, 1, 4]
        Powered.power = 3
        assert run(x).tolist() == run(x).tolist() == [0, 1, 8]
        assert run.runs == 2
        own.power = 1
        assert run(x).tolist() == [0, 1, 2]
    finally:
        Powered.power = 2


def test_variables_of_other_modules() -> None:
    outer, inner = types.ModuleType("outer"), types.ModuleType("inner")
    outer.inner, outer.unread = inner, 1  # type: ignore[attr-defined]
    exec("factor = 2.0\ndef f(x):\n    return x * factor\n", vars(outer))
    inner.shift = 1.0  # type: ignore[attr-defined]
    scope = {"outer": outer}
    exec("def g(x):\n    return outer.f(x) + outer.inner.shift\n", scope)
    run, x = Counted(scope["g"]), wt.asarray(X)
    assert run(x).tolist() == run(x).tolist() == [1, 3, 5]
    outer.factor = 3.0  # type: ignore[attr-defined]
    assert run(x).tolist() == [1, 4, 7]
    inner.shift = 0.0  # type: ignore[attr-defined]
    assert run(x).tolist() == [0, 3, 6]
    outer.unread = 2  # type: ignore[attr-defined]
    run(x)
    assert run.runs == 3
    outer.f = lambda x: x  # type: ignore[attr-defined]
    assert run(x).tolist() == [0, 1, 2]


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.options = {"gain": 2.0}

    def forward(self, x: wt.Tensor) -> wt.Tensor:
        y: wt.Tensor = self.layer(x) * self.options["gain"]
        return y


def test_a_modules_dict_and_hooks() -> None:
    net, x = Scaled(), wt.asarray(X)
    run = Counted(lambda t: net(t))
    first = run(x).numpy()
    np.testing.assert_array_equal(run(x).numpy(), first)
    net.options["gain"] = 4.0
    np.testing.assert_allclose(run(x).numpy(), 2 * first, rtol=1e-6)
    handle = net.layer.register_forward_hook(lambda m, args, y: y * 3)
    np.testing.assert_allclose(run(x).numpy(), 6 * first, rtol=1e-6)
    before = net.register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    np.testing.assert_allclose(run(x).numpy(), 12 * net.layer.bias.detach().numpy(), rtol=1e-6)
    before.remove()
    handle.remove()
    np.testing.assert_allclose(run(x).numpy(), 2 * first, rtol=1e-6)
    runs = run.runs
    assert runs == 5
    run(x)
    assert run.runs == runs


def test_hooks_of_tensors() -> None:
    w = wt.asarray(X, requires_grad=True)

    def f(x: wt.Tensor) -> wt.Tensor:
        (g,) = wt.autograd.grad((w * x).sum(), [w])
        (w * x).sum().backward()
        return g

    run, x = Counted(f), wt.ones(3)
    run(x)
    run(x)
    assert w.grad is not None
    assert w.grad.tolist() == [2, 2, 2]
    runs = run.runs
    handle = w.register_hook(lambda g: g * 10)
    run(x)
    run(x)
    assert w.grad.tolist() == [22, 22, 22]
    assert run.runs == runs + 1
    handle.remove()
    run(x)
    assert w.grad.tolist() == [23, 23, 23]


@pytest.fixture
def defaults() -> Iterator[None]:
    dtype = wt.get_default_dtype()
    yield
    wt.set_default_dtype(dtype)
    wt.set_default_device(None)


@pytest.mark.usefixtures("defaults")
def test_the_default_dtype() -> None:
    run, x = Counted(lambda t: t / 2 + wt.zeros(3)), wt.asarray([1, 2, 3])
    assert run(x).dtype == wt.float32
    wt.set_default_dtype("float16")
    assert run(x).dtype == wt.float16
    wt.set_default_dtype("float32")
    assert run(x).dtype == wt.float32
    assert run.runs == 2


@pytest.mark.usefixtures("defaults")
def test_the_default_device() -> None:
    run = Counted(lambda: wt.ones(3))
    home = run().device
    own = wt.Device(home.index)
    wt.set_default_device(own)
    assert run().device == own
    with home:
        assert run().device == home
    assert run().device == own
    assert run.runs == 2


class Constants:
    scale = 1.0


def test_a_class_that_is_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Counted(lambda x: x * Constants.scale)
    assert run(wt.ones(2)).tolist() == [1, 1]
    monkeypatch.setattr(Constants, "scale", 5.0)
    assert run(wt.ones(2)).tolist() == [5, 5]
    assert run(wt.ones(2)).tolist() == [5, 5]
    assert run.runs == 2
