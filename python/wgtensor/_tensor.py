"""What a tensor does beyond the core: reductions, conversions, NumPy's protocols, pickles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wgtensor import (
    _async,
    _core,
    _dlpack,
    _printing,
    _reduction_methods,
    _repeating,
    _torch_inplace,
    _torch_methods,
    _ufuncs,
)
from wgtensor import _elementwise as e
from wgtensor import _functions as f
from wgtensor import _grids as g
from wgtensor import _indexing as i
from wgtensor import _manipulation as m
from wgtensor import _order_methods as o
from wgtensor import _products as p
from wgtensor import _reductions as r
from wgtensor import _scattering as s
from wgtensor import autograd as a
from wgtensor._arrays import DeviceLike, as_tensor, asarray, to
from wgtensor._core import Tensor
from wgtensor._naming import as_method

_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


_at = as_method("item", lambda self, *index: self[index])


def _item(self: Tensor, *index: int) -> bool | int | float:
    """The only element (or the one at `index`) as a Python number; waits for the work."""
    t = _at(self, *index) if index else self
    if t.size != 1:
        raise ValueError(
            f"[item] {t.size} elements: a tensor of shape {t.shape} is no single number"
        )
    value: bool | int | float = t.numpy().item()
    return value


def _tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers; a number for 0-d."""
    return self.numpy().tolist()


def _bool(self: Tensor) -> bool:
    if self.size != 1:
        raise ValueError(f"[bool] the truth value of a tensor of shape {self.shape} is ambiguous")
    return bool(_item(self))


def _int(self: Tensor) -> int:
    return int(_item(self))


def _float(self: Tensor) -> float:
    return float(_item(self))


def _index(self: Tensor) -> int:
    if self.dtype.kind not in "iu" or self.ndim:
        raise TypeError(
            f"[index] only integer 0-d tensors are an index, not {self.dtype} of shape {self.shape}"
        )
    return int(_item(self))


def _iter(self: Tensor) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("[iter] a 0-d tensor has nothing to iterate over")
    return (self[i] for i in range(self.shape[0]))


def _contains(self: Tensor, value: Any) -> bool:
    return self.size > 0 and bool(r.any(as_tensor("contains", self == value)))


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    if copy is False:
        raise ValueError("[array] elements are copied from the device: copy=False cannot be kept")
    a = self.numpy()
    return a if dtype is None else a.astype(dtype, copy=False)


def _astype(self: Tensor, dtype: Any, *, copy: bool = True) -> Tensor:
    """The tensor in another dtype. Floats become integers by truncation; anything but 0 is True."""
    return f.astype(self, dtype, copy=copy)


def _to_device(self: Tensor, device: DeviceLike, /, *, stream: None = None) -> Tensor:
    """The tensor on another device, by way of the host; itself where it is there already."""
    if stream is not None:
        raise ValueError(f"[to_device] stream must be None, not {stream!r}")
    return asarray(self, device=device)


def _transpose(self: Tensor, *axes: Any) -> Tensor:
    """The axes in reverse order, or in the given one; a view."""
    if not axes or axes == (None,):
        return self.T
    return self.permute(*axes)


def _flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from one to another as one, all by default; a view where strides allow."""
    if start_dim == 0 and end_dim == -1:
        return self.reshape(-1)
    return m.flatten("flatten", self, start_dim, end_dim)


def _ravel(self: Tensor) -> Tensor:
    """The elements in one dimension, in row-major order; a view where strides allow."""
    return self.reshape(-1)


def _clip(self: Tensor, min: Any = None, max: Any = None, out: Tensor | None = None) -> Tensor:
    """The elements between two bounds, each a number, an array or None; NaN stays NaN."""
    return e.clip(self, min, max, out=out)


def _round(self: Tensor, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The elements rounded to a number of decimals, halves to the even neighbour."""
    return e.round(self, decimals, out=out)


def _rounded(self: Tensor, ndigits: int | None = None) -> Tensor:
    """For round(t) and round(t, 2): a tensor of the same dtype, as with NumPy's arrays."""
    return e.round(self, 0 if ndigits is None else ndigits)


def _divmod(self: Tensor, other: Any, /) -> tuple[Tensor, Tensor]:
    return e.divmod(self, other)


def _rdivmod(self: Tensor, other: Any, /) -> tuple[Tensor, Tensor]:
    return e.divmod(other, self)


