"""Several devices in one process."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import wgtensor as wt
from children import run_script
from test_threads import in_threads


@pytest.fixture
def two() -> tuple[wt.Device, wt.Device]:
    """Two logical devices on one adapter."""
    name = str(wt.default_device())
    return wt.Device(name), wt.Device(name)


@pytest.fixture(autouse=True)
def _no_block_is_left() -> Iterator[None]:
    before = wt.default_device()
    yield
    assert wt.default_device() == before


# ---- to, with, copies --------------------------------------------------------------------------


def test_copies_between_devices(two: tuple[wt.Device, wt.Device]) -> None:
    a, b = two
    x = wt.asarray(np.arange(12, dtype="float32").reshape(3, 4), device=a)
    y = (x * 2).T.to(b)
    assert y.device == b
    assert (y + 1).device == b
    np.testing.assert_array_equal(y.numpy(), (np.arange(12).reshape(3, 4) * 2).T)
    assert y.to(b) is y
    assert x.to_device(b).device == b
    assert wt.asarray(x, device=b).tolist() == x.tolist()
    back = (y.to(a).T + x).numpy()
    np.testing.assert_array_equal(back, np.arange(12).reshape(3, 4) * 3)
    for dtype in ("int8", "bool", "float16", "bfloat16", "uint32"):
        t = wt.asarray([0, 1, 1], dtype=dtype, device=a).to(b)
        assert (t.dtype.name, t.device) == (dtype, b)
        assert t.astype("int32").tolist() == [0, 1, 1]
    assert wt.ones((0, 3), device=a).to(b).shape == (0, 3)


def test_gradients_cross_devices(two: tuple[wt.Device, wt.Device]) -> None:
    a, b = two
    w = wt.asarray([1.0, 2.0, 3.0], device=a).requires_grad_()
    loss = ((w * 2).to(b) ** 2).sum()
    loss.backward()
    assert w.grad is not None
    assert w.grad.device == a
    assert w.grad.tolist() == [8, 16, 24]


def test_a_module_on_each(two: tuple[wt.Device, wt.Device]) -> None:
    nets = []
    for device in two:
        with device:
            wt.random.manual_seed(5)
            net = wt.nn.Sequential(wt.nn.Linear(4, 8), wt.nn.Dropout(0.1), wt.nn.Linear(8, 2))
            optimizer = wt.optim.Adam(net.parameters(), lr=1e-2)
            x = wt.random.normal((16, 4))
            for _ in range(5):
                optimizer.zero_grad()
                (net(x) ** 2).mean().backward()
                optimizer.step()
        assert {str(p.device) for p in net.parameters()} == {str(device)}
        nets.append([p.numpy() for p in net.parameters()])
    for p, q in zip(*nets, strict=True):
        np.testing.assert_array_equal(p, q)


def test_blocks(two: tuple[wt.Device, wt.Device]) -> None:
    a, b = two
    outside = wt.default_device()
    with a as entered:
        assert entered == a == wt.default_device() == wt.ones(3).device == wt.get_device()
        assert wt.asarray([1]).device == wt.random.normal((3,)).device == a
        with b:
            assert wt.zeros(3).device == b
            with a:
                assert wt.zeros(3).device == a
            assert wt.arange(3).device == b
        with pytest.raises(KeyError), b:
            raise KeyError
        assert wt.eye(3).device == a
        assert wt.ones(2, device=b).device == b
        wt.set_default_device(b)  # what is outside of all blocks
        assert wt.default_device() == a
        assert np.sin(wt.ones(2)).device == a
        assert wt.jit(lambda: wt.ones(3) * 2)().device == a
    assert wt.default_device() == b
    wt.set_default_device(None)
    assert wt.default_device() == outside
    with pytest.raises(RuntimeError, match="no block"):
        a.__exit__(None, None, None)


def test_blocks_are_of_a_thread(two: tuple[wt.Device, wt.Device]) -> None:
    outside = wt.default_device()

    def work(i: int) -> None:
        assert wt.default_device() == outside
        for _ in range(20):
            with two[i % 2]:
                time.sleep(0)
                assert wt.ones(1).device == two[i % 2]
        assert wt.ones(1).device == outside

    with two[0]:
        in_threads(4, work)


def test_blocks_are_of_a_task(two: tuple[wt.Device, wt.Device]) -> None:
    async def work(device: wt.Device) -> None:
        for _ in range(10):
            with device:
                await asyncio.sleep(0)
                x = wt.ones(3)
                assert x.device == device
                assert (await x.numpy_async()).sum() == 3
        assert wt.default_device() != device

    async def main() -> None:
        await asyncio.gather(*(work(d) for d in two))

    asyncio.run(main())


def test_pools_and_counters_are_apart(two: tuple[wt.Device, wt.Device]) -> None:
    a, b = two
    before = wt.memory_stats(b), wt.stats(b)["dispatches"]
    x = wt.ones((512, 512), device=a) + 1
    x.eval()
    del x
    assert wt.memory_stats(a)["pooled"] >= 1 << 20
    assert (wt.memory_stats(b), wt.stats(b)["dispatches"]) == before


def test_one_lost_the_other_well(two: tuple[wt.Device, wt.Device]) -> None:
    a, b = two
    x, y = wt.ones(3, device=a) + 1, wt.ones(3, device=b) + 1
    a.destroy()
    assert (a.lost, b.lost) == (True, False)
    assert y.tolist() == [2, 2, 2]
    with pytest.raises(wt.DeviceLostError):
        x.numpy()
    a.recover()
    assert (wt.ones(3, device=a) + y.to(a)).tolist() == [3, 3, 3]


DRIVERS = [
    *sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json")),
    Path("/usr/lib/chromium/vk_swiftshader_icd.json"),
]

TWO_DRIVERS = """
import threading
import numpy as np
import wgtensor as wt

