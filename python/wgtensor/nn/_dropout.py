"""Dropout: elements that are zero by lot while a module trains."""

from __future__ import annotations

from wgtensor import _jit
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import ShapeError, Tensor
from wgtensor._generated import where
from wgtensor._naming import public
from wgtensor.nn._module import Module
from wgtensor.random import Generator
from wgtensor.random._distributions import coin


def _dropped(
    op: str, x: Tensor, p: float, shape: tuple[int, ...], generator: Generator | None
) -> Tensor:
    keep = coin(op, 1 - p, shape, x.device, generator)
    return where(keep, x * (1 / (1 - p) if p < 1 else 0.0), 0)


@public
def dropout(
    input: ArrayLike, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor:
    """Zero with probability p, else x / (1 - p) (Srivastava et al. 2014); x itself unless training.

    The mask is made in the kernel that uses it and in that of its gradient, and stored nowhere.
    Raises ValueError for p outside of [0, 1].
    """
    x = as_tensor("dropout", input)
    if not 0 <= p <= 1:
        raise ValueError(f"[dropout] a probability lies in [0, 1], not {p}")
    return _dropped("dropout", x, p, x.shape, generator) if training and p > 0 else x


def channel_dropout(
    op: str, input: ArrayLike, p: float, training: bool, spatial: int, generator: Generator | None
) -> Tensor:
    """dropout of whole channels of (N, C, ..) or (C, ..)."""
    x = as_tensor(op, input)
    if not 0 <= p <= 1:
        raise ValueError(f"[{op}] a probability lies in [0, 1], not {p}")
    if x.ndim not in (spatial + 1, spatial + 2):
        raise ShapeError(f"[{op}] takes {spatial + 1} or {spatial + 2} dimensions, not {x.shape}")
    shape = (*x.shape[:-spatial], *(1,) * spatial)
    return _dropped(op, x, p, shape, generator) if training and p > 0 else x


@public
def dropout1d(
    input: ArrayLike, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor:
    """dropout of whole channels of (N, C, L) or (C, L)."""
    return channel_dropout("dropout1d", input, p, training, 1, generator)


@public
def dropout2d(
    input: ArrayLike, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor:
    """dropout of whole channels of (N, C, H, W) or (C, H, W)."""
    return channel_dropout("dropout2d", input, p, training, 2, generator)


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"[{type(self).__name__}] a probability lies in [0, 1], not {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """dropout() while training."""

    def forward(self, input: ArrayLike) -> Tensor:
        return dropout(input, _jit.guard(lambda: self.p), self.training)


class Dropout1d(_Dropout):
    """dropout1d() while training."""

    def forward(self, input: ArrayLike) -> Tensor:
        return dropout1d(input, _jit.guard(lambda: self.p), self.training)


class Dropout2d(_Dropout):
    """dropout2d() while training."""

    def forward(self, input: ArrayLike) -> Tensor:
        return dropout2d(input, _jit.guard(lambda: self.p), self.training)
