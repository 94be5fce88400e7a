"""A device that is lost or out of memory: typed errors, recovery, never an abort or a hang."""

from __future__ import annotations

import os
import sys

import pytest

import wgtensor as wt
from children import run_script
from vulkan_layer.inject import Injector

#: rounds of each kind; the soak raises it
ROUNDS = int(os.environ.get("WGT_LOSS_ROUNDS", "100"))
SEED = int(os.environ.get("WGT_SEED", "0"))

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


def test_destroyed_at_random_moments() -> None:
    out = run_script(DESTROY, ROUNDS, SEED, timeout=60 + 12 * ROUNDS)
    print(out)
    assert f"{ROUNDS} typed errors, {ROUNDS} recoveries" in out


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's Vulkan loader")
def test_lost_or_out_of_memory_at_random_calls() -> None:
    if wt.default_device().backend != "vulkan":
        pytest.skip("not on Vulkan")
    with Injector() as injector:
        out = run_script(INJECT, ROUNDS, SEED, env=injector.env(), timeout=60 + 12 * ROUNDS)
    print(out)
    half = ROUNDS // 2
    assert f"{half} losses, {half} out of memory, {ROUNDS} recoveries" in out
