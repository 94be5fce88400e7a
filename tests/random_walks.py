"""Random operations on a few tensors, each with its NumPy twin: for threads, and for hours.

Integers alone, so that every result is exact. What follows what is random, but few kernels come of
it: at most two operations wait at a time, of some ten kinds.
"""

from __future__ import annotations

import gc
import random
from typing import Any

import numpy as np

import wgtensor as wt

Array = np.ndarray[Any, Any]
SIDE = 24


class Walk:
    """One walk; `seed` says all of it."""

    def __init__(self, seed: int, device: Any = None) -> None:
        self.dice = random.Random(seed)
        rng = np.random.default_rng(seed)
        self.arrays: list[Array] = [
            rng.integers(-1000, 1000, (SIDE, SIDE), dtype=np.int32) for _ in range(4)
        ]
        self.tensors = [wt.asarray(a, device=device) for a in self.arrays]
        self.moves = [getattr(self, name) for name in dir(self) if name.startswith("move_")]

    def run(self, operations: int) -> None:
        """AssertionError where a tensor is not what its array is."""
        for i in range(operations):
            k = self.dice.randrange(len(self.tensors))
            a, t = self.dice.choice(self.moves)(k)
            self.arrays[k], self.tensors[k] = a, t
            if i % 2 or self.dice.random() < 0.3:
                t.eval()
            if self.dice.random() < 0.1:
                self.check(k)
            if self.dice.random() < 0.002:
                gc.collect()
        for k in range(len(self.tensors)):
            self.check(k)

    def check(self, k: int) -> None:
        np.testing.assert_array_equal(self.tensors[k].numpy(), self.arrays[k])

    def other(self) -> tuple[Array, wt.Tensor]:
        k = self.dice.randrange(len(self.tensors))
        return self.arrays[k], self.tensors[k]

    def move_number(self, k: int) -> tuple[Array, wt.Tensor]:
        n = self.dice.randrange(-50, 50)
        return self.arrays[k] + np.int32(n), self.tensors[k] + n

    def move_sum(self, k: int) -> tuple[Array, wt.Tensor]:
        a, t = self.other()
        return self.arrays[k] + a, self.tensors[k] + t

    def move_where(self, k: int) -> tuple[Array, wt.Tensor]:
        a, t = self.other()
        return np.where(self.arrays[k] > a, a, -a), wt.where(self.tensors[k] > t, t, -t)

    def move_transpose(self, k: int) -> tuple[Array, wt.Tensor]:
        return self.arrays[k].T, self.tensors[k].T

    def move_rows(self, k: int) -> tuple[Array, wt.Tensor]:
        a = self.arrays[k].sum(axis=1, keepdims=True, dtype=np.int32)
        return self.arrays[k] - a, self.tensors[k] - self.tensors[k].sum(axis=1, keepdims=True)

    def move_product(self, k: int) -> tuple[Array, wt.Tensor]:
        a, t = self.other()
        return (self.arrays[k] @ a) % np.int32(997), (self.tensors[k] @ t) % 997

    def move_assign(self, k: int) -> tuple[Array, wt.Tensor]:
        row, value = self.dice.randrange(SIDE), self.dice.randrange(100)
        a, t = self.arrays[k].copy(), self.tensors[k]
        a[row] = value
        t[row] = value
        return a, t

    def move_in_place(self, k: int) -> tuple[Array, wt.Tensor]:
        a, t = self.arrays[k] * np.int32(3), self.tensors[k]
        t *= 3
        return a, t

    def move_sort(self, k: int) -> tuple[Array, wt.Tensor]:
        return np.sort(self.arrays[k], axis=1), wt.sort(self.tensors[k], axis=1)

    def move_take(self, k: int) -> tuple[Array, wt.Tensor]:
        places = np.array([self.dice.randrange(SIDE) for _ in range(SIDE)], np.int32)
        return self.arrays[k][places], wt.take(self.tensors[k], places, 0)

    def move_upload(self, k: int) -> tuple[Array, wt.Tensor]:
        a = np.full((SIDE, SIDE), self.dice.randrange(1000), np.int32)
        return a, wt.asarray(a, device=self.tensors[k].device)
