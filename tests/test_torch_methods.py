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


def test_choosing_methods_of_pytorch() -> None:
    x = tensor(M)
    np.testing.assert_array_equal(x.masked_select(tensor(B)).numpy(), M[B])
    row = W[:1] > 9
    np.testing.assert_array_equal(x.masked_select(row).numpy(), M[np.broadcast_to(row, M.shape)])
    with pytest.raises(wt.DTypeError, match=r"^\[masked_select\] a mask is of bools"):
        x.masked_select(x)
    with pytest.raises(wt.ShapeError, match=r"^\[masked_select\]"):
        x.masked_select(np.ones(7, bool))


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


STEPS: list[tuple[str, Any, Any]] = [
    ("add_", lambda x, y: x.add_(y, alpha=0.5), lambda x, y: x + 0.5 * y),
    ("sub_", lambda x, y: x.sub_(y, alpha=2), lambda x, y: x - 2 * y),
    ("mul_", lambda x, y: x.mul_(y), lambda x, y: x * y),
    ("div_", lambda x, y: x.div_(y), lambda x, y: x / y),
    ("pow_", lambda x, _: x.pow_(2), lambda x, _: x**2),
    ("clamp_", lambda x, _: x.clamp_(0.3, 0.6), lambda x, _: np.clip(x, 0.3, 0.6)),
    ("lerp_", lambda x, y: x.lerp_(y, 0.25), lambda x, y: x + 0.25 * (y - x)),
    ("addcmul_", lambda x, y: x.addcmul_(y, y, value=3), lambda x, y: x + 3 * y * y),
    ("addcdiv_", lambda x, y: x.addcdiv_(y, x, value=2), lambda x, y: x + 2 * y / x),
    ("neg_", lambda x, _: x.neg_(), lambda x, _: -x),
    ("sqrt_", lambda x, _: x.sqrt_(), lambda x, _: np.sqrt(x)),
    ("relu_", lambda x, y: x.sub_(y).relu_(), lambda x, y: np.maximum(x - y, 0)),
]


@pytest.mark.parametrize(("name", "step", "formula"), STEPS, ids=[s[0] for s in STEPS])
def test_in_place(name: str, step: Any, formula: Any) -> None:
    a, b = (RNG.random((3, 4)) + 0.1 for _ in range(2))
    x, y = tensor(a.astype("float32")), tensor(b[:1].astype("float32"))
    alias, before = x, x * 1
    assert step(x, y) is x
    near = {"rtol": 2e-6, "atol": 1e-6}
    np.testing.assert_allclose(alias.numpy(), formula(a, b[:1]), **near)
    np.testing.assert_allclose(before.numpy(), a, **near)
    v, w = (tensor(a.astype("float32")).requires_grad_() for _ in range(2))
    step(v * 1, y).sum().backward()
    formula(w * 1, y).sum().backward()
    assert v.grad is not None
    assert w.grad is not None
    np.testing.assert_allclose(v.grad.numpy(), w.grad.numpy(), **near)
    with wt.autograd.no_grad():
        assert step(w, y) is w
    assert w.is_leaf
    assert w.requires_grad
    with pytest.raises(RuntimeError, match=rf"^\[{'sub_' if name == 'relu_' else name}\] a leaf"):
        step(w, y)


def test_in_place_keeps_dtype_and_shape() -> None:
    i = wt.arange(3)
    assert i.mul_(3).tolist() == [0, 3, 6]
    assert wt.ones(2, dtype="float16").add_(wt.ones(2)).dtype == wt.float16
    with pytest.raises(wt.DTypeError, match=r"^\[add_\] a result of float32 .* of int32"):
        i.add_(1.5)
    with pytest.raises(wt.DTypeError, match=r"^\[sqrt_\] "):
        i.sqrt_()
    with pytest.raises(wt.ShapeError, match=r"^\[add_\] .*\(2, 3\) for shape \(3,\)"):
        i.add_(wt.ones((2, 3), dtype="int32"))
    for name in wt._torch_inplace._UNARY:
        x = wt.asarray([0.25, 0.75])
        assert getattr(x, name)() is x
        assert x.tolist() == getattr(wt, wt._torch_inplace._UNARY[name])([0.25, 0.75]).tolist()
