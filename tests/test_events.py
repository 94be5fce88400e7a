"""Events, and waiting without blocking."""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from typing import Any

import pytest

import wgtensor as wt
from children import run_script
from test_threads import in_threads


def product(seconds: float, device: Any = None) -> wt.Tensor:
    """Work of about so long on a software adapter; hardware is faster."""
    n = 512
    y = x = wt.full((n, n), 1 / n, device=device)
    for _ in range(max(1, int(seconds / 0.02))):
        y = y @ x
    return y


# ---- events ------------------------------------------------------------------------------------


def test_an_event_follows_the_work() -> None:
    event = wt.Event()
    assert event.query()  # nothing recorded: it has passed
    assert event.wait()
    assert event.device == wt.default_device()
    y = product(0.5)
    assert event.record() is event
    slow = wt.default_device().type == "cpu" and wt.default_device().backend == "vulkan"
    if slow:
        assert not event.query()
        begin = time.perf_counter()
        assert not event.wait(0.01)
        assert not event.wait(timeout=0)
        assert time.perf_counter() - begin < 10  # a poll may wait for what the driver submits
    assert event.wait(60.0)
    assert event.query()
    before = wt.stats()["dispatches"]
    assert y.numpy()[0, 0] > 0
    assert wt.stats()["dispatches"] == before, "the work was not done"
    assert event.wait(math.inf)
    with pytest.raises(ValueError, match="nan"):
        event.wait(math.nan)


def test_events_start_what_waits_and_pass_in_order() -> None:
    x = wt.ones((300, 300))
    before = wt.stats()["dispatches"]
    y = x + 1  # only a handle so far
    events = [wt.Event().record()]
    assert wt.stats()["dispatches"] > before
    for _ in range(5):
        y = y @ x / 300
        events.append(wt.Event().record())
    events[-1].wait()
    assert all(e.query() for e in events)
    events[0].record()
    assert events[0].wait(10)


def test_events_in_threads() -> None:
    def work(i: int) -> None:
        event = wt.Event()
        for k in range(20):
            x = wt.full((50, 50), i + k, dtype="float32")
            total = (x @ x).sum()
            event.record()
            assert event.wait(30)
            assert total.item() == 50.0**3 * (i + k) ** 2

    in_threads(6, work)


def test_events_of_a_lost_device() -> None:
    device = wt.Device()
    event = wt.Event(device)
    x = wt.ones(5, device=device) + 1
    event.record()
    device.destroy()
    for ask in (event.query, event.wait, event.record):
        with pytest.raises(wt.DeviceLostError):
            ask()
    device.recover()
    with pytest.raises(wt.DeviceLostError):  # that moment never came
        event.query()
    assert event.record().wait(10)
    assert x.shape == (5,)


def test_a_wait_for_an_event_lets_python_run() -> None:
    y = product(0.4)
    ticks, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    event = wt.Event().record()
    counter.start()
    begin = time.perf_counter()
    event.wait()
    seconds = time.perf_counter() - begin
    stop.set()
    counter.join()
    assert y.shape == (512, 512)
    assert ticks[0] > 2, f"{ticks[0]} ticks in {seconds:.2f} s"


# ---- asyncio -----------------------------------------------------------------------------------


def test_reads_in_flight_do_not_block_the_loop() -> None:
    async def ticks(stop: asyncio.Event) -> list[float]:
        seen = []
        while not stop.is_set():
            seen.append(time.perf_counter())
            await asyncio.sleep(0.005)
        return seen

    async def main() -> None:
        x = wt.full((64, 64), 2.0)
        (x + 1).numpy()
        stop = asyncio.Event()
        ticking = asyncio.create_task(ticks(stop))
        await asyncio.sleep(0)
        begin = time.perf_counter()
        reads = [asyncio.ensure_future((x * i).sum().numpy_async()) for i in range(40)]
        long = product(0.6)
        y = long.numpy_async()
        event = wt.Event()
        values = await asyncio.gather(*reads)
        assert [float(v) for v in values] == [64 * 64 * 2.0 * i for i in range(40)]
        (await y)[0, 0]
        event.record()
        await event.wait_async()
        assert event.query()
        end = time.perf_counter()
        stop.set()
        seen = await ticking
        # A blocked loop ticks after its waits only: once for the reads, y and the event.
        during = sum(begin < t < end for t in seen)
        assert during > 5, f"{during} ticks in {end - begin:.3f} s"

    asyncio.run(main())


def test_an_async_read_is_of_the_moment_of_the_call() -> None:
    async def main() -> None:
        x = wt.zeros(3)
        first = x.numpy_async()
        x += 1
        second = x.numpy_async()
        x[0] = 5
        assert (await second).tolist() == [1, 1, 1]
        assert (await first).tolist() == [0, 0, 0]
        assert x.tolist() == [5, 1, 1]

    asyncio.run(main())


def test_async_errors_arrive() -> None:
    async def main() -> None:
        device = await wt.Device.create_async(str(wt.default_device()))
        x = wt.ones(3, device=device) + 1
        device.destroy()
        with pytest.raises(wt.DeviceLostError):
            await x.numpy_async()
        device.recover()
        bad = wt.take(wt.ones(3, device=device), wt.asarray([7], device=device))
        with pytest.raises(IndexError):
            await bad.numpy_async()
        assert (await wt.ones(2, device=device).numpy_async()).tolist() == [1, 1]

    asyncio.run(main())


def test_a_cancelled_read_harms_nothing() -> None:
    async def main() -> None:
        task = asyncio.ensure_future(product(0.2).numpy_async())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await (wt.ones(3) + 1).numpy_async()).tolist() == [2, 2, 2]

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_async_reads_in_a_forked_child_say_so() -> None:
    run_script(
        """
import asyncio, os, warnings
import wgtensor as wt
warnings.simplefilter("ignore")
async def read(t):
    return (await t.numpy_async()).tolist()
x = wt.ones(3)
assert asyncio.run(read(x)) == [1, 1, 1]
pid = os.fork()
if pid == 0:
    try:
        asyncio.run(read(x))
    except wt.DeviceLostError as error:
        os._exit(0 if "spawn" in str(error) else 3)
    os._exit(4)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
""",
        timeout=60,
    )
