"""Tensors above the largest binding: every family works on them in parts.

A device of its own with a small `max_binding` takes hundreds of parts where large tensors take a
few. The real limit is met by the tensors of 300 MB at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import setting, tensor
from tolerances import check, near, near_sum

pytestmark = pytest.mark.limits

Array = np.ndarray[Any, Any]
BINDING = 65536


@pytest.fixture(scope="module")
def tight() -> wt.Device:
    with setting(max_binding=BINDING, debug=True):
        device = wt.Device()
        device.synchronize()
    assert device.limits["max_binding"] <= BINDING
    return device


#: slices of the indexed buffer are bound side by side
needs_bindings = pytest.mark.skipif(
    wt.config.limits == "default",
    reason="too few bindings for slices of a buffer: UnsupportedError says so",
)


@pytest.fixture(scope="module")
def x() -> Array:
    return np.random.default_rng(0).standard_normal((300, 501), dtype=np.float32)


@pytest.fixture
def t(tight: wt.Device, x: Array) -> wt.Tensor:
    return wt.asarray(x, device=tight)


def test_elementwise(t: wt.Tensor, x: Array) -> None:
    check(t + 1, x + np.float32(1))
    check(-t * 2 + t, -x * 2 + x)
    check(t[1:] + t[:-1], x[1:] + x[:-1])
    check(t[::-1, ::-1] * 2, x[::-1, ::-1] * 2)
    check(t.T.copy(), x.T)
    check(t[:, 1::2].T + t[:, :-1:2].T, x[:, 1::2].T + x[:, :-1:2].T)
    cube = x.reshape(100, 3, 501).transpose(2, 0, 1)
    check(t.reshape(100, 3, 501).permute(2, 0, 1) + 2, cube + np.float32(2))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "bool", "float32"])
@pytest.mark.parametrize("shape", [(2, 98_304), (3, 80_001), (5, 70_000)])
def test_packed_results_of_neighbours_far_apart(
    tight: wt.Device, dtype: str, shape: tuple[int, int], rng: np.random.Generator
) -> None:
    """Four neighbours of the result, one thread's, are farther apart than a binding is long."""
    a = rng.integers(-5, 5, shape).astype(dtype)
    t = wt.asarray(a, device=tight)
    check(t.T.copy(), a.T)
    check(t.T, a.T)
    check(t.T > 0, a.T > 0)
    check(wt.where(t.T > 0, t.T, t.T[::-1]), np.where(a.T > 0, a.T, a.T[::-1]))
    check(wt.nonzero(t.T)[0], np.nonzero(a.T)[0].astype(np.int32))
    mask = rng.random(a.T.shape) < 0.4
    check(t.T[wt.asarray(mask, device=tight)], a.T[mask])


@needs_bindings
def test_gathers_of_packed_rows(tight: wt.Device, rng: np.random.Generator) -> None:
    a = rng.random((3, 300, 111)).astype(np.float16)
    places = np.array([[2, 0, 1, 1], [0, 0, 2, 1]], np.int32)
    check(wt.asarray(a, device=tight)[wt.asarray(places, device=tight)], a[places])


@needs_bindings
def test_assignment_backwards_at_places_that_are_data(tight: wt.Device) -> None:
    """Strides that go down: what is written lies in front of where its place says."""
    y = np.zeros((900, 100), np.float32)
    t = wt.asarray(y, device=tight)
    places = np.array([5, 7, 0], np.int32)
    t[wt.asarray(places, device=tight), ::-1] = 1.0
    y[places, ::-1] = 1
    check(t, y)
    v = np.arange(1800, dtype=np.float32).reshape(900, 2)
    t[::-1, wt.asarray(places[:2], device=tight)] = wt.asarray(v, device=tight)
    y[::-1, places[:2]] = v
    check(t, y)


@pytest.mark.parametrize("size", [150_300, 150_299, 150_297, 16_384, 16_385, 100_001])
def test_flat(t: wt.Tensor, x: Array, size: int) -> None:
    """Steps of four elements, whole words of bools, and rests of both."""
    for start in (0, 1, 3, 4):
        a, b = t.reshape(-1)[start:size], x.reshape(-1)[start:size]
        check(a * a, b * b)
        check(a > 0, b > 0)
        check(wt.logical_not(a > 0) & (a < 1), ~(b > 0) & (b < 1))


def test_bools_of_strided_operands(t: wt.Tensor, x: Array) -> None:
    check(t.T > 0, x.T > 0)
    check(wt.where((t > 0).T, t.T, 0), np.where((x > 0).T, x.T, np.float32(0)))


