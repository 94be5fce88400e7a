"""What runs as one kernel, what is kept, and that neither changes a value."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import dispatches, random_array
from tolerances import check, near

Array = np.ndarray[Any, Any]


def tensors(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[wt.Tensor]:
    return [wt.asarray(np.abs(random_array(rng, s)) + np.float32(0.5)) for s in shapes]


def kernels(t: wt.Tensor) -> int:
    """As explain() tells it."""
    return int(wt.explain(t).split()[0])


# ---- one dispatch -------------------------------------------------------------------------------


@pytest.mark.short
def test_expressions_are_one_kernel(rng: np.random.Generator) -> None:
    a, b, c = tensors(rng, (64, 48), (64, 48), (64, 48))
    row, column = tensors(rng, (48,), (64, 1))
    w, bias = tensors(rng, (48, 32), (32,))
    for name, make in {
        "chain": lambda: ((a * b) + c).sqrt(),
        "sum": lambda: (a * b).sum(axis=0),
        "sum of rows": lambda: (a * b).sum(axis=1),
        "mean": lambda: (a - b).square().mean(),
        "layer": lambda: wt.relu(a @ w + bias),
        "six": lambda: wt.relu((b * 2 + 1).abs().sqrt() * b - 1),
        "broadcasts": lambda: a * row + column - row * column,
        "casts": lambda: wt.where(a > b, a.astype("int32"), 3).astype("float32") * 0.5,
        "views": lambda: (a[::-1] + b)[:, ::2] * 2,
        "transposed": lambda: (a + 1).T * b.T,
        "softmax": lambda: ((a - b) * 2).softmax(axis=-1) * c,
        "mask": lambda: (a > b) & (b > c) | (a > 3),
        "arange": lambda: wt.arange(48, dtype="float32") * a + wt.ones((64, 48)),
        "assign": lambda: _assigned(a, b),
    }.items():
        if name != "assign":  # a copy of a buffer is a step, and no dispatch
            assert kernels(make()) == 1, f"{name}: {wt.explain(make())}"
        assert dispatches(make) == 1, name


def _assigned(a: wt.Tensor, b: wt.Tensor) -> wt.Tensor:
    """The copy of `a` is no dispatch."""
    x = a[...]
    x[1:3] = (b * 2)[5:7]
    return x


def test_explain_tells_kernels_and_reasons(rng: np.random.Generator) -> None:
    a, b = tensors(rng, (32, 32), (32, 32))
    p = a @ b
    text = wt.explain(wt.relu((p @ a) + p))
    assert text.startswith("2 kernels")
    assert "matmul" in text
    assert "not fused" in text
    assert "(32, 32)" in text
    p.eval()
    assert "no kernel" in wt.explain(p)
    assert dispatches(lambda: p) == 0


# ---- what is held -------------------------------------------------------------------------------


@pytest.mark.short
def test_held_intermediates(rng: np.random.Generator) -> None:
    """A costly one becomes an output of the kernel that needs it; a cheap one is computed again."""
    a, b = tensors(rng, (64, 64), (64, 64))
    x, y = a.numpy(), b.numpy()
    wt.synchronize()
    before = wt.stats()["dispatches"]
    s = (a * b).sum(axis=1)
    (s * 2 + 1).eval()
    assert wt.stats()["dispatches"] - before == 1
    assert dispatches(lambda: s) == 0, "the sum was written beside its reader"
    near(s, (x.astype(np.float64) * y).sum(1), ops=8)
    before = wt.stats()["dispatches"]
    p = a @ b
    wt.relu(p - 60).eval()
    assert wt.stats()["dispatches"] - before == 1
    assert dispatches(lambda: p) == 0
    near(p, x.astype(np.float64) @ y, ops=8)
    before = wt.stats()["dispatches"]
    cheap = a + b
    doubled = (cheap * 2).eval()
    assert wt.stats()["dispatches"] - before == 1
    near(cheap, x + y)
    near(doubled, (x + y) * 2)


def test_what_is_dropped_is_not_computed(rng: np.random.Generator) -> None:
    a, b = tensors(rng, (64, 64), (64, 64))

    def lost() -> wt.Tensor:
        for _ in range(5):
            (a @ b).sum()
        gc.collect()
        return a + 1

    assert dispatches(lost) == 1


@pytest.mark.short
def test_reading_the_loss_adds_no_matmul(rng: np.random.Generator) -> None:
    """A training step with explicit gradients: the forward pass is shared, read or not."""
    x, w1, b1, w2 = tensors(rng, (32, 20), (20, 16), (16,), (16, 5))
    target = wt.asarray(np.eye(5, dtype=np.float32)[rng.integers(0, 5, 32)])

    def step(read: bool) -> tuple[list[Array], int, int]:
        wt.synchronize()
        before = wt.stats()["dispatches"]
        h = wt.relu(x @ w1 * 0.01 + b1)
        p = (h @ w2 * 0.1).softmax(axis=-1)
        loss = -(target * p.log()).sum(axis=1).mean()
        if read:
            loss.item()
        d = (p - target) / 32
        gw2 = h.T @ d
        dh = (d @ w2.T) * (h > 0)
        gw1, gb1 = x.T @ dh, dh.sum(axis=0)
        products = wt.explain(gw1).count("\n  matmul") if read else 0
        wt.eval(gw1, gb1, gw2)
        count = wt.stats()["dispatches"] - before
        return [g.numpy() for g in (gw1, gb1, gw2, loss)], count, products

    silent, quiet, _ = step(False)
    told, loud, products = step(True)
    assert products == 3, "after the loss is read only the backward products are left"
    assert loud <= quiet + 1
    for i, (one, other) in enumerate(zip(silent, told, strict=True)):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=str(i))


def test_many_kept_losses_pin_nothing(rng: np.random.Generator) -> None:
    a = tensors(rng, (200, 100))[0]
    kept = []
    wt.synchronize()
    for i in range(300):
        kept.append(((a + i) * 0.5).mean())
        if i == 100:
            wt.synchronize()
            before = wt.stats()["live_bytes"]
    wt.synchronize()
    assert wt.stats()["live_bytes"] - before < 300 * 1024
    base = a.numpy().mean(dtype=np.float64)
    for i in (0, 57, 299):
        assert kept[i].item() == pytest.approx((base + i) / 2, rel=1e-5)


def test_deferred_values_keep_what_they_read(rng: np.random.Generator) -> None:
    """A held cheap value waits, while its operands change hands and are written in place."""
    a = np.abs(random_array(rng, (500,)))
    x = wt.asarray(a)
    waiting = x * 2 + 1
    (x + 5).eval()
    x += 1
    x *= 3
    x.eval()
    x[::2] = 0
    x.eval()
    near(waiting, a * 2 + 1, ops=3)
    expected = (a + 1) * 3
    expected[::2] = 0
    near(x, expected, ops=3)


# ---- donation -----------------------------------------------------------------------------------


@pytest.mark.short
def test_donation_in_place(rng: np.random.Generator) -> None:
    a = random_array(rng, (4096,))
    x = wt.asarray(a)
    x += 1
    x.eval()
    before = wt.stats()["live_bytes"]
    expected = a + np.float32(1)
    for i in range(20):
        x *= 1.5
        x -= 0.25
        expected = expected * np.float32(1.5) - np.float32(0.25)
        if i % 3 == 0:
            x.eval()
    near(x, expected, ops=100)
    assert wt.stats()["live_bytes"] <= before + 4096 * 4 + 1024


def test_donation_respects_other_readers(rng: np.random.Generator) -> None:
    a = random_array(rng, (64, 64))
    x = wt.asarray(a)
    view = x[3]
    other = x
    x = x + 1
    x += other.T
    x.eval()
    near(x, a + 1 + a.T, ops=3)
    check(other, a)
    check(view, a[3])
    y = wt.asarray(a)
    y += y.T
    y.eval()
    near(y, a + a.T)
    z = wt.asarray(a) * 2
    z.eval()
    z += z[::-1]
    near(z, a * 2 + (a * 2)[::-1])
    u = wt.asarray(a) @ wt.asarray(a)
    u -= u.sum(axis=0)
    p = a.astype(np.float64) @ a
    np.testing.assert_allclose(u.numpy(), p - p.sum(axis=0), rtol=1e-4, atol=1e-3)


def test_donation_of_smaller_and_other_dtypes(rng: np.random.Generator) -> None:
    a = random_array(rng, (100,), "int32")
    x = wt.asarray(a)
    y = x.astype("float32") * 0.5
    del x
    near(y, a * np.float32(0.5))
    b = wt.asarray(a)[10:50]  # the rest of its buffer is dead
    b = b * 2
    b.eval()
    check(b, a[10:50] * 2)
    m = wt.asarray(a) > 3
    m = ~m
    m.eval()
    check(m, ~(a > 3))


# ---- views between operations --------------------------------------------------------------------


@pytest.mark.short
def test_views_that_operands_cannot_follow(rng: np.random.Generator) -> None:
    """A reshape of an expression over strided operands: one index does not lead to both."""
    a = random_array(rng, (4, 6))
    t = wt.asarray(a)
    for make, expected in [
        (lambda: (t.T + 1).reshape(24) * 2, (a.T + 1).reshape(24) * 2),
        (lambda: (t[:, :3] + 1).reshape(12) * 2, (a[:, :3] + 1).reshape(12) * 2),
        (lambda: (t + t[0]).reshape(24) * 2, (a + a[0]).reshape(24) * 2),
        (lambda: (t.T + 1).reshape(3, 8)[:, ::2] * 2, (a.T + 1).reshape(3, 8)[:, ::2] * 2),
        (lambda: (t[:1].T + 1).reshape(6) * 2, (a[:1].T + 1).reshape(6) * 2),
        (lambda: wt.max((t.T + 1).reshape(24)), np.max(a + 1)),
        (lambda: (t[:, None].T + 1).reshape(24) * 3, (a[:, None].T + 1).reshape(24) * 3),
    ]:
        near(make(), expected, ops=3)
    n = wt.arange(24).reshape(4, 6)
    check((n.T + 1).reshape(24) * 2, (np.arange(24).reshape(4, 6).T + 1).reshape(24) * 2)
    ones = wt.full((1, 33, 2), 3)
    held = wt.where(ones, ones, ones)
    flat = wt.floor(held.reshape(66))
    check(held, np.full((1, 33, 2), 3, np.int32))
    check(flat, np.full(66, 3, np.int32))
