"""`make soak`: what takes too long for CI. Run by name only: pytest -s tests/soak.py

WGTENSOR_SOAK_GRAPHS random programs, 20,000 by default; WGTENSOR_SOAK_SEED is the first seed, by
default one that the clock gives. The seed is printed, and what fails with it fails again.
"""

from __future__ import annotations

import os
import time

import wgtensor as wt
from test_loss import destroyed, injected
from test_random_graphs import examine
from test_resources import distinct_kernels


def seed() -> int:
    return int(os.environ.get("WGTENSOR_SOAK_SEED", str(int(time.time()))))


def test_distinct_kernels() -> None:
    distinct_kernels(5000)


def test_losses() -> None:
    first = seed()
    print(f"\nWGTENSOR_SOAK_SEED={first}")
    destroyed(1000, first)
    for i in range(5):  # a lost device costs some memory for as long as its process lives
        injected(100, first + i)


def test_soak() -> None:
    graphs = int(os.environ.get("WGTENSOR_SOAK_GRAPHS", "20000"))
    first = seed()
    print(f"\n{graphs} graphs from WGTENSOR_SOAK_SEED={first} on {wt.default_device()!r}")
    started, failures = time.monotonic(), []
    for i in range(graphs):
        try:
            examine(first + i)
        except AssertionError as error:
            failures.append(first + i)
            print(error, flush=True)
            assert len(failures) < 10, f"too many failures: {failures}"
        if (i + 1) % 500 == 0:
            rate = (i + 1) / (time.monotonic() - started)
            print(f"{i + 1} graphs, {rate:.1f}/s, {len(failures)} failures", flush=True)
    assert not failures, f"seeds that fail: {failures}"
