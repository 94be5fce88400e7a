"""dtypes: singletons that compare equal to their names and to NumPy's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtensor._core import DTypeError


class DType:
    """A dtype. ``name``, ``itemsize`` in bytes, ``kind`` as NumPy's letter (b, i, u, f)."""

    __slots__ = ("_code", "itemsize", "kind", "name", "numpy")

    def __init__(self, code: int, name: str, numpy: type) -> None:
        self._code = code
        self.name = name
        self.numpy = np.dtype(numpy)
        self.itemsize = self.numpy.itemsize
        self.kind = self.numpy.kind

    def __repr__(self) -> str:
        return f"wgtensor.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        if other is None:
            return False
        try:
            return bool(self.numpy == np.dtype(other))  # type: ignore[call-overload]
        except TypeError:
            return False

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (to_dtype, (self.name,))


bool_ = DType(0, "bool", np.bool_)
int32 = DType(1, "int32", np.int32)
uint32 = DType(2, "uint32", np.uint32)
float32 = DType(3, "float32", np.float32)

#: every dtype, by the core's code
DTYPES = (bool_, int32, uint32, float32)


def to_dtype(dtype: Any) -> DType:
    """The DType of a DType, a name, a NumPy dtype or a Python type. Raises DTypeError, also for None.

    ``float`` and ``int`` are the default dtypes: float32 and int32.
    """
    if isinstance(dtype, DType):
        return dtype
    if dtype is float:
        return float32
    if dtype is int:
        return int32
    if dtype is not None:
        try:
            wanted = np.dtype(dtype)
        except TypeError:
            wanted = None
        for d in DTYPES:
            if wanted is not None and d.numpy == wanted:
                return d
    names = ", ".join(d.name for d in DTYPES)
    raise DTypeError(f"dtype {dtype!s} is not supported; there are {names}")
