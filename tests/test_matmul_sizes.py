"""Matrix products of 400 sampled sizes and layouts, of vectors, in pieces of the shared axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import dispatches, random_array, setting, workgroups_meet
from test_matmul import expect, verify
from tolerances import near_sum

pytestmark = pytest.mark.limits

Array = np.ndarray[Any, Any]

# ---- sizes by chance ----------------------------------------------------------------------------

EDGES = [1, 2, 3, 7, 31, 32, 33, 64, 65, 127, 128, 129, 500, 513]


def chosen(rng: np.random.Generator, count: int) -> list[tuple[int, int, int]]:
    """(m, k, n) from the grid of edges, with a zero now and then."""
    sizes = rng.choice(EDGES, (count, 3))
    zeros = rng.random((count, 3)) < 0.02
    return [tuple(map(int, row)) for row in np.where(zeros, 0, sizes)]


def plain(a: Array, rng: np.random.Generator) -> wt.Tensor:
    return wt.asarray(a)


def turned(a: Array, rng: np.random.Generator) -> wt.Tensor:
    return wt.asarray(np.ascontiguousarray(np.swapaxes(a, -1, -2))).mT


def cut(a: Array, rng: np.random.Generator) -> wt.Tensor:
    """A window of a larger tensor, at any offset, with steps of 1, 2 or -1."""
    big, key = [], []
    for n in a.shape:
        step, start = int(rng.choice([1, 1, 2, -1])), int(rng.integers(0, 4))
        reach = abs(step) * (n - 1) + 1 if n else 0
        big.append(start + reach + int(rng.integers(0, 4)))
        first = start if step > 0 else start + reach - 1
        stop = first + step * n
        key.append(slice(first, stop if stop >= 0 else None, step) if n else slice(0, 0))
    held = np.full(big, np.nan if a.dtype.kind == "f" else 7, a.dtype)
    held[tuple(key)] = a
    return wt.asarray(held)[tuple(key)]


def batches(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of stacks that broadcast, of at most 6 matrices."""
    pairs: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((3,), (3,)),
        ((2,), ()),
        ((), (3,)),
        ((2, 1), (3,)),
        ((1, 3), (2, 1)),
        ((2, 3), (2, 3)),
        ((0,), (1,)),
    ]
    return pairs[int(rng.integers(len(pairs)))]


def sampled(count: int, part: int) -> None:
    """A quarter of the samples: sizes, layouts, stacks and epilogues from a fixed seed."""
    rng = np.random.default_rng(400 + part)
    layouts = [plain, turned, cut]
    for i, (m, k, n) in enumerate(chosen(rng, count)):
        stacks = batches(rng) if i % 4 == 0 and m * k * n <= 2_000_000 else ((), ())
        dtype = "int32" if i % 8 == 3 else "float32"
        a = random_array(rng, (*stacks[0], m, k), dtype)
        b = random_array(rng, (*stacks[1], k, n), dtype)
        left, right = (layouts[j] for j in rng.integers(0, 3, 2))
        x, y = left(a, rng), right(b, rng)
        name = f"{part}.{i} {left.__name__} {dtype}{a.shape} @ {right.__name__} {b.shape}"
        if dtype == "int32" or i % 3:
            verify(a, b, x, y, name)
            continue
        bias, residual = random_array(rng, (n,)), random_array(rng, (m, 1))
        made = wt.relu(x @ y * 0.5 + wt.asarray(bias)) - wt.asarray(residual)
        e = np.maximum(expect(a, b) * 0.5 + bias, 0) - residual
        magnitude = expect(np.abs(a), np.abs(b)) + np.abs(bias) + np.abs(residual)
        near_sum(made, e, magnitude, terms=k, name=f"{name} with epilogue")


@pytest.mark.parametrize("part", range(4))
def test_samples_of_all_sizes(part: int) -> None:
    sampled(100, part)


