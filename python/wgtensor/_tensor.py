"""What a tensor does beyond the core: printing, NumPy protocols, copies and pickles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor import _functions as f
from wgtensor._arrays import asarray
from wgtensor._core import Tensor

_SHOWN = 1000  # elements above which repr reads edges only
_EDGE = 3


def _summary(t: Tensor) -> np.ndarray[Any, Any]:
    """The elements that repr shows: all, or three from either end of each axis."""
    for axis, n in enumerate(t.shape):
        if n > 2 * _EDGE:
            head = (slice(None),) * axis
            first = _summary(t[(*head, slice(0, _EDGE))])
            last = _summary(t[(*head, slice(n - _EDGE, n))])
            return np.concatenate([first, last], axis)
    return t.numpy()


def _text(t: Tensor, prefix: str, separator: str) -> str:
    if t.size <= _SHOWN:
        return np.array2string(t.numpy(), separator=separator, prefix=prefix)
    shown = _summary(t)
    # NumPy summarizes by itself when told that the array is long.
    edges = [min(n, _EDGE) for n in t.shape]
    body = np.array2string(shown, separator=separator, prefix=prefix, threshold=0, edgeitems=max(edges))
    return body


def _repr(self: Tensor) -> str:
    body = _text(self, "tensor(", ", ")
    return f"tensor({body}, shape={self.shape}, dtype={self.dtype}, device='{self.device}')"


def _str(self: Tensor) -> str:
    return _text(self, "", " ")


def _format(self: Tensor, spec: str) -> str:
    return format(self.item(), spec) if spec and self.size == 1 else format(str(self), spec)


def _item(self: Tensor, *index: int) -> bool | int | float:
    """The only element (or the one at `index`) as a Python number; waits for the work."""
    t = self[index] if index else self
    if t.size != 1:
        raise ValueError(f"item() of a tensor with {t.size} elements: it has shape {t.shape}")
    value: bool | int | float = t.numpy().item()
    return value


def _bool(self: Tensor) -> bool:
    if self.size != 1:
        raise ValueError(f"the truth value of a tensor with {self.size} elements is ambiguous")
    return bool(_item(self))


def _index(self: Tensor) -> int:
    if self.dtype.kind not in "iu" or self.ndim:
        raise TypeError("only integer 0-d tensors can be an index")
    return int(_item(self))


def _iter(self: Tensor) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return (self[i] for i in range(self.shape[0]))


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    if copy is False:
        raise ValueError("a tensor's elements are copied from the device: copy=False cannot be kept")
    a = self.numpy()
    return a if dtype is None else a.astype(dtype, copy=False)


def _array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    from wgtensor._generated import UFUNCS

    out = kwargs.pop("out", None)
    name = ufunc.__name__
    function: Callable[..., Tensor] | None = f.matmul if name == "matmul" else UFUNCS.get(name)
    if method != "__call__" or function is None or kwargs:
        return NotImplemented
    device = next(x.device for x in (*inputs, *(out or ())) if isinstance(x, Tensor))
    operands = [asarray(x, device=device) if isinstance(x, np.ndarray) else x for x in inputs]
    if out is None:
        return function(*operands)
    (target,) = out
    if isinstance(target, Tensor):
        from wgtensor._arrays import into

        return into(name, target, function(*operands))
    target[...] = function(*operands).numpy()
    return target


def _reduction(name: str) -> Callable[..., Tensor]:
    function = getattr(f, name)

    def method(
        self: Tensor,
        axis: Any = None,
        dtype: Any = None,
        out: Tensor | None = None,
        keepdims: bool = False,
        *,
        dim: Any = None,
    ) -> Tensor:
        if dim is not None:
            if name in ("max", "min"):
                raise TypeError(f"{name}(dim=) returns a pair in PyTorch: use axis=")
            axis = dim
        x = self if dtype is None else f.astype(self, dtype, copy=False)
        result: Tensor = function(x, axis=axis, keepdims=keepdims)
        if out is None:
            return result
        from wgtensor._arrays import into

        return into(name, out, result)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = function.__doc__
    return method


def _softmax(self: Tensor, axis: int = -1, *, dim: int | None = None) -> Tensor:
    """exp(x - max(x)) / sum of the same, along an axis."""
    return self._softmax(axis if dim is None else dim)


def _astype(self: Tensor, dtype: Any, *, copy: bool = True) -> Tensor:
    """The tensor in another dtype."""
    return f.astype(self, dtype, copy=copy)


def _transpose(self: Tensor, *axes: Any) -> Tensor:
    """The axes in reverse order, or in the given one; a view."""
    if not axes or axes == (None,):
        return self.T
    return self.permute(*axes)


def _eval(self: Tensor) -> Tensor:
    """Starts the tensor's work and does not wait; returns the tensor."""
    _core.eval([self])
    return self


def _restore(array: np.ndarray[Any, Any]) -> Tensor:
    return asarray(array)


def _namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    import wgtensor

    return wgtensor


def install() -> None:
    """Puts the above on the core's class; the stub lists it all."""
    members: dict[str, Any] = {
        "__repr__": _repr,
        "__str__": _str,
        "__format__": _format,
        "__bool__": _bool,
        "__int__": lambda self: int(_item(self)),
        "__float__": lambda self: float(_item(self)),
        "__index__": _index,
        "__iter__": _iter,
        "__hash__": object.__hash__,
        "__array__": _array,
        "__array_ufunc__": _array_ufunc,
        "__array_priority__": 1000,
        "__array_namespace__": _namespace,
        "__deepcopy__": lambda self, memo: self.copy(),
        "__reduce__": lambda self: (_restore, (self.numpy(),)),
        "item": _item,
        "tolist": lambda self: self.numpy().tolist(),
        "astype": _astype,
        "transpose": _transpose,
        "softmax": _softmax,
        "eval": _eval,
    }
    for name in ("sum", "mean", "max", "min"):
        members[name] = _reduction(name)
    for name, member in members.items():
        setattr(Tensor, name, member)
