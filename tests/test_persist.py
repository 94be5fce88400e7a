"""Persisted state comes back with the device: tensors, modules, optimizers, generators."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from test_docs import script
from test_examples import EXAMPLES
from wgtensor import _persist, nn, optim


@pytest.fixture
def device() -> Iterator[wt.Device]:
    """A device of the test's own, and the default one in it."""
    made = wt.Device()
    with made:
        yield made
        made.recover()
        assert (wt.ones(3) + 1).tolist() == [2, 2, 2]


def lose(device: wt.Device) -> None:
    device.destroy()
    device.recover()


def test_tensors_come_back(device: wt.Device) -> None:
    kinds = ["float32", "int32", "bool", "int8", "uint16", "float16", "bfloat16"]
    kinds += [d for d in ("int64", "float64") if wt._core.has_dtype(wt._dtypes.to_dtype(d), None)]
    tensors = {k: wt.asarray([[0, 1, 1], [1, 0, 1]], dtype=k) for k in kinds}
    transposed = wt.asarray(np.arange(6, dtype="float32").reshape(2, 3)).T
    pending = transposed * 2 + 1
    empty, scalar = wt.zeros((0, 3)), wt.asarray(2.5)
    other = wt.ones(3)
    held = wt.persist(tensors, transposed, [pending, (empty, scalar)])
    assert "Tensor" in repr(held)
    assert held.nbytes >= 24 * 2
    for _ in range(2):
        lose(device)
        for k, t in tensors.items():
            assert (t.dtype.name, t.device) == (k, device)
            assert t.astype("int32").tolist() == [[0, 1, 1], [1, 0, 1]]
        assert transposed.tolist() == [[0, 3], [1, 4], [2, 5]]
        assert pending.tolist() == [[1, 7], [3, 9], [5, 11]]
        assert (empty.shape, scalar.item()) == ((0, 3), 2.5)
        with pytest.raises(wt.DeviceLostError, match="lost"):
            other.numpy()


def test_the_copy_is_of_the_last_update(device: wt.Device) -> None:
    x = wt.zeros(3)
    held = wt.persist(x)
    x += 1
    lose(device)
    assert x.tolist() == [0, 0, 0]
    x += 5
    held.update()
    x += 1
    lose(device)
    assert x.tolist() == [5, 5, 5]
    x *= 3
    wt.persist(x)  # the same as an update
    lose(device)
    assert x.tolist() == [15, 15, 15]
    x[0] = 0
    assert x.tolist() == [0, 15, 15]
    held.update()
    held.restore()  # also without a loss
    assert x.tolist() == [0, 15, 15]


def test_a_lost_update_leaves_the_copy(device: wt.Device) -> None:
    x = wt.ones(3)
    held = wt.persist(x)
    x += 1
    device.destroy()
    with pytest.raises(wt.DeviceLostError):
        held.update()
    with pytest.raises(wt.DeviceLostError):
        wt.persist(x)
    device.recover()
    assert x.tolist() == [1, 1, 1]


def test_what_is_forgotten_or_gone_costs_nothing(device: wt.Device) -> None:
    before = len(_persist._groups)
    x, y = wt.ones(3), wt.ones(3)
    held = wt.persist(x, y)
    wt.persist(x)
    wt.persist(x)
    assert len(_persist._groups) == before + 2
    del y
    lose(device)
    assert x.tolist() == [1, 1, 1]
    held.forget()
    held.forget()
    wt.persist(x).forget()
    lose(device)
    with pytest.raises(wt.DeviceLostError):
        x.numpy()
    wt.persist(wt.ones(4))
    gc.collect()
    assert len(_persist._groups) == before
    module = nn.Linear(2, 2)
    wt.persist(module)
    del module
    gc.collect()
    assert len(_persist._groups) == before


def test_another_device_s_loss_changes_nothing(device: wt.Device) -> None:
    other = wt.Device()
    x, y = wt.ones(3), wt.ones(3, device=other)
    wt.persist(x)
    wt.persist(y)
    x += 1
    y += 1
    lose(other)
    assert (x.tolist(), y.tolist()) == ([2, 2, 2], [1, 1, 1])
    both = wt.persist(x, y)
    x += 1
    y += 1
    lose(other)  # what was persisted together goes back together
    assert (x.tolist(), y.tolist()) == ([2, 2, 2], [1, 1, 1])
    assert both.nbytes == 24
    device.recover()  # of a device that is well: nothing happens
    x += 1
    assert x.tolist() == [3, 3, 3]


def test_gradients_after_a_loss(device: wt.Device) -> None:
    w = wt.asarray([1.0, 2.0]).requires_grad_()
    wt.persist(w)
    (w * 3).sum().backward()
    loss = (w**2).sum()
    kept = w
    lose(device)
    assert w.grad is None  # it went with the device
    assert w is kept
    assert w.requires_grad
    assert w.is_leaf
    with pytest.raises(wt.DeviceLostError):
        loss.item()
    with pytest.raises(wt.DeviceLostError):
        wt.autograd.grad(loss, [w])[0].numpy()
    w.grad = None
    (w**2).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [2, 4]
    result = w * 2  # of the tape: comes back as a plain value
    wt.persist(result)
    lose(device)
    assert result.tolist() == [2, 4]
    assert not result.requires_grad


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2))