def test_generators(tight: wt.Device) -> None:
    check(wt.arange(100_000, device=tight) * 2, np.arange(100_000, dtype=np.int32) * 2)
    check(wt.arange(100_000, device=tight) % 2 == 0, np.arange(100_000) % 2 == 0)
    check(wt.full((500, 300), 2.5, device=tight), np.full((500, 300), 2.5, np.float32))


def test_pieces(t: wt.Tensor, x: Array) -> None:
    """Results that are put together, in buffers that no binding spans."""
    check(wt.concat([t, t[:7] * 2, t]), np.concatenate([x, x[:7] * 2, x]))
    check(wt.concat([t, t[:, :33]], axis=1), np.concatenate([x, x[:, :33]], 1))
    check(wt.stack([t, -t], axis=-1), np.stack([x, -x], -1))
    check(wt.concat([t > 0, t < 1]), np.concatenate([x > 0, x < 1]))
    check(wt.pad(t, 3), np.pad(x, 3))
    check(wt.pad(t, ((2, 1), (0, 5)), "reflect"), np.pad(x, ((2, 1), (0, 5)), "reflect"))
    check(wt.roll(t, (17, -200), axis=(0, 1)), np.roll(x, (17, -200), (0, 1)))
    check(wt.tile(t, (2, 1)), np.tile(x, (2, 1)))
    check(wt.repeat(t, 2, axis=1), np.repeat(x, 2, 1))
    check(wt.tril(t, k=90), np.tril(x, 90))
    check(wt.diag(t[:, 0]), np.diag(x[:, 0]))
    check(wt.diagonal(t, 5), np.diagonal(x, 5))
    e = np.einsum("ij,kj->ki", x.astype(np.float64), x[:40].astype(np.float64))
    magnitude = np.einsum("ij,kj->ki", np.abs(x), np.abs(x[:40]))
    near_sum(wt.einsum("ij,kj->ki", t, t[:40]), e, magnitude, terms=501)
    with setting(matmul_pieces=8):
        near_sum(t @ t[:40].T, e.T, magnitude.T, terms=501)


def test_assignment(t: wt.Tensor, x: Array) -> None:
    for target, value in [
        (np.s_[3:200, 5:300:2], 7.0),
        (np.s_[:, 1:], np.s_[:, :-1]),
        (np.s_[::-1], np.s_[:]),
        (np.s_[250], np.s_[3]),
    ]:
        y, e = t.copy(), x.copy()
        y[target] = value if isinstance(value, float) else y[value]
        e[target] = value if isinstance(value, float) else e[value].copy()
        check(y, e)
    in_place, e = t.copy().eval(), x.copy()
    in_place[10:290] *= 2
    e[10:290] *= 2
    check(in_place, e)


def test_results_take_over_their_operand(tight: wt.Device, x: Array) -> None:
    y = wt.asarray(x, device=tight)
    for _ in range(3):
        y = (y * 0.5 + 1).eval()
    check(y, ((x * np.float32(0.5) + 1) * np.float32(0.5) + 1) * np.float32(0.5) + 1)


def test_small_views_of_large_buffers(t: wt.Tensor, x: Array) -> None:
    check(t[299, 490:] + t[0, :11], x[299, 490:] + x[0, :11])
    check(t[::100, ::100] * t[299, 500], x[::100, ::100] * x[299, 500])


@pytest.mark.parametrize("operations", [4, 12])
def test_many_operands(tight: wt.Device, operations: int) -> None:
    """More windows than one kernel binds: the operations then run one by one."""
    rng = np.random.default_rng(operations)
    arrays = [rng.random(30_000, dtype=np.float32) for _ in range(operations)]
    tensors = [wt.asarray(a, device=tight) for a in arrays]
    sum_t, sum_a = tensors[0][1:], arrays[0][1:]
    for u, array in zip(tensors[1:], arrays[1:], strict=True):
        sum_t, sum_a = sum_t + u[1:] * u[:-1], sum_a + array[1:] * array[:-1]
    near(sum_t, sum_a, ops=operations)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "int64", "float64"])
def test_other_dtypes(tight: wt.Device, dtype: str) -> None:
    wide = np.dtype(dtype).itemsize == 8
    if wide and not {"int64", "float64"} <= set(tight.features):
        pytest.skip("no 64-bit numbers here")
    rng = np.random.default_rng(4)
    y = rng.integers(0, 50, (400, 503)).astype(dtype)
    u = wt.asarray(y, device=tight)
    check(u + u, y + y)
    check(u[:, :-1] * 2, y[:, :-1] * np.dtype(dtype).type(2))
    check(u[::-1, 1:].copy(), y[::-1, 1:])
    check(u > 25, y > 25)
    check(u.max(axis=0), y.max(0))
    check(u.sum(axis=1), y.sum(1).astype(u.sum(axis=1).dtype.numpy))
    changed, expected = u.copy(), y.copy()
    changed[1:, ::2] = 7
    expected[1:, ::2] = 7
    check(changed, expected)


