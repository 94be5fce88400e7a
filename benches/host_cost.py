"""What the host pays: processor time of the calling thread, from Python.

python benches/host_cost.py [--smoke] [--rows A,B] [--json FILE]

A row is the median of the rounds, in microseconds; the device's time is not in it, but what is
handed to the library's own thread is not either. "import" and "first result" are wall time of a
fresh process, beside NumPy's import in the same process.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import training
from record import head, timed_row, write

import wgtensor as wt

ROUNDS = 15
OPERATIONS = 240  # in a round: fewer than make the thread wait for the device
STEPS = 6  # likewise
FIRST = """
import time
a = time.perf_counter(); import numpy
b = time.perf_counter(); import wgtensor as wt
c = time.perf_counter(); (wt.ones((64, 64)) @ wt.ones((64, 64)) + 1).numpy()
print(b - a, c - b, time.perf_counter() - c)
"""


def rounds(effort: int, run: Callable[[], Any], operations: int) -> list[float]:
    """Seconds for each operation of a run, from an idle device."""
    samples = []
    for _ in range(effort + 3):
        wt.synchronize()
        begin = time.thread_time()
        run()
        samples.append((time.thread_time() - begin) / operations)
    wt.synchronize()
    return samples[3:]


def unfused(effort: int) -> list[float]:
    x, y = (wt.ones(64).eval() for _ in range(2))

    def run() -> None:
        r = x
        for _ in range(OPERATIONS):
            r = r + y
        r.eval()

    before, wt.config.max_fusion = wt.config.max_fusion, 1
    try:
        return rounds(effort, run, OPERATIONS)
    finally:
        wt.config.max_fusion = before


def node(effort: int) -> list[float]:
    x, y = (wt.ones(64).eval() for _ in range(2))

    def run() -> None:
        for _ in range(OPERATIONS):
            x + y

    return rounds(effort, run, OPERATIONS)


def chain(effort: int) -> list[float]:
    x, y = (wt.ones(64).eval() for _ in range(2))

    def run() -> None:
        for _ in range(OPERATIONS // 10):
            r = x
            for _ in range(5):
                r = r * y + y
            r.eval()

    return rounds(effort, run, OPERATIONS)


def replay(effort: int) -> list[float]:
    x = wt.ones(64).eval()
    function = wt.jit(lambda x: x * 2 + 1)

    def run() -> None:
        for _ in range(OPERATIONS):
            function(x)

    return rounds(effort, run, OPERATIONS)


def step(effort: int, recorded: bool) -> list[float]:
    work, _ = training.ours(next(iter(training.MLPS)))
    work = wt.jit(work) if recorded else work

    def run() -> None:
        for _ in range(STEPS):
            work()

    return rounds(effort, run, STEPS)


def first(effort: int) -> dict[str, list[float]]:
    """Of processes that find the modules compiled, as an installed package has them."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        words = [sys.executable, "-c", FIRST]
        runs = [
            [float(s) for s in subprocess.check_output(words, env=environment).split()]
            for _ in range(min(effort, 5) + 1)
        ][1:]
    names = ("NumPy's import", "import after it", "first result")
    return {n: [r[i] for r in runs] for i, n in enumerate(names)}


ROWS: dict[str, Callable[[int], list[float]]] = {
    "unfused operation": unfused,
    "operation of a fused chain of 10": chain,
    "operation not computed": node,
    "replay of one kernel": replay,
    "step of an MLP": lambda effort: step(effort, False),
    "step of an MLP, recorded": lambda effort: step(effort, True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="two rounds")
    parser.add_argument("--rows", default="", help="only rows whose names begin so")
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    if options.smoke:
        training.MLPS = training.SMOKE_MLPS
    effort = 2 if options.smoke else ROUNDS
    about = head("host_cost", "smoke" if options.smoke else "full", {"numpy": np.__version__})
    print(f"{wt.default_device()!r}, wgtensor {wt.__version__}, Python {platform.python_version()}")
    rows: list[dict[str, Any]] = []

    def report(name: str, samples: list[float]) -> None:
        rows.append(timed_row(name, "wgtensor", samples, "us"))
        print(f"{name:36} {statistics.median(samples) * 1e6:12.2f} us", flush=True)
        write(options.json, about, rows)

    def wanted(name: str) -> bool:
        return any(name.startswith(r) for r in options.rows.split(","))

    for name, measure in ROWS.items():
        if wanted(name):
            report(name, measure(effort))
    if wanted("import"):
        for name, samples in first(effort).items():
            report(name, samples)


if __name__ == "__main__":
    main()
