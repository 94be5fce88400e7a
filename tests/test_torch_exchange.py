"""Tensors of PyTorch, in and out by DLPack: bit by bit. Runs where PyTorch is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import ALL_DTYPES, LAYOUTS, device_has, same_bits, special_values

torch = pytest.importorskip("torch")

DTYPES = [d for d in ALL_DTYPES if device_has(d) and hasattr(torch, d)]
Array = np.ndarray[Any, Any]


def elements(dtype: str) -> Array:
    return np.resize(special_values(dtype), (3, 5, 7))


def host(t: Any) -> Array:
    """The elements of a PyTorch tensor, without DLPack: bytes, then its dtype and shape."""
    flat = t.contiguous().reshape(-1).view(torch.uint8) if t.dtype != torch.bool else t.reshape(-1)
    name = str(t.dtype).removeprefix("torch.")
    return flat.numpy().view(wt._dtypes.to_dtype(name).numpy).reshape(tuple(t.shape))


def guest(a: Array, dtype: str) -> Any:
    """A PyTorch tensor of these elements, without DLPack."""
    raw = torch.frombuffer(bytearray(a.tobytes()), dtype=getattr(torch, dtype))
    return raw.reshape(a.shape)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_out(dtype: str, layout: str) -> None:
    a = elements(dtype)
    taken = torch.from_dlpack(LAYOUTS[layout](a))
    assert taken.dtype == getattr(torch, dtype)
    same_bits(host(taken), a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_in(dtype: str) -> None:
    a = elements(dtype)
    t = guest(a, dtype)
    for take in (wt.from_dlpack, wt.asarray):
        same_bits(take(t), a)
        same_bits(take(t.permute(2, 0, 1)), a.transpose(2, 0, 1))
        same_bits(take(t[1:, ::2, 3:]), a[1:, ::2, 3:])
        same_bits(take(t[0, 0, 0]), a[0, 0, 0].reshape(()))
        same_bits(take(t[:0]), a[:0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back(dtype: str) -> None:
    a = elements(dtype)
    same_bits(wt.from_dlpack(torch.from_dlpack(wt.asarray(a))), a)
    same_bits(host(torch.from_dlpack(wt.from_dlpack(guest(a, dtype)))), a)


def test_sums_match_of_half_precision() -> None:
    """What PyTorch accumulates in float32 of 16-bit floats, so does the library."""
    rng = np.random.default_rng(0)
    a = rng.uniform(0, 300, (64, 4096)).astype(np.float16)
    for dtype in ("float16", "bfloat16"):
        x = wt.asarray(a).astype(dtype)
        theirs = torch.from_dlpack(x).sum(dim=1).double().numpy()
        ours = x.sum(axis=1).astype("float32").numpy()
        np.testing.assert_allclose(ours, theirs, rtol=2**-7 if dtype == "bfloat16" else 2**-10)
