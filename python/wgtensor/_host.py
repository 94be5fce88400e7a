"""Host data as arrays of NumPy's in a dtype that the device may have; all errors are typed."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtensor import _dlpack
from wgtensor._core import DTypeError, ShapeError, UnsupportedError
from wgtensor._dtypes import DType, get_default_dtype, int32, supported, to_dtype

SCALARS = (bool, int, float, np.generic)
SEQUENCES = (list, tuple)
_WEAK = ("bool", "uint32")  # of NumPy's scalars; the others become the defaults
_WHOLE = {int, bool, range, list, tuple}


def is_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def leaf_types(obj: Any, levels: int = 64) -> set[type]:
    """The types in nested lists and tuples; each level is looked through in C, and as many as
    NumPy's arrays have dimensions. Raises ShapeError."""
    types = set(map(type, obj))
    if not types.isdisjoint(SEQUENCES):
        if levels == 1:
            raise ShapeError("[asarray] a sequence holds itself, or is nested more than 64 deep")
        for item in obj:
            if type(item) in SEQUENCES:
                types |= leaf_types(item, levels - 1)
    return types


def is_weak(obj: Any) -> bool:
    """Whether a dtype may follow from the default dtypes: nothing in it has a dtype of its own.

    NumPy's scalars are as weak as Python's.
    """
    if isinstance(obj, (*SCALARS, range)):
        return True
    if not isinstance(obj, SEQUENCES):
        return False
    return all(
        issubclass(t, (*SCALARS, *SEQUENCES, range)) or not hasattr(t, "__array__")
        for t in leaf_types(obj)
    )


def _only_dlpack(obj: Any) -> bool:
    return hasattr(obj, "__dlpack__") and not hasattr(obj, "__array__") and not is_buffer(obj)


def _with_dtype(bits: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    return bits.view(dtype.numpy) if dtype.name == "bfloat16" else bits


def _as_array(obj: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(obj)
    except TypeError:
        if not hasattr(obj, "__dlpack__"):
            raise
        return _with_dtype(*_dlpack.read(obj))  # PyTorch's bfloat16


def read_host(op: str, obj: Any) -> np.ndarray[Any, Any]:
    """What np.asarray, DLPack or the buffer protocol makes of an object; all errors are typed."""
    what = f"[{op}] cannot make a tensor of this {type(obj).__name__}"
    try:
        if isinstance(obj, (bytes, bytearray)):
            return np.frombuffer(obj, np.uint8)
        if _only_dlpack(obj):
            return _with_dtype(*_dlpack.read(obj))
        return _as_array(obj)
    except OverflowError as error:
        raise OverflowError(f"{what}: {error}") from None
    except TypeError as error:
        raise DTypeError(f"{what}: {error}") from None
    except ValueError as error:
        raise ShapeError(f"{what}: {error}") from None
    except (BufferError, RuntimeError) as error:  # DLPack: on another device, read-only, ...
        raise UnsupportedError(f"{what}: NumPy does not take it: {error}") from None


def host_array(
    op: str,
    obj: Any,
    dtype: DType | None,
    like: DType | None = None,
    data: np.ndarray[Any, Any] | None = None,
) -> np.ndarray[Any, Any]:
    """`obj` as an array of a supported dtype in native byte order; nothing is narrowed unasked.
    data: what was read of it before."""
    a = read_host(op, obj) if data is None else data
    weak = is_weak(obj)
    if weak and a.dtype.kind in "fO" and a.size and leaf_types([obj]) <= _WHOLE:
        a = _wholes(a, obj)
    if a.dtype.kind not in "biuf" and supported(a.dtype) is None:
        if a.dtype.kind == "O" and weak and leaf_types([obj]) <= _WHOLE:
            raise OverflowError(f"[{op}] Python integers that fit no dtype: {_start(obj)}")
        raise DTypeError(
            f"[{op}] cannot make a tensor of a {type(obj).__name__} with dtype {a.dtype}"
        )
    if not a.dtype.isnative:
        a = a.astype(a.dtype.newbyteorder("="))
    if weak:
        if a.dtype.kind == "f" and a.size and leaf_types([obj]) <= _WHOLE:
            raise OverflowError(f"[{op}] Python integers that fit no dtype: {_start(obj)}")
        return _from_numbers(op, a, dtype, like)
    if dtype is not None:
        return _cast(op, a, dtype)
    if supported(a.dtype) is None:
        raise DTypeError(
            f"[{op}] no dtype {a.dtype} on the device, for an array of shape {a.shape}, and "
            f"nothing is narrowed in silence: ask, as in asarray(x, dtype='{_nearest(a.dtype)}')"
        )
    return a


def _start(obj: Any) -> str:
    text = repr(obj)
    return text if len(text) < 60 else text[:60] + "..."


def _nearest(dtype: np.dtype[Any]) -> str:
    return {"f": "float32", "u": "uint32"}.get(dtype.kind, "int32")


def _wholes(a: np.ndarray[Any, Any], obj: Any) -> np.ndarray[Any, Any]:
    """Integers of which NumPy makes floats or objects, as uint64 where that holds them all."""
    try:
        return np.array(obj, dtype=np.uint64)
    except (OverflowError, TypeError, ValueError):
        return a


def _from_numbers(
    op: str, a: np.ndarray[Any, Any], dtype: DType | None, like: DType | None
) -> np.ndarray[Any, Any]:
    """Python numbers in the dtype asked for, or else in the default dtype of their kind; in `like`
    if it has 64 bits and holds them."""
    if dtype is None and like is not None and like.itemsize == 8 and a.dtype.kind in "iuf":
        whole = a.dtype.kind in "iu"
        bounds = np.iinfo(like.numpy) if like.kind in "iu" else None
        if bounds is None or (whole and a.size and bounds.min <= a.min() and a.max() <= bounds.max):
            return a.astype(like.numpy)
    if dtype is None:
        # bfloat16 has a kind of its own in NumPy
        is_float = a.dtype.kind == "f" or a.dtype.name == "bfloat16"
        if a.dtype.name in _WEAK:
            dtype = to_dtype(a.dtype.name)
        else:
            dtype = get_default_dtype() if is_float else int32
    return _cast(op, a, dtype)


def _cast(op: str, a: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """In another dtype. Raises OverflowError for what an integer dtype does not hold, ValueError
    for NaN."""
    if dtype.kind in "iu" and a.dtype.kind in "iuf" and a.dtype != dtype.numpy and a.size:
        low, high = a.min(), a.max()
        if np.isnan(low):
            raise ValueError(f"[{op}] nan cannot become {dtype}")
        bounds = np.iinfo(dtype.numpy)
        if not (low >= bounds.min and high <= bounds.max):  # also for NaN
            raise OverflowError(
                f"[{op}] numbers from {low.item()} to {high.item()} do not fit {dtype}: "
                f"ask for another dtype"
            )
    with np.errstate(over="ignore"):
        return a.astype(dtype.numpy, copy=False)