AXES = [None, 0, 1, (0, 1)]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("flip", [False, True])
def test_reductions(t: wt.Tensor, x: Array, axis: Any, flip: bool) -> None:
    u, y = (t.T[:, ::-1], x.T[:, ::-1]) if flip else (t, x)
    wide = y.astype(np.float64)
    count = y.size if axis in (None, (0, 1)) else y.shape[axis]
    near_sum(u.sum(axis=axis), wide.sum(axis), np.abs(wide).sum(axis), terms=count)
    check(u.max(axis=axis), y.max(axis))
    check(wt.any(u > 3, axis=axis), (y > 3).any(axis))
    check(wt.all(u > -3, axis=axis), (y > -3).all(axis))
    check(wt.count_nonzero(u > 0, axis=axis), (y > 0).sum(axis).astype(np.int32))
    near(wt.logsumexp(u, axis=axis), np.log(np.exp(wide).sum(axis)), ops=4)
    near(wt.var(u, axis=axis), wide.var(axis), ops=8)
    if axis != (0, 1):
        check(wt.argmin(u, axis=axis), y.argmin(axis).astype(np.int32))


@pytest.mark.parametrize("shape", [(2, 75_001), (75_001, 2), (3, 7, 9001), (9001, 5, 3)])
def test_reductions_of_few_and_many(tight: wt.Device, shape: tuple[int, ...]) -> None:
    """Results and partial results above the limit as well; bools of odd rows share words."""
    y = np.random.default_rng(1).integers(-9, 9, shape, dtype=np.int32)
    u = wt.asarray(y, device=tight)
    for axis in range(len(shape)):
        check(u.sum(axis=axis), y.sum(axis, dtype=np.int32))
        check(wt.any(u == 8, axis=axis), (y == 8).any(axis))
        check(wt.argmax(u, axis=axis), y.argmax(axis).astype(np.int32))
        check(u.max(axis=axis) * 2 + u.min(axis=axis), y.max(axis) * 2 + y.min(axis))
    check(u[..., :-1] > 0, y[..., :-1] > 0)


@pytest.mark.parametrize("shape", [(300, 501), (40_000, 3), (3, 40_000), (2, 3, 20_000)])
def test_softmax(tight: wt.Device, shape: tuple[int, ...]) -> None:
    y = np.random.default_rng(2).standard_normal(shape, dtype=np.float32)
    y[0, ..., :-1] = -np.inf
    wide = y.astype(np.float64)
    u = wt.asarray(y, device=tight)
    for axis in range(len(shape)):
        e = np.exp(wide - np.maximum(wide.max(axis, keepdims=True), -1e9))
        p = np.nan_to_num(e / e.sum(axis, keepdims=True))  # masked rows give zeros
        near(wt.softmax(u * 1, axis=axis) + 1, p + 1, ops=8)
        with np.errstate(divide="ignore"):
            near(wt.log_softmax(u, axis=axis), np.log(p), ops=16)
    masked = wt.full((2, 30_000), -np.inf, device=tight)
    assert wt.sum(wt.softmax(masked)).item() == 0
    assert wt.max(wt.log_softmax(masked)).item() == -np.inf


