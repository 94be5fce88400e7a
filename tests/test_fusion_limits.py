"""What bounds a fused kernel: bindings, parameters, depth, circles, settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import dispatches, random_array, setting
from tolerances import check, near

Array = np.ndarray[Any, Any]


# ---- limits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [7, 8, 9, 31, 32, 33, 70])
def test_more_inputs_than_bindings(count: int, rng: np.random.Generator) -> None:
    arrays = [random_array(rng, (5, 6)) for _ in range(count)]
    parts = [wt.asarray(a) for a in arrays]
    total = parts[0]
    for i, p in enumerate(parts[1:]):
        total = total + p * (i + 2)
    expected = arrays[0].astype(np.float64)
    for i, a in enumerate(arrays[1:]):
        expected = expected + a * np.float64(i + 2)
    magnitude = sum(np.abs(a) * (i + 2) for i, a in enumerate(arrays))
    check(total, expected, allowed=1e-5 * magnitude)
    x, y = (wt.asarray(random_array(rng, s)) for s in ((5, 5), (5, 6)))
    result = x @ y + total
    for p in parts:
        result = result + p
    e = x.numpy().astype(np.float64) @ y.numpy() + expected + sum(arrays)
    check(result, e, allowed=1e-5 * (magnitude * 2 + 10))


def test_epilogue_that_reads_both_operands_and_fills_every_binding(
    rng: np.random.Generator,
) -> None:
    """A product's own bindings count: an epilogue reads them again, and as many others as fit."""
    a = random_array(rng, (8, 8))
    x = wt.asarray(a)
    for count in (3, 4, 5, 6, 7, 27, 28, 29, 30, 31):
        others = [random_array(rng, (8, 8)) for _ in range(count)]
        result, expected = x @ x, a.astype(np.float64) @ a
        for o in others:
            result, expected = result + wt.asarray(o), expected + o
        result, expected = result + x, expected + a
        check(result, expected, allowed=1e-4, name=str(count))


def test_more_parameters_than_fit(rng: np.random.Generator) -> None:
    """Strides of 31 operands over 12 axes, and of 70 views of one computed value."""
    total, expected = None, 0
    for _ in range(31):
        order = tuple(rng.permutation(12).tolist())
        a = random_array(rng, (2,) * 12, "int32")
        t = wt.permute_dims(wt.asarray(a), order)
        total = t if total is None else total + t
        expected = expected + a.transpose(order)
    check(total, expected)
    check((total * 2).sum(axis=(0, 3, 5)), (expected * 2).sum(axis=(0, 3, 5)).astype(np.int32))
    a, b = random_array(rng, (40, 3, 2, 4, 3), "int32"), random_array(rng, (3, 3), "int32")
    x, e = wt.asarray(a) @ wt.asarray(b), a @ b
    total, expected = x[0], e[0]
    for i in range(40):
        total = total + x[i][::-1, :, ::-1] * (i + 1)
        expected = expected + e[i][::-1, :, ::-1] * (i + 1)
    check(total, expected)


@pytest.mark.short
def test_wide_graph(rng: np.random.Generator) -> None:
    """500 inputs in one sum, as a chain and as a tree."""
    arrays = [random_array(rng, (3, 4), "int32") for _ in range(500)]
    parts = [wt.asarray(a) for a in arrays]
    with setting(flush_nodes=100_000):
        total = parts[0]
        for p in parts[1:]:
            total = total + p
        level = parts
        while len(level) > 1:
            level = [
                level[i] + level[i + 1] if i + 1 < len(level) else level[i]
                for i in range(0, len(level), 2)
            ]
        check(total, sum(arrays))
        check(level[0], sum(arrays))


@pytest.mark.short
def test_deep_chain(rng: np.random.Generator) -> None:
    a = random_array(rng, (50,), "int32")
    x = wt.asarray(a)
    for i in range(10_000):
        x = x + (i % 7)
    check(x, a + np.int32(sum(i % 7 for i in range(10_000))))


