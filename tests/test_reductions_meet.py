"""Splits of a long axis meet in one kernel where barriers hold for the device, else in two."""

from __future__ import annotations

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has, random_array, setting, workgroups_meet

SHAPES = [
    ((100_003,), None),
    ((70_001, 64), 0),
    ((40_000, 33), 0),
    ((5, 70_001), 1),
    ((3, 40_000, 12), 1),
    ((90_000, 3), 0),
]


def on_gpu_kernels(**more: object) -> wt.Device:
    with setting(kernels="gpu", **more):
        return wt.Device()


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_splits(
    dtype: str, shape: tuple[int, ...], axis: int | None, rng: np.random.Generator
) -> None:
    """Every kind of accumulator, with what follows, again and again in buffers used before."""
    device = on_gpu_kernels()
    if not device_has(dtype):
        pytest.skip(f"no {dtype}")
    a = random_array(rng, shape, dtype) if dtype != "float64" else rng.standard_normal(shape)
    x = wt.asarray(a, device=device)
    kernels = "1 kernel\n" if workgroups_meet(device) else "2 kernels\n"
    assert wt.explain(x.sum(axis=axis)).startswith(kernels)
    for _ in range(3):
        results = [x.max(axis=axis), x.argmin(axis=axis), (x > 0).all(axis=axis)]
        total = x.sum(axis=axis) * 2 + 1
        wt.eval(total, *results)
        expected = [a.max(axis=axis), a.argmin(axis=axis), (a > 0).all(axis=axis)]
        for r, e in zip(results, expected, strict=True):
            np.testing.assert_array_equal(r.numpy(), e)
        if dtype.startswith("int"):
            e = a.sum(axis=axis, dtype=dtype) * 2 + 1
            np.testing.assert_array_equal(total.numpy(), e.astype(dtype))
        else:
            magnitude = 2 * np.abs(a.astype(np.float64)).sum(axis=axis) + 1
            error = np.abs(total.numpy() - (a.astype(np.float64).sum(axis=axis) * 2 + 1))
            assert (error <= 8 * np.finfo(dtype).eps * magnitude).all()


def test_splits_of_several_words(rng: np.random.Generator) -> None:
    """Deviations, exponentials and cross entropies keep two to four words each."""
    device = on_gpu_kernels()
    a = random_array(rng, (3, 200_000), "float32")
    x = wt.asarray(a, device=device)
    wide = a.astype(np.float64)
    np.testing.assert_allclose(x.std(axis=1).numpy(), wide.std(axis=1), rtol=1e-5)
    top = wide.max(axis=1, keepdims=True)
    expected = np.log(np.exp(wide - top).sum(axis=1)) + top[:, 0]
    np.testing.assert_allclose(wt.logsumexp(x, axis=1).numpy(), expected, rtol=1e-5)
    target = np.array([7, 199_999, 5])
    loss = wt.nn.functional.cross_entropy(
        x, wt.asarray(target.astype("int32"), device=device), reduction="none"
    )
    np.testing.assert_allclose(loss.numpy(), expected - wide[np.arange(3), target], rtol=1e-5)


def test_equal_bits(rng: np.random.Generator) -> None:
    """Whoever comes last folds in the same order."""
    x = wt.asarray(random_array(rng, (50_000, 40), "float32"), device=on_gpu_kernels())
    first = x.sum(axis=0).numpy()
    for _ in range(20):
        assert x.sum(axis=0).numpy().tobytes() == first.tobytes()


def test_no_room_to_meet(rng: np.random.Generator) -> None:
    """Eight buffers to a kernel, all taken: a second one folds."""
    device = on_gpu_kernels(limits="default")
    a = rng.integers(-3, 4, (70_001, 16)).astype("float32")
    rest = [rng.integers(-3, 4, 16).astype("float32") for _ in range(6)]
    x, *z = (wt.asarray(v, device=device).eval() for v in (a, *rest))
    for n in (5, 6):
        result = x.sum(axis=0)
        for v in z[:n]:
            result = result + v
        kernels = 1 if n == 5 and workgroups_meet(device) else 2
        assert wt.explain(result).startswith(f"{kernels} kernel")
        np.testing.assert_array_equal(result.numpy(), a.sum(axis=0) + sum(rest[:n]))


def pooled(device: wt.Device) -> int:
    wt.synchronize(device)
    return int(wt.memory_stats(device)["pooled"])


def test_workspaces_take_turns(rng: np.random.Generator) -> None:
    """They are no tensor's memory; a submission has one for each kernel, but not above 128 MiB."""
    device = on_gpu_kernels()
    if not workgroups_meet(device):
        pytest.skip("no workspaces")
    a, b = (rng.integers(-1, 2, s).astype("float32") for s in ((128, 2048), (2048, 128)))
    x, y = (wt.asarray(v, device=device).eval() for v in (a, b))
    assert "matmul in pieces" in wt.explain(x @ y)
    live, before = wt.memory_stats(device)["live"], pooled(device)
    (x @ y).eval()
    one = pooled(device) - before
    number = 200
    with setting(submit_dispatches=1000, dispatch_ms=0, flush_nodes=1000):
        results = [x @ y + i for i in range(number)]
        wt.eval(*results)
    assert number * one > 170 << 20
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result.numpy(), a @ b + i)
    del results, result
    assert 128 << 20 < pooled(device) < 150 << 20  # results, too
    assert wt.memory_stats(device)["live"] == live


def test_workspaces_under_a_limit(rng: np.random.Generator) -> None:
    """One serves all; what is updated in place is whole, as its plan has reserved it."""
    a = rng.integers(-1, 2, (50_000, 40)).astype("float32")
    device = on_gpu_kernels(memory_limit_mb=9)  # the operand has 7.6
    x = wt.asarray(a, device=device).eval()
    total = wt.zeros(40, device=device)

    @wt.jit
    def add(x: wt.Tensor, total: wt.Tensor) -> wt.Tensor:
        total += x.sum(axis=0)
        return total

    for _ in range(60):
        add(x, total)
    np.testing.assert_array_equal(total.numpy(), 60 * a.sum(axis=0))
