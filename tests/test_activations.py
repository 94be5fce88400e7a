"""Activations: defaults and parameters, limits, and parameters that are tensors."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

import wgtensor as wt
from helpers import dispatches
from references import ROWS, Row
from tolerances import check, near
from ulps import distance, points

WITH_DEFAULTS = [row for row in ROWS if row.defaults]
BY_NAME = {row.name: row for row in ROWS}


@pytest.mark.parametrize("row", WITH_DEFAULTS, ids=[row.name for row in WITH_DEFAULTS])
def test_defaults_and_keywords(row: Row, rng: np.random.Generator) -> None:
    free = row.arity - len(row.defaults)
    arrays = [rng.uniform(-3, 3, (4, 6)).astype(np.float32) for _ in range(free)]
    tensors = [wt.asarray(a) for a in arrays]
    names = [p.partition("=")[0].strip() for p in row.parameters.split(",")][free:]
    made = row.function(*tensors)
    near(made, row.reference([*arrays, *np.float32(row.defaults)]), ops=4, name="defaults")
    others = [np.float32(d + 0.25) for d in row.defaults]
    expected = row.reference([*arrays, *others])
    keywords = dict(zip(names, map(float, others), strict=True))
    near(row.function(*tensors, **keywords), expected, ops=4, name="keywords")
    near(row.function(*tensors, *map(float, others)), expected, ops=4, name="positions")
    method = getattr(tensors[0], row.name)
    near(method(*tensors[1:], **keywords), expected, ops=4, name="method")
    near(row.function(*tensors, *map(wt.asarray, others)), expected, ops=4, name="tensors")
    with pytest.raises(TypeError):
        row.function(*tensors, no_such_parameter=1.0)


def test_a_slope_for_each_channel() -> None:
    """leaky_relu with a tensor is PReLU, in one kernel."""
    x = np.linspace(-4, 4, 2 * 3 * 5, dtype=np.float32).reshape(2, 3, 5)
    slope = np.array([0.0, 0.25, 2.0], np.float32).reshape(3, 1)
    t, s = wt.asarray(x), wt.asarray(slope)
    check(wt.leaky_relu(t, s), np.where(x > 0, x, x * slope))
    assert dispatches(lambda: wt.leaky_relu(t * 2, s) + 1) == 1


INF, NAN = np.inf, np.nan
#: at -inf, -1000, 1000, inf
LIMITS = {
    "sigmoid": (0, 0, 1, 1),
    "logsigmoid": (-INF, -1000, 0, 0),
    "tanh": (-1, -1, 1, 1),
    "softplus": (0, 0, 1000, INF),
    "silu": (0, 0, 1000, INF),
    "gelu": (0, 0, 1000, INF),
    "gelu_tanh": (0, 0, 1000, INF),
    "mish": (0, 0, 1000, INF),
    "hardswish": (0, 0, 1000, INF),
    "hardsigmoid": (0, 0, 1, 1),
    "softsign": (-1, -1000 / 1001, 1000 / 1001, 1),
    "tanhshrink": (-INF, -999, 999, INF),
    "softshrink": (-INF, -999.5, 999.5, INF),
    "hardshrink": (-INF, -1000, 1000, INF),
    "relu": (0, 0, 1000, INF),
    "relu6": (0, 0, 6, 6),
    "hardtanh": (-1, -1, 1, 1),
    "elu": (-1, -1, 1000, INF),
    "celu": (-1, -1, 1000, INF),
    "leaky_relu": (-INF, -10, 1000, INF),
}


@pytest.mark.short
@pytest.mark.parametrize("name", LIMITS)
def test_limits(name: str) -> None:
    x = np.array([-INF, -1000, 1000, INF, NAN], np.float32)
    for count in (1, 3):  # lanes of a vector, and the rest
        made = getattr(wt, name)(wt.asarray(np.tile(x, count)))
        near(made, np.tile(np.array([*LIMITS[name], NAN]), count), name=name)


@pytest.mark.parametrize("beta", [0.3, 2.5, -1.5])
def test_softplus_is_accurate_for_every_beta(beta: float) -> None:
    """Its tail is exp(beta x): an error of the product would count beta x times."""
    row = BY_NAME["softplus"]
    x = points(1 << 12)
    x = x[np.abs(x) < 1e30]
    got = wt.softplus(wt.asarray(x), beta=beta).numpy()
    error, kind = distance(got, row.reference([x, np.float32(beta)]))
    assert not kind[np.abs(x) > 1e-37].any()
    assert error[np.abs(x) > 1e-37].max() <= 4


def _exact(name: str, x: Decimal) -> Decimal:
    """By the definition, in 80 digits."""
    e, one = x.exp(), Decimal(1)
    sigmoid = one / (one + (-x).exp())
    tanh = one - 2 / ((2 * x).exp() + 1)
    match name:
        case "sigmoid":
            return sigmoid
        case "logsigmoid":
            return sigmoid.ln()
        case "softplus":
            return (one + e).ln()
        case "silu":
            return x * sigmoid
        case "mish":
            return x * (one - 2 / ((one + e) ** 2 + 1))
        case "tanhshrink":
            return x - tanh
        case "elu":
            return e - 1 if x < 0 else x
        case "softsign":
            return x / (1 + abs(x))
    # gelu_tanh; pi to 50 digits
    pi = Decimal("3.14159265358979323846264338327950288419716939937510")
    v = (8 / pi).sqrt() * (x + Decimal("0.044715") * x**3)
    return x / (one + (-v).exp())


DEFINED = "sigmoid logsigmoid softplus silu mish tanhshrink elu softsign gelu_tanh"


@pytest.mark.parametrize("name", DEFINED.split())
def test_references_lose_nothing(name: str) -> None:
    """What the accuracy is measured against is right to far below a place of float32."""
    row = BY_NAME[name]
    x = np.concatenate(
        [
            (10.0 ** np.linspace(-20, 1.3, 60)),
            -(10.0 ** np.linspace(-20, 1.3, 60)),
            np.linspace(-85, 30, 116),
        ]
    ).astype(np.float32)
    if name == "gelu_tanh":
        x = x[np.abs(x) < 10]
    made = row.reference([x, *(np.float32(d) for d in row.defaults)])
    with localcontext() as context:
        context.prec = 80
        true = np.array([float(_exact(name, Decimal(float(v)))) for v in x])
    assert np.all(np.abs(made - true) <= 1e-10 * np.abs(true))
