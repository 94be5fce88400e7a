"""Whole training steps, recorded: every optimizer, schedules, dropout, normalization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from wgtensor import nn, optim

OPTIMIZERS: dict[str, Callable[..., optim.Optimizer]] = {
    "SGD": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.01),
    "Nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1),
    "amsgrad": lambda p: optim.Adam(p, lr=0.01, amsgrad=True, maximize=True),
    "AdamW": lambda p: optim.AdamW(p, lr=0.01),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.01, momentum=0.9, centered=True, eps=0.1),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1),
    "Lion": lambda p: optim.Lion(p, lr=0.001, weight_decay=0.1),
}


def model() -> nn.Module:
    wt.random.manual_seed(5)
    # No bias that the normalization takes away: its gradient is rounding errors, and Lion steps by
    # their signs.
    return nn.Sequential(
        nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.25),
        nn.LayerNorm(8), nn.Linear(8, 3),
    )  # fmt: skip


def trained(
    make: Callable[..., optim.Optimizer], recorded: bool, steps: int = 6
) -> tuple[list[float], dict[str, Any], optim.Optimizer, int]:
    """Losses, state and optimizer after some steps, and how often Python has run the step."""
    net = model()
    optimizer = make(net.parameters())
    schedule = optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
    rng = np.random.default_rng(1)
    calls = 0

    def step(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
        nonlocal calls
        calls += 1
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    run = wt.jit(step) if recorded else step
    wt.random.manual_seed(8)
    losses = []
    for _ in range(steps):
        x = wt.asarray(rng.standard_normal((16, 6), dtype=np.float32))
        losses.append(run(x, wt.asarray(rng.integers(0, 3, 16, dtype=np.int32))).item())
        schedule.step()
    return losses, net.state_dict(), optimizer, calls


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_recorded_steps_are_steps(name: str) -> None:
    losses, state, optimizer, calls = trained(OPTIMIZERS[name], recorded=True)
    expected, wanted, plain, _ = trained(OPTIMIZERS[name], recorded=False)
    assert calls == 1
    np.testing.assert_allclose(losses, expected, rtol=2e-5)
    for key, value in wanted.items():
        np.testing.assert_allclose(state[key].numpy(), value.numpy(), rtol=2e-4, atol=2e-6)
    there, here = plain.state_dict(), optimizer.state_dict()
    assert here["param_groups"] == there["param_groups"]
    for number, entries in there["state"].items():
        for key, value in entries.items():
            mine = here["state"][number][key]
            if isinstance(value, wt.Tensor):
                np.testing.assert_allclose(mine.numpy(), value.numpy(), rtol=2e-4, atol=2e-6)
            else:
                assert mine == value


def test_modes_of_modules_are_recorded_apart() -> None:
    net = model()
    forward = wt.jit(net)
    x = wt.ones((4, 6))
    net.eval()
    quiet = forward(x).numpy()
    assert np.array_equal(forward(x).numpy(), quiet)
    net.train()
    assert not np.array_equal(forward(x).numpy(), quiet)
    before = net.state_dict()
    net.load_state_dict({k: v * 2 if v.dtype == wt.float32 else v for k, v in before.items()})
    net.eval()
    np.testing.assert_allclose(forward(x).numpy(), net(x).numpy(), rtol=1e-6)


def test_options_that_are_switched_on_are_recorded_anew() -> None:
    p = wt.asarray([4.0]).requires_grad_()
    optimizer = optim.SGD([p], lr=0.5)

    def step() -> None:
        optimizer.zero_grad()
        (p * 1.0).sum().backward()
        optimizer.step()

    run = wt.jit(step)
    run()
    assert p.item() == 3.5
    optimizer.param_groups[0]["lr"] = 1.0
    run()
    assert p.item() == 2.5
    optimizer.param_groups[0]["weight_decay"] = 0.5
    run()
    assert p.item() == 0.25
    run()
    assert p.item() == pytest.approx(-0.875)


def test_a_changing_rate_plans_nothing() -> None:
    p = wt.ones(100).requires_grad_()
    optimizer = optim.AdamW([p], lr=0.5)

    def step(x: wt.Tensor) -> wt.Tensor:
        optimizer.zero_grad()
        loss = ((p - x) * (p - x)).sum()
        loss.backward()
        optimizer.step()
        return loss

    run = wt.jit(step)
    x = wt.zeros(100)
    for _ in range(3):
        run(x)
    wt.synchronize()
    before = wt.stats()
    for i in range(50):
        optimizer.param_groups[0]["lr"] = 0.5 / (i + 1)
        run(x)
    wt.synchronize()
    after = wt.stats()
    for counter in ("pipelines", "plans", "live_bytes", "live_buffers"):
        assert after[counter] == before[counter], counter
    assert optimizer.state[p]["step"] == 53


def test_what_is_loaded_added_or_frozen_is_recorded_anew() -> None:
    w, v = (wt.asarray([1.0]).requires_grad_() for _ in range(2))
    optimizer = optim.SGD([w], lr=0.1, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        v.grad = None
        (w * w + v * 0.5).sum().backward()
        optimizer.step()

    run, start = wt.jit(step), optimizer.state_dict()
    run()
    run()
    optimizer.load_state_dict(start)
    before = w.item()
    run()
    assert w.item() == pytest.approx(before * 0.8)
    optimizer.add_param_group({"params": [v]})
    run()
    assert v.item() == pytest.approx(0.95)
    w.requires_grad_(False)
    before = w.item()
    run()
    assert w.item() == before


def test_gradients_add_up_as_outside() -> None:
    """From call to call, also where they are cleared outside now and then."""
    x, kept = wt.asarray([[1.0, 2.0]]), []
    for recorded in (False, True):
        net = nn.Linear(2, 2)

        def step(x: wt.Tensor, net: nn.Linear = net) -> None:
            (net(x) * 3.0).sum().backward()

        run = wt.jit(step) if recorded else step
        seen = []
        for i in range(7):
            if i % 3 == 0:
                net.zero_grad()
            run(x)
            assert net.bias.grad is not None
            assert net.bias.grad is net.bias.grad
            seen.append((net.weight.grad.tolist(), net.bias.grad.tolist()))
        kept.append(seen)
    assert kept[0] == kept[1]


def test_gradients_that_a_step_clears() -> None:
    net = nn.Linear(2, 1)
    optimizer = optim.SGD(net.parameters(), lr=0.0)

    def first(x: wt.Tensor) -> wt.Tensor:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
        return net.weight.grad

    def last(x: wt.Tensor) -> None:
        net(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    run = wt.jit(first)
    for i in range(3):
        given = run(wt.full((4, 2), float(i)))
        assert net.weight.grad is given
        assert given.tolist() == [[4.0 * i] * 2]
        assert net.bias.grad.tolist() == [4.0]
    optimizer.zero_grad()
    run = wt.jit(last)
    for _ in range(3):
        run(wt.ones((4, 2)))
        assert net.weight.grad is None
    net.bias.grad = wt.full((1,), 5.0)
    frozen = wt.jit(lambda x: net(x).sum().backward(inputs=[net.bias]))
    for i in range(3):
        frozen(wt.ones((1, 2)))
        assert (net.weight.grad, net.bias.grad.tolist()) == (None, [6.0 + i])


def test_gradients_are_recorded_few_times() -> None:
    """Once, or once more for those that are there already."""
    net, calls = nn.Linear(2, 2), []

    def step(x: wt.Tensor) -> None:
        calls.append(x)
        net(x).sum().backward()

    run = wt.jit(step)
    for i in range(12):
        if i % 4 == 0:
            net.zero_grad()
        run(wt.ones((1, 2)))
    assert len(calls) == 2
    assert net.bias.grad.tolist() == [4, 4]


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_an_error_inside_leaves_counts_and_gradients(name: str) -> None:
    p = wt.asarray([1.0, 2.0]).requires_grad_()
    optimizer = OPTIMIZERS[name]([p])
    bad = [True]

    def step(x: wt.Tensor) -> None:
        (p * x).sum().backward()
        optimizer.step()
        if bad[0]:
            raise KeyError("stop")

    run = wt.jit(step)
    for _ in range(2):
        with pytest.raises(KeyError, match="stop"):
            run(wt.ones(2))
    assert p.tolist() == [1, 2]
    assert p.grad is None
    assert optimizer.state.get(p, {}).get("step", 0) == 0
    bad[0] = False
    run(wt.ones(2))
    assert optimizer.state[p]["step"] == 1


def test_kept_elements_of_results() -> None:
    """Small results share memory later on: also one that is an element of something larger."""
    x = wt.asarray([1.0, 2.0, 3.0, 4.0])
    element = wt.jit(lambda a: (a * 2)[3])
    kept = [element(x) for _ in range(1200)]
    assert {k.item() for k in kept} == {8.0}
