"""Products of float16: read as they are, summed in float32, rounded once as they are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import setting

Array = np.ndarray[Any, Any]


def halves(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float16)


def expected(a: Array, b: Array) -> Array:
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)


def near(got: wt.Tensor, a: Array, b: Array) -> None:
    """Within one unit in the last place of float16, and the error of sums in float32."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    assert got.dtype == "float16"
    value = got.numpy()
    assert value.shape == (x @ y).shape
    room = np.spacing(np.abs(expected(a, b))).astype(np.float64) + 1e-5 * (np.abs(x) @ np.abs(y))
    assert (np.abs(value.astype(np.float64) - x @ y) <= room).all()


@pytest.mark.parametrize(
    "shape", [(1, 7, 5), (5, 7, 1), (3, 1, 4), (33, 70, 66), (64, 64, 64), (130, 20, 12)]
)
@pytest.mark.parametrize("turned", [False, True])
def test_sizes(shape: tuple[int, int, int], turned: bool, rng: np.random.Generator) -> None:
    m, k, n = shape
    a, b = halves(rng, m, k), halves(rng, k, n)
    x, y = wt.asarray(a), wt.asarray(b)
    if turned:
        x, y = (wt.asarray(np.ascontiguousarray(t.T)).T for t in (a, b))
    near(x @ y, a, b)


def test_batches_and_views(rng: np.random.Generator) -> None:
    a, b = halves(rng, 3, 9, 11), halves(rng, 11, 8)
    near(wt.asarray(a) @ wt.asarray(b), a, b)
    # Operands that begin in the middle of a word, and with steps.
    whole_a, whole_b = halves(rng, 10, 15), halves(rng, 16, 21)
    near(
        wt.asarray(whole_a)[1:, 3:] @ wt.asarray(whole_b)[1:13, 1::2],
        whole_a[1:, 3:],
        whole_b[1:13, 1::2],
    )


def test_pieces_of_the_shared_axis(rng: np.random.Generator) -> None:
    a, b = halves(rng, 8, 1000), halves(rng, 1000, 12)
    with setting(matmul_pieces=4):
        near(wt.asarray(a) @ wt.asarray(b), a, b)


def test_parts_of_large_operands(rng: np.random.Generator) -> None:
    a, b = halves(rng, 40, 64), halves(rng, 64, 48)
    with setting(max_binding=4096):
        device = wt.Device()
        near(wt.asarray(a, device=device) @ wt.asarray(b, device=device), a, b)


def test_denormals_and_extremes() -> None:
    tiny = np.array([[2.0**-24, 2.0**-20], [-(2.0**-15), 0.0]], np.float16)
    large = np.array([[2.0**14, 1.0], [2.0**10, 2.0**15]], np.float16)
    near(wt.asarray(tiny) @ wt.asarray(large), tiny, large)
    # Products that float16 cannot hold, whose sum it can.
    a, b = np.full((4, 4), 300, np.float16), np.full((4, 4), 300, np.float16)
    b[::2] *= -1
    np.testing.assert_array_equal((wt.asarray(a) @ wt.asarray(b)).numpy(), np.zeros((4, 4)))
    b[::2] *= -1
    assert np.isposinf((wt.asarray(a) @ wt.asarray(b)).numpy()).all()
    a[0, 0] = np.nan
    assert np.isnan((wt.asarray(a) @ wt.asarray(b)).numpy()[0]).all()


def test_one_kernel(rng: np.random.Generator) -> None:
    x, y = wt.asarray(halves(rng, 32, 16)).eval(), wt.asarray(halves(rng, 16, 8)).eval()
    if "f16" in wt.get_device().features:
        assert wt.explain(x @ y).startswith("1 kernel\n")
        assert wt.explain(wt.relu(x @ y + 1)).startswith("1 kernel\n")
    # Rows with a rest share words with the next: the result is packed by a kernel of its own.
    z = wt.asarray(halves(rng, 16, 7)).eval()
    near(x @ z, x.numpy(), z.numpy())


def test_sums_in_halves_are_asked_for(rng: np.random.Generator) -> None:
    if "f16" not in wt.get_device().features:
        pytest.skip("kernels have no float16")
    a, b = halves(rng, 40, 200), halves(rng, 200, 24)
    x, y = wt.asarray(a), wt.asarray(b)
    exact = (x @ y).numpy()
    with setting(half_sums=True):
        faster = x @ y
    values = faster.numpy()  # what was asked for counts, not what holds when it is computed
    np.testing.assert_array_equal((x @ y).numpy(), exact)
    most = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    error = np.abs(values - a.astype(np.float64) @ b.astype(np.float64))
    assert (error <= most * (17 * 2.0**-11)).all()
    assert (values != exact).any()
    with setting(half_sums=True):
        np.testing.assert_array_equal(
            (x.astype("float32") @ y.astype("float32")).astype("float16").numpy(), exact
        )


def test_masks_of_products(rng: np.random.Generator) -> None:
    a, b = (rng.integers(-3, 4, s).astype(np.float32) for s in ((12, 9), (9, 8)))
    mask = wt.asarray(a) @ wt.asarray(b) > 1
    assert wt.explain(mask).startswith("1 kernel\n")
    np.testing.assert_array_equal(mask.numpy(), a @ b > 1)
    mask = wt.asarray(a) @ wt.asarray(b[:, :7]) > 1
    np.testing.assert_array_equal(mask.numpy(), a @ b[:, :7] > 1)
    both = wt.asarray(a) @ wt.asarray(b)
    small = both.astype("int8")
    wt.eval(both, small)
    np.testing.assert_array_equal(small.numpy(), (a @ b).astype(np.int8))
    np.testing.assert_array_equal(both.numpy(), a @ b)


def test_gradients(rng: np.random.Generator) -> None:
    a, b = halves(rng, 6, 8), halves(rng, 8, 4)
    x, y = (wt.asarray(t, requires_grad=True) for t in (a, b))
    (x @ y).sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    near(x.grad, np.ones((6, 4), np.float16), b.T)
    near(y.grad, a.T, np.ones((6, 4), np.float16))
