"""A device that is lost or out of memory: typed errors, recovery, never an abort or a hang."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from children import run_script
from vulkan_layer.inject import Injector

WORK = """
import faulthandler, gc, os, random, sys, threading, time
import numpy as np
import wgtensor as wt

rounds, seed = int(sys.argv[1]), int(sys.argv[2])
dice = random.Random(seed)
device = wt.default_device()
rng = np.random.default_rng(seed)
a, w, bias = (rng.standard_normal(s, dtype="float32") for s in ((48, 64), (64, 32), (32,)))
layer = np.maximum(a @ w + bias, 0)
kept = []  # arrays handed out, with what they must hold

def work(i):
    "Uploads, kernels of several kinds, pending tensors, and reads."
    x, y = wt.asarray(a), wt.asarray(w)
    h = wt.relu(x @ y + bias)
    total = (h * i).sum()
    pending = (h + 1).softmax(axis=-1)
    np.testing.assert_allclose(h.numpy(), layer, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(total.item(), layer.sum() * i, rtol=1e-4, atol=1e-3)
    if i % 7 == 3:
        big = wt.full((200, 300), i)
        kept.append((big.numpy(), i))
        del kept[:-4]
    return pending

def check_kept():
    for array, i in kept:
        assert (array == i).all()
        array += 0  # writable, and the caller's own

def watch(limit=10):
    faulthandler.dump_traceback_later(limit, exit=True)
"""

DESTROY = (
    WORK
    + """
errors = recoveries = 0
longest = 0.0
work(0)
for r in range(rounds):
    watch()
    begin = time.perf_counter()
    wait = dice.choice([0, dice.random() * 0.002, dice.random() * 0.02])
    killer = threading.Thread(target=lambda: (time.sleep(wait), device.destroy()))
    old = work(1)
    killer.start()
    try:
        i = 0
        while True:
            i += 1
            work(i)
    except wt.DeviceLostError as error:
        assert "destroyed on request" in str(error), error
        errors += 1
    killer.join()
    assert device.lost
    device.recover()
    assert not device.lost
    work(2)
    recoveries += 1
    check_kept()
    try:
        old.numpy()
    except wt.DeviceLostError:
        pass
    else:
        raise AssertionError("a tensor of the lost device was readable")
    longest = max(longest, time.perf_counter() - begin)
faulthandler.cancel_dump_traceback_later()
print(f"destroyed: {errors} typed errors, {recoveries} recoveries, longest round {longest:.2f} s")
"""
)

INJECT = (
    WORK
    + """
from vulkan_layer.inject import Injector
injector = Injector(os.environ["WGT_INJECT_FILE"])

BIG = 12 << 20  # elements: a few such buffers are an allocation of the driver
pile = []

def work_big(i):
    "Needs ever more memory of the driver: for results, uploads, or reads."
    what = dice.randrange(4)
    if what == 0:
        x = wt.asarray(np.full(BIG, i, "float32"))
    else:
        x = wt.full((BIG,), i, dtype="float32")
    y = x * 2 + 1
    if what == 1:
        assert y.numpy()[-1] == 2 * i + 1
    assert (y[BIG // 2 : BIG // 2 + 5].numpy() == 2 * i + 1).all()
    pile.append(y)

errors = {"lost": 0, "memory": 0}
recoveries = 0
longest = 0.0
work(0)
if device.backend != "vulkan":
    sys.exit(77)
for r in range(rounds):
    watch()
    begin = time.perf_counter()
    kind = ("lost", "memory")[r % 2]
    held = wt.asarray(np.arange(1000, dtype="float32"))
    held.eval()
    if kind == "lost":
        injector.lose_device(after=dice.choice([0, 1, dice.randrange(20), dice.randrange(400)]))
    else:
        device.empty_cache()
        injector.fail_allocation(after=dice.randrange(6), times=1 << 20)
    try:
        i = 0
        while True:
            i += 1
            (work if kind == "lost" and i % 16 else work_big)(i)
    except wt.DeviceLostError as error:
        assert kind == "lost", error
        errors["lost"] += 1
    except wt.OutOfMemoryError as error:
        assert kind == "memory" and error.requested > 0, error
        errors["memory"] += 1
    injector.disarm()
    pile.clear()
    gc.collect()
    if kind == "lost":
        assert device.lost
        device.recover()
    else:  # nothing is lost
        assert not device.lost
        np.testing.assert_array_equal((held + 1).numpy(), np.arange(1, 1001))
    work(2)
    work_big(3)
    pile.clear()
    recoveries += 1
    check_kept()
    longest = max(longest, time.perf_counter() - begin)
faulthandler.cancel_dump_traceback_later()
assert injector.losses == errors["lost"] and injector.ooms >= errors["memory"]
print(f"injected: {errors['lost']} losses, {errors['memory']} out of memory, "
      f"{recoveries} recoveries, longest round {longest:.2f} s")
"""
)


def destroyed(rounds: int, seed: int) -> None:
    out = run_script(DESTROY, rounds, seed, timeout=60 + 12 * rounds)
    print(out)
    assert f"{rounds} typed errors, {rounds} recoveries" in out


def injected(rounds: int, seed: int) -> None:
    if wt.default_device().backend != "vulkan":
        pytest.skip("not on Vulkan")
    with Injector() as injector:
        out = run_script(INJECT, rounds, seed, env=injector.env(), timeout=60 + 12 * rounds)
    print(out)
    half = rounds // 2
    assert f"{half} losses, {half} out of memory, {rounds} recoveries" in out


def test_destroyed_at_random_moments() -> None:
    destroyed(100, seed=0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Linux's Vulkan loader")
def test_lost_or_out_of_memory_at_random_calls() -> None:
    injected(100, seed=0)


# ---- what an error leaves behind ---------------------------------------------------------------


@pytest.fixture
def device() -> Iterator[wt.Device]:
    """A device of the test's own: losing it hurts no other test."""
    made = wt.Device()
    yield made
    made.recover()
    assert (wt.ones(3, device=made) + 1).tolist() == [2, 2, 2]


def test_what_was_on_a_lost_device_says_so(device: wt.Device) -> None:
    computed = wt.asarray(np.arange(6, dtype="float32"), device=device)
    view = computed.reshape(2, 3).T
    pending = computed * 2
    view_of_pending = pending[1:3]
    generated = wt.zeros(3, device=device)
    device.destroy()
    assert device.lost
    everything = [computed, view, pending, view_of_pending, generated]
    for _ in range(2):
        for t in everything:
            for touch in (t.numpy, t.eval, lambda t=t: (t + 1).numpy(), lambda t=t: t.sum().item()):
                with pytest.raises(wt.DeviceLostError, match="destroyed on request"):
                    touch()
        device.recover()
    assert not device.lost
    # Shapes and dtypes are still there to be asked.
    assert [t.shape for t in everything] == [(6,), (3, 2), (6,), (2,), (3,)]
    # Values of either side do not meet.
    with pytest.raises(wt.DeviceLostError):
        (wt.ones(6, device=device) + computed).numpy()


def test_a_device_that_is_well_is_left_alone(device: wt.Device) -> None:
    x = wt.asarray(np.arange(6, dtype="float32"), device=device)
    device.recover()
    assert (x + 1).tolist() == [1, 2, 3, 4, 5, 6]
    device.destroy()
    device.destroy()
    device.recover()


def test_arrays_outlive_their_device(device: wt.Device) -> None:
    small = (wt.ones(10, device=device) * 3).numpy()
    large = (wt.ones((300, 500), device=device) * 5).numpy()
    part = large[100:200, ::7]
    device.destroy()
    assert (small == 3).all()
    assert (large == 5).all()
    large += 1
    device.recover()
    (wt.ones((300, 500), device=device) * 7).numpy()
    assert (part == 6).all()
    del large
    device.destroy()
    device.recover()
    assert (part == 6).all()


def test_threads_that_recover_at_once_share_one_device(device: wt.Device) -> None:
    for _ in range(10):
        ready, recovered = threading.Barrier(7), threading.Barrier(6)
        results: list[Any] = []

        def worker(
            ready: threading.Barrier = ready,
            recovered: threading.Barrier = recovered,
            results: list[Any] = results,
        ) -> None:
            x = wt.ones(100, device=device)
            ready.wait()  # all have something to lose
            try:
                while True:
                    x = x + 1
                    x.eval()
            except wt.DeviceLostError:
                device.recover()
            y = wt.full((4,), 2, device=device)
            recovered.wait()
            results.append((y + 1).tolist())

        threads = [threading.Thread(target=worker) for _ in range(6)]
        for t in threads:
            t.start()
        ready.wait()
        time.sleep(0.01)
        device.destroy()
        for t in threads:
            t.join(20)
        assert results == [[3] * 4] * 6


def test_an_error_stays_with_the_tensors_that_it_concerns(device: wt.Device) -> None:
    limit = device.limits["max_buffer"] // 4
    if limit + 1024 >= 1 << 32:
        pytest.skip("more elements than a tensor may have")
    x = wt.asarray(np.arange(6, dtype="float32"), device=device)
    good = x * 2
    bad = wt.zeros((limit + 1024,), device=device) + 1
    worse = bad * 2
    also_good = x - 1
    for _ in range(2):
        with pytest.raises((wt.UnsupportedError, wt.OutOfMemoryError), match=r"[0-9]{9}"):
            worse.numpy()
    assert good.tolist() == [0, 2, 4, 6, 8, 10]
    assert also_good.tolist() == [-1, 0, 1, 2, 3, 4]
    total = bad.sum().item()  # needs no memory for what it sums
    assert total == pytest.approx(limit + 1024, rel=1e-6)
    # An operation that happens to start waiting work does not raise for another's tensors.
    lost = wt.zeros((limit + 1024,), device=device) + 2
    total = x
    for _ in range(300):
        total = total + 1
    assert total.tolist() == [300, 301, 302, 303, 304, 305]
    with pytest.raises((wt.UnsupportedError, wt.OutOfMemoryError)):
        lost.numpy()


OUT_OF_MEMORY = """
import os
import numpy as np
import wgtensor as wt
from vulkan_layer.inject import Injector

injector = Injector(os.environ["WGT_INJECT_FILE"])
a = wt.asarray(np.arange(1000, dtype="float32"))
view = a[::2]
pending = a * 3 + 1
# wgpu takes memory in blocks: large enough for one of its own, on any adapter.
n = (160 if wt.default_device().limits["max_binding"] > 1 << 30 else 20) << 20
(a + 0).numpy()  # and small reads have theirs
huge = wt.full((n,), 2, dtype="float32") + wt.full((n,), 1, dtype="float32").sqrt()
after = huge * 2
a.eval()
injector.fail_allocation(times=1000, min_bytes=1 << 20)
for _ in range(2):
    try:
        after.numpy()
    except wt.OutOfMemoryError as error:
        assert isinstance(error, MemoryError)
        assert error.requested >= 4 * n, error.requested
        assert error.available is None or error.available >= 0
        assert str(error.requested)[:3] in str(error), error
    else:
        raise AssertionError("no error")
# Without memory what needs little still works, and so does what was there before.
assert pending.tolist()[:3] == [1, 4, 7]
assert view.tolist()[:3] == [0, 2, 4]
assert (a.sum() + 1).item() == 499501
for make in (lambda: wt.empty((n,)), lambda: wt.asarray(np.ones(n, "float32"))):
    try:
        made = make()
    except wt.OutOfMemoryError as error:
        assert error.requested >= 4 << 20, error.requested
    else:
        raise AssertionError("no error")
injector.disarm()
again = wt.full((n,), 2, dtype="float32") + 1
assert (again.numpy() == 3).all()
assert (wt.asarray(np.ones(n, "float32")) + a[1]).numpy()[-1] == 2
print("fine")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's Vulkan loader")
def test_out_of_memory_leaves_the_rest_alone() -> None:
    if wt.default_device().backend != "vulkan":
        pytest.skip("not on Vulkan")
    with Injector() as injector:
        assert run_script(OUT_OF_MEMORY, env=injector.env()) == "fine\n"


def test_more_than_a_buffer_may_hold_is_out_of_memory(device: wt.Device) -> None:
    elements = device.limits["max_buffer"] // 4 + 1
    if elements >= 1 << 32:
        pytest.skip("more elements than a tensor may have")
    with pytest.raises(wt.OutOfMemoryError) as caught:
        wt.empty(elements, device=device)
    assert caught.value.requested == 4 * elements
    assert caught.value.available is None or caught.value.available >= 0
