"""dtypes: singletons that compare equal to their names and to NumPy's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._core import DTypeError, Tensor


class DType:
    """A dtype: ``name``, ``itemsize`` in bytes, NumPy's letter for its ``kind``, ``numpy``."""

    __slots__ = ("_code", "itemsize", "kind", "name", "numpy")

    def __init__(self, code: int, name: str, numpy: type) -> None:
        self._code = code
        self.name = name
        self.numpy: np.dtype[Any] = np.dtype(numpy)
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
        except (TypeError, ValueError):
            return False

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (to_dtype, (self.name,))


bool_ = DType(0, "bool", np.bool_)
int32 = DType(1, "int32", np.int32)
uint32 = DType(2, "uint32", np.uint32)
float32 = DType(3, "float32", np.float32)

#: every dtype, by the core's code
DTYPES = (bool_, int32, uint32, float32)
_BY_NUMPY = {d.numpy: d for d in DTYPES}
_PYTHON = {bool: bool_, int: int32, float: float32}
_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "",
    "numeric": "iuf",
}


def supported(dtype: np.dtype[Any]) -> DType | None:
    """The DType of a NumPy dtype, or None."""
    return _BY_NUMPY.get(dtype)


def to_dtype(dtype: Any) -> DType:
    """The DType of a DType, name, NumPy dtype or Python type. Raises DTypeError, also for None.

    ``float`` and ``int`` are the default dtypes: float32 and int32.
    """
    if isinstance(dtype, DType):
        return dtype
    found = _PYTHON.get(dtype) if isinstance(dtype, type) else None
    if found is None and dtype is not None:
        try:
            found = supported(np.dtype(dtype))
        except (TypeError, ValueError):
            found = None
    if found is None:
        names = ", ".join(d.name for d in DTYPES)
        raise DTypeError(f"[dtype] {dtype!r} is not supported; there are {names}")
    return found


def scalar_dtype(op: str, value: Any) -> DType:
    """The dtype of a Python or NumPy scalar on its own."""
    kind = value.dtype.kind if isinstance(value, np.generic) else None
    if isinstance(value, bool) or kind == "b":
        return bool_
    if isinstance(value, int) or kind in ("i", "u"):
        return int32
    if isinstance(value, float) or kind == "f":
        return float32
    raise DTypeError(f"[{op}] no dtype follows from {value!r}: a bool, an int or a float is needed")


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that an operation on these tensors, dtypes and scalars gives.

    Python and NumPy scalars only lift the kind: an int32 tensor and 1.5 give float32. Raises
    DTypeError where no dtype holds both, and TypeError without arguments.
    """
    if not arrays_and_dtypes:
        raise TypeError("[result_type] needs one argument or more")
    strong: DType | None = None
    scalars = []
    for x in arrays_and_dtypes:
        if isinstance(x, (bool, int, float, np.generic)):
            scalars.append(scalar_dtype("result_type", x))
            continue
        own = x.dtype if isinstance(x, (Tensor, np.ndarray)) else x
        d = to_dtype(own)
        strong = d if strong is None else _core.promote(strong, d)
    for d in scalars:
        if strong is None or (d.kind == "f" and strong.kind != "f") or strong.kind == "b":
            strong = d
    assert strong is not None
    return strong


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether promotion leads from a dtype (or a tensor's) to another one."""
    source = from_.dtype if isinstance(from_, Tensor) else to_dtype(from_)
    target = to_dtype(to)
    try:
        return bool(_core.promote(source, target) == target)
    except DTypeError:
        return False


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Kinds: a dtype, 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating',
    'complex floating', 'numeric', or a tuple of these.
    """
    d = to_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(d, k) for k in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return d.kind in _KINDS[kind]
    if isinstance(kind, DType):
        return d == kind
    raise ValueError(f"[isdtype] {kind!r} is no kind; there are {', '.join(_KINDS)}")


def finfo(type: Any, /) -> np.finfo[Any]:
    """Limits of a float dtype, or of a tensor's: bits, eps, max, min, smallest_normal."""
    d = type.dtype if isinstance(type, Tensor) else to_dtype(type)
    if d.kind != "f":
        raise DTypeError(f"[finfo] {d} is no float")
    return np.finfo(d.numpy)


def iinfo(type: Any, /) -> np.iinfo[Any]:
    """Limits of an integer dtype, or of a tensor's: bits, max, min."""
    d = type.dtype if isinstance(type, Tensor) else to_dtype(type)
    if d.kind not in "iu":
        raise DTypeError(f"[iinfo] {d} is no integer")
    return np.iinfo(d.numpy)