@pytest.mark.slow
def test_deep_chain_in_one_flush(rng: np.random.Generator) -> None:
    a = random_array(rng, (50,), "int32")
    with setting(flush_nodes=1_000_000):
        x = wt.asarray(a)
        held = []
        for i in range(10_000):
            x = x + (i % 7)
            if i % 1000 == 0:
                held.append((i, x))
        check(x, a + np.int32(sum(i % 7 for i in range(10_000))))
        for i, h in held:
            check(h, a + np.int32(sum(j % 7 for j in range(i + 1))))


def test_shared_operands_do_not_explode(rng: np.random.Generator) -> None:
    a = random_array(rng, (16,), "int32")
    x = wt.asarray(a)
    for _ in range(60):
        x = x + x
    y = wt.asarray(a)
    for _ in range(30):
        y = y * y[::-1] - y
    e = a.copy()
    for _ in range(30):
        e = e * e[::-1] - e
    check(x, np.zeros_like(a))
    check(y, e)


def test_values_with_many_readers(rng: np.random.Generator) -> None:
    a = random_array(rng, (20, 20))
    x = wt.asarray(a)
    base = wt.tanh(x * 0.1) + 1
    readers = [base * i + base.T for i in range(12)]
    sums = [r.sum(axis=i % 2) for i, r in enumerate(readers)]
    e = np.tanh(a.astype(np.float64) * 0.1) + 1
    wt.eval(*readers[::2], *sums[1::3])
    for i, r in enumerate(readers):
        near(r, e * i + e.T, ops=6)
        near(sums[i], (e * i + e.T).sum(axis=i % 2), ops=20)


# ---- circles ------------------------------------------------------------------------------------


