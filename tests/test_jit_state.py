"""What a recorded function changes and holds: state, updates, random numbers, threads, devices."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import counted
from wgtensor import _jit

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.short


def test_state_that_changes() -> None:
    """Read anew by each call, changed by each call, also when others change it."""
    w, step = wt.asarray([1.0, 2.0]), wt.zeros((), dtype="int32")

    def update(g: wt.Tensor) -> wt.Tensor:
        nonlocal w
        before = w.sum()
        w -= g * 0.5
        w[0] = 7.0
        step.__iadd__(1)
        return before

    f, calls = counted(update)
    total = [f(wt.asarray([2.0, 2.0])).item() for _ in range(3)]
    assert total == [3.0, 8.0, 7.0]
    assert (w.tolist(), step.item(), calls) == ([7.0, -1.0], 3, [1])
    w[...] = 100.0
    assert f(wt.asarray([2.0, 2.0])).item() == 200
    assert (w.tolist(), calls) == ([7.0, 99.0], [1])
    kept = w.copy()
    view = w[1:]
    f(wt.asarray([0.0, 1.0]))
    assert kept.tolist() == [7.0, 99.0]
    assert view.tolist() == [99.0]
    assert w.tolist() == [7.0, 98.5]


def test_state_of_another_shape_is_recorded_anew() -> None:
    box = [wt.ones(3)]
    f, calls = counted(lambda x: x * box[0].sum())
    assert f(wt.ones(1)).tolist() == [3]
    box[0]._assign(wt.ones(5))
    assert f(wt.ones(1)).tolist() == [5]
    assert calls == [2]


def test_arguments_that_change_in_place() -> None:
    def add(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
        x += y
        return x

    f = wt.jit(add)
    for _ in range(3):
        x, y = wt.asarray([1.0, 2.0]), wt.ones(2)
        r = f(x, y)
        assert r is x
        assert x.tolist() == [2.0, 3.0]
        assert y.tolist() == [1.0, 1.0]
    same = wt.ones(2)
    f(same, same)
    assert same.tolist() == [2.0, 2.0]


def test_updates_need_no_second_buffer() -> None:
    w = wt.ones(1 << 20)

    def update() -> None:
        w.__imul__(1.5)

    f = wt.jit(update)
    f()
    wt.synchronize()
    gc.collect()
    before = wt.stats()["live_bytes"]
    for _ in range(5):
        f()
        assert wt.stats()["live_bytes"] < before + 4096  # parameters may need a little
    assert w[0].item() == 1.5**6


def test_random_numbers_go_on() -> None:
    f = wt.jit(lambda: (wt.random.uniform((5,)), wt.random.normal((3,))))
    wt.random.manual_seed(3)
    jitted = [[t.tolist() for t in f()] for _ in range(3)]
    wt.random.manual_seed(3)
    plain = [[wt.random.uniform((5,)).tolist(), wt.random.normal((3,)).tolist()] for _ in range(3)]
    assert jitted == plain
    wt.random.manual_seed(3)
    assert [t.tolist() for t in f()] == plain[0]


def test_other_threads_go_on_meanwhile() -> None:
    started, done = threading.Event(), threading.Event()
    seen = []

    def work() -> None:
        started.wait(10)
        x = wt.ones(5)
        for _ in range(50):
            x = x * 1.0 + 1
            x.eval()
        seen.append(x.tolist())
        done.set()

    def traced(x: wt.Tensor) -> wt.Tensor:
        y = x * 2
        started.set()
        done.wait(10)
        return y + 1

    thread = threading.Thread(target=work)
    thread.start()
    assert wt.jit(traced)(wt.ones(2)).tolist() == [3, 3]
    thread.join()
    assert seen == [[51.0] * 5]


def test_a_device_made_anew() -> None:
    device = wt.Device()
    f, calls = counted(lambda x: x + wt.asarray([1.0, 2.0], device=device))
    assert f(wt.ones(2, device=device)).tolist() == [2, 3]
    device.destroy()
    with pytest.raises(wt.DeviceLostError):
        f(wt.ones(2, device=device))
    device.recover()
    assert f(wt.ones(2, device=device)).tolist() == [2, 3]
    assert calls == [2]


def test_gradients_that_accumulate() -> None:
    w = wt.asarray([1.0, 2.0]).requires_grad_()
    w.grad = wt.zeros(2)
    f = wt.jit(lambda x: (w * x).sum().backward())
    for _ in range(3):
        f(wt.asarray([1.0, 3.0]))
    assert w.grad.tolist() == [3.0, 9.0]
    assert not wt.jit(lambda x: w * x)(wt.ones(2)).requires_grad


def test_state_that_is_made_inside() -> None:
    state: dict[str, wt.Tensor] = {}

    def step(x: wt.Tensor) -> wt.Tensor:
        if "mean" not in state:
            with _jit.outside(), _jit.outside():
                state["mean"] = wt.zeros(2)
                assert (wt.ones(2) + 1).tolist() == [2, 2]
        state["mean"]._assign(state["mean"] * 0.5 + x)
        return state["mean"] * 2

    f = wt.jit(step)
    assert [f(wt.ones(2)).tolist()[0] for _ in range(3)] == [2.0, 3.0, 3.5]
    assert state["mean"].tolist() == [1.75, 1.75]


def test_tensors_in_use_elsewhere() -> None:
    """By another thread, while a recording has them: an error, also of what it changes."""
    s = wt.zeros(2).eval()
    seen = []

    def use() -> None:
        for f in (lambda: s.tolist(), lambda: s + 1, lambda: wt.explain(s), lambda: s.__iadd__(1)):
            with pytest.raises(RuntimeError, match=r"\[jit\].*being recorded"):
                f()
            seen.append(f)

    def changing(x: wt.Tensor) -> wt.Tensor:
        s.__iadd__(x)
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        return s * 1

    assert wt.jit(changing)(wt.ones(2)).tolist() == [1, 1]
    assert len(seen) == 4
    with pytest.raises(RuntimeError, match=r"\[jit\] a value is explained"):
        wt.jit(lambda x: wt.explain(x * 2))(wt.ones(2))


def test_one_tensor_in_two_places() -> None:
    def add(a: wt.Tensor, b: wt.Tensor) -> wt.Tensor:
        a += 1
        return b * 1

    f = wt.jit(add)
    for _ in range(2):
        x, y = wt.zeros(1), wt.full((1,), 5.0)
        assert f(x, x).item() == 1
        assert f(x, y).item() == 5
        assert x.item() == 2
    w = wt.zeros(1)
    with pytest.raises(RuntimeError, match=r"\[jit\].*an argument and known"):
        wt.jit(lambda x: add(x, w))(w)
    assert w.item() == 0


def test_threads_share_a_recorded_function() -> None:
    s = wt.zeros(3)

    def add(x: wt.Tensor) -> wt.Tensor:
        s.__iadd__(x)
        return s * 1

    f = wt.jit(add)
    threads = [
        threading.Thread(target=lambda: [f(wt.ones(3)) for _ in range(50)]) for _ in range(4)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert s.tolist() == [200.0] * 3
