"""Lookups in tables, and their dense counterpart."""

from __future__ import annotations

from typing import Any

from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._functions import arange, astype
from wgtensor._indexing import take
from wgtensor._manipulation import as_int, moveaxis


def embedding(input: ArrayLike, weight: ArrayLike, /) -> Tensor:
    """Rows of the matrix `weight` at integers of any shape: (..., columns).

    Fuses with elementwise work and reductions; the gradient of `weight` is the same bits every
    time. Raises ShapeError, and IndexError for integers beyond the rows: at once where they are
    host data, else with the next read.
    """
    w = as_tensor("embedding", weight)
    if w.ndim != 2:
        raise ShapeError(f"[embedding] the weight is a matrix, not of shape {w.shape}")
    return take(w, input, axis=0)


def one_hot(
    input: ArrayLike, num_classes: int, /, *, axis: int = -1, dtype: Any = "float32"
) -> Tensor:
    """1 at each class's number along a new axis of `num_classes`, 0 elsewhere.

    Integers that are no class give zeros. Raises DTypeError, ValueError.
    """
    t = as_tensor("one_hot", input)
    if t.dtype.kind not in "iu":
        raise DTypeError(f"[one_hot] takes integers, not {t.dtype}")
    n = as_int("one_hot", "num_classes", num_classes)
    if n < 0:
        raise ValueError(f"[one_hot] num_classes must not be negative, not {n}")
    classes = arange(n, dtype="int32", device=t.device)
    wide = t if t.itemsize >= 4 else astype(t, "int32")
    return moveaxis(astype(wide.expand_dims(-1) == classes, dtype), -1, axis)
