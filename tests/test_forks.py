"""Forked children are told, spawned ones compute."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from children import HEAD, run_script

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

FORK = """
import warnings
warnings.simplefilter("ignore")  # Python's own of forks with threads

def in_child(function):
    "The function's word from a forked child."
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            word = function()
        except BaseException as error:
            word = f"{type(error).__name__}: {error}"
        os.write(write, str(word).encode())
        os._exit(0)
    os.close(write)
    deadline = time.monotonic() + 20
    done = 0
    while not done and time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.005)
    if not done:
        os.kill(pid, 9)
        raise AssertionError("the child hangs")
    assert status == 0, f"the child died of {status}"
    return os.read(read, 10000).decode()
"""


@needs_fork
def test_a_forked_child_is_told_and_the_parent_goes_on() -> None:
    run_script(
        HEAD
        + FORK
        + """
pending = x + 1
computed = x * 2
computed.eval()
array = (wt.ones((300, 300)) + 1).numpy()
uses = [
    lambda: x.numpy(), lambda: (x + 1).tolist(), lambda: pending.numpy(), lambda: computed.item(0),
    lambda: wt.ones(3).numpy(), lambda: wt.asarray([1.0]), lambda: wt.eval(pending),
    lambda: wt.synchronize(), lambda: wt.Device(), lambda: wt.stats(), lambda: x[3:].sum().item(),
    lambda: x.device.recover(), lambda: wt.explain(pending),
]
for i, use in enumerate(uses):
    word = in_child(use)
    assert word.startswith("DeviceLostError: "), (i, word)
    assert "fork" in word and "spawn" in word, (i, word)
# What needs no GPU works.
assert in_child(lambda: (x.shape, float(array[5, 5]), len(x))) == "((1000,), 2.0, 1000)"
assert in_child(lambda: exec("global x, pending, computed; del x, pending, computed")) == "None"
assert computed.tolist()[:3] == [0, 2, 4]
assert pending.tolist()[:3] == [1, 2, 3]
# Also with the lock taken and a wait going on in another thread.
t = threading.Thread(target=compute, args=(1.5,)); t.start()
for _ in range(10):
    word = in_child(lambda: (x + 1).numpy())
    assert word.startswith("DeviceLostError: "), word
t.join()
"""
    )


@needs_fork
def test_a_child_forked_before_the_gpu_is_used_may_use_it() -> None:
    run_script(
        """
import os, sys
import wgtensor as wt
pid = os.fork()
assert (wt.ones(3) + 1).tolist() == [2, 2, 2]
if pid:
    assert os.waitpid(pid, 0)[1] == 0
    assert (wt.ones(3) + 1).tolist() == [2, 2, 2]
"""
    )


@needs_fork
def test_a_child_forked_after_looking_at_adapters_is_told() -> None:
    run_script(
        "import os, sys, threading, time\nimport numpy as np\nimport wgtensor as wt\nwt.devices()\n"
        + FORK
        + """
word = in_child(lambda: wt.ones(3).numpy())
assert word.startswith("DeviceLostError: ") and "spawn" in word, word
assert (wt.ones(3) + 1).tolist() == [2, 2, 2]
"""
    )


@needs_fork
def test_a_forked_child_exits_by_itself() -> None:
    run_script(
        HEAD
        + """
y = x + 1
large = (wt.ones((300, 300)) + 1).numpy()
pid = os.fork()
if pid == 0:
    sys.exit(7)  # through the interpreter's own end
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
assert y.tolist()[:2] == [1, 2]
"""
    )


WORKER = """
import numpy as np
import wgtensor as wt

def square(n):
    return float((wt.full((n,), n, dtype="float32") ** 2).sum().item())

def back_and_forth(t):
    return t * 2
"""


def test_spawned_workers_compute(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text(WORKER)
    main = tmp_path / "main.py"
    main.write_text(
        """
import multiprocessing
import wgtensor as wt
import worker

if __name__ == "__main__":
    assert (wt.ones(3) + 1).tolist() == [2, 2, 2]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(worker.square, [2, 3, 4]) == [8, 27, 64]
        assert pool.apply(worker.back_and_forth, (wt.ones(3),)).tolist() == [2, 2, 2]
    print("fine")
"""
    )
    done = subprocess.run(
        [sys.executable, main], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
