"""Lost devices and missing memory while choices of kernels are measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from children import run_script
from vulkan_layer.inject import Injector

LOSSES = """
import math, os
import numpy as np
import wgtensor as wt
from vulkan_layer.inject import Injector

injector = Injector(os.environ["WGT_INJECT_FILE"])
wt._core.tuning_rules(budget=math.inf)
a = np.ones((40, 40), "int32")
lost = 0
for after in (0, 2, 5, 9, 14, 20):
    device = wt.Device()
    wt._autotune.save()
    wt._core.tuning_forget(wt._core.tuning_key(device))
    wt._autotune.clear()
    x = wt.asarray(a, device=device).eval()
    device.synchronize()
    z = x @ x
    injector.lose_device(after=after)
    try:
        assert (z.numpy() == 40).all()
    except wt.DeviceLostError:
        lost += 1
    injector.disarm()
    device.recover()
    x = wt.asarray(a, device=device)
    assert ((x @ x).numpy() == 40).all()
    (choice,) = wt.autotune_info(device)["choices"].values()
    assert choice["origin"] == "measured", choice
print(lost)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the layer is for Linux")
def test_a_device_that_is_lost_while_it_measures(tmp_path: Path) -> None:
    with Injector() as injector:
        env = {**injector.env(), "WGTENSOR_AUTOTUNE": "1", "WGTENSOR_CACHE_FOLDER": str(tmp_path)}
        assert int(run_script(LOSSES, env=env)) == 6


NO_MEMORY = """
import math, os
import wgtensor as wt
from vulkan_layer.inject import Injector

injector = Injector(os.environ["WGT_INJECT_FILE"])
wt._core.tuning_rules(budget=math.inf)
x = wt.ones(24 << 20).eval()
wt.synchronize()
total = x.sum()
injector.fail_allocation(times=1000, min_bytes=1 << 20)  # a copy of x cannot be had
assert total.item() == 24 << 20
injector.disarm()
(choice,) = wt.autotune_info()["choices"].values()
print(choice["origin"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the layer is for Linux")
def test_no_memory_to_measure_in(tmp_path: Path) -> None:
    with Injector() as injector:
        env = {**injector.env(), "WGTENSOR_AUTOTUNE": "1", "WGTENSOR_CACHE_FOLDER": str(tmp_path)}
        assert run_script(NO_MEMORY, env=env) == "estimate\n"
