"""Scripts in a process of their own: for what may crash, hang, fork or be measured."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

TESTS = Path(__file__).resolve().parent

#: A script's beginning: a tensor, and functions that compute and wait.
HEAD = """
import atexit, os, sys, threading, time, weakref
import numpy as np
import wgtensor as wt

x = wt.asarray(np.arange(1000, dtype="float32"))

def compute(seconds):
    end = time.monotonic() + seconds
    y = x
    while time.monotonic() < end:
        y = (y * 1.01 + 1) / 2
        large = wt.ones((300, 300)) @ wt.ones((300, 300)) + y.sum()
        assert large.numpy().shape == (300, 300)

def wait_for_work():
    while wt.stats()["dispatches"] < 4:
        time.sleep(0.001)
"""


def run_script(
    script: str,
    *args: object,
    env: dict[str, str] | None = None,
    timeout: float = 300,
    status: int = 0,
) -> str:
    """Runs the script; what it printed. AssertionError where it does not exit with `status`.

    The script may import the test tools. A crash prints every thread's stack.
    """
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(script)]
    done = subprocess.run(
        [*command, *map(str, args)],
        env={**os.environ, "PYTHONPATH": path, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == status, (
        f"exit status {done.returncode}, not {status}\n{done.stdout}\n{done.stderr}"
    )
    return done.stdout


def fresh(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a new interpreter where warnings are errors; how it ended."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
