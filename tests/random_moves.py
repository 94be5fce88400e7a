"""Lines of random programs that move elements: as text for wgtensor and as NumPy's function."""

from __future__ import annotations

from typing import Any

import numpy as np


def _axis(rng: np.random.Generator, rank: int) -> int:
    return int(rng.integers(-rank, rank))


def _pad(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[str, str]:
    widths = [tuple(int(w) for w in rng.integers(0, 3, 2)) for _ in shape]
    mode = str(rng.choice(["constant", "edge", "reflect", "symmetric", "wrap"]))
    if 0 in shape:
        mode = "constant"
    return f"wt.pad(X, {widths}, {mode!r})", f"np.pad(x, {widths}, {mode!r})"


def _repeat(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[str, str]:
    axis = _axis(rng, len(shape))
    n = shape[axis]
    counts: Any = int(rng.integers(0, 4))
    if n <= 8 and rng.random() < 0.5:
        counts = [int(c) for c in rng.integers(0, 3, n)]
    return f"wt.repeat(X, {counts}, axis={axis})", f"np.repeat(x, {counts}, {axis})"


def _roll(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[str, str]:
    shifts = tuple(int(s) for s in rng.integers(-9, 10, len(shape)))
    axes = tuple(range(len(shape)))
    if rng.random() < 0.3:
        return f"wt.roll(X, {shifts[0]})", f"np.roll(x, {shifts[0]})"
    return f"wt.roll(X, {shifts}, axis={axes})", f"np.roll(x, {shifts}, {axes})"


def move(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[str, str]:
    """(expression of wgtensor over X, the same of NumPy over x), for a tensor of this shape."""
    rank = len(shape)
    if rank == 0:
        return "wt.tile(X, 3)", "np.tile(x, 3)"
    kinds = ["pad", "pad", "repeat", "roll", "roll", "tile", "flip"]
    if rank >= 2:
        kinds += ["triangle", "diagonal", "rot90", "moveaxis", "swapaxes"]
    kind = str(rng.choice(kinds))
    if kind == "pad":
        return _pad(rng, shape)
    if kind == "repeat":
        return _repeat(rng, shape)
    if kind == "roll":
        return _roll(rng, shape)
    axis = _axis(rng, rank)
    if kind == "tile":
        reps = tuple(int(r) for r in rng.integers(1, 3, rank))
        return f"wt.tile(X, {reps})", f"np.tile(x, {reps})"
    if kind == "flip":
        return f"wt.flip(X, axis={axis})", f"np.flip(x, {axis})"
    k = int(rng.integers(-3, 4))
    if kind == "triangle":
        name = str(rng.choice(["tril", "triu"]))
        return f"wt.{name}(X, k={k})", f"np.{name}(x, {k})"
    first, second = (int(a) for a in rng.permutation(rank)[:2])
    if kind == "rot90":
        return f"wt.rot90(X, {k}, ({first}, {second}))", f"np.rot90(x, {k}, ({first}, {second}))"
    if kind == "diagonal":
        call = f"diagonal({k}, {first}, {second})"
        return f"X.{call}", f"x.{call}"
    return f"wt.{kind}(X, {first}, {second})", f"np.{kind}(x, {first}, {second})"
