"""repr, str and format: NumPy's text of the whole array, without reading the whole array."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import wgtensor as wt

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.short

DTYPES = ["float32", "int32", "uint32", "bool"]

SHAPES: list[tuple[int, ...]] = [
    *((), (0,), (1,), (3,), (6,), (7,), (20,), (1000,), (1001,), (5000,)),
    *((0, 3), (3, 0), (2, 0, 4), (1, 1), (2, 3), (6, 7), (40, 25), (7, 143), (143, 7), (6, 200)),
    *((200, 6), (1001, 1), (1, 1001), (600, 2), (34, 35), (10, 10, 10), (2, 3, 500), (500, 3, 2)),
    *((12, 11, 13), (8, 7, 2, 9), (1, 2000, 1), (3, 4, 4, 5, 6), (1, 1, 1, 1), (7, 1, 200)),
    (6, 6, 6, 6),
]


def array(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Array:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype == "float32":
        return np.asarray(rng.normal(size=shape) * 10.0 ** rng.integers(-2, 3), np.float32)
    info = np.iinfo(dtype)
    return np.asarray(rng.integers(info.min // 1000, info.max // 1000, shape), dtype)


def check(a: Array, t: wt.Tensor) -> None:
    assert str(t) == str(a)
    body = np.array2string(a, separator=", ", prefix="tensor(", suffix=")")
    text = repr(t)
    assert text.startswith(f"tensor({body},")
    tail = text.removeprefix(f"tensor({body},")
    shape = f"shape={a.shape}, " if a.size > 1000 or (a.size == 0 and a.ndim > 1) else ""
    expected = f"{shape}dtype={a.dtype}, device='{t.device}')"
    last_line = text.split("\n")[-1]
    assert tail in (f" {expected}", f"\n       {expected}")
    assert len(last_line) <= 75 or tail.startswith("\n")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_prints_as_numpy(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    a = array(shape, dtype, rng)
    check(a, wt.asarray(a))


@pytest.mark.parametrize(
    "edges", [[0.0, 1e-12, 1e9], [np.nan, -np.inf, 1.5], [1e-20, 1e20], [-0.0, 0.5], [3, 4, 5]]
)
def test_the_middle_does_not_change_the_format(edges: list[float]) -> None:
    """NumPy's width and exponent follow from what is shown."""
    a = np.full((50, 60), 123456.789, np.float32)
    for i, (row, column) in enumerate(itertools.product((0, 1, 2, 47, 48, 49), repeat=2)):
        a[row, min(column + 10 * (column > 2), 59)] = edges[i % len(edges)]
    a[25, 30] = 1e30
    check(a, wt.asarray(a))


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 10},
        {"threshold": 0},
        {"edgeitems": 1, "threshold": 5},
        {"edgeitems": 5},
        {"precision": 2, "suppress": True},
        {"linewidth": 40, "threshold": 10},
        {"floatmode": "fixed", "sign": "+"},
        {"formatter": {"float_kind": lambda x: f"<{x:.1f}>"}},
        {"threshold": 5, "edgeitems": 0},
    ],
)
def test_print_options_hold(options: dict[str, Any], rng: np.random.Generator) -> None:
    for shape in ((), (5,), (40,), (30, 40), (4, 5, 6)):
        a = array(shape, "float32", rng)
        t = wt.asarray(a)
        with np.printoptions(**options):
            assert str(t) == str(a)
            assert np.array2string(a, separator=", ", prefix="tensor(", suffix=")") in repr(t)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[::-1, ::3],
        lambda x: x[5:-5, None, 3],
        lambda x: x[:1] + x[:, :1],
        lambda x: x.sum(axis=0),
        lambda x: x[3],
        lambda x: x[0, 0],
    ],
)
def test_views_and_waiting_work(view: Any, rng: np.random.Generator) -> None:
    a = rng.integers(-99, 99, (70, 80)).astype(np.int32)
    check(np.asarray(view(a), np.int32), view(wt.asarray(a)))


def test_only_what_is_shown_is_read() -> None:
    t = wt.arange(10_000_000).reshape(2500, 4000) * 2
    t.eval()
    before = t.device.stats()["bytes_read"]
    text = repr(t)
    read = t.device.stats()["bytes_read"] - before
    assert "..." in text
    assert "19999998" in text
    assert 36 * 4 <= read <= 4096


def test_repr_of_a_lost_tensor_says_so() -> None:
    device = wt.Device(str(wt.default_device()))
    t = wt.ones((2, 3), device=device) + 1
    device.destroy()
    assert str(t).startswith("<DeviceLostError: ")
    assert f"{t}" == str(t)
    text = repr(t)
    assert text.startswith("tensor(<DeviceLostError: ")
    assert "shape=(2, 3), dtype=float32" in text


def test_format() -> None:
    pi = wt.asarray(3.14159)
    assert f"{pi:.2f}" == "3.14"
    assert f"{pi}" == f"{np.array(3.14159, np.float32)}"
    assert f"{wt.asarray(255):x}" == "ff"
    assert f"{wt.arange(3)}" == "[0 1 2]"
    with pytest.raises(TypeError, match=r"\[format\].*'\.2f'.*\(3,\)"):
        format(wt.ones(3), ".2f")