def test_groups_make_no_circle(rng: np.random.Generator) -> None:
    """Values that would fuse both before and after something that cannot fuse with them."""
    a, b = random_array(rng, (16, 16)), random_array(rng, (16, 16))
    x, y = wt.asarray(a), wt.asarray(b)
    d, g = a.astype(np.float64), b.astype(np.float64)

    base = x * 2 + y
    product = base @ y
    result = base + product
    e = (d * 2 + g) @ g + (d * 2 + g)
    np.testing.assert_allclose(result.numpy(), e, rtol=1e-4, atol=1e-4)

    total = (x * y).sum(axis=1)
    other = wt.relu(total[:, None] + x) @ y
    mixed = total * 2 + other[:, 0]
    t = (d * g).sum(1)
    o = np.maximum(t[:, None] + d, 0) @ g
    np.testing.assert_allclose(mixed.numpy(), t * 2 + o[:, 0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(total.numpy(), t, rtol=1e-4, atol=1e-4)

    p = x @ y
    s = p.softmax(axis=-1)
    q = (s @ x) + p
    r = (q.sum(axis=0) + p[0]) * s[1]
    pe = d @ g
    se = np.exp(pe - pe.max(1, keepdims=True))
    se /= se.sum(1, keepdims=True)
    qe = se @ d + pe
    np.testing.assert_allclose(r.numpy(), (qe.sum(0) + pe[0]) * se[1], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(q.numpy(), qe, rtol=1e-3, atol=1e-3)


def test_normalisation_layers(rng: np.random.Generator) -> None:
    a = random_array(rng, (10, 33))
    x = wt.asarray(a)
    for held in (False, True):
        mean = x.mean(axis=1, keepdims=True)
        centred = x - mean
        variance = centred.square().mean(axis=1, keepdims=True)
        y = centred / (variance + 1e-5).sqrt() * 2 + 1
        if not held:
            del mean, centred, variance
        d = a.astype(np.float64)
        c = d - d.mean(1, keepdims=True)
        e = c / np.sqrt((c * c).mean(1, keepdims=True) + 1e-5) * 2 + 1
        np.testing.assert_allclose(y.numpy(), e, rtol=1e-4, atol=1e-5)


# ---- settings -----------------------------------------------------------------------------------


@pytest.mark.short
def test_without_fusion(rng: np.random.Generator) -> None:
    a, b = random_array(rng, (12, 20)), random_array(rng, (12, 20))
    x, y = wt.asarray(a), wt.asarray(b)

    def program() -> list[wt.Tensor]:
        s = (x * y + 1).abs().sqrt()
        return [s, s.sum(axis=0), s.softmax(axis=-1) * 2, (s @ s.T) - 1, wt.where(s > 1, s, x)]

    fused = [t.numpy() for t in program()]
    with setting(max_fusion=1):
        assert dispatches(lambda: (x * y + 1).abs().sqrt()) == 4
        apart = [t.numpy() for t in program()]
    for one, other in zip(fused, apart, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    for limit in (2, 3, 7):
        with setting(max_fusion=limit):
            for one, t in zip(fused, program(), strict=True):
                np.testing.assert_allclose(one, t.numpy(), rtol=1e-5, atol=1e-5)


def test_flushing_often_changes_nothing(rng: np.random.Generator) -> None:
    a = random_array(rng, (30,), "int32")

    def program() -> wt.Tensor:
        x = wt.asarray(a)
        held = []
        for i in range(40):
            x = x * 3 - i
            if i % 5 == 0:
                held.append(x)
        return sum(held[1:], held[0]) + x

    expected = program().numpy()
    for nodes in (1, 2, 5, 17):
        with setting(flush_nodes=nodes):
            check(program(), expected, name=str(nodes))


@pytest.mark.short
def test_plans_serve_other_offsets_and_scalars(rng: np.random.Generator) -> None:
    """One plan, run with other numbers: offsets, scalars, starts and steps are parameters."""
    a, b = random_array(rng, (90,), "int32"), random_array(rng, (30, 30), "int32")
    x, y = wt.asarray(a), wt.asarray(b)
    runs = []
    for i in range(0, 40, 4):
        for j in range(3):
            k = i + 4 * j
            runs.append(
                (
                    (x[i : i + 8] * (i - 7) + x[k : k + 8][::-1]).sum() + j,
                    (a[i : i + 8] * (i - 7) + a[k : k + 8][::-1]).sum() + j,
                )
            )
            runs.append((y[j : j + 9, j * 4] @ y[i % 20, :9], b[j : j + 9, j * 4] @ b[i % 20, :9]))
            runs.append((y[j:, :8] @ y[:8, i % 12 :].mT.mT, b[j:, :8] @ b[:8, i % 12 :]))
            runs.append(
                (
                    wt.arange(i, i + 5 * (j + 1), j + 1) + x[i : i + 5],
                    np.arange(i, i + 5 * (j + 1), j + 1) + a[i : i + 5],
                )
            )
            written, expected = x.copy(), a.copy()
            written[i : i + 8] = i * 3
            expected[i : i + 8] = i * 3
            runs.append((written, expected))
            if i % 8 == 0:
                wt.eval(*(t for t, _ in runs[-3:]))
    for n, (result, expected) in enumerate(runs):
        check(result, np.asarray(expected).astype(np.int32), name=str(n))


def test_plans_and_pipelines_do_not_grow(rng: np.random.Generator) -> None:
    def run(n: int, scale: float) -> None:
        x = wt.asarray(random_array(rng, (n, 8)))
        wt.softmax(x * scale + 1).sum(axis=0).eval()

    for n in (5, 6, 7, 8):
        run(n, 0.5)
    wt.synchronize()
    before = wt.stats()
    for i in range(30):
        run(5 + i % 4, 0.1 * i)
    wt.synchronize()
    after = wt.stats()
    assert after["pipelines"] == before["pipelines"]
    assert after["live_plans"] == before["live_plans"]
