"""WGTENSOR_DEBUG=1: checked shaders, poisoned memory, failures that name the line at fault."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import wgtensor as wt
from children import run_script
from helpers import setting
from preload import run_counted
from vulkan_layer.inject import Injector

POISON = 0x7FC0DEAD


@pytest.fixture
def device() -> Iterator[wt.Device]:
    with setting(debug=True):
        yield wt.Device()


def bits(t: wt.Tensor) -> np.ndarray:
    return t.numpy().view(np.uint32)


def test_fresh_and_reused_memory_is_poisoned(device: wt.Device) -> None:
    n = 500_000
    assert (bits(wt.empty((n,), device=device)) == POISON).all()
    used = wt.full((n,), 3, dtype="float32", device=device) + 1
    assert (used.numpy() == 4).all()
    del used
    reused = wt.empty((n,), device=device)
    assert wt.stats(device)["buffer_hits"] > 0
    assert (bits(reused) == POISON).all()
    odd = wt.empty((7, 3), dtype="bool", device=device) | True
    assert odd.numpy().all()


def test_results_are_the_same(device: wt.Device) -> None:
    rng = np.random.default_rng(0)
    a, w, b = (rng.random(s, dtype="float32") for s in ((65, 130), (130, 67), (67,)))
    results = []
    for d in (device, wt.default_device()):
        x, y, c = (wt.asarray(v, device=d) for v in (a, w, b))
        h = wt.relu(x @ y + c)
        results.append(
            [
                h.numpy(),
                h.softmax(axis=0).numpy(),
                (h[::2, ::-3] * 2).sum(axis=1).numpy(),
                (x.T.reshape(130, 13, 5).max(axis=1) > 0.9).numpy(),
            ]
        )
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD")
@pytest.mark.parametrize("debug", ["0", "1"])
def test_shaders_check_their_bounds(debug: str) -> None:
    result = run_counted(
        """
x = wt.asarray(np.ones((20, 30), "float32"))
((x + 1).sum(axis=0) @ x.T).softmax().numpy()
result["checked"], result["trusted"] = counts.checked, counts.trusted
""",
        env={"WGTENSOR_DEBUG": debug},
    )
    asked, other = ("checked", "trusted") if debug == "1" else ("trusted", "checked")
    assert result[asked] >= 2
    assert result[other] == 0


def line_of(marker: str) -> str:
    """Where this file holds the marker, as the library names it."""
    lines = Path(__file__).read_text().splitlines()
    (number,) = [i for i, text in enumerate(lines, 1) if text.endswith(f"# {marker}")]
    return f"{Path(__file__).name}:{number}"


def test_a_failing_step_names_its_line(device: wt.Device) -> None:
    elements = device.limits["max_buffer"] // 4 + 4096
    if elements >= 1 << 32:
        pytest.skip("more elements than a tensor may have")
    x = wt.asarray(np.arange(5, dtype="float32"), device=device)
    fine = x * 2
    too_large = wt.zeros((elements,), device=device) + 1  # the operator
    method = wt.zeros((elements,), device=device).abs()  # the method
    function = wt.exp(wt.zeros((elements,), device=device))  # the function
    copy = wt.zeros((elements // 4, 4), device=device).T.copy()  # the view
    for t, marker in [
        (too_large, "the operator"),
        (method, "the method"),
        (function, "the function"),
        (copy, "the view"),
    ]:
        with pytest.raises((wt.UnsupportedError, wt.OutOfMemoryError)) as caught:
            t.numpy()
        assert line_of(marker) in str(caught.value)
    assert fine.tolist() == [0, 2, 4, 6, 8]


def test_without_debug_mode_no_line_is_named() -> None:
    elements = wt.default_device().limits["max_buffer"] // 4 + 4096
    if wt.config.debug or elements >= 1 << 32:
        pytest.skip("debug mode, or more elements than a tensor may have")
    with pytest.raises((wt.UnsupportedError, wt.OutOfMemoryError)) as caught:
        (wt.zeros((elements,)) + 1).numpy()
    assert ".py" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's Vulkan loader")
def test_a_step_without_memory_names_its_line(tmp_path: Path) -> None:
    if wt.default_device().backend != "vulkan":
        pytest.skip("not on Vulkan")
    model = tmp_path / "model.py"
    model.write_text(
        textwrap.dedent(
            """
            import wgtensor as wt

            def layer(x):
                y = x * 2
                return wt.sqrt(y + 1)

            def pair(x):
                a = layer(x)
                return a, a.sum()
            """
        )
    )
    script = f"""
import os, sys
sys.path.insert(0, {str(tmp_path)!r})
import numpy as np
import wgtensor as wt
import model
from vulkan_layer.inject import Injector

injector = Injector(os.environ["WGT_INJECT_FILE"])
(wt.ones(3) + 1).numpy()
n = (160 if wt.default_device().limits["max_binding"] > 1 << 30 else 20) << 20
x = wt.full((n,), 3, dtype="float32")
a, total = model.pair(x)
injector.fail_allocation(times=1000, min_bytes=1 << 20)
try:
    a.numpy()
except wt.OutOfMemoryError as error:
    assert error.requested >= 80 << 20
    assert "model.py:6]" in str(error), error
else:
    raise AssertionError("no error")
injector.disarm()
assert (model.layer(x).numpy()[:3] == np.sqrt(np.float32(7))).all()
print("fine")
"""
    with Injector() as injector:
        out = run_script(script, env={**injector.env(), "WGTENSOR_DEBUG": "1"})
    assert out == "fine\n"
