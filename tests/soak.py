"""`make soak`: what takes too long for CI. Run by name only: pytest -s tests/soak.py

WGTENSOR_SOAK_GRAPHS random programs, 20,000 by default, in WGTENSOR_SOAK_PARTS equal parts, which
pytest -n runs side by side. WGTENSOR_SOAK_SEED is the first seed, by default one that the clock
gives. Seeds are printed, and what fails with one fails again. WGTENSOR_INDEX_EXAMPLES keys of
arrays, 5,000 by default, get and set elements.
"""

from __future__ import annotations

import gc
import importlib.util
import logging
import os
import sys
import time
from typing import Any

import pytest

import wgtensor as wt
from helpers import device_has, setting
from process_memory import allocated, resident
from test_loss import destroyed, injected
from test_memory import failures
from test_persist import survives
from test_random_gradients import examine_by_differences, examine_by_torch
from test_random_graphs import MODES, alive, examine, unbounded
from test_resources import distinct_kernels
from test_threads import walks
from wgtensor import nn, optim

os.environ.setdefault("WGTENSOR_INDEX_EXAMPLES", "5000")
from test_indexing import test_get, test_set  # noqa: F401

GRAPHS = int(os.environ.get("WGTENSOR_SOAK_GRAPHS", "20000"))
PARTS = int(os.environ.get("WGTENSOR_SOAK_PARTS", "1"))
WARM = 0.25  # share of the graphs after which all caches are full
GROWTH = 4 << 20  # bytes that may be allocated beyond what was then


def seed() -> int:
    return int(os.environ.get("WGTENSOR_SOAK_SEED", str(int(time.time()))))


def say(*words: object) -> None:
    print(*words, file=sys.stderr, flush=True)  # pytest -n shows no standard output


def test_distinct_kernels() -> None:
    distinct_kernels(5000)


def test_losses() -> None:
    first = seed()
    say(f"\nWGTENSOR_SOAK_SEED={first}")
    destroyed(1000, first)
    for i in range(5):  # a lost device costs some memory for as long as its process lives
        injected(100, first + i)


def test_allocation_failures() -> None:
    """1,000 allocations that the driver refuses: each typed, each followed by right results."""
    failures(1000)


def test_a_training_survives_losses() -> None:
    """5,000 steps with 50 losses of the device end as those without one."""
    survives(5000, 50)


def test_threads() -> None:
    """10,000 random operations in each of eight threads."""
    walks(8, 10_000, timeout=3600)


def test_gradients() -> None:
    """WGTENSOR_SOAK_GRADIENTS random programs, 2,000 by default, with PyTorch's gradients; without
    PyTorch a tenth of them by differences.
    """
    number, first = int(os.environ.get("WGTENSOR_SOAK_GRADIENTS", "2000")), seed()
    torch = importlib.util.find_spec("torch") is not None
    say(f"\ngradients of {number} graphs from seed {first}, {'with' if torch else 'no'} PyTorch")
    wide = device_has("float64")
    if not torch and not wide:
        pytest.skip("neither PyTorch nor float64")
    for i in range(number if torch else number // 10):
        if torch:
            examine_by_torch(first + i, "float64" if wide and i % 2 else "float32")
        else:
            examine_by_differences(first + i)


class Log(logging.Handler):
    """Keeps what wgpu and the library complain about."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def modes(number: int) -> list[dict[str, Any]]:
    """Mostly as usual; the other modes by turns, and without fusion again now and then."""
    other = MODES[number // 3 % len(MODES)]
    return [other if number % 3 == 0 else {}] + [{"max_fusion": 1}] * (number % 4 == 1)


def length(number: int) -> int:
    """Lines of a program. Nearly each is a kernel to compile, which takes most of the time."""
    return 80 if number % 100 == 99 else 4 + number % 12


@pytest.mark.parametrize("recorded", [False, True])
def test_training(recorded: bool) -> None:
    """10,000 steps with a rate that changes: nothing is compiled or planned, nothing is left."""
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
    optimizer = optim.AdamW(net.parameters(), lr=1e-2)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 500)
    x = wt.random.normal((64, 16))
    y = wt.random.randint(0, 4, (64,))

    def step() -> wt.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run, marks = wt.jit(step) if recorded else step, []
    for i in range(10_001):
        loss = run()
        schedule.step()
        if i in (500, 10_000):
            wt.synchronize()
            gc.collect()
            stats = wt.stats()
            marks.append((resident(), stats["pipelines"], stats["plans"], stats["live_bytes"]))
    (before, *counts), (after, *later) = marks
    say(f"recorded: {recorded}, growth {(after - before) >> 10} KiB, {counts}, {loss.item():.3f}")
    assert counts[:2] == later[:2]
    assert later[2] <= counts[2]  # what tests before this one left may go
    assert after - before < 2 << 20


def emptied() -> int:
    """Bytes that this process has allocated without kernels and plans, which differ in size."""
    with setting(max_pipelines=1, max_plans=1):
        assert alive()["live_pipelines"] <= 1
    return allocated()


@pytest.mark.parametrize("part", range(PARTS))
def test_soak(part: int) -> None:
    graphs = GRAPHS // PARTS
    first = seed() + part * graphs
    say(f"\n{graphs} graphs from seed {first} on {wt.default_device()!r}")
    log, warm, memory = Log(), {}, 0
    logging.getLogger("wgtensor").addHandler(log)
    started, failures = time.monotonic(), []
    for i in range(graphs):
        if i == int(graphs * WARM):
            warm, memory = alive(), emptied()
        try:
            examine(first + i, modes(i), length(i))
        except AssertionError as error:
            failures.append(first + i)
            say(error)
            assert len(failures) < 10, f"too many failures: {failures}"
        if (i + 1) % 500 == 0:
            rate = (i + 1) / (time.monotonic() - started)
            say(f"{i + 1} graphs, {rate:.1f}/s, {len(failures)} failures, {resident() >> 20} MiB")
    logging.getLogger("wgtensor").removeHandler(log)
    left, growth = unbounded(warm), emptied() - memory
    say(f"{graphs} graphs: {len(failures)} failures, alive {alive()}, growth {growth >> 10} KiB")
    assert not failures, f"seeds that fail: {failures}"
    assert not log.messages, log.messages[:10]
    assert not left, f"left behind: {left}, after warming up {warm}"
    assert growth < GROWTH
