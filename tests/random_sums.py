"""Lines of random programs that fold axes: reductions, scans, softmax, products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import random_folds as folds
from random_state import ELEMENTS, Line, State
from random_values import Array, Unsuitable, Value

COMMON = ("sum", "sum", "mean", "max", "min")


def _axes(s: State, rank: int) -> Any:
    if not rank or s.chance(0.2):
        return None
    chosen = s.rng.permutation(rank)[: int(s.rng.integers(1, rank + 1))]
    axes = tuple(int(x) - (rank if s.chance(0.3) else 0) for x in chosen)
    return axes[0] if len(axes) == 1 else axes


def _axis(s: State, rank: int) -> int:
    if not rank:
        raise Unsuitable
    return int(s.rng.integers(-rank, rank))


def reduction(s: State) -> Line:
    a, keep = s.name(), s.chance(0.3)
    rank = len(s.value(a).shape)
    op = s.choose(COMMON) if s.chance(0.4) else s.choose([*folds.FOLDS, *folds.SPREADS])
    axis, more = _axes(s, rank), ""
    fold: Callable[[Value, Any], Value]
    if op in folds.SPREADS:
        correction = s.choose([0, 1, 0.5])
        more = f", correction={correction}"
        fold = lambda v, axes: folds.SPREADS[op](v, axes, correction)  # noqa: E731
    else:
        fold = folds.FOLDS[op]
    return s.define(
        f"wt.{op}({a}, axis={axis}, keepdims={keep}{more})",
        lambda env: folds.folded(fold, env[a].value, axis, keep),
    )


def place(s: State) -> Line:
    a, op, keep = s.name(), s.choose(["argmax", "argmin"]), s.chance(0.3)
    rank = len(s.value(a).shape)
    axis = None if not rank or s.chance(0.2) else _axis(s, rank)
    return s.define(
        f"wt.{op}({a}, axis={axis}, keepdims={keep})",
        lambda env: folds.place(op, env[a].value, axis, keep),
    )


def scan(s: State) -> Line:
    a = s.name()
    op = s.choose(["cumulative_sum", "cumulative_prod", "cumulative_max", "cumulative_min"])
    axis = _axis(s, len(s.value(a).shape))
    initial = op in ("cumulative_sum", "cumulative_prod") and s.chance(0.3)
    more = ", include_initial=True" if initial else ""
    return s.define(
        f"wt.{op}({a}, axis={axis}{more})",
        lambda env: folds.scanned(op, env[a].value, axis, initial),
    )


def softmax(s: State) -> Line:
    a, op = s.name(), s.choose(["softmax", "softmax", "log_softmax"])
    axis = _axis(s, len(s.value(a).shape))
    function = getattr(folds, op)
    return s.define(f"wt.{op}({a}, axis={axis})", lambda env: function(env[a].value, axis))


#: text for tensors A and B, and the same for arrays x and y
PRODUCTS = [
    ("{A} @ {B}", "np.matmul(x, y)"),
    ("{A} @ {B}", "np.matmul(x, y)"),
    ("{A} @ {B}.mT", "np.matmul(x, y.swapaxes(-1, -2))"),
    ("{A}.mT @ {B}", "np.matmul(x.swapaxes(-1, -2), y)"),
    ("wt.einsum('...ij,...jk->...ik', {A}, {B})", "np.einsum('...ij,...jk->...ik', x, y)"),
    ("wt.einsum('...ij,...kj->...ik', {A}, {B})", "np.einsum('...ij,...kj->...ik', x, y)"),
    ("wt.einsum('ij,ij->j', {A}, {B})", "np.einsum('ij,ij->j', x, y)"),
    ("wt.tensordot({A}, {B}, axes=1)", "np.tensordot(x, y, axes=1)"),
    ("wt.tensordot({A}, {B}, axes=2)", "np.tensordot(x, y, axes=2)"),
    ("wt.vecdot({A}, {B})", "np.matmul(x[..., None, :], y[..., :, None])[..., 0, 0]"),
    ("wt.inner({A}, {B})", "np.inner(x, y)"),
    ("wt.outer({A}, {B})", "np.outer(x, y)"),
]


def product(s: State) -> Line:
    a, (text, code) = s.name(), s.choose(PRODUCTS)
    function: Callable[[Array, Array], Array] = eval(f"lambda x, y: {code}", {"np": np})
    x = s.value(a)
    for b in s.shuffled():
        y = s.value(b)
        if y.dtype != x.dtype or not x.shape or not y.shape:
            continue
        if x.data.size * y.data.size > 40 * ELEMENTS**2 // 100:
            continue
        try:
            made = function(np.zeros(x.shape), np.zeros(y.shape))
        except (ValueError, IndexError):
            continue
        if made.size <= ELEMENTS and made.ndim <= 5:
            return s.define(
                text.format(A=a, B=b),
                lambda env, b=b: folds.contracted(function, env[a].value, env[b].value),
            )
    raise Unsuitable
