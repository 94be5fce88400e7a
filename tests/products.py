"""Sums of products against NumPy's in wider numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import wgtensor as wt
from tolerances import check, near_sum

Array = np.ndarray[Any, Any]


def wide(a: Array) -> Array:
    return a.astype(np.float64 if a.dtype.kind == "f" else np.int64)


def verify(f: Any, g: Any, *arrays: Array, name: str = "") -> None:
    """f of tensors against g of arrays; g is a sum of products."""
    made = f(*map(wt.asarray, arrays))
    e = g(*map(wide, arrays))
    magnitude = g(*(np.abs(wide(a)) for a in arrays))
    if made.dtype.kind == "f":
        near_sum(made, e, magnitude, terms=1000, name=name)
    else:
        check(made, np.asarray(e).astype(made.dtype.numpy), name=name)
