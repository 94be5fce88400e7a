"""Arrays in: what may stand where a tensor is expected, and how it becomes one."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from wgtensor import _core
from wgtensor._core import Device, DTypeError, ShapeError, Tensor
from wgtensor._dtypes import DType, float32, int32, to_dtype

#: a tensor, a Python or NumPy scalar, or anything np.asarray takes
ArrayLike: TypeAlias = Any
DeviceLike: TypeAlias = Device | str | None


def _host_array(obj: Any, dtype: DType | None) -> np.ndarray[Any, Any]:
    """`obj` as a NumPy array of a supported dtype and native byte order; nothing is narrowed in silence."""
    from_python = not hasattr(obj, "dtype") and not hasattr(obj, "__array_interface__")
    try:
        a = np.asarray(obj)
    except (ValueError, TypeError, OverflowError) as error:
        raise type(error)(f"[asarray] cannot make an array of this {type(obj).__name__}: {error}") from None
    if a.dtype.kind not in "biuf":
        raise DTypeError(
            f"[asarray] cannot make a tensor of a {type(obj).__name__} with dtype {a.dtype}"
        )
    if not a.dtype.isnative:
        a = a.astype(a.dtype.newbyteorder("="))
    if dtype is None and from_python and not isinstance(obj, (memoryview, bytes, bytearray)):
        dtype = _python_dtype(a)
    if dtype is not None:
        return a.astype(dtype.numpy, copy=False)
    try:
        to_dtype(a.dtype)
    except DTypeError:
        raise DTypeError(
            f"[asarray] dtype {a.dtype} is not supported and nothing is narrowed in silence: "
            f"pass dtype=, such as asarray(x, dtype='float32')"
        ) from None
    return a


def _python_dtype(a: np.ndarray[Any, Any]) -> DType | None:
    """The default dtype of what came from Python numbers."""
    if a.dtype.kind == "f":
        return float32
    if a.dtype.kind in "iu":
        if a.size and (a.min() < -(2**31) or a.max() >= 2**31):
            raise OverflowError(
                f"[asarray] Python integers up to {int(a.max())} do not fit int32: pass dtype='uint32' or a float"
            )
        return int32
    return None


def asarray(
    obj: ArrayLike, /, *, dtype: Any = None, device: DeviceLike = None, copy: bool | None = None
) -> Tensor:
    """A tensor of `obj`: a tensor, a NumPy array or any buffer, a number, or nested sequences of numbers.

    Host memory is copied at the call. NumPy arrays keep their dtype; Python floats become float32,
    integers int32. Raises DTypeError where that would narrow a dtype and `dtype` does not ask for it,
    and ValueError for ``copy=False`` on host memory.
    """
    wanted = None if dtype is None else to_dtype(dtype)
    if isinstance(obj, Tensor):
        t = obj if wanted is None or wanted == obj.dtype else obj.astype(wanted)
        if device is not None and t.device != device and str(t.device) != str(device):
            return asarray(t.numpy(), device=device)
        return t.copy() if copy and t is obj else t
    if copy is False:
        raise ValueError("[asarray] host memory is always copied: copy=False cannot be kept")
    a = _host_array(obj, wanted)
    return _core.from_array(a, to_dtype(a.dtype), device)


def as_operand(obj: Any, device: Device | None) -> Any:
    """What the core calls for operands that are no tensors and no scalars."""
    if isinstance(obj, (np.ndarray, memoryview, bytes, bytearray)) or hasattr(obj, "__array_interface__"):
        return asarray(obj, device=device)
    if isinstance(obj, (list, tuple)):
        return asarray(obj, device=device)
    return NotImplemented


def into(name: str, out: Tensor, result: Tensor) -> Tensor:
    """Moves a result into the handle of `out`. Raises ShapeError or DTypeError where it does not fit."""
    if not isinstance(out, Tensor):
        raise TypeError(f"[{name}] out must be a Tensor, not {type(out).__name__}")
    if out.shape != result.shape:
        raise ShapeError(f"[{name}] out has shape {out.shape}, the result {result.shape}")
    if out.dtype != result.dtype:
        raise DTypeError(f"[{name}] out has dtype {out.dtype}, the result {result.dtype}")
    out._assign(result)
    return out
