"""What a program that runs for days relies on: kernels, plans and memory that do not grow."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

import numpy as np
import pytest

import wgtensor as wt
from helpers import random_array, setting
from process_memory import resident
from wgtensor import nn, optim

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def stays_below(most: float, turn: Callable[[int], object], first: int, last: int) -> bool:
    """Whether memory grows by less than `most` MiB from turn `first` to turn `last`, or in one of
    two stretches more: what leaks grows in each, and a process of many tests now and then."""
    for i in range(first):
        turn(i)
    step = last - first
    for begin in (first, last, last + step):
        before = occupied()
        for i in range(begin, begin + step):
            turn(i)
        grown = occupied() - before
        if grown < most:
            return True
        print(f"{grown:.3f} MiB from turn {begin} on")
    return False


def occupied() -> float:
    """MiB of memory of this process."""
    wt.synchronize()
    gc.collect()
    return resident() / 2**20


@linux
def test_a_training_loop(rng: np.random.Generator) -> None:
    x, w, b = (wt.asarray(random_array(rng, s)) for s in [(32, 24), (24, 10), (10,)])
    seen: list[tuple[int, int]] = []

    def turn(i: int) -> None:
        nonlocal w, b
        h = wt.relu(x @ w + b)
        loss = (h * h).mean()
        w -= x.T @ h * 1e-6
        b -= h.sum(axis=0) * 1e-6
        if i % 10 == 0:
            loss.item()
        seen.append((wt.stats()["pipelines"], wt.stats()["plans"]))

    assert stays_below(2, turn, 100, 1000)
    assert seen[-1] == seen[130]


@linux
def test_a_training_with_modules() -> None:
    model = nn.Sequential(nn.Linear(16, 12), nn.Dropout(0.1), nn.LayerNorm(12), nn.Linear(12, 4))
    optimizer = optim.AdamW(model.parameters())
    schedule = optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))
    x = wt.random.normal((32, 16)).eval()
    y = wt.random.randint(4, shape=32).eval()
    seen: list[tuple[int, int]] = []

    def turn(i: int) -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if i % 10 == 0:
            loss.item()
        seen.append((wt.stats()["pipelines"], wt.stats()["plans"]))

    assert stays_below(2, turn, 100, 1000)
    assert seen[-1] == seen[130]


def test_batch_sizes_share_kernels(rng: np.random.Generator) -> None:
    x, w, b = (wt.asarray(random_array(rng, s)) for s in [(500, 20), (20, 10), (10,)])
    wt.synchronize()
    before = wt.stats()["pipelines"]
    for n in range(1, 501):
        wt.softmax(x[:n] @ w + b).eval()
    wt.synchronize()
    assert wt.stats()["pipelines"] - before <= 12


@linux
def test_kept_losses(rng: np.random.Generator) -> None:
    """Ten thousand of them: what is kept is a number each, and not the graph that made it."""
    x = wt.asarray(random_array(rng, (64, 100)))
    kept: list[wt.Tensor] = []
    assert stays_below(20, lambda i: kept.append((x * float(i)).mean()), 1000, 10_000)
    assert wt.stats()["live_bytes"] < 16 << 20
    assert kept[4321].item() == pytest.approx(4321 * x.mean().item(), rel=1e-4)


@linux
@pytest.mark.parametrize("what", ["views", "fills", "scalars", "unread", "dropped"])
def test_nothing_piles_up_without_a_read(what: str, rng: np.random.Generator) -> None:
    x = wt.asarray(random_array(rng, (8, 8)))
    y = x

    def turn(i: int) -> None:
        nonlocal y
        if what == "views":
            x[i % 8].T[::-1].reshape(2, 4)
        elif what == "fills":
            wt.zeros((1000, 1000))
            wt.arange(5)
        elif what == "scalars":
            x + i
        elif what == "unread":
            y = y * 0.5 + x
        else:
            (x @ x).sum()

    assert stays_below(3, turn, 5000, 30_000 if what in ("unread", "dropped") else 60_000)


@linux
def test_many_different_graphs(rng: np.random.Generator) -> None:
    """Caches are bounded: what is used least goes."""

    def turn(i: int) -> None:
        y = wt.asarray(random_array(rng, (i % 97 + 1,)))
        for k in range(i % 8):
            y = y * 2 if (i >> k) & 1 else wt.abs(y)
        (y.sum() if i % 3 else y + 1).eval()

    with setting(max_plans=64, max_pipelines=32):
        assert stays_below(20, turn, 200, 600)
        assert wt.stats()["live_plans"] <= 64
        assert wt.stats()["live_pipelines"] <= 32


def test_uploads_and_reads(rng: np.random.Generator) -> None:
    a = random_array(rng, (300, 300))
    live = []
    for _ in range(200):
        t = wt.asarray(a)
        assert (t + 1).numpy()[0, 0] == a[0, 0] + np.float32(1)
        live.append(wt.stats()["live_bytes"] + wt.stats()["pooled_bytes"])
    assert max(live[100:]) <= max(live[:50])


@pytest.mark.parametrize("recorded", [False, True])
def test_bind_groups_of_a_steady_step(recorded: bool) -> None:
    """The same buffers come again, so that their bind groups do."""
    model = nn.Sequential(nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 12), nn.Linear(12, 4))
    optimizer = optim.AdamW(model.parameters())
    x, y = wt.ones((8, 16)).eval(), wt.zeros(8, dtype="int32").eval()

    def step() -> wt.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    turn = wt.jit(step) if recorded else step
    for _ in range(60):
        loss = turn()
    before = wt.stats()["bind_groups"]
    for _ in range(20):
        loss = turn()
    assert np.isfinite(loss.item())
    # What reads the loss back may bind a buffer of its own.
    assert wt.stats()["bind_groups"] - before <= 2


def test_work_that_starts_by_itself() -> None:
    """Early at first, then seldom: twice as many operations wait each time."""
    x = wt.ones(8).eval()

    def flushes(n: int) -> int:
        r, before = x, wt.stats()["flushes"]
        for _ in range(n):
            r = r * 0.5 + 1
        count = int(wt.stats()["flushes"]) - before
        assert abs(r.numpy() - (2 - 0.5**n)).max() < 1e-6
        return count

    with setting(flush_nodes=16):
        assert [flushes(n) for n in (4, 20, 60, 120)] == [0, 1, 3, 4]
        assert flushes(4) == 0  # a value was asked for
