"""Tensor methods by PyTorch's names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has, tensor

RNG = np.random.default_rng(7)
M = RNG.standard_normal((4, 5)).astype("float32")
T = RNG.standard_normal((3, 4, 5)).astype("float32")
W = RNG.standard_normal(4).astype("float32")
B = RNG.random((4, 5)) < 0.5


def test_methods_of_pytorch() -> None:
    x = tensor(M)
    assert x.view(5, 4).shape == x.view((5, -1)).shape == (5, 4)
    assert x.view("int32").dtype == x.view(dtype=wt.int32).dtype == wt.int32
    assert x.view(np.uint32).tolist() == M.view(np.uint32).tolist()
    assert x.expand(2, -1, 5).shape == (2, 4, 5)
    assert x.unsqueeze(1).shape == (4, 1, 5)
    assert (x.numel(), x.dim()) == (20, 2)
    assert len(x.unbind(1)) == 5
    assert [p.shape for p in x.chunk(2, dim=1)] == [(4, 3), (4, 2)]
    np.testing.assert_array_equal(x.index_select(1, [2, 0]).numpy(), M[:, [2, 0]])
    places = np.array([[0, 1], [2, 2], [4, 0], [1, 1]])
    np.testing.assert_array_equal(
        x.gather(1, places).numpy(), np.take_along_axis(M, places, axis=1)
    )
    assert x.gather(1, places[:2, :1]).tolist() == [[M[0, 0]], [M[1, 2]]]  # as PyTorch: a part
    with pytest.raises(wt.ShapeError, match=r"^\[gather\] an index of shape \(9, 1\)"):
        x.gather(1, np.zeros((9, 1), np.int32))
    assert x.contiguous() is x
    assert x.float() is x
    assert x.half().dtype == wt.float16
    assert x.int().dtype == wt.int32
    assert x.bool().dtype == wt.bool
    if device_has("float64"):
        assert x.double().dtype == wt.float64
        assert x.long().dtype == wt.int64
    else:
        with pytest.raises(wt.DTypeError, match="float64"):
            x.double()


def test_writing_methods_of_pytorch() -> None:
    x = tensor(M)
    assert x.masked_fill_(x < 0, 0) is x
    np.testing.assert_array_equal(x.numpy(), np.where(M < 0, 0, M))
    np.testing.assert_array_equal(
        tensor(M).masked_fill(tensor(B), -1).numpy(), np.where(B, -1, M).astype("float32")
    )
    assert x.zero_() is x
    assert (x.numpy() == 0).all()
    assert x.fill_(3).copy_(W[:, None]) is x
    np.testing.assert_array_equal(x.numpy(), np.broadcast_to(W[:, None], (4, 5)))
    with pytest.raises(wt.DTypeError, match=r"^\[masked_fill\] a mask is of bools"):
        x.masked_fill(x, 0)
    with pytest.raises(wt.ShapeError, match=r"^\[expand\]"):
        x.expand(5)
    with pytest.raises(wt.ShapeError, match=r"^\[fill_\] takes a number"):
        x.fill_(x)


@pytest.mark.parametrize(
    ("dims", "shape"),
    [((), (60,)), ((1,), (3, 20)), ((0, 1), (12, 5)), ((-2, -1), (3, 20)), ((1, 1), (3, 4, 5))],
)
def test_flatten_of_some_dimensions(dims: tuple[int, ...], shape: tuple[int, ...]) -> None:
    x = tensor(T)
    np.testing.assert_array_equal(x.flatten(*dims).numpy(), T.reshape(shape))
    if dims:
        np.testing.assert_array_equal(wt.nn.Flatten(*dims)(x).numpy(), T.reshape(shape))


def test_flatten_of_a_number() -> None:
    x = wt.asarray(2.0)
    assert x.flatten().shape == x.flatten(0, 0).shape == wt.nn.Flatten(0)(x).shape == (1,)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, where: x.to("float16"),
        lambda x, where: x.to(np.float16),
        lambda x, where: x.to(wt.float16, where),
        lambda x, where: x.to(where, "float16"),
        lambda x, where: x.to(where, dtype="float16"),
        lambda x, where: x.to(dtype=wt.float16, device=where),
        lambda x, where: x.to(wt.ones(1, dtype="float16")),
    ],
)
def test_to_takes_dtypes_devices_and_tensors(call: Any) -> None:
    x = tensor(M)
    assert call(x, wt.default_device()).dtype == wt.float16
    assert x.to(x.device) is x.to(x) is x.to("float32") is x


def test_to_tells_what_is_neither_dtype_nor_device() -> None:
    for call in (wt.ones(3).to, wt.nn.Linear(2, 2).to):
        with pytest.raises(wt.DeviceNotFoundError, match=r"^\[to\] 'float99' is no dtype and no d"):
            call("float99")


def close(made: wt.Tensor, expected: Any) -> None:
    np.testing.assert_allclose(made.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_arithmetic() -> None:
    x = tensor(M)
    close(x.sub(W[:, None]), M - W[:, None])
    close(x.mul(2).add(tensor(M)), 3 * M)
    close(x.div(4), M / 4)
    assert wt.asarray([7]).div(2).tolist() == [3.5]
    close(x.clamp(-0.5, 0.25), np.clip(M, -0.5, 0.25))
    close(x.clamp(min=0), np.maximum(M, 0))
    close(x.clamp(max=tensor(W[:, None])), np.minimum(M, W[:, None]))


def test_products() -> None:
    x, t = tensor(M), tensor(T)
    close(x.mm(M.T), M @ M.T)
    close(t.bmm(t.mT), T @ T.mT)
    close(x.matmul(T.mT), M @ T.mT)
    for call in (lambda: x.mm(t), lambda: x.bmm(x), lambda: t.bmm(t.mT[:1]), lambda: x.mm(x)):
        with pytest.raises(wt.ShapeError, match=r"^\[b?mm\] "):
            call()


@pytest.mark.parametrize("p", ["fro", 2, 1, 0, 3.0, np.inf])
@pytest.mark.parametrize("dim", [None, 0, -1, (0, 1)])
def test_norm(p: Any, dim: Any) -> None:
    flat = dim is None or isinstance(dim, tuple)
    order = 2 if p == "fro" else p
    expected = np.linalg.norm(M.ravel() if flat else M, order, None if flat else dim)
    close(tensor(M).norm(p, dim), expected)
    assert tensor(M).norm(p, dim, keepdim=True).ndim == 2


def test_norm_of_what_there_is_not() -> None:
    with pytest.raises(ValueError, match=r"^\[norm\] ord 'nuc'"):
        tensor(M).norm("nuc")
