"""Arrays in: what may stand where a tensor is expected, and how it becomes one."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from wgtensor import _core, _dlpack
from wgtensor._core import (
    Device,
    DeviceMismatchError,
    DeviceNotFoundError,
    DTypeError,
    ShapeError,
    Tensor,
)
from wgtensor._dtypes import (
    DType,
    is_dtype,
    result_type,
    to_dtype,
)
from wgtensor._host import SCALARS, SEQUENCES, host_array, is_buffer, is_weak, leaf_types, read_host

__all__ = ["asarray", "from_dlpack"]

#: a tensor, a Python or NumPy scalar, nested sequences of them, or anything np.asarray takes
ArrayLike: TypeAlias = Any
#: a Device, a selector ('gpu:0', 'vulkan', 'nvidia'), an index, or None for the default device
DeviceLike: TypeAlias = Device | str | int | None


def leaf(t: Tensor, requires_grad: bool) -> Tensor:
    """A tensor just made, for which gradients are computed if asked."""
    if requires_grad is not False:
        t.requires_grad = requires_grad
    return t


def asarray(
    obj: ArrayLike,
    /,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of `obj`: a tensor, a NumPy array, any buffer or DLPack object, numbers, or nested
    sequences of numbers or of tensors.

    Host memory is copied at the call. Arrays keep their dtype; Python floats become the
    default float (float32), integers int32. Raises DTypeError for a dtype that the device lacks,
    as nothing is narrowed unless `dtype` asks for it, ShapeError for ragged sequences,
    OverflowError for integers that do not fit, and ValueError for ``copy=False`` where there
    is something to copy. With `requires_grad` gradients are computed for the result, as for that
    of other functions that make tensors: RuntimeError for integers and bools.
    """
    return leaf(to_tensor("asarray", obj, dtype, device, copy), requires_grad)


def to_tensor(
    op: str,
    obj: ArrayLike,
    dtype: Any,
    device: DeviceLike,
    copy: bool | None = None,
    like: DType | None = None,
) -> Tensor:
    wanted = None if dtype is None else to_dtype(dtype, op)
    if isinstance(obj, Tensor):
        return _converted(obj, wanted, device, copy)
    if copy is False:
        raise ValueError("[asarray] host memory is always copied: copy=False cannot be kept")
    if isinstance(obj, SEQUENCES) and Tensor in leaf_types(obj):
        return _stacked(op, obj, wanted, device)
    return from_host(op, obj, wanted, device, like)


def from_dlpack(x: Any, /, *, device: DeviceLike = None, copy: bool | None = None) -> Tensor:
    """A tensor of an object with `__dlpack__`: an array of NumPy, PyTorch, JAX, ...

    Host memory is copied at the call; memory elsewhere is asked for on the host. Raises BufferError
    for ``copy=False`` where there is something to copy and for memory that does not come to the
    host, DTypeError for a dtype that the device lacks.
    """
    if isinstance(x, Tensor):
        return asarray(x, device=device, copy=copy)
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"[from_dlpack] a {type(x).__name__} has no __dlpack__: use asarray")
    if copy is False:
        raise BufferError("[from_dlpack] memory is always copied: copy=False cannot be kept")
    try:
        array, dtype = _dlpack.read(x)
    except DTypeError as error:
        raise DTypeError(f"[from_dlpack] {error}") from None
    return _core.from_array(array, dtype, device, "from_dlpack")


def from_host(
    op: str, obj: Any, dtype: DType | None, device: DeviceLike, like: DType | None = None
) -> Tensor:
    """A tensor of host data; `op` is the name that errors give. Beside a tensor whose dtype is
    `like`, of 64 bits, Python numbers keep 64 bits, too.
    """
    a = host_array(op, obj, dtype, like)
    return _core.from_array(a, to_dtype(a.dtype), device, op)


def host_data(op: str, obj: Any) -> np.ndarray[Any, Any] | None:
    """What NumPy makes of host data, for checks before as_tensor() takes it; None for tensors and
    sequences of them."""
    if isinstance(obj, Tensor) or (isinstance(obj, SEQUENCES) and Tensor in leaf_types(obj)):
        return None
    return read_host(op, obj)


def as_operand(op: str, obj: Any, device: Device | None, like: DType | None) -> Any:
    """What the core calls for operands that are no tensors and no scalars."""
    if isinstance(obj, np.ndarray):
        return from_host(op, obj, None, device)
    if isinstance(obj, SEQUENCES):
        return to_tensor(op, obj, None, device, like=like)
    # Strings are buffers to nobody, and NumPy's protocol lets a type opt out.
    if getattr(obj, "__array_ufunc__", op) is None or not _is_array(obj):
        return NotImplemented
    return from_host(op, obj, None, device)


def as_tensor(op: str, obj: Any, device: DeviceLike = None, like: DType | None = None) -> Tensor:
    """The tensor operand of a function: `obj` itself, or what asarray makes of it. Beside a tensor
    whose dtype is `like`, of 64 bits, numbers keep 64 bits, too.
    """
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, (*SEQUENCES, *SCALARS)):
        return to_tensor(op, obj, None, device, like=like)
    return from_host(op, obj, None, device)


def as_tensor_of(op: str, obj: Any, data: np.ndarray[Any, Any], device: DeviceLike) -> Tensor:
    """as_tensor() of what host_data() has read."""
    a = host_array(op, obj, None, data=data)
    return _core.from_array(a, to_dtype(a.dtype), device, op)


