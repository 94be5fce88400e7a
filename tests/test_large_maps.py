"""Elementwise kernels of many elements: software adapters have a form of their own for these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import random_array, setting

Array = np.ndarray[Any, Any]
MANY = 1 << 16


def both(run: Any, *arrays: Array) -> None:
    """The same bits from kernels for GPUs and for software adapters."""
    results = []
    for kernels in ("software", "gpu"):
        with setting(kernels=kernels, debug=True):
            device = wt.Device()
        made = run(*(wt.asarray(a, device=device) for a in arrays))
        made = made if isinstance(made, tuple) else (made,)
        wt.eval(*made)
        results.append([t.numpy() for t in made])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))


@pytest.mark.parametrize(
    "shape", [(MANY,), (256, 272), (MANY + 8,), (MANY + 3,), (2, 2, MANY // 2)]
)
def test_shapes(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    a, b = (random_array(rng, shape, "float32") for _ in range(2))
    both(lambda x, y: x * 2 + y, a, b)
    both(lambda x, y: wt.where(x > y, wt.sqrt(abs(x)), -y), a, b)


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_integers(dtype: str, rng: np.random.Generator) -> None:
    a, b = (random_array(rng, (MANY,), dtype) for _ in range(2))
    both(lambda x, y: (x ^ y) * 3 - (y >> 3), a, b)
    both(lambda x, y: (x.astype("float32") * 0.5, x + y), a, b)


def test_several_results_of_several_dtypes(rng: np.random.Generator) -> None:
    a, b = random_array(rng, (MANY,), "float32"), random_array(rng, (MANY,), "int32")

    def run(x: wt.Tensor, y: wt.Tensor) -> tuple[wt.Tensor, ...]:
        z = x * y.astype("float32")
        return z, z + 1, y * 2

    both(run, a, b)


def test_one_number_for_all(rng: np.random.Generator) -> None:
    a = random_array(rng, (MANY,), "float32")
    both(lambda x, s: x * s + s[0], a, np.array([3.5], np.float32))
    # A row for all rows is no number for all.
    both(lambda x, r: x.reshape(256, -1) + r, a, a[: MANY // 256])


def test_places_count(rng: np.random.Generator) -> None:
    a = random_array(rng, (MANY + 64,), "float32")
    both(lambda x: x[:MANY] + wt.arange(MANY, dtype="float32", device=x.device), a)
    both(lambda x: x[64:] - x[:-64], a)
    both(lambda x: x[:MANY][::-1] + x[:MANY], a)
    both(lambda x: x[:MANY:2] + 1, a)


def test_special_numbers_keep_their_bits() -> None:
    bits = np.array([0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC01234, 0x00000001], np.uint32)
    a = np.tile(bits, MANY // 2).view(np.float32)
    both(lambda x: x.copy(), a)
    both(lambda x: wt.where(x > 0, x, -x), a)


def test_in_place(rng: np.random.Generator) -> None:
    a = random_array(rng, (MANY,), "float32")

    def run(x: wt.Tensor) -> wt.Tensor:
        y = x * 1.5
        y.eval()
        y += 1
        y.eval()
        y *= x
        return y

    both(run, a)
