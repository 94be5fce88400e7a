"""The tape: leaves, accumulation, graphs kept and freed, in-place, modes, hooks, copies."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import grad_of, leaf

# ---- leaves -------------------------------------------------------------------------------------


def test_leaves_and_results() -> None:
    x = leaf(1, 2)
    y = x * 3
    assert x.is_leaf
    assert x.requires_grad
    assert x.grad_fn is None
    assert x.grad is None
    assert not y.is_leaf
    assert y.requires_grad
    assert repr(y.grad_fn) == "<GradFn multiply>"
    assert y.grad_fn is not None
    assert y.grad_fn.next_functions == (None, None)
    z = y.sum()
    assert z.grad_fn is not None
    assert z.grad_fn.next_functions == (y.grad_fn,)
    plain = wt.asarray([1.0])
    assert plain.is_leaf
    assert not plain.requires_grad
    assert not (plain * 2).requires_grad


def test_only_floats_require_grad() -> None:
    for dtype in ("int32", "bool", "uint8"):
        with pytest.raises(RuntimeError, match="floating-point"):
            wt.zeros(2, dtype=dtype).requires_grad_()
    assert not (leaf(1, 2) > 1).requires_grad
    assert not leaf(1, 2).astype("int32").requires_grad
    assert wt.zeros(2, dtype="int32").requires_grad_(False).requires_grad is False


def test_new_tensors_may_require_grad() -> None:
    like = wt.ones(2)
    for t in (
        wt.zeros(2, requires_grad=True),
        wt.ones((1, 2), requires_grad=True),
        wt.full(2, 1.5, requires_grad=True),
        wt.empty(2, requires_grad=True),
        wt.zeros_like(like, requires_grad=True),
        wt.ones_like(like, requires_grad=True),
        wt.full_like(like, 3, requires_grad=True),
        wt.empty_like(like, requires_grad=True),
        wt.eye(2, requires_grad=True),
        wt.arange(2.0, requires_grad=True),
        wt.linspace(0, 1, 5, requires_grad=True),
        wt.asarray([1.0], requires_grad=True),
        wt.asarray(np.ones(2, np.float16), requires_grad=True),
    ):
        assert t.requires_grad
        assert t.is_leaf
    with pytest.raises(RuntimeError, match="floating-point"):
        wt.zeros(2, dtype="int32", requires_grad=True)


def test_gradients_between_devices() -> None:
    """By way of the host, there and back."""
    other = wt.Device(wt.default_device().index)
    x = leaf(1, 2)
    y = (x * 3).to_device(other)
    (y * y).sum().backward()
    assert x.grad is not None
    assert x.grad.device == x.device
    assert grad_of(x) == [18, 36]


def test_what_has_no_rule_raises() -> None:
    x = leaf(1, 2)
    for make in (lambda: wt.bitcast(x, "float16"), lambda: wt.segment_prod(x, [0, 0], 1)):
        with pytest.raises(wt.UnsupportedError, match="has no gradient"):
            make()
    with wt.no_grad():
        assert wt.bitcast(x, "float16").shape == (4,)
    assert not wt.bitcast(x, "int32").requires_grad
    assert wt.bitcast(x, "float32") * 1 is not None


def test_requires_grad_of_results_stays() -> None:
    y = leaf(1) * 2
    with pytest.raises(RuntimeError, match="leaf"):
        y.requires_grad = False
    y.requires_grad = True
    x = leaf(1)
    x.requires_grad_(False)
    assert not (x * 2).requires_grad
    x.requires_grad_()
    assert (x * 2).requires_grad


def test_detach() -> None:
    x = leaf(2)
    y = x * x
    d = y.detach()
    assert not d.requires_grad
    assert d.is_leaf
    (y * d).sum().backward()
    assert grad_of(x) == [4 * 4]


# ---- backward -----------------------------------------------------------------------------------


def test_gradients_accumulate() -> None:
    x = leaf(1, 2)
    (x * x).sum().backward()
    first = x.grad
    assert first is x.grad
    (x * 3).sum().backward()
    assert grad_of(x) == [5, 7]
    assert first is x.grad  # the same object, moved on
    x.grad = None
    (x * 3).sum().backward()
    assert grad_of(x) == [3, 3]
    x.grad *= 2
    assert grad_of(x) == [6, 6]


def test_uses_add_up() -> None:
    x = leaf(3)
    y = x * x + x.exp() * 0 + x
    y.backward()
    assert grad_of(x) == [7]


def test_weights_of_outputs() -> None:
    x = leaf(1, 2, 3)
    y = x * x
    with pytest.raises(RuntimeError, match="one element"):
        y.backward()
    y.backward(wt.asarray([1.0, 0.0, 2.0]))
    assert grad_of(x) == [2, 0, 12]
    with pytest.raises(RuntimeError, match="shape"):
        (x * x).backward(wt.asarray([1.0]))
    with pytest.raises(RuntimeError, match="does not require grad"):
        wt.asarray([1.0]).backward()
    x.grad = None
    wt.autograd.backward([(x * 2).sum(), (x * 3)], [None, wt.ones(3)])
    assert grad_of(x) == [5, 5, 5]


def test_graphs_are_used_once() -> None:
    x = leaf(2)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match=r"second time.*retain_graph"):
        y.backward()
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert grad_of(x) == [12]
    z = x + x  # keeps nothing: may run again, as PyTorch's
    z.backward()
    z.backward()


def test_inputs_of_backward() -> None:
    x, w = leaf(2), leaf(3)
    h = x * w
    (h * h).backward(inputs=[w, h])
    assert x.grad is None
    assert grad_of(w) == [2 * 6 * 2]
    assert grad_of(h) == [12]


def test_grad() -> None:
    x, w, unused = leaf(2), leaf(3), leaf(1)
    h = x * w
    y = h * h
    gx, gh = wt.autograd.grad(y, [x, h], retain_graph=True)
    assert gx.tolist() == [36]
    assert gh.tolist() == [12]
    assert x.grad is None
    with pytest.raises(RuntimeError, match="do not depend on input 1"):
        wt.autograd.grad(y, [x, unused], retain_graph=True)
    assert wt.autograd.grad(y, [unused], retain_graph=True, allow_unused=True) == (None,)
    (zero,) = wt.autograd.grad(y, [unused], retain_graph=True, materialize_grads=True)
    assert zero.tolist() == [0]
    (same,) = wt.autograd.grad(y, [y])
    assert same.tolist() == [1]
    with pytest.raises(RuntimeError, match=r"input.*does not require grad"):
        wt.autograd.grad(x * 2, [wt.asarray([1.0])])


def test_any_order() -> None:
    x = leaf(2)
    y = x**4
    for expected in (32, 48, 48, 24):
        (y,) = wt.autograd.grad(y, [x], create_graph=True)
        assert y.tolist() == [expected]
    assert not wt.autograd.grad(x * x, [x])[0].requires_grad
    (x**3).backward(create_graph=True)
    assert x.grad is not None
    assert x.grad.requires_grad
    x.grad = None  # the gradient holds the graph and the graph the leaf


def test_later_assignments_change_no_gradient() -> None:
    x, w = leaf(1, 2), wt.asarray([3.0, 4.0])
    y = (x * w).sum()
    w[0] = 100
    w += 1
    y.backward()
    assert grad_of(x) == [3, 4]


# ---- in place -----------------------------------------------------------------------------------


def test_leaves_do_not_move() -> None:
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="leaf"):
        x += 1
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 5
    with pytest.raises(RuntimeError, match="leaf"):
        x @= wt.ones((2, 2))
    with pytest.raises(RuntimeError, match="out="):
        wt.add(x, 1, out=wt.zeros(2))
    with pytest.raises(RuntimeError, match="out="):
        wt.add(wt.ones(2), 1, out=x)
    assert x.tolist() == [1, 2]
    (x * x).sum().backward()
    with wt.no_grad():
        x -= 0.5 * x.grad
        x[1] = 7
        wt.add(x, 1, out=x)
    assert x.is_leaf
    assert x.requires_grad
    assert x.tolist() == [1, 8]
    assert grad_of(x) == [2, 4]
    (x * 2).sum().backward()
    assert grad_of(x) == [4, 6]


def test_results_move() -> None:
    x = leaf(1, 2)
    y = x * 2
    saved = y * y
    y += 1
    y[0] = 10.0
    assert not y.is_leaf
    (y + saved).sum().backward()
    assert grad_of(x) == [8, 16 + 2]
    buffer = wt.zeros(2)
    buffer[1] = leaf(3)[0]
    assert buffer.requires_grad
    assert not buffer.is_leaf


# ---- modes --------------------------------------------------------------------------------------


def test_modes() -> None:
    x = leaf(1)
    assert wt.is_grad_enabled()
    with wt.no_grad():
        assert not wt.is_grad_enabled()
        assert not (x * 2).requires_grad
        with wt.enable_grad():
            assert (x * 2).requires_grad
        assert not x.reshape(1).requires_grad
    assert wt.is_grad_enabled()

    @wt.no_grad()
    def quiet() -> wt.Tensor:
        return x * 2

    @wt.no_grad
    def quieter() -> wt.Tensor:
        return x * 2

    assert not quiet().requires_grad
    assert not quieter().requires_grad
    assert (x * 2).requires_grad
    wt.set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
    finally:
        wt.set_grad_enabled(True)
    with wt.set_grad_enabled(False):
        assert not wt.is_grad_enabled()
    assert wt.is_grad_enabled()
    with pytest.raises(ZeroDivisionError), wt.inference_mode():
        raise ZeroDivisionError
    assert wt.is_grad_enabled()


def test_modes_are_of_a_thread() -> None:
    seen = []
    with wt.no_grad():
        t = threading.Thread(target=lambda: seen.append(wt.is_grad_enabled()))
        t.start()
        t.join()
    assert seen == [True]


# ---- hooks --------------------------------------------------------------------------------------


def test_hooks() -> None:
    x = leaf(2)
    y = x * 3
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    double = y.register_hook(lambda g: g * 2)
    handle = x.register_hook(lambda g: g + 1)
    y.backward(retain_graph=True)
    assert seen == [[1.0]]
    assert grad_of(x) == [7]
    double.remove()
    handle.remove()
    x.grad = None
    y.backward()
    assert grad_of(x) == [3]
    with pytest.raises(RuntimeError):
        wt.asarray([1.0]).register_hook(lambda g: g)


def test_errors_in_hooks_come_through() -> None:
    x = leaf(2)
    y = x * 3
    y.register_hook(lambda g: 1 / 0)  # type: ignore[arg-type,return-value]
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert x.grad is None
    y = x * 3
    y.register_hook(lambda g: "no")  # type: ignore[arg-type,return-value]
    with pytest.raises(TypeError, match="hook"):
        y.backward()


def test_retain_grad() -> None:
    x = leaf(2)
    y = x * 3
    y.retain_grad()
    z = y * y
    z.backward()
    assert y.retains_grad
    assert grad_of(y) == [12]
    assert z.grad is None


# ---- copies -------------------------------------------------------------------------------------


def test_copies_keep_requires_grad() -> None:
    x = leaf(1, 2)
    (x * x).sum().backward()
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.requires_grad
        assert y.is_leaf
        assert y.tolist() == [1, 2]
        (y * 3).sum().backward()
    assert grad_of(x) == [2, 4]
    deep = copy.deepcopy(x)
    assert grad_of(deep) == [2, 4]
    assert deep.grad is not x.grad
    with pytest.raises(RuntimeError, match="deepcopy"):
        copy.deepcopy(x * 2)
    assert np.asarray(x * 2).tolist() == [2, 4]  # reads are copies, and allowed


def test_grad_is_checked() -> None:
    x = leaf(1, 2)
    for wrong in (wt.ones(3), wt.ones(2, dtype="float16")):
        with pytest.raises(RuntimeError, match="gradient of shape"):
            x.grad = wrong
    with pytest.raises(TypeError):
        x.grad = [1, 2]  # type: ignore[assignment]
    g = wt.ones(2)
    x.grad = g
    assert x.grad is g
    plain = wt.zeros(2)
    plain.grad = wt.ones(2)
    assert plain.grad is not None
    assert not plain.requires_grad
