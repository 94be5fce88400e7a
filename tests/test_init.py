"""Initial values: fans, gains, moments, orthogonality."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from wgtensor import nn
from wgtensor.nn import init


def test_gains() -> None:
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("leaky_relu", 0.2) == math.sqrt(2 / 1.04)
    with pytest.raises(ValueError, match="unknown"):
        init.calculate_gain("nothing")


# Of a weight (60, 30, 3, 3): 270 inputs and 540 outputs.
BOUNDS: list[tuple[Callable[..., Any], float]] = [
    (init.xavier_uniform_, math.sqrt(6 / 810)),
    (init.kaiming_uniform_, math.sqrt(2) * math.sqrt(3 / 270)),
    (lambda t: init.kaiming_uniform_(t, mode="fan_out", nonlinearity="relu"), math.sqrt(6 / 540)),
    (lambda t: init.kaiming_uniform_(t, a=math.sqrt(5)), math.sqrt(1 / 270)),
    (lambda t: init.uniform_(t, -0.3, 0.3), 0.3),
]
DEVIATIONS: list[tuple[Callable[..., Any], float]] = [
    (init.xavier_normal_, math.sqrt(2 / 810)),
    (init.kaiming_normal_, math.sqrt(2 / 270)),
    (lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="tanh"), 5 / 3 / 540**0.5),
    (lambda t: init.normal_(t, 0.0, 0.7), 0.7),
]


@pytest.mark.parametrize("case", range(len(BOUNDS)))
def test_uniform(case: int) -> None:
    make, bound = BOUNDS[case]
    wt.random.manual_seed(1)
    x = make(wt.zeros((60, 30, 3, 3))).numpy()
    assert np.abs(x).max() <= bound
    assert abs(x.std() / (bound / math.sqrt(3)) - 1) < 0.03
    assert abs(x.mean()) < bound / 50


@pytest.mark.parametrize("case", range(len(DEVIATIONS)))
def test_normal(case: int) -> None:
    make, std = DEVIATIONS[case]
    wt.random.manual_seed(1)
    x = make(wt.zeros((60, 30, 3, 3))).numpy()
    assert abs(x.std() / std - 1) < 0.03
    assert abs(x.mean()) < std / 30


def test_others() -> None:
    wt.random.manual_seed(1)
    t = init.trunc_normal_(wt.zeros(5000), std=1.0, a=-0.5, b=1.0).numpy()
    assert t.min() >= -0.5
    assert t.max() <= 1
    assert init.eye_(wt.zeros((2, 3))).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert init.ones_(wt.zeros(2)).tolist() == [1, 1]
    assert init.constant_(wt.zeros(2, dtype="float16"), 2.5).tolist() == [2.5, 2.5]
    weight = init.dirac_(wt.zeros((4, 2, 3)), groups=2)
    x = np.random.default_rng(0).random((1, 4, 7)).astype(np.float32)
    y = nn.functional.conv1d(wt.asarray(x), weight, padding=1, groups=2)
    assert np.allclose(y.numpy(), x)
    s = init.sparse_(wt.ones((20, 7)), 0.3).numpy()
    assert ((s == 0).sum(axis=0) == 6).all()


@pytest.mark.parametrize("shape", [(5, 5), (8, 3), (3, 8), (4, 2, 5)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    q = init.orthogonal_(wt.zeros(shape), gain=2.0).numpy().reshape(shape[0], -1) / 2
    product = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
    assert np.allclose(product, np.eye(len(product)), atol=1e-5)


def test_generators_and_parameters() -> None:
    p = nn.Parameter(wt.zeros((3, 3)))
    same = init.normal_(p, generator=wt.random.Generator(4))
    assert same is p
    again = init.normal_(wt.zeros((3, 3)), generator=wt.random.Generator(4))
    assert np.array_equal(p.numpy(), again.numpy())
    wt.random.manual_seed(3)
    a = nn.Linear(7, 5)
    wt.random.manual_seed(3)
    assert np.array_equal(nn.Linear(7, 5).weight.numpy(), a.weight.numpy())
    assert np.abs(a.weight.numpy()).max() <= 1 / math.sqrt(7)
    assert np.abs(a.bias.numpy()).max() <= 1 / math.sqrt(7)
    with pytest.raises(wt.ShapeError, match="two dimensions"):
        init.xavier_uniform_(wt.zeros(3))
    with pytest.raises(ValueError, match="mode"):
        init.kaiming_normal_(wt.zeros((3, 3)), mode="fan")
