"""Indices that are data and out of range: IndexError at the next read, and no harm done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import setting, tensor


@pytest.fixture(params=[False, True], ids=["plain", "debug"])
def device(request: pytest.FixtureRequest) -> Iterator[wt.Device]:
    with setting(debug=request.param):
        yield wt.Device()


def table(device: wt.Device, shape: tuple[int, ...] = (10, 4)) -> wt.Tensor:
    return tensor(np.arange(np.prod(shape), dtype="float32").reshape(shape), device=device)


def test_the_read_names_all_there_is(device: wt.Device) -> None:
    x = table(device)
    y = x[:, tensor([0, 7, 2], device=device)]
    with pytest.raises(IndexError) as caught:
        y.numpy()
    assert str(caught.value) == "[getitem] index 7 is out of bounds for axis 1 with size 4"
    with pytest.raises(IndexError, match=r"^\[take\] index -11 is .* axis 0 with size 10$"):
        wt.take(x, tensor([3, -10, -11], device=device), axis=0).numpy()
    with pytest.raises(IndexError, match=r"^\[take_along_axis\] index 4 is .* axis 1 with size 4$"):
        wt.take_along_axis(x, tensor([[4]], device=device), 1).numpy()


def test_any_read_and_synchronise_tell_once(device: wt.Device) -> None:
    x = table(device)
    bad = tensor([10], device=device)
    for wait in (lambda: (x + 1).numpy(), device.synchronize, lambda: float(x.sum())):
        y = x[bad] * 2
        y.eval()
        with pytest.raises(IndexError, match="index 10 is out of bounds for axis 0 with size 10"):
            wait()
        wait()
        np.testing.assert_array_equal(y.numpy(), x.numpy()[9:] * 2)  # clamped


def test_the_worst_index_is_told_every_time(device: wt.Device) -> None:
    x = table(device)
    i = np.random.default_rng(0).integers(-10, 10, 5000)
    i[::7] += 60
    for _ in range(10):
        with pytest.raises(IndexError, match=f"index {i.max()} is"):
            x[tensor(i, device=device)].numpy()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_extreme_indices(device: wt.Device, dtype: str) -> None:
    if not wt._core.has_dtype(getattr(wt, dtype), device):
        pytest.skip("no 64 bits")
    x = table(device)
    for value in (np.iinfo(dtype).max, np.iinfo(dtype).min):
        if value == 0:
            continue
        with pytest.raises(IndexError, match=r"out of bounds for axis 0 with size 10"):
            x[tensor(np.array([value], dtype), device=device)].numpy()


def test_nothing_beside_the_tensor_is_touched(device: wt.Device) -> None:
    sentinels = [wt.full(64, 7.0, device=device) for _ in range(8)]
    for s in sentinels:
        s.eval()
    targets = [table(device), table(device), wt.zeros((3, 5), dtype="uint8", device=device)]
    more = [wt.full(64, 9.0, device=device) for _ in range(8)]
    for s in more:
        s.eval()
    wild = np.array([2**31 - 1, -(2**31), 10, -11, 1 << 20, 3], "int32")
    for t in targets:
        for i in (wild, np.concatenate([wild, np.arange(3).repeat(9).astype("int32")])):
            indices = tensor(i, device=device)
            with pytest.raises(IndexError):
                t[indices].numpy()
            t[indices] = 1
            with pytest.raises(IndexError):
                t.numpy()
            t[:, indices] = wt.zeros(len(i), device=device)
            t.eval()
            with pytest.raises(IndexError):
                wt.synchronize(device)
    for s in sentinels:
        assert (s.numpy() == 7).all()
    for s in more:
        assert (s.numpy() == 9).all()


def in_range(i: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    return np.asarray((i >= -size) & (i < size))


def raises_once(t: wt.Tensor, expected: np.ndarray[Any, Any]) -> None:
    with pytest.raises(IndexError, match="is out of bounds"):
        t.numpy()
    np.testing.assert_array_equal(t.numpy(), expected)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "int32", "float32"])
@pytest.mark.parametrize("count", [3, 40, 700])
def test_writes_out_of_range_are_left_out(
    device: wt.Device, dtype: str, count: int, rng: np.random.Generator
) -> None:
    x = rng.integers(0, 2, (12, 5, 3)).astype(dtype)
    i, j = rng.integers(-20, 20, count), rng.integers(-8, 8, count)
    i[0], j[1] = 12, 5
    v = rng.integers(0, 2, (count, 3)).astype(dtype)
    t, e = tensor(x, device=device), x.copy()
    t[tensor(i, device=device), tensor(j, device=device)] = tensor(v, device=device)
    known = in_range(i, 12) & in_range(j, 5)
    e[i[known], j[known]] = v[known]
    raises_once(t, e)
    t, e = tensor(x, device=device), x.copy()
    t[:, tensor(j, device=device), 1:] = 1
    e[:, j[in_range(j, 5)], 1:] = 1
    raises_once(t, e)
    t, e = tensor(x, device=device), x.copy()
    flat = rng.integers(-300, 300, count)
    flat[0] = -181
    wt.put(t, tensor(flat, device=device), tensor(v[:, 0], device=device))
    np.put(e, flat[in_range(flat, 180)], v[:, 0][in_range(flat, 180)])
    raises_once(t, e)


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "int32", "float32"])
@pytest.mark.parametrize("size", [1, 2, 7, 256])
def test_folds_out_of_range_are_left_out(
    device: wt.Device, dtype: str, size: int, rng: np.random.Generator
) -> None:
    for count, width in ((5, 1), (33, 2), (1500, 1)):
        x = rng.integers(0, 3, (size, width))
        i = rng.integers(-size - size // 2, size + size // 2 + 2, count)
        i[-1] = size
        v = rng.integers(0, 2, (count, width))
        ids, known = tensor(i, device=device), in_range(i, size)
        target, values = (tensor(a, device=device).astype(dtype) for a in (x, v))
        e = x.copy()
        np.add.at(e, i[known], v[known])
        r = wt.index_add(target, 0, ids, values)
        with pytest.raises(IndexError, match=rf"\[index_add\] index .* with size {size}$"):
            r.numpy()
        np.testing.assert_array_equal(r.numpy(), tensor(e).astype(dtype).numpy())
        for word, ufunc in {
            "multiply": np.multiply,
            "amax": np.maximum,
            "amin": np.minimum,
        }.items():
            e = x.copy()
            ufunc.at(e, i[known], v[known])
            index = wt.expand_dims(ids, axis=1).broadcast_to((count, width))
            r = wt.scatter(target, 0, index, values, reduce=word)
            with pytest.raises(IndexError, match=r"\[scatter\] index"):
                r.numpy()
            np.testing.assert_array_equal(r.numpy(), tensor(e).astype(dtype).numpy())


def test_sizes_that_no_vector_divides(device: wt.Device) -> None:
    for n in (1, 2, 3, 5, 63, 65, 257):  # what lies behind the indices in memory is no index
        i = np.arange(n, dtype="int32") % 10
        np.testing.assert_array_equal(
            table(device, (10,))[tensor(i, device=device)].numpy(), i.astype("float32")
        )
        packed = tensor(i.astype("uint8"), device=device)
        np.testing.assert_array_equal(table(device, (10,))[packed].numpy(), i.astype("float32"))


def test_many_places(device: wt.Device) -> None:
    bad = tensor([-100_000], device=device)
    kept = [wt.take(wt.zeros(n, device=device), bad, axis=0) for n in range(1, 700)]
    wt.eval(*kept)
    with pytest.raises(IndexError, match=r"index -100000 is out of bounds for axis 0 with size"):
        wt.synchronize(device)
    wt.synchronize(device)


def test_host_indices_are_checked_at_once(device: wt.Device) -> None:
    x = table(device)
    for key in ([10], np.array([0, -11]), (slice(None), [4]), np.array([1 << 63], "uint64")):
        with pytest.raises(IndexError, match="is out of bounds for axis"):
            x[key]
        with pytest.raises(IndexError, match="is out of bounds for axis"):
            x[key] = 1
    with pytest.raises(IndexError, match="is out of bounds for axis 1 with size 4"):
        wt.take(x, [4], axis=1)
    for key in (1.5, [0.5], "a", wt.ones(2, device=device), np.ones(3)):
        with pytest.raises(IndexError, match=r"index a tensor"):
            x[key]
    with pytest.raises(IndexError, match="do not broadcast"):
        x[[0, 1], [0, 1, 2]]
    with pytest.raises(IndexError, match=r"a mask of shape \(9,\) does not match"):
        x[wt.ones(9, dtype="bool", device=device)]


def test_unchecked_work_reads_no_more(device: wt.Device) -> None:
    x = table(device)
    x.numpy()
    before = wt.stats(device)["bytes_read"]
    (x + 1).numpy()
    plain = wt.stats(device)["bytes_read"] - before
    assert plain == x.nbytes
    y = x[tensor([1, 2], device=device)]
    dispatches = wt.stats(device)["dispatches"]
    y.numpy()
    assert wt.stats(device)["dispatches"] - dispatches == 1
    before = wt.stats(device)["bytes_read"]
    (x + 1).numpy()
    assert wt.stats(device)["bytes_read"] - before == x.nbytes
