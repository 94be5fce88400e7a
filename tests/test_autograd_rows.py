"""Gradients of every row of the elementwise table against differences in float64, and at kinks.

Parametrised from the table: a new row with a gradient is tested with no edit here.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has, takes
from references import ROWS, Array, Row
from wgtensor._generated import GRADIENTS

pytestmark = pytest.mark.skipif(not device_has("float64"), reason="differences need float64")

DIFFERENTIABLE = [row for row in ROWS if row.name in GRADIENTS]
each_row = pytest.mark.parametrize("row", DIFFERENTIABLE, ids=[r.name for r in DIFFERENTIABLE])

# Where the domains of the table hold kinks, poles or jumps: ranges without, for each operand.
RANGES: dict[str, list[tuple[float, float]]] = {
    "acosh": [(1.2, 4)],
    "logit": [(0.1, 0.9)],
    "xlog1py": [(0.2, 2), (-0.5, 2)],
    "pow": [(0.5, 2), (-2, 3)],
    "hypot": [(0.3, 2), (0.3, 2)],
    "celu": [(-2, 2), (0.5, 2)],
    "softplus": [(-2, 2), (0.5, 2)],
    "hardtanh": [(-2, 2), (-1.1, -0.5), (0.5, 1.1)],
    "hardshrink": [(0.7, 2), (0.2, 0.6)],
    "softshrink": [(-2, -0.7), (0.2, 0.6)],
    "threshold": [(-2, 2), (2.5, 3), (-1, 1)],
    "relu6": [(0.5, 5.5)],
    "hardsigmoid": [(-2.5, 2.5)],
    "hardswish": [(-2.5, 2.5)],
    "floor_divide": [(0.1, 0.9), (1, 2)],
    "remainder": [(2.1, 2.9), (0.98, 1.02)],
    "fmod": [(-2.9, -2.1), (0.98, 1.02)],
    "floor": [(0.1, 0.9)],
    "ceil": [(0.1, 0.9)],
    "trunc": [(0.1, 0.9)],
    "rint": [(0.6, 1.4)],
    "heaviside": [(0.2, 2), (-1, 1)],
    "copysign": [(0.2, 2), (-2, -0.2)],
    "lgamma": [(0.5, 4)],
    "tan": [(-1, 1)],
}
BY_DOMAIN = {"positive": (0.3, 2.5), "unit": (-0.8, 0.8), "nonzero": (0.5, 2), "int": (0.5, 2)}
#: rules whose own gradients are checked too
SECOND = [
    "multiply",
    "divide",
    "pow",
    "exp",
    "log",
    "sqrt",
    "tanh",
    "sigmoid",
    "gelu",
    "gelu_tanh",
    "silu",
    "mish",
    "softplus",
    "logaddexp",
    "atan2",
    "hypot",
    "erf",
    "sin",
    "asinh",
    "elu",
    "selu",
    "celu",
    "sinc",
    "where",
    "maximum",
    "logit",
    "rsqrt",
    "xlogy",
    "lerp",
    "lgamma",
]


def operands(row: Row, shapes: list[tuple[int, ...]]) -> list[wt.Tensor]:
    """Away from kinks, and no two alike; the same at each run."""
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    made = []
    for i, shape in enumerate(shapes):
        if row.rule == "select" and i == 0:
            made.append(wt.asarray(rng.random(shape) < 0.5))
            continue
        low, high = RANGES.get(row.name, [BY_DOMAIN.get(row.domain, (-2, 2))] * 3)[i]
        values = rng.uniform(low, high, shape)
        values = np.where(abs(values) < 0.05, 0.1, values)
        made.append(wt.asarray(values).requires_grad_())
    return made


def skip_without_float64(row: Row) -> None:
    if not takes(row.name, "float64"):
        pytest.skip("the row has no float64")


@each_row
def test_gradients(row: Row) -> None:
    skip_without_float64(row)
    shapes = [(2, 3), (3,), (2, 1)][: row.arity]
    assert wt.autograd.gradcheck(row.function, operands(row, shapes))


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name: str) -> None:
    row = next(r for r in ROWS if r.name == name)
    skip_without_float64(row)
    assert wt.autograd.gradgradcheck(row.function, operands(row, [(3,)] * row.arity))


@pytest.mark.parametrize(
    "row", [r for r in DIFFERENTIABLE if r.arity > 1], ids=lambda r: str(r.name)
)
def test_numbers_as_operands(row: Row) -> None:
    """Python numbers in any place are constants, and give what tensors of them give."""
    skip_without_float64(row)
    for i in range(row.arity):
        xs = operands(row, [(3,)] * row.arity)
        if not xs[i].requires_grad:
            continue
        numbers = [bool(x[0]) if x.dtype == wt.bool else float(x[0].item()) for x in xs]
        mixed = [x if j == i else numbers[j] for j, x in enumerate(xs)]
        row.function(*mixed).sum().backward()
        full = [x.detach().requires_grad_() if j == i else numbers[j] for j, x in enumerate(xs)]
        whole = [
            x if j == i else wt.full(3, numbers[j], dtype=xs[j].dtype) for j, x in enumerate(full)
        ]
        row.function(*whole).sum().backward()
        np.testing.assert_allclose(xs[i].grad, full[i].grad, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "row",
    [r for r in ROWS if r.name not in GRADIENTS and "f" in r.kinds],
    ids=lambda r: str(r.name),
)
def test_rows_without_gradients(row: Row) -> None:
    """Comparisons and the like require no grad."""
    xs = [wt.asarray([0.5, 2.0], dtype="float32").requires_grad_() for _ in range(row.arity)]
    assert not row.function(*xs).requires_grad


def slope(name: str, *at: float) -> list[float]:
    xs = [wt.asarray([v], dtype="float64").requires_grad_() for v in at]
    getattr(wt, name)(*xs).sum().backward()
    return [x.grad.item() for x in xs if x.grad is not None]


def test_kinks() -> None:
    """What PyTorch takes."""
    for name in ("relu", "abs", "relu6", "sign"):
        assert slope(name, 0.0) == [0.0], name
    assert slope("maximum", 1.0, 1.0) == [0.5, 0.5]
    assert slope("minimum", 1.0, 1.0) == [0.5, 0.5]
    assert slope("fmax", 1.0, 1.0) == [0.5, 0.5]
    assert slope("fmin", 1.0, 1.0) == [0.5, 0.5]
    assert slope("fmin", 1.0, 2.0) == [1.0, 0.0]
    assert slope("fmax", 1.0, 2.0) == [0.0, 1.0]
    assert slope("fmin", 1.0, np.nan) == [1.0, 0.0]
    assert slope("fmax", np.nan, 1.0) == [0.0, 1.0]
    assert slope("sqrt", 0.0) == [np.inf]
    assert slope("pow", 0.0, 0.0) == [0.0, 0.0]
    assert slope("pow", 0.0, 1.0)[1] == 0.0
    assert slope("pow", 0.0, 2.0) == [0.0, 0.0]
    assert slope("xlogy", 0.0, 0.0)[0] == 0.0
    assert slope("hardtanh", 1.0, -1.0, 1.0)[0] == 0.0
    assert slope("leaky_relu", 0.0, 0.1) == [0.1, 0.0]
    assert slope("copysign", 0.0, -1.0) == [0.0, 0.0]
    assert slope("sinc", 0.0) == [0.0]
    assert slope("heaviside", 0.0, 0.5) == [0.0, 1.0]


def test_clip_at_its_bounds() -> None:
    """0 where the bound is a number, as of relu; shared with a tensor."""
    x = wt.asarray([0.0, 1.0, 0.5, -1.0, 2.0, np.nan]).requires_grad_()
    for bounds, expected in (
        ((0, 1), [0, 0, 1, 0, 0, 1]),
        ((None, 1.0), [1, 0, 1, 1, 0, 1]),
        ((0.0, None), [0, 1, 1, 0, 1, 1]),
    ):
        x.grad = None
        result = wt.clip(x, *bounds)
        result.sum().backward()
        assert x.grad.tolist() == expected
        np.testing.assert_array_equal(result.detach().numpy(), wt.clip(x.detach(), *bounds).numpy())
    low, high = (wt.full(5, float(v)).requires_grad_() for v in (0, 1))
    x = x[:5].detach().requires_grad_()
    wt.clip(x, low, high).sum().backward()
    assert x.grad.tolist() == [0.5, 0.5, 1, 0, 0]
    assert low.grad.tolist() == [0.5, 0, 0, 1, 0]
    assert high.grad.tolist() == [0, 0.5, 0, 0, 1]


def test_far_out_nothing_overflows() -> None:
    for name in ("gelu", "gelu_tanh", "silu", "mish", "elu", "selu", "softsign", "softplus"):
        x = wt.asarray([-1e30, -200.0, 200.0, 1e30]).requires_grad_()
        args = [1.0] if name in ("elu", "softplus") else []
        getattr(wt, name)(x, *args).sum().backward()
        got = x.grad.numpy()
        assert np.isfinite(got).all(), (name, got)
        if name not in ("softsign", "selu"):
            np.testing.assert_allclose(got, [0, 0, 1, 1], atol=1e-6, err_msg=name)
    for name in ("tanh", "sigmoid", "logsigmoid", "asinh", "atan", "erf"):
        x = wt.asarray([-1e30, 1e30]).requires_grad_()
        getattr(wt, name)(x).sum().backward()
        assert np.isfinite(x.grad.numpy()).all(), name
    x = wt.asarray([1e30, 3e-30]).requires_grad_()
    y = wt.asarray([1e30, 4e-30]).requires_grad_()
    (wt.hypot(x, y) + wt.atan2(x, y) * 0).sum().backward()
    np.testing.assert_allclose(x.grad, [np.sqrt(0.5), 0.6], rtol=1e-6)


def test_where_keeps_nan_of_the_other_branch_out() -> None:
    x = wt.asarray([0.0, 4.0]).requires_grad_()
    wt.where(x > 0, wt.where(x > 0, x, 1.0).log(), 0.0).sum().backward()
    np.testing.assert_allclose(x.grad, [0, 0.25])
    x = wt.asarray([-1.0, 4.0]).requires_grad_()
    y = wt.where(x > 0, x, wt.sqrt(x) * 0 + 1)
    (g,) = wt.autograd.grad(y.sum(), [x], retain_graph=True)
    assert g.numpy()[1] == 1  # the untaken branch of the second element is no NaN
    x = wt.asarray([2.0, np.inf]).requires_grad_()
    wt.where(wt.asarray([True, False]), x * x, 0.0).sum().backward()
    assert x.grad.numpy()[0] == 4


def test_small_floats_and_mixed_dtypes() -> None:
    x = wt.asarray(np.array([1, 2, 3]), dtype="float16").requires_grad_()
    y = wt.asarray([0.5, 0.25, 2.0]).requires_grad_()
    i = wt.asarray([1, 2, 3])
    (x * y * i).sum().backward()
    assert x.grad.dtype == wt.float16
    assert y.grad.dtype == wt.float32
    np.testing.assert_array_equal(x.grad, np.array([0.5, 0.5, 6], np.float16))
    np.testing.assert_array_equal(y.grad, [1, 4, 9])


def test_digamma() -> None:
    """The slope of lgamma, by its values in the literature (NIST DLMF 5.4) and by recurrence."""
    euler = 0.5772156649015329
    at = np.array([1, 0.5, 0.25, 2, -0.5, -1.75, 100, 1e10])
    expected = [
        -euler,
        -euler - 2 * np.log(2),
        -euler - np.pi / 2 - 3 * np.log(2),
        1 - euler,
        -euler - 2 * np.log(2) + 2,
        -euler - np.pi / 2 - 3 * np.log(2) + 1 / 0.75 + 1 / 1.75,
        np.log(100) - 1 / 200 - 1 / 120000 + 1 / 1.2e10,
        np.log(1e10) - 0.5e-10,
    ]
    for dtype, rtol in (("float64", 1e-13), ("float32", 2e-6)):
        x = wt.asarray(at, dtype=dtype).requires_grad_()
        wt.lgamma(x).sum().backward()
        np.testing.assert_allclose(x.grad, expected, rtol=rtol, atol=rtol / 2)
    x = wt.asarray([0.0, -1.0, np.inf]).requires_grad_()
    wt.lgamma(x).sum().backward()
    got = x.grad.numpy()
    assert got[0] == -np.inf
    assert np.isnan(got[1])
    assert got[2] == np.inf


def test_sinc_near_zero() -> None:
    """The slope by its series agrees with the quotient, which cancels, where that is good."""

    def reference(x: Array) -> Array:
        return (np.cos(np.pi * x) - np.sin(np.pi * x) / (np.pi * x)) / x

    at = np.array([0.2, 0.249, 0.251, 1.0, 1.5, 1e-3])
    x = wt.asarray(at).requires_grad_()
    wt.sinc(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy()[:5], reference(at)[:5], rtol=1e-12)
    np.testing.assert_allclose(x.grad.numpy()[5], -(np.pi**2) / 3 * 1e-3, rtol=1e-5)
