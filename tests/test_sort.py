"""sort and argsort: every dtype and form of kernel, stable, either order, NaN last."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sort_references as reference
import wgtensor as wt
from helpers import ALL_DTYPES, LAYOUTS, device_has, same_bits, setting
from tolerances import check

pytestmark = pytest.mark.limits

SIZES = [1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4097]


@pytest.fixture(scope="module", params=["gpu", "software"])
def device(request: pytest.FixtureRequest) -> wt.Device:
    """The kernels for GPUs, and those for software adapters."""
    with setting(kernels=request.param):
        device = wt.Device()
        device.synchronize()
    return device


def verify(a: reference.Array, t: wt.Tensor, axis: int = -1, descending: bool = False) -> None:
    e = reference.argsort(a, axis, descending)
    check(wt.argsort(t, axis=axis, descending=descending), e, name=f"{a.dtype}{a.shape}")
    same_bits(wt.sort(t, axis=axis, descending=descending), np.take_along_axis(a, e, axis))


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_sizes(device: wt.Device, dtype: str, rng: np.random.Generator) -> None:
    if not device_has(dtype):
        pytest.skip("the adapter has no such dtype")
    for n, rows in itertools.product(SIZES, (1, 5)):
        a = reference.disorder(rng, (rows, n), dtype)
        verify(a, wt.asarray(a, device=device), descending=bool((n + rows) & 2))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_long_rows(device: wt.Device, dtype: str, rng: np.random.Generator) -> None:
    if not device_has(dtype):
        pytest.skip("the adapter has no such dtype")
    for shape in [(200_000,), (3, 70_001)]:
        for descending in (False, True):
            a = reference.disorder(rng, shape, dtype)
            verify(a, wt.asarray(a, device=device), descending=descending)


def test_many_rows(device: wt.Device, rng: np.random.Generator) -> None:
    for shape in [(70_000, 3), (30_000, 7), (9000, 33), (700, 300), (40, 5000)]:
        a = reference.disorder(rng, shape, "float32")
        verify(a, wt.asarray(a, device=device))


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_ballots(dtype: str, rng: np.random.Generator) -> None:
    """The kernel of adapters with subgroups, in small workgroups on others."""
    if not device_has(dtype):
        pytest.skip("the adapter has no such dtype")
    with setting(kernels="gpu:ballots"):
        device = wt.Device()
        device.synchronize()
    for shape in [(257,), (5, 300), (3, 1025), (20_000,)]:
        a = reference.disorder(rng, shape, dtype)
        verify(a, wt.asarray(a, device=device), descending=shape[0] == 3)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "bool"])
def test_axes_and_layouts(dtype: str, layout: str, rng: np.random.Generator) -> None:
    for shape in [(6, 8, 10), (2, 70, 5), (300,)]:
        a = reference.disorder(rng, shape, dtype)
        for axis in range(-1, a.ndim):
            verify(a, LAYOUTS[layout](a), axis, descending=axis == 0)


def test_zeros_and_nans_keep_their_order() -> None:
    a = np.array([0.0, -0.0, np.nan, 0.0, -np.nan, -1.0, -0.0, np.inf, -np.inf], np.float32)
    check(wt.argsort(a), np.array([8, 5, 0, 1, 3, 6, 7, 2, 4], np.int32))
    check(wt.argsort(a, descending=True), np.array([7, 0, 1, 3, 6, 5, 8, 2, 4], np.int32))
    same_bits(wt.sort(a), a[[8, 5, 0, 1, 3, 6, 7, 2, 4]])


def test_payloads_of_nan_and_extremes(rng: np.random.Generator) -> None:
    for dtype in ("float16", "float32", "float64", "int64", "uint64"):
        if not device_has(dtype):
            continue
        a = np.tile(reference.special_values(dtype), 30)
        verify(a, wt.asarray(a))
        verify(a, wt.asarray(a), descending=True)


def test_work_before_and_after(device: wt.Device, rng: np.random.Generator) -> None:
    """A sort takes its producers along, and its readers."""
    for n in (50, 1000, 9001):
        a = rng.integers(-1000, 1000, (4, n), dtype=np.int32)
        t, b = wt.asarray(a, device=device), wt.asarray(a[0], device=device)
        check(wt.sort(t * 3 - b) + b, np.sort(a * 3 - a[0], axis=-1) + a[0])
        order = np.argsort(-a, axis=-1, kind="stable").astype(np.int32)
        check(wt.argsort(-t) * 2 > b, order * 2 > a[0])
        check(
            wt.argsort(wt.sort(t, descending=True)[:, ::-1]),
            np.tile(np.arange(n, dtype="i4"), (4, 1)),
        )


def test_prologues_round_to_the_dtype(rng: np.random.Generator) -> None:
    """Sums of float16 are sorted as the float16 that they are, ties included."""
    a = rng.integers(2000, 2100, 500).astype(np.float16)
    check(wt.argsort(wt.asarray(a) + wt.asarray(a)), reference.argsort(a + a))


def test_key_bits(device: wt.Device, rng: np.random.Generator) -> None:
    """Indices below a bound need fewer passes."""
    for n, bits in itertools.product((40, 3000, 20_000), (1, 5, 8, 13, 17, 31)):
        a = rng.integers(0, 1 << bits, n, dtype=np.int32)
        t = wt.asarray(a, device=device)
        for descending in (False, True):
            e = reference.argsort(a, descending=descending)
            check(wt._core.argsort(t, -1, descending, bits), e, name=f"{n} {bits} {descending}")


def test_parts_of_large_buffers(rng: np.random.Generator) -> None:
    """Rows stay whole, and no kernel binds more of a buffer than the limit."""
    for kernels in ("gpu", "software"):
        with setting(max_binding=1 << 16, kernels=kernels):
            device = wt.Device()
            device.synchronize()
        for shape in [(5000, 20), (300, 300), (30, 6000)]:
            a = reference.disorder(rng, shape, "float32")
            verify(a, wt.asarray(a, device=device))
            verify(a.T, wt.asarray(a, device=device).T, axis=0)
        a = reference.disorder(rng, (200, 900), "float32")  # a column reaches over all of it
        verify(a, wt.asarray(a, device=device), axis=0)
        tiny = (a != 0) & (np.abs(a) < np.finfo(np.float32).tiny)
        a[tiny] = 1  # devices may compute with denormals as with zeros
        verify(a[:, ::300] + a[:, ::300], wt.asarray(a, device=device)[:, ::300] * 2, axis=0)
        for name in ("sort", "argsort"):
            with pytest.raises(wt.UnsupportedError, match=rf"^\[{name}\] .*binds 16[0-9]{{3}} at"):
                getattr(wt, name)(wt.zeros(20_000, device=device))
        with pytest.raises(wt.UnsupportedError, match=r"^\[median\] "):
            wt.median(wt.zeros(20_000, device=device))


def test_nothing_to_sort() -> None:
    for shape, axis in [((0,), 0), ((3, 0), 1), ((3, 0), 0), ((4, 1), 1), ((0, 1), 0)]:
        a = np.ones(shape, np.float32)
        check(wt.sort(a, axis=axis), np.sort(a, axis=axis))
        check(wt.argsort(a, axis=axis), np.argsort(a, axis=axis).astype(np.int32))


def test_constants() -> None:
    check(wt.argsort(wt.zeros((3, 300))), np.tile(np.arange(300, dtype=np.int32), (3, 1)))
    check(
        wt.sort(wt.broadcast_to(wt.asarray([2.0, 1.0]), (300, 2)), axis=0)[0],
        np.array([2, 1], "f4"),
    )
    check(wt.sort(wt.arange(1000)[::-1]), np.arange(1000, dtype=np.int32))


def test_errors() -> None:
    with pytest.raises(IndexError, match=r"^\[sort\] "):
        wt.sort(wt.zeros((2, 3)), axis=2)
    with pytest.raises(IndexError, match=r"^\[argsort\] "):
        wt.argsort(wt.zeros(()))


@given(
    st.lists(st.floats(width=32), max_size=600),
    st.booleans(),
    st.sampled_from(["float32", "float16", "int32"]),
)
def test_any_values(values: list[float], descending: bool, dtype: str) -> None:
    a = (
        np.nan_to_num(np.array(values, np.float32), posinf=9, neginf=-9)
        if dtype == "int32"
        else values
    )
    a = np.clip(a, -(2**31), 2**31 - 200).astype(dtype) if dtype == "int32" else np.array(a, dtype)
    if a.size:
        verify(a, wt.asarray(a), descending=descending)


def test_lexsort(rng: np.random.Generator) -> None:
    for shape, axis in [((300,), -1), ((4, 70), 1), ((70, 4), 0)]:
        keys = [rng.integers(0, 5, shape).astype(np.int32) for _ in range(3)]
        e = np.lexsort(keys, axis=axis).astype(np.int32)
        check(wt.lexsort(keys, axis=axis), e)
        check(wt.lexsort(wt.stack(keys), axis=axis), e)
    check(wt.lexsort(keys[:1], axis=0), np.lexsort(keys[:1], axis=0).astype(np.int32))
    with pytest.raises(ValueError, match="key"):
        wt.lexsort([])
    with pytest.raises(wt.ShapeError):
        wt.lexsort([wt.zeros(2), wt.zeros(3)])


def test_methods(rng: np.random.Generator) -> None:
    a = rng.integers(0, 50, (7, 300)).astype(np.int32)
    t = wt.asarray(a)
    check(t.argsort(), reference.argsort(a))
    assert isinstance(np.argsort(t), wt.Tensor)
    assert isinstance(np.argpartition(t, 3), wt.Tensor)
    check(t.argsort(dim=0, descending=True), reference.argsort(a, 0, True))
    check(t.argsort(axis=None), reference.argsort(a.reshape(-1)))
    check(t.topk(3, dim=0)[0], reference.sort(a, 0, True)[:3])
    check(t.nonzero()[1], np.nonzero(a)[1].astype(np.int32))
    check(t.argpartition(4), reference.argsort(a))
    view = t[2]
    assert t.sort(axis=1) is None
    check(t, np.sort(a, axis=1))
    check(view, a[2])
    check(t[0].searchsorted([3, 7]), np.searchsorted(np.sort(a[0]), [3, 7]).astype(np.int32))
    t.partition(2, axis=0)
    check(t, np.sort(np.sort(a, axis=1), axis=0))
    with pytest.raises(TypeError, match="PyTorch"):
        t.sort(dim=0)


def test_gradients(rng: np.random.Generator) -> None:
    """What goes into the elements that were chosen, wherever they stood."""
    a = rng.permutation(600).astype(np.float32).reshape(2, 300)
    weights = wt.arange(300, dtype="float32")
    order = np.argsort(a, axis=-1)
    expected = np.zeros_like(a)
    np.put_along_axis(expected, order, np.arange(300, dtype=np.float32)[None], -1)
    for take in (lambda x: wt.sort(x), lambda x: wt.partition(x, 5)):
        x = wt.asarray(a).requires_grad_()
        (take(x) * weights).sum().backward()
        check(x.grad, expected)
    x = wt.asarray(a).requires_grad_()
    (wt.topk(x, 4, largest=False)[0] * weights[:4]).sum().backward()
    check(x.grad, np.where(expected < 4, expected, 0))
    x = wt.asarray(a).requires_grad_()
    wt.median(x, axis=1).sum().backward()
    check(x.grad, np.where((expected == 149) | (expected == 150), np.float32(0.5), 0))


@pytest.mark.parametrize("shift", [0, 8, 16, 24])
def test_bits_that_all_share(device: wt.Device, shift: int, rng: np.random.Generator) -> None:
    """Long rows whose elements differ in eight bits alone, and a row that differs in none."""
    a = (rng.integers(0, 256, (3, 20_000)) << shift).astype(np.uint32).view(np.int32)
    a[1] = a[0, 0]
    a ^= 0x5A5A5A5A
    for descending in (False, True):
        verify(a, wt.asarray(a, device=device), descending=descending)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_many_short_rows(device: wt.Device, dtype: str, rng: np.random.Generator) -> None:
    if not device_has(dtype):
        pytest.skip("the adapter has no such dtype")
    for n, rows in ((8, 33), (9, 16), (16, 17), (31, 40), (33, 16), (100, 25), (1024, 16)):
        a = reference.disorder(rng, (rows, n), dtype)
        for descending in (False, True):
            verify(a, wt.asarray(a, device=device), descending=descending)
        verify(a.T, wt.asarray(a, device=device).T, axis=0)
