"""Lookups in tables, and their dense counterpart."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._functions import arange, astype
from wgtensor._generated import where
from wgtensor._indexing import take
from wgtensor._manipulation import as_int, moveaxis
from wgtensor._naming import public
from wgtensor.nn import init
from wgtensor.nn._linear import new_parameter
from wgtensor.nn._module import Module
from wgtensor.nn._state import set_value


@public
def embedding(input: ArrayLike, weight: ArrayLike, /, padding_idx: int | None = None) -> Tensor:
    """Rows of the matrix `weight` at integers of any shape: (..., columns).

    Fuses with elementwise work and reductions; the gradient of `weight` is the same bits every
    time, and the row `padding_idx` gets none. Raises ShapeError, and IndexError for integers beyond
    the rows: at once where they are host data, else with the next read.
    """
    w = as_tensor("embedding", weight)
    if w.ndim != 2:
        raise ShapeError(f"[embedding] the weight is a matrix, not of shape {w.shape}")
    rows = take(w, input, axis=0)
    if padding_idx is None:
        return rows
    there = as_tensor("embedding", input, w.device) != padding_idx % w.shape[0]
    return where(there.expand_dims(-1), rows, rows.detach())


@public
def one_hot(
    input: ArrayLike, num_classes: int, /, *, axis: int = -1, dtype: Any = "float32"
) -> Tensor:
    """1 at each class's number along a new axis of `num_classes`, 0 elsewhere.

    Integers that are no class give zeros. Raises DTypeError, ValueError.
    """
    n = as_int("one_hot", "num_classes", num_classes)
    if n < 0:
        raise ValueError(f"[one_hot] num_classes must not be negative, not {n}")
    if not isinstance(input, Tensor):
        a = np.asarray(input)
        if a.dtype.kind in "iu":  # classes fit int32, whatever the device has
            input = np.where((a >= 0) & (a < n), a, -1).astype(np.int32)
    t = as_tensor("one_hot", input)
    if t.dtype.kind not in "iu":
        raise DTypeError(f"[one_hot] takes integers, not {t.dtype}")
    classes = arange(n, dtype="int32", device=t.device)
    wide = t if t.itemsize >= 4 else astype(t, "int32")
    return moveaxis(astype(wide.expand_dims(-1) == classes, dtype), -1, axis)


class Embedding(Module):
    """Rows of weight (num_embeddings, embedding_dim), which begins standard normal, at indices.

    padding_idx: a row that begins as zeros and gets no gradient.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
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
        return embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"
