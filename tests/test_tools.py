"""The test tools see what they should: else the tests that use them would pass for no reason."""

from __future__ import annotations

import subprocess
import sys

import pytest

from preload import run_counted
from vulkan_layer.inject import Injector

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD and Linux's loader")


def test_the_counter_sees_dispatches() -> None:
    result = run_counted(
        """
        a = wt.asarray(np.arange(8, dtype="float32"))
        (a + 1).numpy()
        counts.reset()
        result["idle"] = counts.dispatches
        (a + 1).numpy()
        result["one"] = counts.dispatches
        result["submits"] = counts.submits
        """
    )
    assert result["idle"] == 0
    assert result["one"] == 1
    assert result["submits"] >= 1


def test_a_script_that_fails_is_an_error() -> None:
    with pytest.raises(AssertionError, match="boom"):
        run_counted("raise ValueError('boom')")


HEAD = """
import os, sys
import numpy as np
import wgtensor as wt
from vulkan_layer.inject import Injector
injector = Injector(os.environ["WGT_INJECT_FILE"])
a = wt.asarray(np.arange(8, dtype="float32"))
assert (a + 1).tolist()[-1] == 8
if a.device.backend != "vulkan":
    sys.exit(77)
assert injector.calls > 0 and injector.allocations > 0
"""


def run_injected(script: str) -> subprocess.CompletedProcess[str]:
    with Injector() as injector:
        return subprocess.run(
            [sys.executable, "-c", HEAD + script],
            env=injector.env(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.mark.parametrize(
    "script",
    [
        """
injector.lose_device()
try:
    for _ in range(100):
        (a + 1).numpy()
except wt.DeviceLostError:
    pass
else:
    sys.exit("no loss was raised")
assert injector.losses == 1
a.device.recover()
assert (wt.ones(3) + 1).tolist() == [2, 2, 2]
""",
        """
injector.fail_allocation(times=1000, min_bytes=1 << 20)
try:
    wt.zeros(1 << 24).numpy()
except wt.OutOfMemoryError:
    pass
else:
    sys.exit("no lack of memory was raised")
assert injector.ooms >= 1
injector.disarm()
assert (wt.zeros(1 << 24) + 1).numpy()[-1] == 1
""",
    ],
    ids=["lost", "memory"],
)
def test_the_layer_injects(script: str) -> None:
    done = run_injected(script)
    if done.returncode == 77:
        pytest.skip("not on Vulkan")
    assert done.returncode == 0, done.stdout + done.stderr
