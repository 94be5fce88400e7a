"""Weights and probabilities that are none: of host data at once, of tensors with the next read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from wgtensor import random

WEIGHTS: list[tuple[list[Any], str]] = [
    ([1.0, -1.0, 2.0], "negative"),
    ([1.0, float("nan"), 2.0], "negative"),
    ([1.0, float("inf"), 2.0], "finite"),
    ([0.0, 0.0, 0.0], "all weights are 0"),
    ([[1.0, 2.0], [0.0, 0.0]], "all weights are 0"),
]


@pytest.mark.parametrize("case", range(len(WEIGHTS)))
@pytest.mark.parametrize("replace", [True, False])
def test_weights_that_are_none(case: int, replace: bool) -> None:
    """Of host data at once, of tensors with the next read."""
    weights, text = WEIGHTS[case]
    text = rf"^\[(multinomial|choice)\].*{text}"
    with pytest.raises(ValueError, match=text):
        random.multinomial(weights, 1, replace)
    drawn = random.multinomial(wt.asarray(weights), 1, replace)
    with pytest.raises(ValueError, match=text):
        drawn.tolist()
    assert wt.ones(2).tolist() == [1, 1]  # the fault is gone
    if np.ndim(weights) == 1:
        with pytest.raises(ValueError, match=text):
            random.choice(3, 2, replace, p=weights)
        drawn = random.choice(wt.arange(3), 2, replace, p=wt.asarray(weights))
        with pytest.raises(ValueError, match=text):
            drawn.tolist()


def test_probabilities_that_are_none() -> None:
    for p in ([0.5, 1.5], [0.5, -0.1], [float("nan"), 0.5]):
        with pytest.raises(ValueError, match=r"^\[bernoulli\] probabilities"):
            random.bernoulli(p)
        coins = random.bernoulli(wt.asarray(p))
        with pytest.raises(ValueError, match=r"^\[bernoulli\] probabilities"):
            coins.tolist()
    assert random.bernoulli(wt.asarray([0.0, 1.0])).tolist() == [0, 1]
    draw = wt.jit(lambda w: random.multinomial(w, 2, replacement=True))
    assert draw(wt.asarray([0.0, 1.0])).tolist() == [1, 1]
    drawn = draw(wt.asarray([-1.0, 1.0]))
    with pytest.raises(ValueError, match="negative"):
        drawn.tolist()
