"""Lookups in tables, and their dense counterpart."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._functions import astype, full, zeros
from wgtensor._generated import where
from wgtensor._histograms import bincount
from wgtensor._indexing import checked_operand, index_operand, take
from wgtensor._manipulation import as_int, moveaxis
from wgtensor._naming import public
from wgtensor.autograd import Function, no_grad
from wgtensor.linalg import vector_norm
from wgtensor.nn import init
from wgtensor.nn._linear import new_parameter
from wgtensor.nn._module import Module
from wgtensor.nn._state import set_value


@public
def embedding(
    input: ArrayLike,
    weight: ArrayLike,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """Rows of the matrix `weight` at integers of any shape: (..., columns).

    Fuses with elementwise work and reductions; the gradient of `weight` is the same bits every
    time, and the row `padding_idx` gets none. max_norm: rows that are looked up and whose
    p-norm, p being norm_type, is larger are first scaled down to it, in place.
    scale_grad_by_freq: gradients are divided by how often the row is looked up. Raises ShapeError,
    ValueError, and IndexError for integers beyond the rows: at once where they are host data, else
    with the next read.
    """
    w = as_tensor("embedding", weight)
    if w.ndim != 2:
        raise ShapeError(f"[embedding] the weight is a matrix, not of shape {w.shape}")
    index, how = index_operand("embedding", input, w.shape[0], 0, "raise", w)
    if max_norm is not None:
        _limit_norms(w, weight, index, float(max_norm), norm_type)
    found = _core.take(w, index, 0, how, "embedding")
    if padding_idx is None and not scale_grad_by_freq:
        return found
    if scale_grad_by_freq and found.requires_grad:
        found = _Shared.apply(found, 1 / take(_counts(index, w.shape[0]), index))
    if padding_idx is None:
        return found
    there = index != padding_idx % w.shape[0]
    return where(there.expand_dims(-1), found, found.detach())


def _counts(index: Tensor, rows: int) -> Tensor:
    return bincount(index.reshape(-1), length=rows)


class _Shared(Function):
    """Rows whose gradients are scaled."""

    @staticmethod
    def forward(ctx: Any, found: Tensor, share: Tensor) -> Tensor:
        ctx.save_for_backward(share)
        return found.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (share,) = ctx.saved_tensors
        return grad * share.expand_dims(-1)._astype(grad.dtype), None


def _limit_norms(w: Tensor, given: Any, index: Tensor, most: float, order: float) -> None:
    if w is not given:
        raise TypeError("[embedding] max_norm changes the weight, which must be a tensor for that")
    with no_grad():
        norms = vector_norm(w.detach(), axis=1, keepdims=True, ord=order)
        high = (_counts(index, w.shape[0]) > 0).expand_dims(1) & (norms > most)
        set_value(w, where(high, w * (most / (norms + 1e-7)), w)._astype(w.dtype))


@public
def one_hot(
    input: ArrayLike, num_classes: int = -1, *, axis: int = -1, dtype: Any = "float32"
) -> Tensor:
    """1 at each class's number along a new axis of `num_classes`, 0 elsewhere.

    Without a number there are as many classes as the greatest integer says, which is read back:
    that waits, and is refused inside jit. Raises DTypeError, ValueError, and IndexError for
    integers that are no class: at once where they are host data, else with the next read.
    """
    n = as_int("one_hot", "num_classes", num_classes)
    if n == -1:
        n = _classes_of(input)
    if n < 0:
        raise ValueError(f"[one_hot] num_classes must not be negative, not {n}")
    t, how = _classes("one_hot", input, n)
    if t.size == 0 or n == 0:
        if t.size:
            raise IndexError(f"[one_hot] there are no classes for {t.size} integers")
        return moveaxis(zeros((*t.shape, n), dtype=dtype, device=t.device), -1, axis)
    index = _core.places(t, n, t.ndim, how, "one_hot")
    return moveaxis(astype(_core.class_hits(index, n, t.ndim), dtype), -1, axis)


def _classes(op: str, input: ArrayLike, n: int) -> tuple[Tensor, str]:
    """Integers as a tensor, and how the core takes them; host data are checked here."""
    if not isinstance(input, Tensor):
        a = np.asarray(input)
        if a.size and a.dtype.kind in "iu" and n:
            return checked_operand(op, a, n, a.ndim, "from_start", full((), 0))
        input = a.astype(np.int32) if a.dtype.kind in "iu" or not a.size else input
    t = as_tensor(op, input)
    if t.dtype.kind not in "iu":
        raise DTypeError(f"[{op}] takes integers, not {t.dtype}")
    return t, "from_start"


def _classes_of(input: ArrayLike) -> int:
    """One more than the greatest class."""
    if not isinstance(input, Tensor):
        return int(np.max(input)) + 1 if np.size(input) else 0
    if input.size == 0:
        return 0
    if input.min().item() < 0:
        raise ValueError("[one_hot] negative integers are no classes")
    return int(input.max().item()) + 1


class Embedding(Module):
    """Rows of weight (num_embeddings, embedding_dim), which begins standard normal, at indices.

    padding_idx: a row that begins as zeros and gets no gradient. max_norm, norm_type,
    scale_grad_by_freq: as of functional.embedding.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(f"[Embedding] padding_idx {padding_idx} of {num_embeddings} rows")
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = new_parameter((num_embeddings, embedding_dim), dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the initial values anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            cleared = self.weight.detach().copy()
            cleared[self.padding_idx] = 0
            set_value(self.weight, cleared)

    def forward(self, input: ArrayLike) -> Tensor:
        return embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: ArrayLike,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
    ) -> Embedding:
        """With a matrix as weight, which requires no gradient if `freeze`."""
        w = as_tensor("from_pretrained", embeddings)
        if w.ndim != 2:
            raise ShapeError(f"[from_pretrained] takes a matrix, not shape {w.shape}")
        options = (max_norm, norm_type, scale_grad_by_freq, w.device, w.dtype)
        made = cls(w.shape[0], w.shape[1], padding_idx, *options)
        set_value(made.weight, w.detach())
        made.weight.requires_grad_(not freeze)
        return made

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        options = {
            "padding_idx": None,
            "max_norm": None,
            "norm_type": 2.0,
            "scale_grad_by_freq": False,
        }
        for name, default in options.items():
            value = getattr(self, name)
            text += "" if value == default else f", {name}={value}"
        return text