rng = np.random.default_rng(0)
a, w = (rng.standard_normal(shape, dtype="float32") for shape in ((60, 40), (40, 30)))
names = ["llvmpipe", "swiftshader"]
devices = [wt.get_device(name) for name in names]
assert [n.lower() in d.name.lower() for n, d in zip(names, devices)] == [True, True], devices
results = [[], []]
barrier = threading.Barrier(2)

def graph(device, i):
    x, y = wt.asarray(a * i, device=device), wt.asarray(w, device=device)
    h = wt.relu(x @ y + 0.5)
    order = wt.argsort(h.sum(axis=1))
    p = (h - h.mean(axis=0)).softmax(axis=-1)[order]
    h[3:5] = 0
    return [h.numpy(), p.numpy(), order.numpy(), wt.cumulative_sum(x[0]).numpy()]

def work(k):
    barrier.wait()
    with devices[k]:
        for i in range(1, 9):
            results[k].append(graph(None, i))

threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
for t in threads: t.start()
for t in threads: t.join()
assert len(results[0]) == len(results[1]) == 8
for one, other in zip(*results):
    for x, y in zip(one, other):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-5)
expected = np.maximum(a @ w + 0.5, 0)
expected[3:5] = 0
np.testing.assert_allclose(results[1][0][0], expected, rtol=2e-5, atol=2e-5)
x, y = wt.ones(3, device=devices[0]), wt.ones(3, device=devices[1])
try:
    x + y
except wt.DeviceMismatchError as error:
    assert str(devices[0]) in str(error) and str(devices[1]) in str(error), error
else:
    raise AssertionError("no error")
assert (x.to(devices[1]) + y).tolist() == (x + y.to(devices[0])).tolist() == [2, 2, 2]
print("the same")
"""


@pytest.mark.skipif(
    sys.platform != "linux" or len(DRIVERS) < 2 or not all(d.exists() for d in DRIVERS),
    reason="llvmpipe and SwiftShader side by side",
)
def test_two_drivers_in_two_threads() -> None:
    files = os.pathsep.join(map(str, DRIVERS))
    env = {"VK_DRIVER_FILES": files, "VK_ICD_FILENAMES": files, "WGTENSOR_DEVICE": ""}
    assert run_script(TWO_DRIVERS, env=env, timeout=200) == "the same\n"
