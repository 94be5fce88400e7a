"""Recorded functions: the same results as without, for other arguments, state, numbers, layouts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import wgtensor as wt
from helpers import counted, dispatches, setting
from wgtensor import _jit

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.short


def test_results_are_those_of_the_function(rng: np.random.Generator) -> None:
    f, calls = counted(lambda x, w: wt.softmax(wt.relu(x @ w) + 1, axis=-1))
    w = wt.asarray(rng.standard_normal((5, 3), dtype=np.float32))
    for i in range(4):
        x = wt.asarray(rng.standard_normal((7, 5), dtype=np.float32))
        expected = wt.softmax(wt.relu(x @ w) + 1, axis=-1).numpy()
        assert np.array_equal(f(x, w).numpy(), expected), i
    assert calls == [1]
    f(x[:3], w)
    f(wt.zeros((7, 5), dtype="float16"), w)
    assert calls == [3]
    f(x, w)
    assert calls == [3]


def test_arguments_of_any_layout(rng: np.random.Generator) -> None:
    f, calls = counted(lambda x: (x[1:, ::-1] * 2 + x[:-1]).T.sum(axis=0))
    big = rng.standard_normal((40, 30), dtype=np.float32)
    b = wt.asarray(big)
    cuts = [
        (slice(0, 6), slice(0, 5)),
        (slice(3, 9), slice(2, 7)),
        (slice(30, 24, -1), slice(0, 10, 2)),
    ]
    for cut in cuts:
        x, a = b[cut], big[cut]
        np.testing.assert_allclose(
            f(x).numpy(), (a[1:, ::-1] * 2 + a[:-1]).T.sum(axis=0), rtol=1e-5
        )
    pending = b[:6, :5] * 3
    a = big[:6, :5] * 3
    np.testing.assert_allclose(
        f(pending).numpy(), (a[1:, ::-1] * 2 + a[:-1]).T.sum(axis=0), rtol=1e-5
    )
    assert f(big[:6, :5]).shape == (5,)  # NumPy arrays are tensors
    assert calls == [1]


def test_structures() -> None:
    class Point(NamedTuple):
        x: wt.Tensor
        y: wt.Tensor

    f, calls = counted(
        lambda d, p, *, n, flag=True: {"sum": d["a"] + p.x * n, "both": [p.y, (flag, "text", None)]}
    )
    for n in (2, 2, 3):
        r = f({"a": wt.ones(2)}, Point(wt.ones(2), wt.zeros(1)), n=n)
        assert r["sum"].tolist() == [1.0 + n] * 2
        assert r["both"][0].tolist() == [0]
        assert r["both"][1] == (True, "text", None)
    assert calls == [2]
    with pytest.raises(TypeError, match=r"\[jit\].*hash"):
        f({"a": wt.ones(2)}, Point(wt.ones(2), wt.zeros(1)), n={1})


def test_views_constants_and_inputs_as_results(rng: np.random.Generator) -> None:
    a = rng.standard_normal((4, 6), dtype=np.float32)
    host = np.arange(3, dtype=np.float32)

    def many(x: wt.Tensor) -> Any:
        y = x * 2
        return x, x.T, x[1:3], y, y[:, ::2], wt.asarray(host), wt.full((2,), 5), wt.arange(4)

    f, calls = counted(many)
    for factor in (1, 2):
        b = a * np.float32(factor)
        results = f(wt.asarray(b))
        y = b * 2
        expected = [b, b.T, b[1:3], y, y[:, ::2], host, np.full(2, 5), np.arange(4)]
        for r, e in zip(results, expected, strict=True):
            assert np.array_equal(r.numpy(), e)
    assert calls == [1]


def test_no_tensors() -> None:
    f, calls = counted(lambda n: wt.arange(n).sum())
    assert [f(4).item(), f(5).item(), f(4).item()] == [6, 10, 6]
    assert calls == [2]
    assert wt.jit(lambda: None)() is None


def test_numbers_that_vary() -> None:
    state = {"rate": 0.5, "count": 0}
    w = wt.zeros(2)

    def count() -> None:
        state["count"] += 1

    def step(x: wt.Tensor) -> None:
        w.__iadd__(x * _jit.number(lambda: state["rate"], wt.float32))
        count()
        _jit.at_replay(count, lambda: state.update(count=state["count"] - 1))

    f = wt.jit(step)
    for rate in (0.5, 2.0, 3.0):
        state["rate"] = rate
        f(wt.ones(2))
    assert w.tolist() == [5.5, 5.5]
    assert state["count"] == 3


def test_guards() -> None:
    class Mode:
        training = True

    mode = Mode()

    def f(x: wt.Tensor) -> wt.Tensor:
        return x * 2 if _jit.guard(lambda: mode.training) else x

    g, calls = counted(f)
    x = wt.ones(1)
    seen = []
    for training in (True, True, False, True, False):
        mode.training = training
        seen.append(g(x).item())
    assert seen == [2, 2, 1, 2, 1]
    assert calls == [2]


def test_reading_inside_is_refused() -> None:
    x = wt.ones(3)
    for bad in (
        lambda x: x.sum().item(),
        lambda x: x.numpy(),
        lambda x: (x * 2).eval(),
        lambda x: wt.synchronize(),
        lambda x: float(x.sum()),
        lambda x: wt.jit(lambda: wt.synchronize())(),
    ):
        with pytest.raises(RuntimeError, match=r"\[jit\].*inside a jitted function"):
            wt.jit(bad)(x)
        assert not wt._core.tracing()
        assert (x * 2).tolist() == [2, 2, 2]


def test_errors_inside_leave_everything_as_it_was() -> None:
    w = wt.ones(2)

    def bad(x: wt.Tensor) -> None:
        w.__iadd__(x)
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        wt.jit(bad)(wt.ones(2))
    with pytest.raises(wt.ShapeError):
        wt.jit(lambda x: x + wt.ones(5))(w)
    assert w.tolist() == [1, 1]


def test_what_was_made_inside_is_not_there_outside() -> None:
    kept = []
    f = wt.jit(lambda x: kept.append(x * 2))
    f(wt.ones(2))
    for use in (lambda: kept[0].tolist(), lambda: kept[0] + 1):
        with pytest.raises(RuntimeError, match=r"\[jit\].*return it"):
            use()
    wt.synchronize()
    inner = wt.jit(lambda x: x + 1)
    outer = wt.jit(lambda x: inner(x) * 3)
    assert [outer(wt.full((1,), n)).item() for n in (1, 2)] == [6, 9]


def test_replays_compile_and_plan_nothing() -> None:
    w = wt.ones((16, 16))

    def step(x: wt.Tensor, lr: wt.Tensor) -> wt.Tensor:
        h = wt.tanh(x @ w)
        w.__isub__(lr * (h.T @ x))
        return h.sum()

    f = wt.jit(step)
    x = wt.ones((8, 16))
    for i in range(3):
        f(x, wt.full((), 0.01 * i)).eval()
    wt.synchronize()
    before = wt.stats()
    for i in range(20):
        f(x, wt.full((), 0.01 * i)).eval()
    wt.synchronize()
    after = wt.stats()
    assert after["pipelines"] == before["pipelines"]
    assert after["plans"] == before["plans"]
    assert dispatches(lambda: f(x, wt.full((), 0.5))) <= 4


def test_many_results_keep_little() -> None:
    """Kept scalars of replays move into shared buffers, as others do."""
    f = wt.jit(lambda x: x.sum())
    before = wt.stats()["live_buffers"]
    kept = [f(wt.full((4,), i)) for i in range(1500)]
    wt.synchronize()
    assert wt.stats()["live_buffers"] - before < 1200
    assert [k.item() for k in kept[::100]] == [4.0 * i for i in range(0, 1500, 100)]


def test_settings() -> None:
    """Checked, and one operation to a kernel."""
    w = wt.ones((3, 3))
    for mode in ({"debug": True}, {"max_fusion": 1}, {"flush_nodes": 2}, {"max_plans": 1}):
        f = wt.jit(lambda x: ((x @ w + 1) * 2).sum(axis=0) - x[0])
        with setting(**mode):
            for n in (1, 2):
                assert f(wt.full((3, 3), float(n))).tolist() == [6 * (3 * n + 1) - n] * 3


def test_methods() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = wt.full((2,), 3.0)

        @wt.jit
        def __call__(self, x: wt.Tensor) -> wt.Tensor:
            return x * self.w

    model = Model()
    assert model(wt.ones(2)).tolist() == [3, 3]
    model.w += 1
    assert model(wt.ones(2)).tolist() == [4, 4]
    assert Model()(wt.ones(2)).tolist() == [3, 3]


def test_lookups(rng: np.random.Generator) -> None:
    table = wt.asarray(rng.standard_normal((10, 4), dtype=np.float32))
    f, calls = counted(lambda i: (table[i] * 2).sum(axis=-1))
    for at in ([1, 2, 9], [-1, 0, 0]):
        expected = (table.numpy()[at] * 2).sum(axis=-1)
        np.testing.assert_allclose(f(wt.asarray(at)).numpy(), expected, rtol=1e-6)
    with pytest.raises(IndexError, match="10"):
        f(wt.asarray([1, 10, 2])).numpy()
    assert f(wt.asarray([1, 1, 1])).shape == (3,)
    assert calls == [1]


def test_training_steps(rng: np.random.Generator) -> None:
    """Forward, backward and update in one recording, beside the same without it."""

    def train(jitted: bool) -> tuple[list[float], Array]:
        w = wt.asarray(start).requires_grad_()

        def step(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
            loss = wt.square(wt.tanh(x @ w) - y).mean()
            loss.backward()
            assert w.grad is not None
            with wt.no_grad():
                w.__isub__(w.grad * 0.5)
            w.grad = None
            return loss

        f = wt.jit(step) if jitted else step
        losses = [f(wt.asarray(x), wt.asarray(y)).item() for x, y in data]
        assert w.requires_grad
        assert w.is_leaf
        return losses, w.numpy()

    start = rng.standard_normal((4, 2), dtype=np.float32)
    data = [
        (
            rng.standard_normal((9, 4), dtype=np.float32),
            rng.standard_normal((9, 2), dtype=np.float32),
        )
        for _ in range(5)
    ]
    losses, w = train(jitted=True)
    expected, expected_w = train(jitted=False)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(w, expected_w, rtol=1e-5)


def test_arguments_with_gradients_are_refused() -> None:
    f = wt.jit(lambda w: (w * 3).sum())
    with pytest.raises(RuntimeError, match=r"\[jit\].*requires a gradient"):
        wt.grad(f)(wt.ones(1))
    assert wt.jit(wt.grad(lambda w: (w * 3).sum()))(wt.ones(1)).tolist() == [3]
    with wt.no_grad():
        assert f(wt.ones(1).requires_grad_()).item() == 3
