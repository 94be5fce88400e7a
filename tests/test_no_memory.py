"""What there is no memory for: nothing is half done, nothing is lost, errors name the function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from children import run_script
from vulkan_layer.inject import Injector
from wgtensor import nn, optim

MIB = 1 << 20


@pytest.fixture
def device() -> Iterator[wt.Device]:
    made = wt.Device()
    with made:
        yield made
    wt.set_memory_limit(None, made)


def limited(device: wt.Device, room: int = MIB) -> None:
    wt.synchronize(device)
    wt.empty_cache(device)
    wt.set_memory_limit(wt.memory_stats(device)["live"] + room, device)


class Training:
    """A batch whose activations take several MiB, and parameters of a few KiB."""

    def __init__(self, kind: str, **options: Any) -> None:
        wt.random.manual_seed(1)
        self.net = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64))
        self.optimizer = getattr(optim, kind)(self.net.parameters(), **options)
        self.x = wt.random.normal((3000, 64)).eval()

    def step(self, rows: int = 3000) -> wt.Tensor:
        self.optimizer.zero_grad()
        x = self.x[:rows]
        loss = ((self.net(x) - x) ** 2).mean()
        loss.backward()
        self.optimizer.step()
        return loss

    def state(self) -> list[Any]:
        kept = [
            {k: v.numpy() if isinstance(v, wt.Tensor) else v for k, v in s.items()}
            for s in self.optimizer.state.values()
        ]
        return [*kept, *(p.numpy() for p in self.net.parameters())]


KINDS = [("SGD", {"lr": 0.1, "momentum": 0.9}), ("AdamW", {"lr": 0.01}), ("Lion", {"lr": 0.001})]


@pytest.mark.parametrize("warm", [0, 3])
@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_a_step_without_memory_changes_nothing(
    kind: str, options: dict[str, Any], warm: int, device: wt.Device
) -> None:
    """Parameters, state and counts are the old ones; a smaller batch goes on from there."""
    training, twin = Training(kind, **options), Training(kind, **options)
    for _ in range(warm):
        training.step().item()
        twin.step().item()
    before = training.state()
    limited(device)
    for _ in range(3):
        with pytest.raises(wt.OutOfMemoryError):
            training.step()
        after = training.state()
        assert len(after) == len(before)
        for old, new in zip(before, after, strict=True):
            np.testing.assert_equal(new, old)
    assert np.isfinite(training.step(100).item())
    wt.set_memory_limit(None, device)
    twin.step(100).item()
    training.step().item()
    twin.step().item()
    for p, q in zip(training.net.parameters(), twin.net.parameters(), strict=True):
        np.testing.assert_array_equal(p.numpy(), q.numpy())


def test_gradients_are_still_to_be_had(device: wt.Device) -> None:
    training, twin = Training("AdamW"), Training("AdamW")
    limited(device)
    with pytest.raises(wt.OutOfMemoryError):
        training.step()
    wt.set_memory_limit(None, device)
    twin.step()
    for p, q in zip(training.net.parameters(), twin.net.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-5, atol=1e-7)
    training.optimizer.step()
    for p, q in zip(training.net.parameters(), twin.net.parameters(), strict=True):
        np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=1e-5, atol=1e-7)


def test_steps_write_over_what_was(device: wt.Device) -> None:
    """Being able to go back costs no memory."""
    training = Training("AdamW")
    sizes = []
    for _ in range(8):
        training.step().item()
        sizes.append(wt.memory_stats(device)["live"] + wt.memory_stats(device)["pooled"])
    assert sizes[3:] == sizes[3:4] * 5


def test_what_was_refused_is_computed_later(device: wt.Device) -> None:
    """The same tensors, once there is memory; others are not held up."""
    x = wt.asarray(np.arange(MIB, dtype=np.float32))
    y = x * 2
    z = y.sum()
    limited(device, MIB // 4)
    for _ in range(2):
        with pytest.raises(wt.OutOfMemoryError):
            y.eval()
    assert (x[:5] + 1).tolist() == [1, 2, 3, 4, 5]
    wt.synchronize(device)
    wt.set_memory_limit(None, device)
    assert y[-1].item() == 2 * (MIB - 1)
    assert z.item() == pytest.approx(float(MIB) * (MIB - 1), rel=1e-6)


CALLS: dict[str, Callable[[], object]] = {
    "asarray": lambda: wt.asarray(np.ones(9 * MIB, np.float32)),
    "empty": lambda: wt.empty((9 * MIB,)),
    "add": lambda: (wt.ones((9 * MIB,)) + wt.arange(9 * MIB)).eval(),
    "sort": lambda: wt.sort(wt.arange(9 * MIB)).eval(),
    "matmul": lambda: (wt.ones((3000, 8)) @ wt.ones((8, 3000))).eval(),
}


@pytest.mark.parametrize("name", CALLS)
def test_errors_name_function_and_device(name: str, device: wt.Device) -> None:
    limited(device)
    with pytest.raises(wt.OutOfMemoryError, match=rf"^\[{name}\] no \d+ bytes on gpu:0#\d+ \("):
        CALLS[name]()


def test_a_lost_device_is_named() -> None:
    made = wt.Device()
    x = wt.ones(3, device=made) + 1
    made.destroy()
    name = re.search(r"gpu:\d+#\d+", repr(made))
    assert name
    with pytest.raises(wt.DeviceLostError, match=rf"^device {name[0]} \('.*'\) is lost: "):
        x.numpy()


INJECTED = """
import os, sys
import numpy as np
import wgtensor as wt
from vulkan_layer.inject import Injector
from wgtensor import nn, optim

