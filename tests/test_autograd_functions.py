"""Functions of one's own, checkpoints, gradients as functions of functions, checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import grad_of, leaf

# ---- functions of one's own ---------------------------------------------------------------------


class Product(wt.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: wt.Tensor, y: wt.Tensor, scale: float) -> wt.Tensor:
        out = x * y * scale
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx: Any, g: wt.Tensor) -> Any:
        x, y = ctx.saved_tensors
        return g * y * ctx.scale, g * x * ctx.scale, None


class Exponential(wt.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: wt.Tensor) -> wt.Tensor:
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: wt.Tensor) -> wt.Tensor:
        (out,) = ctx.saved_tensors
        result: wt.Tensor = g * out
        return result


class Both(wt.autograd.Function):
    @staticmethod
    def forward(x: wt.Tensor) -> Any:
        return x * 2, x * 3, (x > 0)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.inputs = len(inputs)

    @staticmethod
    def backward(ctx: Any, a: wt.Tensor, b: wt.Tensor) -> wt.Tensor:
        assert ctx.inputs == 1
        result: wt.Tensor = a * 2 + b * 3
        return result


def test_functions_of_ones_own() -> None:
    x, y = leaf(2, 3), leaf(4, 5)
    z = Product.apply(x, y, 10.0)
    assert repr(z.grad_fn) == "<GradFn Product>"
    z.sum().backward()
    assert grad_of(x) == [40, 50]
    assert grad_of(y) == [20, 30]
    with pytest.raises(RuntimeError, match="second time"):
        z.sum().backward()
    (g,) = wt.autograd.grad(Exponential.apply(x * x).sum(), [x], create_graph=True)
    (gg,) = wt.autograd.grad(g.sum(), [x])
    v = x.numpy().astype(float)
    np.testing.assert_allclose(gg, (2 + 4 * v * v) * np.exp(v * v), rtol=1e-5)
    a, b, c = Both.apply(x)
    assert not c.requires_grad
    x.grad = None
    b.sum().backward(retain_graph=True)
    assert grad_of(x) == [3, 3]
    (a + b).sum().backward()
    assert grad_of(x) == [8, 8]
    with wt.no_grad():
        assert not Product.apply(x, y, 1.0).requires_grad


def test_functions_of_ones_own_that_are_wrong() -> None:
    class Few(wt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
            out: wt.Tensor = x + y
            return out

        @staticmethod
        def backward(ctx: Any, g: wt.Tensor) -> wt.Tensor:
            return g

    with pytest.raises(RuntimeError, match=r"Few.*1 gradients for 2"):
        Few.apply(leaf(1), leaf(2)).backward()


def test_checkpoint() -> None:
    calls = []
    x, w = leaf(0.5, 1), leaf(2, 3)

    def block(h: wt.Tensor) -> wt.Tensor:
        calls.append(1)
        out: wt.Tensor = (h * w).sin() * h
        return out

    plain = block(x * 2).sum()
    gx, gw = wt.autograd.grad(plain, [x, w])
    calls.clear()
    y = wt.checkpoint(block, x * 2)
    assert calls == [1]
    assert repr(y.grad_fn) == "<GradFn checkpoint>"
    y.sum().backward()
    assert calls == [1, 1]
    np.testing.assert_allclose(x.grad, gx, rtol=1e-6)
    np.testing.assert_allclose(w.grad, gw, rtol=1e-6)
    (g,) = wt.autograd.grad(wt.checkpoint(block, x).sum(), [x], create_graph=True)
    (gg,) = wt.autograd.grad(g.sum(), [x])
    (g0,) = wt.autograd.grad(block(x).sum(), [x], create_graph=True)
    np.testing.assert_allclose(gg, wt.autograd.grad(g0.sum(), [x])[0], rtol=1e-5)
    with wt.no_grad():
        assert not wt.checkpoint(block, x).requires_grad


def test_checkpoint_finds_the_same_random_numbers() -> None:
    x = wt.ones(1000, requires_grad=True)

    def drop(h: wt.Tensor) -> wt.Tensor:
        kept: wt.Tensor = h * (wt.random.rand(h.shape) < 0.5)
        return kept * kept

    wt.random.manual_seed(3)
    y = wt.checkpoint(drop, x)
    after = wt.random.get_state()
    y.sum().backward()
    assert wt.random.get_state() == after
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad, 2 * y.detach().numpy())


# ---- functions of functions ---------------------------------------------------------------------


def test_functional() -> None:
    x = wt.asarray([1.0, 2.0])
    g = wt.grad(lambda v: (v**3).sum())
    assert g(x).tolist() == [3, 12]
    assert not g(x).requires_grad
    assert not x.requires_grad
    assert wt.grad(lambda v: g(v).sum())(x).tolist() == [6, 12]
    assert wt.grad(lambda v: wt.grad(lambda u: (u * u * v).sum())(x).sum())(x).tolist() == [2, 4]
    value, grads = wt.value_and_grad(lambda p, k: (p["w"] * p["b"][0] * k).sum())(
        {"w": x, "b": [x]}, 2.0
    )
    assert value.item() == 10
    assert grads["w"].tolist() == [2, 4]
    assert grads["b"][0].tolist() == [2, 4]
    (first, second), aux = wt.grad(lambda a, b: ((a * b).sum(), "aux"), (0, 1), has_aux=True)(x, x)
    assert first.tolist() == second.tolist() == [1, 2]
    assert aux == "aux"
    with pytest.raises(TypeError, match="one number"):
        wt.grad(lambda v: v)(x)
    out, pull = wt.vjp(lambda a, b: (a * b, a + b), x, x)
    assert [t.tolist() for t in out] == [[1, 4], [2, 4]]
    assert not out[0].requires_grad
    ga, gb = pull((wt.ones(2), wt.ones(2)))
    assert ga.tolist() == gb.tolist() == [2, 3]
    assert pull((wt.ones(2), wt.zeros(2)))[0].tolist() == [1, 2]
    value, tangent = wt.jvp(lambda v: v**3, [x], [wt.asarray([1.0, 10.0])])
    assert value.tolist() == [1, 8]
    assert tangent.tolist() == [3, 120]
    p = leaf(1, 2)
    outer = wt.grad(lambda v: (v**3).sum())(p)
    outer.sum().backward()
    assert grad_of(p) == [6, 12]


def test_gradcheck_finds_wrong_gradients() -> None:
    class Wrong(wt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: wt.Tensor) -> wt.Tensor:
            out: wt.Tensor = x * x
            return out

        @staticmethod
        def backward(ctx: Any, g: wt.Tensor) -> wt.Tensor:
            return g

    if not wt._core.has_dtype(wt.float64, None):
        pytest.skip("differences need float64")
    x = wt.asarray(np.array([1.0, 2.0])).requires_grad_()
    with pytest.raises(wt.autograd.GradcheckError, match="output 0 by input 0"):
        wt.autograd.gradcheck(Wrong.apply, [x])
    assert not wt.autograd.gradcheck(Wrong.apply, [x], raise_exception=False)
    with pytest.raises(ValueError, match="float64"):
        wt.autograd.gradcheck(wt.exp, [leaf(1)])


def test_anomalies_name_the_operation_and_its_line() -> None:
    x = leaf(0, 1)
    with wt.autograd.detect_anomaly():
        y = wt.sqrt(x) * 0
        with pytest.raises(RuntimeError, match=r"'sqrt'.*NaN.*test_autograd_functions\.py:\d+"):
            y.sum().backward()
    x.grad = None
    (wt.sqrt(x) * 0).sum().backward()
    assert np.isnan(grad_of(x)[0])
