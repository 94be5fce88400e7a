"""nonzero and its kin, and searchsorted: every form of kernel, dtype and layout."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sort_references as reference
import wgtensor as wt
from helpers import ALL_DTYPES, LAYOUTS, device_has, dispatches, setting
from tolerances import check

pytestmark = pytest.mark.limits

SIZES = [1, 2, 31, 33, 127, 128, 1023, 4095, 4096, 4097, 8193, 70_001]


@pytest.fixture(scope="module", params=["gpu", "software"])
def device(request: pytest.FixtureRequest) -> wt.Device:
    """The kernels for GPUs, and those for software adapters."""
    with setting(kernels=request.param):
        device = wt.Device()
        device.synchronize()
    return device


def places(a: reference.Array) -> reference.Array:
    return np.flatnonzero(a).astype(np.int32)


def test_flatnonzero(device: wt.Device, rng: np.random.Generator) -> None:
    for n in SIZES:
        for share in (0, 0.01, 0.5, 1):
            a = rng.random(n) < share
            check(wt.flatnonzero(wt.asarray(a, device=device)), places(a), name=f"{n} {share}")
        b = rng.standard_normal(n).astype(np.float32)
        t = wt.asarray(b, device=device)
        check(wt.flatnonzero(t > 0.3), places(b > 0.3))
        check(wt.flatnonzero((t > 0.3)[1:]), places(b[1:] > 0.3))
        check(wt.flatnonzero(t[::-1] < 0) * 2 + 1, places(b[::-1] < 0) * 2 + 1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nonzero(layout: str, rng: np.random.Generator) -> None:
    for dtype in ("bool", "float32", "int8", "uint16"):
        for shape in [(6, 8, 10), (300,), (3, 70)]:
            a = rng.integers(0, 2, shape).astype(dtype)
            t = LAYOUTS[layout](a)
            for x, y in zip(wt.nonzero(t), np.nonzero(a), strict=True):
                check(x, y.astype(np.int32))
            check(wt.argwhere(t), np.argwhere(a).astype(np.int32))
            check(wt.where(t)[-1], np.nonzero(a)[-1].astype(np.int32))


def test_nan_is_not_zero() -> None:
    a = np.array([0.0, -0.0, np.nan, 1e-45, -1], np.float32)
    check(wt.flatnonzero(a), np.array([2, 3, 4], np.int32))


def test_nonzero_of_nothing_and_of_numbers() -> None:
    for shape in [(0,), (3, 0), (0, 4)]:
        a = np.zeros(shape, np.bool_)
        check(wt.argwhere(a), np.argwhere(a).astype(np.int32))
        assert [t.shape for t in wt.nonzero(a)] == [(0,)] * a.ndim
    check(wt.argwhere(wt.asarray(5)), np.argwhere(5).astype(np.int32))
    check(wt.flatnonzero(wt.zeros((2, 3))), np.zeros(0, np.int32))
    with pytest.raises(ValueError, match=r"^\[nonzero\] "):
        wt.nonzero(wt.asarray(5))


def test_a_mask_is_computed_where_it_is_counted() -> None:
    """No kernel but those that count, sum and place."""
    t = wt.ones(100_000)
    t.eval()
    assert dispatches(lambda: wt.flatnonzero(t * 2 > 1)) <= 5


def test_parts_of_large_buffers(rng: np.random.Generator) -> None:
    for kernels in ("gpu", "software"):
        with setting(max_binding=1 << 15, kernels=kernels):
            device = wt.Device()
            device.synchronize()
        a = (rng.standard_normal(30_000) * (rng.random(30_000) < 0.2)).astype(np.float32)
        t = wt.asarray(a, device=device)
        check(wt.flatnonzero(t), places(a))
        check(wt.flatnonzero(t[1:] * 2), places(a[1:]))
        s = np.sort(a[:5000])
        e = np.searchsorted(s, a).astype(np.int32)
        check(wt.searchsorted(wt.asarray(s, device=device), t), e)
        for of in (wt.ones(30_000, device=device), t, t != 0):  # results above a binding, too
            check(wt.flatnonzero(of), places(of.numpy()))
        check(
            wt.argwhere(t.reshape(100, 300) < 9), np.argwhere(a.reshape(100, 300) < 9).astype("i4")
        )
        s = np.sort(a)
        for side in ("left", "right"):
            for vector in (
                wt.asarray(s, device=device),
                wt.asarray(s[::-1].copy(), device=device)[::-1],
            ):
                e = np.searchsorted(s, a[:999], side).astype(np.int32)
                check(wt.searchsorted(vector, t[:999], side), e)
            few = wt.asarray(s, device=device)[::7]  # of few elements, which reach as far
            e = np.searchsorted(s[::7], a[:999], side).astype(np.int32)
            check(wt.searchsorted(few, t[:999], side), e)


def test_masks_above_a_binding(rng: np.random.Generator) -> None:
    """What a mask selects, and writes through it, also where the result is above the limit."""
    for kernels in ("gpu", "software"):
        with setting(max_binding=1 << 15, kernels=kernels):
            device = wt.Device()
            device.synchronize()
        for dtype in ("float32", "int16", "bool"):
            a = reference.disorder(rng, (40_000,), dtype)
            mask = rng.random(40_000) < 0.9
            t, m = wt.asarray(a, device=device), wt.asarray(mask, device=device)
            check(t[m], a[mask])
            t[m] = wt.asarray(a[mask][::-1].copy(), device=device)
            a[mask] = a[mask][::-1].copy()
            check(t, a)
        x = wt.ones(40_000, device=device, requires_grad=True)
        (x[m] * 2).sum().backward()
        check(x.grad, mask * np.float32(2))


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(dtype: str, side: str, rng: np.random.Generator) -> None:
    if not device_has(dtype):
        pytest.skip("the adapter has no such dtype")
    for n in (1, 2, 3, 31, 32, 33, 1000, 4097):
        a = reference.disorder(rng, (n,), dtype)
        v = np.concatenate([reference.disorder(rng, (70,), dtype), a[:30]])
        s = reference.sort(a)
        e = np.searchsorted(reference.comparable(s), reference.comparable(v), side=side)
        check(wt.searchsorted(s, v, side=side), e.astype(np.int32), name=f"{dtype} {n}")
        found = wt.searchsorted(wt.asarray(s), v[:70].reshape(5, 2, 7), side)
        check(found[1], e[:70].reshape(5, 2, 7)[1].astype(np.int32))


def test_searchsorted_forms(rng: np.random.Generator) -> None:
    a = rng.integers(0, 50, 300).astype(np.int32)
    s = np.sort(a)
    for layout in LAYOUTS.values():
        check(wt.searchsorted(layout(s), layout(a)), np.searchsorted(s, a).astype(np.int32))
    order = np.argsort(a)
    check(wt.searchsorted(a, [3, 7], sorter=order), np.searchsorted(s, [3, 7]).astype(np.int32))
    check(wt.searchsorted(a, 7, sorter=wt.argsort(a)), np.searchsorted(s, 7).astype(np.int32))
    check(wt.searchsorted(s, 2.5), np.searchsorted(s, 2.5).astype(np.int32))
    check(wt.searchsorted(s, s + 1) - 1, (np.searchsorted(s, s + 1) - 1).astype(np.int32))
    check(wt.searchsorted([], [1.0, 2.0]), np.zeros(2, np.int32))
    check(wt.searchsorted(s, wt.zeros((0, 3))), np.zeros((0, 3), np.int32))


def test_searchsorted_errors() -> None:
    with pytest.raises(ValueError, match="side"):
        wt.searchsorted([1, 2], 1, side="middle")
    with pytest.raises(wt.ShapeError, match="vector"):
        wt.searchsorted(wt.zeros((2, 2)), 1)


@given(st.lists(st.booleans(), max_size=9000), st.integers(0, 5))
def test_any_mask(values: list[bool], start: int) -> None:
    a = np.array(values, np.bool_)
    check(wt.flatnonzero(wt.asarray(a)[start:]), places(a[start:]))


@pytest.mark.parametrize("kernels", ["gpu", "software"])
def test_nonzero_of_any_density(kernels: str, rng: np.random.Generator) -> None:
    """Blocks with none, few, half and all of their elements."""
    with setting(kernels=kernels):
        device = wt.Device()
        device.synchronize()
    density = np.repeat([0, 0.001, 0.5, 1, 0.9, 0, 1], 3000)
    mask = rng.random(density.size) < density
    values = rng.standard_normal(density.size, dtype=np.float32)
    m = wt.asarray(mask, device=device)
    np.testing.assert_array_equal(wt.flatnonzero(m).numpy(), np.flatnonzero(mask))
    np.testing.assert_array_equal(wt.asarray(values, device=device)[m].numpy(), values[mask])