injector = Injector(os.environ["WGT_INJECT_FILE"])
# wgpu takes memory in blocks: large enough for ones of their own.
rows = (160 if wt.default_device().limits["max_binding"] > 1 << 30 else 20) << 12
net = nn.Sequential(nn.Linear(4, 256), nn.Tanh(), nn.Linear(256, 4))
optimizer = optim.AdamW(net.parameters(), lr=0.01)
x = wt.random.normal((rows, 4)).eval()

def step(n):
    optimizer.zero_grad()
    loss = ((net(x[:n]) - x[:n]) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()

def values():
    states = [v for s in optimizer.state.values() for v in s.values()]
    return [t.numpy() for t in [*states, *net.parameters()] if isinstance(t, wt.Tensor)]

step(8)
for turn in range(int(sys.argv[1])):
    before = values()
    wt.synchronize()
    wt.empty_cache()
    injector.fail_allocation(times=1 << 20, min_bytes=8 << 20)
    try:
        step(rows)
    except wt.OutOfMemoryError as error:
        assert error.requested >= 1 << 20
    else:
        raise AssertionError("no error")
    injector.disarm()
    assert all((a == b).all() for a, b in zip(before, values(), strict=True)), "changed"
    assert {s["step"] for s in optimizer.state.values()} == {turn + 1}
    assert np.isfinite(step(8))
print("fine")
"""


@pytest.mark.skipif("sys.platform != 'linux'", reason="Linux's Vulkan loader")
def test_a_step_whose_allocations_fail() -> None:
    if wt.default_device().backend != "vulkan":
        pytest.skip("not on Vulkan")
    with Injector() as injector:
        assert run_script(INJECTED, 4, env=injector.env(), timeout=200) == "fine\n"


@pytest.mark.parametrize("kind", ["SGD", "Lion", "AdamW"])
@pytest.mark.parametrize("steps", [0, 1])
def test_a_step_under_any_limit_is_done_or_not(kind: str, steps: int) -> None:
    x = wt.random.normal((8, 300))
    refused = 0
    for extra in (1000, 100_000, 600_000, 1_000_000, 1_500_000, 2_000_000):
        net = nn.Sequential(nn.Linear(300, 400), nn.ReLU(), nn.Linear(400, 200))
        optimizer = getattr(optim, kind)(net.parameters(), lr=0.1)

        def back(net: nn.Module = net, optimizer: optim.Optimizer = optimizer) -> None:
            optimizer.zero_grad()
            net(x).square().mean().backward()

        for _ in range(steps):
            back()
            optimizer.step()
        wt.synchronize()
        wt.empty_cache()
        before = [p.numpy() for p in net.parameters()]
        wt.set_memory_limit(wt.memory_stats()["live"] + extra)
        done = True
        try:
            back()
            optimizer.step()
        except wt.OutOfMemoryError:
            done = False
            refused += 1
        finally:
            wt.set_memory_limit(None)
        after = [p.numpy() for p in net.parameters()]
        moved = [bool((a != b).any()) for a, b in zip(before, after, strict=True)]
        assert moved == [done] * len(moved), extra
    assert refused or steps  # later steps have the room of the gradients before