def test_modules_come_back_with_buffers(device: wt.Device) -> None:
    net = network()
    x = wt.random.normal((16, 3))
    net(x)  # running statistics
    wt.persist(net, x)
    expected = {k: v.numpy() for k, v in net.state_dict().items()}
    objects = list(net.parameters())
    net(x * 2)
    for p in objects:
        with wt.no_grad():
            p += 1
    lose(device)
    for k, v in net.state_dict().items():
        np.testing.assert_array_equal(v.numpy(), expected[k])
    assert all(p is q for p, q in zip(net.parameters(), objects, strict=True))
    assert net.eval()(x).shape == (16, 2)


OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "SGD": lambda p: optim.SGD(p, lr=0.05, momentum=0.9),
    "AdamW": lambda p: optim.AdamW(p, lr=0.01),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.05),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
}


def run(name: str, jitted: bool, losses: set[int], device: wt.Device) -> list[np.ndarray]:
    wt.random.manual_seed(3)
    net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.2), nn.Tanh(), nn.Linear(8, 1))
    optimizer = OPTIMIZERS[name](net.parameters())
    schedule = optim.lr_scheduler.StepLR(optimizer, 7, gamma=0.7)
    x = wt.asarray(np.linspace(-1, 1, 60, dtype="float32").reshape(20, 3))

    def step(x: wt.Tensor) -> wt.Tensor:
        optimizer.zero_grad()
        loss = ((net(x) - x.sum(axis=1, keepdims=True)) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    call = wt.jit(step) if jitted else step
    wt.persist(x)
    # Before the first step: the optimizer has no state yet.
    state = wt.persist(optimizer, schedule, wt.random.default_generator)
    done, pending = 0, set(losses)
    while True:
        try:
            for i in range(done, 24):
                if i in pending:
                    pending.remove(i)
                    device.destroy()
                call(x)
                schedule.step()
                if i % 5 == 4:
                    state.update()
                    done = i + 1
            return [p.numpy() for p in net.parameters()]
        except wt.DeviceLostError:
            device.recover()


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_goes_on(name: str, jitted: bool, device: wt.Device) -> None:
    expected = run(name, jitted, set(), device)
    for p, q in zip(run(name, jitted, {2, 3, 11, 23}, device), expected, strict=True):
        np.testing.assert_array_equal(p, q)


def test_recordings_of_a_lost_device_are_not_replayed(device: wt.Device) -> None:
    w, constant = wt.ones(3), wt.asarray([1.0, 2.0, 3.0])
    wt.persist(w)

    @wt.jit
    def step(x: wt.Tensor) -> wt.Tensor:
        nonlocal w
        w += constant
        return w * x

    assert step(wt.ones(3)).tolist() == [2, 3, 4]
    device.destroy()
    with pytest.raises(wt.DeviceLostError):
        step(wt.ones(3)).numpy()
    device.recover()
    with pytest.raises(wt.DeviceLostError):  # what was not persisted says so
        step(wt.ones(3)).numpy()
    w = wt.ones(3)
    constant = wt.asarray([1.0, 2.0, 3.0])
    assert step(wt.ones(3)).tolist() == [2, 3, 4]
    assert step(wt.ones(3)).tolist() == [3, 5, 7]


def test_threads_that_recover_at_once(device: wt.Device) -> None:
    x = wt.asarray(np.arange(5, dtype="float32"))
    wt.persist(x)
    for _ in range(5):
        device.destroy()
        results: list[Any] = []
        barrier = threading.Barrier(4)

        def work(results: list[Any] = results, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            device.recover()
            results.append((x + 1).tolist())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(30)
        assert results == [[1, 2, 3, 4, 5]] * 4


def test_what_cannot_be_persisted() -> None:
    for bad in (3, "x", np.ones(3), None, [wt.ones(2), 5]):
        with pytest.raises(TypeError, match=r"^\[persist\]"):
            wt.persist(bad)
    with pytest.raises(TypeError, match=r"^\[persist\]"):
        wt.persist()


def survives(steps: int, losses: int) -> None:
    """The example's training: as good, and the same to the last bit, with losses as without."""
    example = script(EXAMPLES / "survives_losses.py")
    right, parameters, none = example.train(steps, 0)
    again, others, lost = example.train(steps, losses)
    print(f"{steps} steps: {right:.4f}; with {lost} losses: {again:.4f}", file=sys.stderr)
    assert none == 0
    assert lost == losses
    assert again == right
    for p, q in zip(parameters, others, strict=True):
        np.testing.assert_array_equal(p, q)


def test_a_training_survives_losses() -> None:
    survives(120, 5)