def as_values(op: str, obj: Any, target: Tensor) -> Tensor:
    """What is to be put into `target`. Numbers and lists of them become its dtype on the host:
    OverflowError for integers that it does not hold, ValueError for NaN. Arrays are cast as NumPy
    does, by the device if it has their dtype."""
    if isinstance(obj, Tensor):
        return obj
    if is_weak(obj):
        return to_tensor(op, obj, target.dtype, target.device)
    a = host_array(op, obj, None)
    if not _core.has_dtype(to_dtype(a.dtype), target.device):
        with np.errstate(invalid="ignore", over="ignore"):
            a = a.astype(target.dtype.numpy)
    return _core.from_array(a, to_dtype(a.dtype), target.device, op)


def into(op: str, out: Tensor | None, result: Tensor) -> Tensor:
    """Moves a result into the handle of `out`, if there is one, and gives it. Raises a typed error
    where it does not fit."""
    if out is None:
        return result
    if not isinstance(out, Tensor):
        raise TypeError(f"[{op}] out must be a Tensor, not {type(out).__name__}")
    if out.shape != result.shape:
        raise ShapeError(f"[{op}] out has shape {out.shape}, the result {result.shape}")
    if out.dtype != result.dtype:
        raise DTypeError(f"[{op}] out has dtype {out.dtype}, the result {result.dtype}")
    if out.device != result.device:
        raise DeviceMismatchError(f"[{op}] out is on {out.device}, the result on {result.device}")
    out._assign(result)
    return out


def _is_array(obj: Any) -> bool:
    """Whether it offers its elements by one of NumPy's ways, DLPack or the buffer protocol."""
    if any(
        hasattr(obj, name)
        for name in ("__array_interface__", "__array_struct__", "__array__", "__dlpack__")
    ):
        return True
    return is_buffer(obj)


def _converted(t: Tensor, dtype: DType | None, device: DeviceLike, copy: bool | None) -> Tensor:
    """A tensor in another dtype or on another device, by way of the host, where asked for."""
    moved = device is not None and _core.get_device(device) != t.device
    cast = dtype is not None and dtype != t.dtype
    if not moved and not cast:
        return t.copy() if copy else t
    if copy is False:
        raise ValueError(
            f"[asarray] copy=False cannot be kept from {t.dtype} on {t.device} "
            f"to {dtype or t.dtype} on {device or t.device}"
        )
    r = t if dtype is None else t._astype(dtype)
    return _moved(r, device) if moved else r


def target_of(
    args: tuple[Any, ...], dtype: Any, device: DeviceLike
) -> tuple[DType | None, Device | None]:
    """The meaning of to()'s arguments: dtypes, devices and tensors that have both."""
    for a in args:
        if isinstance(a, Tensor):
            dtype, device = a.dtype, a.device
        elif isinstance(a, (Device, int)) or (isinstance(a, str) and not is_dtype(a)):
            device = a
        else:
            dtype = a
    d = None if dtype is None else to_dtype(dtype, "to")
    try:
        return d, None if device is None else _core.get_device(device)
    except DeviceNotFoundError as error:
        raise DeviceNotFoundError(f"[to] {device!r} is no dtype and no device: {error}") from None


def to(self: Tensor, *args: Any, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """The tensor in a dtype, on a device, or both, named or not; or as another tensor is: itself
    where it is so. Raises DTypeError, DeviceNotFoundError."""
    return _converted(self, *target_of(args, dtype, device), None)


def _moved(t: Tensor, device: DeviceLike) -> Tensor:
    """By way of the host; a gradient comes back the same way."""
    made = _core.from_array(t.numpy(), t.dtype, device)
    if not (t.requires_grad and _core.grad_enabled()):
        return made
    home = t.device

    def back(grads: list[Tensor], needed: list[bool], _: Any) -> list[Tensor]:
        return [_moved(grads[0], home)]

    return _core.attach("to_device", [t], [made], back, False)[0]


def _stacked(op: str, items: Any, dtype: DType | None, device: DeviceLike) -> Tensor:
    """Nested sequences that hold tensors: one tensor with a new first axis for each level."""
    if device is None:
        device = _only_device(op, items)
    parts = [x if isinstance(x, SCALARS) else to_tensor(op, x, None, device) for x in items]
    shapes = sorted({x.shape if isinstance(x, Tensor) else () for x in parts})
    if len(shapes) > 1:
        raise ShapeError(f"[{op}] a sequence of tensors with different shapes: {shapes}")
    if dtype is None:
        dtype = result_type(*parts)
    rows = [
        x._astype(dtype).expand_dims(0)
        if isinstance(x, Tensor)
        else _core.full(1, dtype.numpy.type(x).item(), dtype, device, op)
        for x in parts
    ]
    return _core.concat(rows, 0, op)


def _only_device(op: str, items: Any) -> Device | None:
    """Where the tensors in nested sequences are. Raises DeviceMismatchError."""
    found: Device | None = None
    for x in items:
        here = x.device if isinstance(x, Tensor) else None
        if isinstance(x, SEQUENCES):
            here = _only_device(op, x)
        if found is not None and here is not None and here != found:
            raise DeviceMismatchError(
                f"[{op}] tensors on {found} and {here}: say where with device="
            )
        found = found or here
    return found
