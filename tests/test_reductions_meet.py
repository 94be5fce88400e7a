"""Splits of a long axis meet in one kernel where barriers hold for the device, else in two."""

from __future__ import annotations

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has, random_array, setting

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


def meets(device: wt.Device) -> bool:
    return device.backend == "vulkan"


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
    kernels = "1 kernel\n" if meets(device) else "2 kernels\n"
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


@pytest.mark.parametrize("limits", [{"limits": "default"}, {"max_binding": 4 * 70_001 * 16}])
def test_no_room_to_meet(limits: dict[str, object], rng: np.random.Generator) -> None:
    """Eight buffers to a kernel, all taken; a binding that is just the operand."""
    device = on_gpu_kernels(**limits)
    a = rng.integers(-3, 4, (70_001, 16)).astype("float32")
    rest = [rng.integers(-3, 4, 16).astype("float32") for _ in range(6)]
    x, *z = (wt.asarray(v, device=device).eval() for v in (a, *rest))
    result = x.sum(axis=0)
    for v in z:
        result = result + v
    if "limits" in limits:  # all in one kernel, or in that and the one that folds
        assert "map" not in wt.explain(result)
    np.testing.assert_array_equal(result.numpy(), a.sum(axis=0) + sum(rest))


def test_no_memory_stays(rng: np.random.Generator) -> None:
    device = on_gpu_kernels()
    x = wt.asarray(random_array(rng, (50_000, 40), "float32"), device=device)
    x.sum(axis=0).eval()
    del x
    device.empty_cache()
    memory = wt.memory_stats(device)
    assert (memory["live"], memory["pooled"]) == (0, 0)


def test_workspaces_are_pooled(rng: np.random.Generator) -> None:
    """What workgroups meet in is no tensor's memory, and is bounded."""
    device = on_gpu_kernels()
    x = wt.asarray(random_array(rng, (50_000, 40), "float32"), device=device)
    wt.eval(x)
    live = wt.memory_stats(device)["live"]
    sums = [(x * i).sum(axis=0) for i in range(40)]
    wt.eval(*sums)
    del sums
    wt.synchronize(device)
    memory = wt.memory_stats(device)
    assert memory["live"] == live
    assert memory["pooled"] < 2 * live
