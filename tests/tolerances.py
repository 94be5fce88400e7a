"""How near a result must be to its reference: one table, one row a dtype."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Tolerance:
    """Of one dtype.

    relative: error of one operation, as a share of the result; term: what a step of a sum may add,
    as a share of the sum of magnitudes; tiny: results below it may be flushed to zero.
    """

    relative: float
    term: float
    tiny: float


EXACT = Tolerance(0.0, 0.0, 0.0)

#: WebGPU grants division 2.5 units in the last place, sqrt and exp a few more; such a unit is a
#: share of 1.2e-7 in float32.
TABLE: dict[str, Tolerance] = {
    **dict.fromkeys(("bool", "int8", "int16", "int32", "int64"), EXACT),
    **dict.fromkeys(("uint8", "uint16", "uint32", "uint64"), EXACT),
    "float16": Tolerance(relative=1e-3, term=1e-3, tiny=6.2e-5),
    "bfloat16": Tolerance(relative=8e-3, term=8e-3, tiny=1.2e-38),
    "float32": Tolerance(relative=1e-6, term=2e-7, tiny=1.2e-38),
    "float64": Tolerance(relative=2e-15, term=4e-16, tiny=2.3e-308),
}


def tolerance(dtype: Any) -> Tolerance:
    return TABLE[np.dtype(dtype).name]


def check(actual: Any, expected: Any, *, allowed: Any = 0.0, name: str = "") -> None:
    """A tensor or an array against `expected`, within `allowed`: an error for each element.

    Shapes are equal, NaNs stand where NaNs are expected and infinities where infinities are; a zero
    may stand for a result too small for the dtype. AssertionError tells what differs first.
    """
    a = actual.numpy() if hasattr(actual, "numpy") else np.asarray(actual)
    e = np.asarray(expected)
    assert a.shape == e.shape, f"{name}: shape {a.shape}, expected {e.shape}"
    if a.dtype.kind != "f":
        wrong = a != e
    else:
        t = tolerance(a.dtype)
        with np.errstate(all="ignore"):
            rounded = e.astype(a.dtype)
            e64, a64 = e.astype(np.float64), a.astype(np.float64)
            same = (a == rounded) | (np.isnan(a) & np.isnan(e64))
            near = np.abs(a64 - e64) <= np.broadcast_to(allowed, e.shape)
            # Devices may read and write denormals as zeros, and compare them as equal.
            flushed = (np.abs(a64) < t.tiny) & (np.abs(e64) < t.tiny)
        wrong = ~(same | (near & np.isfinite(a)) | flushed)
    if wrong.any():
        where = np.argwhere(wrong)[:5]
        shown = "; ".join(
            f"{tuple(int(i) for i in w)}: {a[tuple(w)]!r} is not {e[tuple(w)]!r}" for w in where
        )
        raise AssertionError(f"{name}: {int(wrong.sum())} of {wrong.size} elements differ: {shown}")


def near(actual: Any, expected: Any, *, ops: float = 1.0, name: str = "") -> None:
    """Elementwise results after `ops` operations that each round."""
    e = np.asarray(expected)
    a = actual.numpy() if hasattr(actual, "numpy") else np.asarray(actual)
    allowed = ops * tolerance(a.dtype).relative * np.abs(e.astype(np.float64))
    check(a, e, allowed=allowed, name=name)


def near_sum(actual: Any, expected: Any, magnitude: Any, *, terms: int, name: str = "") -> None:
    """Sums of `terms` products or elements whose magnitudes add up to `magnitude`.

    Sums are folded as trees or by many lanes: the error grows with the root of the number of
    terms, and not for ever.
    """
    a = actual.numpy() if hasattr(actual, "numpy") else np.asarray(actual)
    t = tolerance(a.dtype)
    allowed = (t.relative + t.term * min(np.sqrt(max(terms, 1)), 100)) * np.abs(
        np.asarray(magnitude, np.float64)
    )
    check(a, expected, allowed=allowed, name=name)
