"""Every kernel for matrix products, asked for by name, at sizes that fit none of its tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import random_array, setting, workgroups_meet

pytestmark = pytest.mark.limits

Array = np.ndarray[Any, Any]


def names() -> list[str]:
    return [str(n) for n in wt._core.matmul_kernels()]


def tile_of(name: str) -> tuple[int, int, int]:
    """Rows, columns and steps of a kernel's tile, from its name: "cpu_64x64x16_8x8_e"."""
    m, n, k = name.removeprefix("cpu_").removeprefix("half_").split("_")[0].split("x")
    return int(m), int(n), int(k)


def device_with(name: str) -> wt.Device:
    with setting(kernels=f"matmul:{name}", debug=True):
        return wt.Device()


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Integers, whose sums are exact: a misplaced or missing element shows, whatever the order."""
    if dtype == "float16":
        return rng.integers(-2, 3, shape).astype(dtype)
    return random_array(rng, shape, dtype)


def product(device: wt.Device, a: Array, b: Array, turned: bool) -> None:
    """What the kernel makes, between neighbours that must stay as they are."""

    def put(x: Array) -> wt.Tensor:
        if not turned:
            return wt.asarray(x, device=device)
        return wt.asarray(np.ascontiguousarray(np.swapaxes(x, -1, -2)), device=device).mT

    sentinels = [wt.full(64, 7, dtype="int32", device=device).eval() for _ in range(3)]
    x, y = put(a), put(b)
    with setting(matmul_pieces=1):
        result = x @ y + 1
    np.testing.assert_array_equal(result.numpy(), (a.astype("int32") @ b + 1).astype(a.dtype))
    assert result.dtype == a.dtype
    for s in sentinels:
        assert (s.numpy() == 7).all()


@pytest.mark.parametrize("name", names())
def test_every_kernel(name: str, rng: np.random.Generator) -> None:
    m, n, k = tile_of(name)
    device, dtype = device_with(name), "float16" if name.startswith("half_") else "int32"
    odd = numbers(rng, (m + 3, 2 * k + 3), dtype), numbers(rng, (2 * k + 3, n + 5), dtype)
    product(device, *odd, turned=False)
    whole = numbers(rng, (m + 4, 3 * k), dtype), numbers(rng, (3 * k, n + 4), dtype)
    product(device, *whole, turned=True)


@pytest.mark.skipif(
    not any(n.startswith("half_") for n in names()), reason="kernels have no float16"
)
@pytest.mark.parametrize("k", [16, 100, 2000])
def test_sums_of_halves_err_by_steps(k: int, rng: np.random.Generator) -> None:
    """Twice 16 products are added up in float16, those sums in float32: errors keep their size."""
    name = next(n for n in names() if n.startswith("half_64x64x32"))
    a, b = (rng.standard_normal(s).astype("float16") for s in ((40, k), (k, 24)))
    device = device_with(name)
    result = (wt.asarray(a, device=device) @ wt.asarray(b, device=device)).numpy()
    x, y = a.astype(np.float64), b.astype(np.float64)
    most = np.abs(x) @ np.abs(y)
    # 17 roundings of 2^-11 in the worst case, and one of the result
    assert (np.abs(result - x @ y) <= most * (18 * 2.0**-11)).all()
    assert (np.abs(result - x @ y) / most).mean() < 2.0**-11


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("turned", [False, True])
def test_last_tiles_in_pieces(dtype: str, turned: bool, rng: np.random.Generator) -> None:
    """What would be a round of few workgroups is cut along k, whatever follows the product."""
    with setting(kernels="matmul:32x32x32_4x4_s4"):
        device = wt.Device()
    m, n, k = 790, 761, 2072
    a, b = rng.integers(-1, 2, (m, k)).astype(dtype), rng.integers(-1, 2, (k, n)).astype(dtype)
    bias, residual = (rng.integers(-3, 4, s).astype(dtype) for s in ((n,), (m, 1)))
    x = wt.asarray(a.T.copy() if turned else a, device=device)
    x = x.T if turned else x
    y, z, w = (wt.asarray(v, device=device).eval() for v in (b, bias, residual))
    whole = a.astype(np.float64) @ b.astype(np.float64)
    # Workgroups meet where their barriers hold for the whole device.
    cut = (
        ["matmul in pieces"]
        if workgroups_meet(device)
        else ["matmul pieces", "matmul", "matmul sums"]
    )
    assert [line.split("(")[0].strip() for line in wt.explain(x @ y).splitlines()[1:]] == cut
    for pieces, kernels in ((0, len(cut)), (1, 1)):
        with setting(matmul_pieces=pieces):
            for epilogue in (False, True):
                before = device.stats()["dispatches"]
                result = (wt.maximum(x @ y * 2 + z, 0) - w if epilogue else x @ y).eval()
                assert device.stats()["dispatches"] - before == kernels
                e = np.maximum(whole * 2 + bias, 0) - residual if epilogue else whole
                np.testing.assert_array_equal(result.numpy(), e.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("m", "k", "n"), [(64, 4096, 130), (33, 9001, 65), (3, 10000, 5)])
def test_workgroups_meet(
    m: int, k: int, n: int, turned: bool, dtype: str, rng: np.random.Generator
) -> None:
    """Few tiles are cut along k; who comes last adds up, however often and in whatever buffer."""
    with setting(kernels="gpu"):
        device = wt.Device()
    if not workgroups_meet(device):
        pytest.skip("two kernels: test_matmul.py")
    a, b = rng.integers(-1, 2, (m, k)).astype(dtype), rng.integers(-1, 2, (k, n)).astype(dtype)
    x = wt.asarray(a.T.copy() if turned else a, device=device)
    x = x.T if turned else x
    y = wt.asarray(b, device=device)
    assert "1 kernel\n  matmul in pieces" in wt.explain(x @ y)
    whole = a.astype(np.float64) @ b.astype(np.float64)
    for _ in range(3):
        results = [wt.maximum(x @ y + i, 0) for i in range(8)]
        wt.eval(*results)
        for i, result in enumerate(results):
            np.testing.assert_array_equal(result.numpy(), np.maximum(whole + i, 0).astype(dtype))
    long = wt.maximum((x @ y * 2 + 1) * 3 - 4, -5) + 6  # its results are stored by a loop
    assert "matmul in pieces" in wt.explain(long)
    expected = np.maximum((whole * 2 + 1) * 3 - 4, -5) + 6
    np.testing.assert_array_equal(long.numpy(), expected.astype(dtype))
    device.empty_cache()  # other buffers
    np.testing.assert_array_equal((x @ y).numpy(), whole.astype(dtype))


def test_workgroups_leave_no_memory_behind(rng: np.random.Generator) -> None:
    with setting(kernels="gpu"):
        device = wt.Device()
    x, y = (wt.asarray(random_array(rng, s), device=device) for s in ((64, 4096), (4096, 130)))
    (x @ y).eval()
    del x, y
    device.empty_cache()
    memory = wt.memory_stats(device)
    assert (memory["live"], memory["pooled"]) == (0, 0)


def test_no_room_to_meet(rng: np.random.Generator) -> None:
    """Eight buffers to a kernel, most taken by the epilogue; bindings less than the pieces."""
    m, k, n = 65, 4096, 65
    a, b = (rng.integers(-1, 2, s).astype("float32") for s in ((m, k), (k, n)))
    rest = [rng.integers(-3, 4, (m, n)).astype("float32") for _ in range(5)]
    for limits in ({"limits": "default"}, {"max_binding": 5 << 18}):  # pieces have 2 MiB
        with setting(kernels="gpu", **limits):
            device = wt.Device()
        x, y, *z = (wt.asarray(v, device=device).eval() for v in (a, b, *rest))
        result = x @ y
        for v in z:
            result = result + v
        text = wt.explain(result)
        assert "matmul in pieces" not in text
        assert "parts" not in text
        if "limits" in limits:  # all in one kernel, or in that and the sum of pieces
            assert "map" not in text
        np.testing.assert_array_equal(result.numpy(), a @ b + sum(rest))


def test_stacks_of_small_matrices(rng: np.random.Generator) -> None:
    for name in ("128x64x16_8x8_e", "64x64x16_8x8_s2"):
        if name not in names():
            continue
        a = random_array(rng, (5, 7, 16), "int32")
        b = random_array(rng, (5, 16, 9), "int32")
        product(device_with(name), a, b, turned=False)


def test_names_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match=r"one of .*64x64x16_8x8") as error, setting(kernels="gpu"):
        wt.config.kernels = "matmul:1x1x1"
    assert str(error.value).startswith("kernels='matmul:1x1x1': expected")
    assert wt.config.kernels == ""
