"""dtypes: singletons that compare equal to their names and to NumPy's dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._core import DTypeError, Tensor


class DType:
    """A dtype: ``name``, ``itemsize`` in bytes, NumPy's letter for its ``kind``, ``numpy``."""

    __slots__ = ("_code", "itemsize", "kind", "name")

    def __init__(self, code: int, name: str, itemsize: int) -> None:
        self._code = code
        self.name = name
        self.itemsize = itemsize
        self.kind = "f" if name == "bfloat16" else np.dtype(name).kind

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's dtype; bfloat16's is of the package ml_dtypes: DTypeError where it is missing."""
        if self.name != "bfloat16":
            return np.dtype(self.name)
        try:
            import ml_dtypes
        except ImportError:
            raise DTypeError(
                "[dtype] bfloat16 arrays in NumPy need ml_dtypes: pip install 'wgtensor[io]'"
            ) from None
        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype: where np.dtype(d) looks."""
        return self.numpy

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
            return np.dtype(other).name == self.name  # type: ignore[call-overload, no-any-return]
        except (TypeError, ValueError):
            return other == self.name

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (to_dtype, (self.name,))


_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
}
#: every dtype, by the core's code
DTYPES = tuple(DType(code, name, size) for code, (name, size) in enumerate(_SIZES.items()))
(
    bool_,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
) = DTYPES
_BY_NAME = {d.name: d for d in DTYPES}
_PYTHON = {bool: bool_, int: int32}
_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "",
    "numeric": "iuf",
}


def get_default_dtype() -> DType:
    """The dtype of Python floats on their own, and of functions of floats where given integers."""
    return _core.default_float()


def set_default_dtype(dtype: Any, /) -> None:
    """Sets what get_default_dtype() returns, float32 at first. Raises DTypeError for no float.

    Creation functions without `dtype`, ``int32 / int32``, ``wt.mean`` of integers and the like give
    this dtype. It holds for tensors made later, on all devices.
    """
    _core.set_default_float(to_dtype(dtype, "set_default_dtype"))


def supported(dtype: np.dtype[Any]) -> DType | None:
    """The DType of a NumPy dtype, or None."""
    return _BY_NAME.get(dtype.name)


def to_dtype(dtype: Any, op: str = "dtype") -> DType:
    """The DType of a DType, name, NumPy dtype or Python type. Raises DTypeError, also for None.

    ``float`` is the default float, ``int`` int32; `op` is the name that errors give.
    """
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, str) and dtype in _BY_NAME:
        return _BY_NAME[dtype]
    if dtype is float:
        return get_default_dtype()
    found = _PYTHON.get(dtype) if isinstance(dtype, type) else None
    if found is None and dtype is not None:
        try:
            found = supported(np.dtype(dtype))
        except (TypeError, ValueError):
            found = None
    if found is None:
        names = ", ".join(d.name for d in DTYPES)
        raise DTypeError(f"[{op}] dtype {dtype!r} is not supported; there are {names}")
    return found


def is_dtype(value: Any) -> bool:
    """Whether it says a dtype; sizes and devices do not."""
    if isinstance(value, (int, tuple, list)):
        return False
    try:
        to_dtype(value)
    except DTypeError:
        return False
    return True


def scalar_dtype(op: str, value: Any) -> DType:
    """The dtype of a Python or NumPy scalar on its own."""
    kind = value.dtype.kind if isinstance(value, np.generic) else None
    if isinstance(value, bool) or kind == "b":
        return bool_
    if isinstance(value, int) or kind in ("i", "u"):
        return int32
    if isinstance(value, float) or kind == "f" or (kind == "V" and supported(value.dtype)):
        return get_default_dtype()
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
        d = to_dtype(own, "result_type")
        strong = d if strong is None else _core.promote(strong, d)
    for d in scalars:
        if strong is None or (d.kind == "f" and strong.kind != "f") or strong.kind == "b":
            strong = d
    assert strong is not None
    return strong


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether promotion leads from a dtype (or a tensor's) to another one."""
    source = from_.dtype if isinstance(from_, Tensor) else to_dtype(from_, "can_cast")
    target = to_dtype(to, "can_cast")
    try:
        return bool(_core.promote(source, target) == target)
    except DTypeError:
        return False


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Kinds: a dtype, 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating',
    'complex floating', 'numeric', or a tuple of these.
    """
    d = to_dtype(dtype, "isdtype")
    if isinstance(kind, tuple):
        return any(isdtype(d, k) for k in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return d.kind in _KINDS[kind]
    if isinstance(kind, DType):
        return d == kind
    raise ValueError(f"[isdtype] {kind!r} is no kind; there are {', '.join(_KINDS)}")


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a float dtype."""

    dtype: DType
    bits: int
    eps: float  # from 1 to the next number
    max: float
    min: float
    smallest_normal: float
    smallest_subnormal: float

    @property
    def tiny(self) -> float:
        """NumPy's other name of smallest_normal."""
        return self.smallest_normal


@dataclass(frozen=True)
class IntegerInfo:
    """Limits of an integer dtype."""

    dtype: DType
    bits: int
    max: int
    min: int


#: bits of the significand, the leading one among them, and the least exponent of normal numbers
_FLOATS = {
    "float16": (11, -14),
    "bfloat16": (8, -126),
    "float32": (24, -126),
    "float64": (53, -1022),
}


def finfo(type: Any, /) -> FloatInfo:
    """Limits of a float dtype, or of a tensor's: bits, eps, max, min, smallest_normal, dtype."""
    d = type.dtype if isinstance(type, Tensor) else to_dtype(type, "finfo")
    if d.kind != "f":
        raise DTypeError(f"[finfo] {d} is no float")
    digits, exponent = _FLOATS[d.name]
    eps, normal = 2.0 ** (1 - digits), 2.0**exponent
    largest = (2.0 - eps) * 2.0 ** (1 - exponent)
    return FloatInfo(d, 8 * d.itemsize, eps, largest, -largest, normal, normal * eps)


def iinfo(type: Any, /) -> IntegerInfo:
    """Limits of an integer dtype, or of a tensor's: bits, max, min, dtype."""
    d = type.dtype if isinstance(type, Tensor) else to_dtype(type, "iinfo")
    if d.kind not in "iu":
        raise DTypeError(f"[iinfo] {d} is no integer")
    bits = 8 * d.itemsize
    values = bits - (d.kind == "i")
    return IntegerInfo(d, bits, 2**values - 1, -(2**values) if d.kind == "i" else 0)
