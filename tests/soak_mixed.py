"""Mixed work for as long as WGTENSOR_SOAK_MINUTES says (60): a table of what the process holds.

`make soak ARGS="-k mixed"` runs it alone. After the first quarter nothing may grow any more.
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
from random_walks import Walk
from soak import Log, resident, say, seed
from test_random_graphs import examine
from test_threads import in_threads
from wgtensor import nn, optim

MINUTES = float(os.environ.get("WGTENSOR_SOAK_MINUTES", "60"))
WARM = 0.25  # share of the time after which all caches are full
GROWTH = 64 << 20  # bytes that the process may grow by after that
# More of them for each kernel that was compiled: a driver's memory gets holes, and does not give
# all of it back.
GROWTH_OF_A_KERNEL = 8 << 10
HEAD = (
    "minutes   rounds  RSS MiB   objects  buffers  live MiB pipelines  plans bind groups  compiled"
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
        "objects": len(gc.get_objects()),
        "compiled": stats["pipelines"],
        **counts,
    }


def show(r: dict[str, float]) -> str:
    return (
        f"{r['minutes']:7.1f} {r['rounds']:8.0f} {r['RSS'] / 2**20:8.1f} {r['objects']:9.0f} "
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
    say(HEAD)
    rows: list[dict[str, float]] = []
    rounds, begin = 0, time.monotonic()
    every = min(60.0, MINUTES * 60 / 24)
    # Caches that the whole hour does not fill would grow through it.
    with setting(max_plans=200, max_pipelines=100):
        while (now := time.monotonic() - begin) < MINUTES * 60:
            if now >= every * len(rows):
                rows.append(row(now / 60, rounds))
                say(show(rows[-1]))
            dice.choice(works)(dice)
            rounds += 1
    logging.getLogger("wgtensor").removeHandler(log)
    rows.append(row(MINUTES, rounds))
    say(show(rows[-1]))
    assert not log.messages, log.messages[:10]
    warm = [r for r in rows if r["minutes"] <= MINUTES * WARM]
    late = [r for r in rows if r["minutes"] >= MINUTES * (1 - WARM)]
    compiled = late[-1]["compiled"] - warm[-1]["compiled"]
    room_of_rss = GROWTH + GROWTH_OF_A_KERNEL * compiled
    for name, room in {"RSS": room_of_rss, "objects": 5000, "live_bytes": 8 << 20}.items():
        before, after = max(r[name] for r in warm), max(r[name] for r in late)
        assert after <= before + room, f"{name} grows from {before:,.0f} to {after:,.0f}"
    assert max(r["live_pipelines"] for r in late) <= 100
    assert max(r["live_plans"] for r in late) <= 200
    assert max(r["live_buffers"] for r in late) <= 2 * max(r["live_buffers"] for r in warm) + 200
