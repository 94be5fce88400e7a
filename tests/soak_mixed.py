"""Mixed work for as long as WGTENSOR_SOAK_MINUTES says (60): a table of what the process holds.

`make soak ARGS="-k mixed"` runs it alone. After the first quarter nothing may grow any more: not
what is allocated, where a leak shows, nor what the process occupies, where holes show as well.
"""

from __future__ import annotations

import gc
import logging
import os
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wgtensor as wt
from helpers import setting
from process_memory import allocated, resident
from random_walks import Walk
from soak import Log, say, seed
from test_random_graphs import examine
from test_threads import in_threads
from wgtensor import nn, optim

MINUTES = float(os.environ.get("WGTENSOR_SOAK_MINUTES", "60"))
WARM = 0.25  # share of the time after which all caches are full
# By how much the largest value after that may be above the largest before. Kernels differ in size:
# a hundred of a software driver's are some 70 MiB, now and then 10 more or less.
GROWTH = {"RSS": 48 << 20, "allocated": 24 << 20, "objects": 1000, "live_bytes": 1 << 20}
MOST_PIPELINES, MOST_PLANS = 100, 200  # the whole hour would not fill larger caches
HEAD = (
    "minutes   rounds  RSS MiB allocated   objects  buffers  live MiB pipelines  plans "
    "bind groups  compiled"
)
COLUMNS = ("live_buffers", "live_bytes", "live_pipelines", "live_plans", "live_bind_groups")


class Training:
    """Steps of a small network, plain and recorded."""

    def __init__(self) -> None:
        self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
        self.optimizer = optim.AdamW(self.net.parameters(), lr=1e-3)
        self.x, self.y = wt.random.normal((64, 16)), wt.random.randint(0, 4, (64,))
        self.recorded = wt.jit(self.step)

    def step(self) -> wt.Tensor:
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.net(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss

    def __call__(self, dice: random.Random) -> None:
        step = dice.choice([self.step, self.recorded])
        losses = [step() for _ in range(20)]
        assert np.isfinite(losses[-1].item())


def sizes(dice: random.Random) -> None:
    """Uploads, results and reads of any size."""
    for _ in range(10):
        n = int(2 ** dice.uniform(0, 20))
        a = np.full(n, dice.randrange(100), np.int32)
        t = wt.asarray(a)
        assert (t * 2 + 1).numpy()[-1] == a[-1] * 2 + 1
        assert t.sum().item() == a[0] * n


def graphs(dice: random.Random) -> None:
    """A random program; most of them compile a kernel or several."""
    examine(dice.randrange(1 << 30), [{}], 8)


def threads(dice: random.Random) -> None:
    first = dice.randrange(1 << 20)
    in_threads(4, lambda i: Walk(first + i).run(40), timeout=300)


def errors(dice: random.Random) -> None:
    """What fails leaves nothing behind."""
    for make in (
        lambda: wt.ones(3) + wt.ones(4),
        lambda: wt.take(wt.ones(3), wt.asarray([9])).numpy(),
        lambda: wt.empty(wt.default_device().limits["max_buffer"] // 4 + 1),
    ):
        try:
            make()
        except (ValueError, IndexError, MemoryError, wt.UnsupportedError):
            continue
        raise AssertionError("no error")


def transfers(dice: random.Random) -> None:
    """To another device and back, events, views of arrays that are kept for a while."""
    device = _other
    x = wt.asarray(np.arange(5000, dtype=np.float32)) * dice.randrange(9)
    event = wt.Event().record()
    there = x.to(device) + 1
    _kept.append((there.to(x.device) - 1 - x).numpy())
    assert not _kept[-1].any()
    del _kept[:-4]
    assert event.wait(60)


_other: Any = None
_kept: list[Any] = []


def row(minutes: float, rounds: int) -> dict[str, float]:
    gc.collect()
    wt.synchronize()
    stats = wt.stats()
    counts = {name: float(stats[name]) for name in COLUMNS}
    return {
        "minutes": minutes,
        "rounds": rounds,
        "RSS": resident(),
        "allocated": allocated(),
        "objects": len(gc.get_objects()),
        "compiled": stats["pipelines"],
        **counts,
    }


def show(r: dict[str, float]) -> str:
    return (
        f"{r['minutes']:7.1f} {r['rounds']:8.0f} {r['RSS'] / 2**20:8.1f} "
        f"{r['allocated'] / 2**20:9.1f} {r['objects']:9.0f} "
        f"{r['live_buffers']:8.0f} {r['live_bytes'] / 2**20:9.2f} {r['live_pipelines']:9.0f} "
        f"{r['live_plans']:6.0f} {r['live_bind_groups']:11.0f} {r['compiled']:9.0f}"
    )


def test_mixed_work() -> None:
    """What the process and the device hold is flat after the first quarter of the time."""
    global _other
    first = seed()
    dice = random.Random(first)
    _other = wt.Device()
    works: list[Callable[[random.Random], None]] = [
        *[Training()] * 4,
        *[sizes] * 3,
        *[threads] * 2,
        graphs,
        errors,
        transfers,
    ]
    log = Log()
    logging.getLogger("wgtensor").addHandler(log)
    say(f"\nmixed work for {MINUTES:g} minutes from seed {first} on {wt.default_device()!r}")
    rows = table(works, dice)
    logging.getLogger("wgtensor").removeHandler(log)
    assert not log.messages, log.messages[:10]
    examine_table(rows)


def table(
    works: list[Callable[[random.Random], None]], dice: random.Random
) -> list[dict[str, float]]:
    """Rows of what is held while works are done, for MINUTES."""
    say(HEAD)
    rows: list[dict[str, float]] = []
    rounds, begin = 0, time.monotonic()
    every = min(60.0, MINUTES * 60 / 24)
    with setting(max_plans=MOST_PLANS, max_pipelines=MOST_PIPELINES):
        while (now := time.monotonic() - begin) < MINUTES * 60:
            if now >= every * len(rows):
                rows.append(row(now / 60, rounds))
                say(show(rows[-1]))
            dice.choice(works)(dice)
            rounds += 1
        rows.append(row(MINUTES, rounds))
    say(show(rows[-1]))
    return rows


def examine_table(rows: list[dict[str, float]]) -> None:
    warm = [r for r in rows if r["minutes"] <= MINUTES * WARM]
    late = [r for r in rows if r["minutes"] >= MINUTES * (1 - WARM)]
    for name, room in GROWTH.items():
        before, after = max(r[name] for r in warm), max(r[name] for r in late)
        assert after <= before + room, f"{name} grows from {before:,.0f} to {after:,.0f}"
    assert max(r["live_pipelines"] for r in late) <= MOST_PIPELINES
    assert max(r["live_plans"] for r in late) <= MOST_PLANS
    assert max(r["live_buffers"] for r in late) <= 2 * max(r["live_buffers"] for r in warm) + 200
