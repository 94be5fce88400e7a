"""What workgroups that meet rely on, in the SPIR-V that drivers get."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import wgtensor as wt
from children import run_script
from helpers import workgroups_meet
from vulkan_layer.inject import Injector

# Of the SPIR-V specification.
CONSTANT, CONTROL_BARRIER, ATOMIC_LOAD, ATOMIC_STORE, ATOMIC_ADD = 43, 224, 227, 228, 234
DEVICE, ACQUIRE_RELEASE, UNIFORM_MEMORY = 1, 0x8, 0x40

MEETINGS = """
import numpy as np
import wgtensor as wt

x, y = wt.ones((64, 4096)), wt.ones((4096, 130))
assert "matmul in pieces" in wt.explain(x @ y)
assert ((x @ y).numpy() == 4096).all()
z = wt.ones((50_000, 40))
assert wt.explain(z.sum(axis=0)).startswith("1 kernel")
assert (z.sum(axis=0).numpy() == 50_000).all()
"""


def instructions(code: Path) -> Iterator[tuple[int, list[int]]]:
    """(operation, operands) of a module."""
    words = np.fromfile(code, np.uint32).tolist()
    assert words[0] == 0x07230203
    at = 5
    while at < len(words):
        length, operation = words[at] >> 16, words[at] & 0xFFFF
        yield operation, words[at + 1 : at + length]
        at += length


@pytest.mark.skipif(sys.platform != "linux", reason="the layer is for Linux")
def test_barriers_and_atomics_are_of_the_device(tmp_path: Path) -> None:
    if not workgroups_meet(wt.default_device()):
        pytest.skip("the layer is of Vulkan")
    with Injector() as injector:
        env = {**injector.env(), "WGT_SPIRV_FOLDER": str(tmp_path), "WGTENSOR_KERNELS": "gpu"}
        run_script(MEETINGS, env=env)
    seen = 0
    for path in tmp_path.glob("*.spv"):
        module = list(instructions(path))
        constants = {o[1]: o[2] for operation, o in module if operation == CONSTANT}
        if not any(operation == ATOMIC_ADD for operation, _ in module):
            continue
        seen += 1
        fences = 0
        for operation, o in module:
            if operation == CONTROL_BARRIER and constants[o[2]] & UNIFORM_MEMORY:
                assert constants[o[1]] == DEVICE
                assert constants[o[2]] & ACQUIRE_RELEASE
                fences += 1
            elif operation in (ATOMIC_LOAD, ATOMIC_ADD):
                assert constants[o[3]] == DEVICE
            elif operation == ATOMIC_STORE:
                assert constants[o[1]] == DEVICE
        assert fences >= 2  # before it counts up, and before it reads what others left
    assert seen == 2