def _repeat(self: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element that many times in a row along an axis; of the flattened tensor by default."""
    return _repeating.repeat(self, repeats, axis=axis)


def _trace(
    self: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None
) -> Tensor:
    """Sums of the diagonals of the planes of two axes."""
    return g.trace(self, offset, axis1, axis2, dtype=dtype)


def _eval(self: Tensor) -> Tensor:
    """Starts the tensor's work and does not wait; returns the tensor."""
    _core.eval([self])
    return self


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Adds the gradients of the tensor to .grad of the leaves it depends on, or of `inputs`.

    gradient: weights of its shape; a tensor of one element needs none. See autograd.backward.
    """
    a.backward(self, gradient, retain_graph, create_graph, inputs)


def _requires_grad(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Says whether gradients are computed for this leaf; returns it."""
    self.requires_grad = requires_grad
    return self


def _register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> a.RemovableHandle:
    """Calls `hook` with each gradient of the tensor; what it returns, if not None, replaces it."""
    return a.RemovableHandle(self, self._add_hook(hook))


def _deepcopy(self: Tensor, memo: Any, /) -> Tensor:
    if not self.is_leaf:
        raise RuntimeError(
            "[deepcopy] the tensor was computed from others that require grad: detach() it, or "
            "copy() it on the tape"
        )
    made = self.detach().copy()
    memo[id(self)] = made
    if self.grad is not None:
        made.grad = self.grad.detach().copy()
    made.requires_grad = self.requires_grad
    return made


def _restore(array: np.ndarray[Any, Any], requires_grad: bool = False) -> Tensor:
    t = asarray(array)
    t.requires_grad = requires_grad
    return t


def _reduce(self: Tensor) -> tuple[Callable[..., Tensor], tuple[np.ndarray[Any, Any], bool]]:
    return (_restore, (self.numpy(), self.requires_grad and self.is_leaf))


def _namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    if api_version is not None and api_version not in _API_VERSIONS:
        raise ValueError(
            f"[array_namespace] no version {api_version!r}; there are {', '.join(_API_VERSIONS)}"
        )
    import wgtensor

    return wgtensor


def _init(self: Tensor, *args: Any, **kwargs: Any) -> None:
    raise TypeError("[Tensor] has no constructor: use asarray(data), or zeros, ones, full, empty")


def _take(self: Tensor, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Tensor:
    """The elements at integer indices along an axis; of the flattened tensor by default."""
    return i.take(self, indices, axis, mode=mode)


def _put(self: Tensor, indices: Any, values: Any, *, mode: str = "raise") -> None:
    """Replaces elements by their indices in row-major order; values repeat as needed."""
    s.put(self, indices, values, mode=mode)


_SPECIAL: dict[str, Any] = {
    "__init__": _init,
    "__repr__": _printing.representation,
    "__str__": _printing.text,
    "__format__": _printing.formatted,
    "__bool__": _bool,
    "__int__": _int,
    "__float__": _float,
    "__index__": _index,
    "__iter__": _iter,
    "__contains__": _contains,
    "__hash__": object.__hash__,
    "__array__": _array,
    "__dlpack__": _dlpack.export,
    "__dlpack_device__": _dlpack.device,
    "__array_ufunc__": _ufuncs.array_ufunc,
    "__array_priority__": 1000,
    "__array_namespace__": _namespace,
    "__deepcopy__": _deepcopy,
    "__reduce__": _reduce,
    "__round__": _rounded,
    "__divmod__": _divmod,
    "__rdivmod__": _rdivmod,
    # hooks of users run in it, whose errors are their own
    "backward": _backward,
    "numpy_async": _async.numpy_async,
    # they read, and what is told then may be an error of another function
    "item": _item,
    "tolist": _tolist,
    "to": to,
    "to_device": _to_device,
    "eval": _eval,
    # named where they are defined
    "swapaxes": m.swapaxes,
    "dot": p.dot,
    **o.METHODS,
    **_reduction_methods.METHODS,
    **_torch_methods.METHODS,
    **_torch_inplace.METHODS,
}
_METHODS: dict[str, Callable[..., Any]] = {
    "take": _take,
    "put": _put,
    "requires_grad_": _requires_grad,
    "register_hook": _register_hook,
    "astype": _astype,
    "transpose": _transpose,
    "flatten": _flatten,
    "ravel": _ravel,
    "clip": _clip,
    "round": _round,
    "repeat": _repeat,
    "trace": _trace,
}


def install() -> None:
    """Puts the above on the core's class; the stub lists it all."""
    for name, member in _SPECIAL.items():
        setattr(Tensor, name, member)
    for name, function in _METHODS.items():
        setattr(Tensor, name, as_method(name, function))
    Tensor.__module__ = "wgtensor"