@pytest.mark.parametrize("shape", [(300, 501, 70), (70, 300, 501), (64, 2000, 128), (3, 40_000, 5)])
def test_matmul(tight: wt.Device, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    rng = np.random.default_rng(m)
    a = rng.standard_normal((m, k), dtype=np.float32)
    b = rng.standard_normal((k, n), dtype=np.float32)
    bias = rng.standard_normal(n, dtype=np.float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a) @ np.abs(b) + np.abs(bias)
    u, v = wt.asarray(a, device=tight), wt.asarray(b, device=tight)
    near_sum(wt.relu(u @ v + bias), np.maximum(exact + bias, 0), size, terms=k)
    near_sum(v.T @ u.T, exact.T, size.T, terms=k)
    left, right = wt.asarray(a.T.copy(), device=tight).T, wt.asarray(b.T.copy(), device=tight).T
    near_sum(left @ right, exact, size, terms=k)


def test_batches_of_products(tight: wt.Device) -> None:
    rng = np.random.default_rng(5)
    a = rng.integers(-9, 9, (7, 3, 40, 60), dtype=np.int32)
    b = rng.integers(-9, 9, (3, 60, 50), dtype=np.int32)
    u, v = wt.asarray(a, device=tight), wt.asarray(b, device=tight)
    check(u @ v, a @ b)
    check(u.permute(1, 0, 2, 3) @ v[:, None], a.transpose(1, 0, 2, 3) @ b[:, None])


def test_scans(tight: wt.Device, t: wt.Tensor, x: Array) -> None:
    """Parts of rows, and parts of a row that carry on where others end."""
    whole = np.trunc(x * 50).astype(np.int32)
    y = wt.asarray(whole, device=tight)
    for axis in (0, 1):
        check(wt.cumulative_sum(y, axis=axis), whole.cumsum(axis=axis, dtype=np.int32))
        check(wt.cumulative_max(t, axis=axis), np.maximum.accumulate(x, axis=axis))
        check(
            wt.cumulative_sum(y * 2 - 1, axis=axis, include_initial=True) + 1,
            np.cumulative_sum(whole * 2 - 1, axis=axis, include_initial=True, dtype=np.int32) + 1,
        )
        rows, rest = y[::-1, 1:], whole[::-1, 1:]
        check(wt.cumulative_sum(rows, axis=axis), rest.cumsum(axis=axis, dtype=np.int32))
    flat, e = y.reshape(-1), whole.reshape(-1)
    for size in (150_300, 150_299, 16_384, 16_385, 100_001):
        check(wt.cumulative_sum(flat[:size]) * 3, e[:size].cumsum(dtype=np.int32) * 3)
        check(wt.cumulative_min(flat[:size][::-1]), np.minimum.accumulate(e[:size][::-1]))
    check(
        wt.cumulative_sum(flat, include_initial=True),
        np.cumulative_sum(e, include_initial=True, dtype=np.int32),
    )
    tall, f = y.reshape(-1, 50), whole.reshape(-1, 50)
    check(wt.cumulative_sum(tall, axis=0), f.cumsum(axis=0, dtype=np.int32))


def test_explain_names_the_parts(t: wt.Tensor) -> None:
    assert "parts" in wt.explain(t + 1)
    assert "parts" not in wt.explain(t[0] + 1)


@needs_bindings
def test_places_that_are_data(tight: wt.Device, t: wt.Tensor, x: Array) -> None:
    rng = np.random.default_rng(1)
    rows, flat = rng.integers(-300, 300, 1000), rng.integers(0, x.size, 5000)

    def on(a: Any) -> wt.Tensor:
        return tensor(a, device=tight)

    check(t[on(rows)], x[rows])
    check((t + 1)[on(rows[:9])] * 2, (x[rows[:9]] + np.float32(1)) * 2)
    check(wt.take(t.T[::-1], on(flat)), x.T[::-1].ravel()[flat])
    check((t > 0)[on(rows)], (x > 0)[rows])
    mask = x > 1.6
    check(t[on(mask)], x[mask])
    for key, v in ((rows, np.float32(3)), (rows[:100], x[:100]), (mask, np.float32(2))):
        u, y = t * 1, x.copy()
        u[on(key)] = on(v)
        y[key] = v
        check(u, y)
    u, y = t * 1, x.copy()
    wt.put(u, on(flat), t.reshape(-1)[:5000])
    np.put(y, flat, x.ravel()[:5000])
    check(u, y)
    with pytest.raises(IndexError, match="index 300 is out of bounds for axis 0 with size 300"):
        t[on([300])].numpy()


@needs_bindings
def test_folds_into_places_that_are_data(tight: wt.Device, t: wt.Tensor, x: Array) -> None:
    rng = np.random.default_rng(1)
    ids, rows = rng.integers(0, 40_000, 9000), rng.integers(0, 300, 100)
    v = rng.integers(0, 9, 9000).astype("float32")
    exact = np.bincount(ids, v, 40_000)
    for dtype in ("int32", "float32"):
        made = wt.segment_sum(wt.asarray(v.astype(dtype), device=tight), ids, 40_000)
        np.testing.assert_array_equal(made.numpy(), exact)
    whole, seven = np.round(x * 8), rng.permutation(300) % 7
    e = np.zeros((7, 501), "float32")
    np.add.at(e, seven, whole)
    check(wt.segment_sum(wt.round(t * 8), seven, 7), e)
    y = whole.copy()
    np.maximum.at(y, rows, whole[:100])
    np.maximum.at(u := wt.round(t * 8), rows, wt.round(t * 8)[:100])
    check(u, y)
    with pytest.raises(wt.UnsupportedError, match="split the tensor"):
        wt.segment_sum(wt.ones((150_000, 40), device=tight), np.zeros(150_000, int), 1).numpy()
