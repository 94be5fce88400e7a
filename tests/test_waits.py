"""Waits end: of a GPU that hangs by DeviceLostError, of a user who is impatient by Ctrl-C."""

from __future__ import annotations

import sys

import pytest

import wgtensor as wt
from children import run_script
from vulkan_layer.inject import Injector

HEAD = """
import _thread, os, signal, sys, threading, time
import numpy as np
import wgtensor as wt
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may ignore it
"""

HANG = (
    HEAD
    + """
from vulkan_layer.inject import Injector
injector = Injector(os.environ["WGT_INJECT_FILE"])
what = sys.argv[1]
wt.config.wait_limit = 2
device = wt.default_device()
x = wt.asarray(np.arange(1000, dtype="float32"))
product = wt.ones((64, 64))
(x + 1).numpy(), (product @ product).numpy()
event = wt.Event()

def many():
    y = x
    for i in range(5000):
        y = y * 0.5 + i
        y.eval()

def uploads():
    for i in range(200):
        wt.asarray(np.ones(4 << 20, "float32"))

waits = {
    "read": lambda: (x + 2).numpy(),
    "synchronize": lambda: (wt.eval(x + 3), wt.synchronize()),
    "event": lambda: ((product @ product).eval(), event.record(), event.wait()),
    "many": many,
    "uploads": uploads,
}
injector.hang()
begin = time.perf_counter()
try:
    waits[what]()
except wt.DeviceLostError as error:
    assert "no progress for 2 s" in str(error) and "wait_limit" in str(error), error
else:
    raise AssertionError("no error")
seconds = time.perf_counter() - begin
assert 1.5 < seconds < 30, seconds
assert device.lost
try:
    x.numpy()
except wt.DeviceLostError:
    pass
else:
    raise AssertionError("no error")
if what == "event":
    try:
        event.query()
    except wt.DeviceLostError:
        pass
    else:
        raise AssertionError("no error")
injector.hang(False)
device.recover()
assert (wt.ones(3) + 1).tolist() == [2, 2, 2]
print("fine")
"""
)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's Vulkan loader")
@pytest.mark.parametrize("what", ["read", "synchronize", "event", "many", "uploads"])
def test_a_gpu_that_hangs_is_a_lost_device(what: str) -> None:
    if wt.default_device().backend != "vulkan":
        pytest.skip("not on Vulkan")
    with Injector() as injector:
        assert run_script(HANG, what, env=injector.env(), timeout=120) == "fine\n"


INTERRUPTED_HANG = (
    HEAD
    + """
from vulkan_layer.inject import Injector
injector = Injector(os.environ["WGT_INJECT_FILE"])
wt.config.wait_limit = 600
x = wt.asarray(np.arange(1000, dtype="float32"))
(x + 1).numpy()
for wait in (lambda: (x + 2).numpy(), wt.synchronize, lambda: wt.Event().record().wait()):
    injector.hang()
    y = (x * 3).eval()
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    begin = time.perf_counter()
    try:
        wait()
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("not interrupted")
    assert time.perf_counter() - begin < 60
    injector.hang(False)  # it was only slow
    assert y.tolist()[:3] == [0, 3, 6]
    assert (x + 1).tolist()[:3] == [1, 2, 3]
print("fine")
"""
)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's Vulkan loader")
def test_ctrl_c_ends_waits_for_a_gpu_that_hangs() -> None:
    if wt.default_device().backend != "vulkan":
        pytest.skip("not on Vulkan")
    with Injector() as injector:
        assert run_script(INTERRUPTED_HANG, env=injector.env(), timeout=120) == "fine\n"


def test_ctrl_c_ends_waits_for_long_work() -> None:
    script = (
        HEAD
        + """
n = 512 if wt.default_device().type == "cpu" else 4096
x = wt.full((n, n), 1 / n)
y = x
for wait in ("read", "synchronize", "event"):
    for _ in range(60):
        y = y @ x
    y.eval()
    threading.Timer(0.1, _thread.interrupt_main).start()
    begin = time.perf_counter()
    try:
        for _ in range(1000):  # the work may be done before
            y = y @ x
            y.numpy() if wait == "read" else wt.synchronize() if wait == "synchronize" \\
                else wt.Event().record().wait()
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("not interrupted")
    assert time.perf_counter() - begin < 60
assert abs(y.numpy()[0, 0] - 1 / n) < 1e-4
print("fine")
"""
    )
    assert run_script(script, timeout=200) == "fine\n"


@pytest.mark.parametrize("what", ["a loop", "one flush", "uploads", "reads"])
def test_ctrl_c_while_work_is_handed_over(what: str) -> None:
    """The call hands over what is left without waiting for it; results are right afterwards."""
    script = (
        HEAD
        + """
n = 512 if wt.default_device().type == "cpu" else 4096
x = wt.full((n, n), 1 / n).eval()
a = np.ones(4 << 20, "float32")
y = x

def loop():
    global y
    while True:
        y = y @ x

def one():
    global y
    while True:
        for _ in range(300):
            y = y @ x
        y.eval()

def uploads():
    while True:
        wt.asarray(a) * 2

def reads():
    while True:
        (y @ x).numpy()

(x @ x).numpy()
waits = {
    "a loop": [loop],
    "one flush": [one],
    "uploads": [loop, uploads],  # behind work that is left
    "reads": [loop, reads],
}[sys.argv[1]]
if sys.argv[1] == "one flush":
    wt.config.flush_nodes = 10_000
for wait in waits:
    asked = []
    def ask():
        asked.append(time.perf_counter())
        _thread.interrupt_main()
    threading.Timer(1, ask).start()
    try:
        wait()
    except KeyboardInterrupt:
        pass
    seconds = time.perf_counter() - asked[0]
    assert seconds < 12, (wait, seconds)
if wt.default_device().type != "cpu":
    assert abs(y[-1, -1].item() * n - 1) < 1e-4
assert (wt.ones((3, 3)) + 1).sum().item() == 18
print("fine")
"""
    )
    assert run_script(script, what, timeout=300) == "fine\n"


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's Vulkan loader")
def test_a_process_ends_though_its_gpu_hangs() -> None:
    if wt.default_device().backend != "vulkan":
        pytest.skip("not on Vulkan")
    script = (
        HEAD
        + """
from vulkan_layer.inject import Injector
injector = Injector(os.environ["WGT_INJECT_FILE"])
x = wt.asarray(np.arange(1000, dtype="float32"))
(x + 1).numpy()
injector.hang()
y = (x * 3).eval()
print("end")
"""
    )
    with Injector() as injector:
        assert run_script(script, env=injector.env(), timeout=60) == "end\n"
