"""What compares with PyTorch: values and gradients of the same arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import wgtensor as wt
from wgtensor import nn

Array = np.ndarray[Any, Any]


def close(a: Any, b: Any, tolerance: float = 2e-5) -> None:
    x, y = a.detach().numpy(), b.detach().numpy()
    assert x.shape == y.shape
    np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def both(arrays: list[Array]) -> tuple[list[Any], list[Any]]:
    """Leaves of both libraries that require grad where they are floats, and no signs."""
    ours = [wt.asarray(a) for a in arrays]
    theirs = [torch.tensor(a.astype(np.int64) if a.dtype.kind == "i" else a) for a in arrays]
    for group in (ours, theirs):
        for a, t in zip(arrays, group, strict=True):
            if a.dtype.kind == "f" and not np.isin(a, (-1, 1)).all():
                t.requires_grad_()
    return ours, theirs


def compare(ours: Callable[..., Any], theirs: Callable[..., Any], arrays: list[Array]) -> None:
    a, b = both(arrays)
    x, y = ours(*a), theirs(*b)
    close(x, y)
    weights = np.random.default_rng(0).normal(size=x.shape).astype(np.float32)
    (x * weights).sum().backward()
    (y * torch.tensor(weights)).sum().backward()
    for p, q in zip(a, b, strict=True):
        if p.requires_grad and q.grad is not None:
            close(p.grad, q.grad)


def normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(size=shape).astype(np.float32)


def unit(rng: np.random.Generator, *shape: int) -> Array:
    return rng.uniform(0.05, 0.95, shape).astype(np.float32)


def port(ours: nn.Module, theirs: Any) -> None:
    """The state of PyTorch's module, by its own names."""
    result = ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    assert result == ([], [])
