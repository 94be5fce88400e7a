"""Gradients of random programs against differences, and against PyTorch where that is there."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from helpers import device_has
from random_gradients import (
    Library,
    Torch,
    generate,
    gradients,
    slope_by_differences,
)

GRAPHS, CHUNK = 30, 10


def examine_by_differences(seed: int) -> None:
    program = generate(seed)
    slope, direction = slope_by_differences(program)
    grads = gradients(program, Library, "float64")
    terms = [float((g * v).sum()) for g, v in zip(grads, direction, strict=True)]
    scale = sum(abs(g * v).sum() for g, v in zip(grads, direction, strict=True)) + 1
    assert abs(sum(terms) - slope) <= 2e-7 * scale, (
        f"{program.text()}\nslope {slope}, by gradients {sum(terms)}"
    )


def examine_by_torch(seed: int, dtype: str) -> None:
    program = generate(seed)
    rtol = 1e-9 if dtype == "float64" else 5e-4
    own, expected = gradients(program, Library, dtype), gradients(program, Torch, "float64")
    for (name, _), a, b in zip(program.leaves, own, expected, strict=True):
        scale = np.abs(b).max(initial=0) + 1
        assert np.allclose(a, b, rtol=rtol, atol=rtol * scale), (
            f"{program.text()}\ngradient of {name}\n{a}\nPyTorch's\n{b}"
        )


@pytest.mark.skipif(not device_has("float64"), reason="differences need float64")
@pytest.mark.parametrize("first", range(0, GRAPHS, CHUNK))
def test_gradients_against_differences(first: int) -> None:
    for seed in range(first, first + CHUNK):
        examine_by_differences(seed)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("first", range(0, GRAPHS, CHUNK))
def test_gradients_against_torch(first: int) -> None:
    for seed in range(first, first + CHUNK):
        examine_by_torch(seed, "float32")
        if device_has("float64"):
            examine_by_torch(seed, "float64")