def test_vectors_of_all_sizes(rng: np.random.Generator) -> None:
    """1-D on either side and on both, in every layout; stacks on the other."""
    for size in EDGES:
        for other in ((), (5,), (2, 33)):
            a, b = random_array(rng, (size,)), random_array(rng, (*other[:-1], size, *other[-1:]))
            c = random_array(rng, (*other, size))
            for make in (plain, cut):
                u = make(a, rng)
                verify(a, b, u, make(b, rng), "vector first")
                verify(c, a, make(c, rng), u, "vector second")


# ---- long shared axes ---------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [2, 3, 7, 64])
def test_pieces_of_the_shared_axis(pieces: int, rng: np.random.Generator) -> None:
    """The same values in pieces, with what is left over, from stacks and views, with epilogues."""
    with setting(matmul_pieces=pieces):
        for i, (m, k, n) in enumerate(
            [(2, 64, 3), (5, 100, 40), (33, 129, 7), (8, 1000, 64), (3, 31, 4), (64, 16, 64)]
        ):
            for dtype in ("float32", "int32"):
                a, b = random_array(rng, (m, k), dtype), random_array(rng, (k, n), dtype)
                layout = [plain, turned, cut][i % 3]
                verify(a, b, layout(a, rng), layout(b, rng), f"{pieces} pieces")
        for first, second in [((3, 4, 70), (70, 5)), ((2, 1, 4, 70), (3, 70, 5))]:
            a, b = random_array(rng, first), random_array(rng, second)
            verify(a, b, wt.asarray(a), wt.asarray(b), f"{pieces} pieces")
        a, b, c = random_array(rng, (6, 256)), random_array(rng, (256, 8)), random_array(rng, (8,))
        x, y, z = (wt.asarray(v) for v in (a, b, c))
        assert dispatches(lambda: wt.relu(x @ y + z)) == 2
        e = np.maximum(expect(a, b) + c, 0)
        near_sum(wt.relu(x @ y + z), e, expect(abs(a), abs(b)) + abs(c), terms=256)
        np.testing.assert_array_equal((x @ y).numpy(), (x @ y).numpy())


@pytest.mark.parametrize("kernel", ["", "16x16x64_4x4_s8", "32x32x16_4x4_s2", "64x32x16_8x4"])
def test_the_last_piece_is_shorter(kernel: str, rng: np.random.Generator) -> None:
    """One product, as k is whole steps; nothing beyond the operands counts, for that is NaN."""
    with setting(kernels=f"matmul:{kernel}" if kernel else ""):
        device = wt.Device()
    for m, k, n, pieces in [(5, 80, 7, 2), (33, 176, 64, 3), (4, 4112, 20, 5), (70, 208, 36, 7)]:
        first, second = random_array(rng, (2, m, k)), random_array(rng, (k, n))
        for turned_too in (False, True):
            padded = np.full((3, m + 4, k + 4), np.nan, np.float32)
            padded[1:, 4:, 4:] = first
            a = wt.asarray(padded, device=device)[1:, 4:, 4:]
            padded = np.full((n + 4, k + 40) if turned_too else (k + 40, n + 4), np.nan, np.float32)
            (padded.T if turned_too else padded)[:k, :n] = second
            b = wt.asarray(padded, device=device)
            b = (b.T if turned_too else b)[:k, :n]
            with setting(matmul_pieces=pieces):
                verify(first, second, a, b, f"{kernel} {m} {k} {n} in {pieces}")
                before = device.stats()["dispatches"]
                (a @ b).eval()
                assert device.stats()["dispatches"] - before == 2


def test_no_pieces_unless_asked_for_on_a_software_adapter(rng: np.random.Generator) -> None:
    x = wt.asarray(random_array(rng, (4, 4096)))
    software = wt.default_device().type == "cpu"
    meet = workgroups_meet(wt.default_device())
    if not software and meet:
        assert "matmul in pieces" in wt.explain(x @ x.T)
    assert dispatches(lambda: x @ x.T) == (1 if software or meet else 2)
    with setting(matmul_pieces=1):
        assert dispatches(lambda: x @ x.T) == 1
