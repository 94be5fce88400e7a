"""Methods by PyTorch's names, of what is there under another one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wgtensor import _functions as f
from wgtensor._arrays import ArrayLike, as_tensor, as_values
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._dtypes import DType, bool_, float16, float32, float64, int32, int64, is_dtype
from wgtensor._elementwise import clip
from wgtensor._generated import divide, multiply, subtract
from wgtensor._generated import where as _select
from wgtensor._indexing import take, take_along_axis
from wgtensor._joining import chunk
from wgtensor._manipulation import as_int, axis_of, broadcast_arrays, unstack
from wgtensor._naming import as_method
from wgtensor._reductions import Axis
from wgtensor.linalg import vector_norm


def _clone(self: Tensor) -> Tensor:
    """A copy, on the tape: its gradient is the tensor's."""
    return self.copy()


def _contiguous(self: Tensor) -> Tensor:
    """The tensor: kernels take every layout."""
    return self


def _sizes(op: str, shape: tuple[Any, ...]) -> list[int]:
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return [as_int(op, "a size", n) for n in given]


def _view(self: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """The elements in another shape, one size of which may be -1; or, of a dtype, the bytes as
    elements of that, as `bitcast`."""
    if dtype is not None:
        shape = (*shape, dtype)
    if len(shape) == 1 and (dtype is not None or is_dtype(shape[0])):
        return f.bitcast(self, shape[0])
    return self.reshape(*shape)


def _expand(self: Tensor, *sizes: int | Sequence[int]) -> Tensor:
    """A view with axes of size 1 repeated; -1 keeps a size, new axes come in front."""
    given = _sizes("expand", sizes)
    new = len(given) - self.ndim
    if new < 0 or any(n == -1 for n in given[:new]):
        raise ShapeError(f"[expand] shape {self.shape} to {tuple(given)}")
    return self.broadcast_to(
        [n if n != -1 else self.shape[i - new] for i, n in enumerate(given)],
    )


def _unsqueeze(self: Tensor, dim: int) -> Tensor:
    """A view with a new axis of size 1."""
    return self.expand_dims(dim)


def _numel(self: Tensor) -> int:
    """The number of elements."""
    return math.prod(self.shape)


def _dim(self: Tensor) -> int:
    """The number of dimensions."""
    return self.ndim


def _unbind(self: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of the tensor at each index of an axis."""
    return unstack(self, axis=dim)


def _chunk(self: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of that many parts of an axis, equal but for the last."""
    return tuple(chunk(self, chunks, dim))


def _index_select(self: Tensor, dim: int, index: ArrayLike) -> Tensor:
    """The slices at indices along an axis, as `take`."""
    return take(self, index, dim)


def _gather(self: Tensor, dim: int, index: ArrayLike) -> Tensor:
    """The elements along an axis at an index for each place: of the shape of `index`, which has as
    many dimensions and is no longer than the tensor but along the axis."""
    a = axis_of("gather", dim, self.ndim)
    places = index if isinstance(index, Tensor) else np.asarray(index)
    if places.ndim != self.ndim:
        raise ShapeError(f"[gather] an index of shape {places.shape} for shape {self.shape}")
    sizes = enumerate(places.shape)
    part = self[tuple(slice(None if i == a else n) for i, n in sizes)]
    if any(n > m for i, (n, m) in enumerate(zip(places.shape, part.shape, strict=True)) if i != a):
        raise ShapeError(f"[gather] an index of shape {places.shape} for shape {self.shape}")
    return take_along_axis(part, places, a)


def _mask(op: str, mask: ArrayLike, t: Tensor) -> Tensor:
    m = as_tensor(op, mask, t.device)
    if m.dtype.kind != "b":
        raise DTypeError(f"[{op}] a mask is of bools, not {m.dtype}")
    return m


def _masked_fill(self: Tensor, mask: ArrayLike, value: ArrayLike) -> Tensor:
    """A copy with `value` where the mask holds; the mask broadcasts, the dtype stays."""
    m = _mask("masked_fill", mask, self)
    v = as_values("masked_fill", value, self)
    if v.ndim:
        raise ShapeError(f"[masked_fill] the value is a number, not of shape {v.shape}")
    made = _select(m, v._astype(self.dtype), self)
    if made.shape != self.shape:
        raise ShapeError(f"[masked_fill] a mask of shape {m.shape} for shape {self.shape}")
    return made


def _masked_select(self: Tensor, mask: ArrayLike) -> Tensor:
    """The elements where the mask holds, in a row; mask and tensor broadcast. How many there are is
    read back."""
    x, m = broadcast_arrays(self, _mask("masked_select", mask, self))
    return x[m]


def _masked_fill_(self: Tensor, mask: ArrayLike, value: ArrayLike) -> Tensor:
    """Writes `value` where the mask holds; returns the tensor."""
    self[...] = self.masked_fill(mask, value)
    return self


def _fill_(self: Tensor, value: ArrayLike) -> Tensor:
    """Writes a number to all elements; returns the tensor."""
    v = as_values("fill_", value, self)
    if v.ndim:
        raise ShapeError(f"[fill_] takes a number, not a tensor of shape {v.shape}")
    self[...] = v
    return self


def _fill(self: Tensor, value: ArrayLike) -> None:
    """Writes a number to all elements, as NumPy's."""
    self.fill_(value)


def _tobytes(self: Tensor) -> bytes:
    """The elements' bytes in row-major order."""
    return self.numpy().tobytes()


def _zero_(self: Tensor) -> Tensor:
    """Writes 0 to all elements; returns the tensor."""
    self[...] = 0
    return self


def _copy_(self: Tensor, source: ArrayLike) -> Tensor:
    """Writes what `source` has, which broadcasts, to all elements; returns the tensor."""
    self[...] = source
    return self


def _sub(self: Tensor, other: ArrayLike) -> Tensor:
    """The difference to another tensor or number."""
    return subtract(self, other)


def _mul(self: Tensor, other: ArrayLike) -> Tensor:
    """The product with another tensor or number, elementwise."""
    return multiply(self, other)


def _div(self: Tensor, other: ArrayLike) -> Tensor:
    """The quotient with another tensor or number, in floats."""
    return divide(self, other)


def _clamp(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """The elements between two bounds, as `clip`."""
    return clip(self, min, max)


def _matmul(self: Tensor, other: ArrayLike) -> Tensor:
    """The matrix product, as ``self @ other``."""
    return f.matmul(self, other)


def _product_of(ndim: int, name: str) -> Callable[[Tensor, ArrayLike], Tensor]:
    def method(self: Tensor, other: ArrayLike) -> Tensor:
        t = as_tensor(name, other, self.device)
        if not self.ndim == t.ndim == ndim or self.shape[:-2] != t.shape[:-2]:
            kind = "two matrices" if ndim == 2 else "two stacks of as many matrices"
            raise ShapeError(f"[{name}] takes {kind}, not shapes {self.shape} and {t.shape}")
        return f.matmul(self, t)

    return method


_mm = _product_of(2, "mm")
_mm.__doc__ = """The product of two matrices; nothing broadcasts."""
_bmm = _product_of(3, "bmm")
_bmm.__doc__ = """The products of the matrices of two stacks; nothing broadcasts."""


def _norm(self: Tensor, p: Any = "fro", dim: Axis = None, keepdim: bool = False) -> Tensor:
    """sum(abs(x) ** p) ** (1 / p) over axes, of all elements by default; 'fro' is 2."""
    order = 2 if p is None or p == "fro" else p
    return vector_norm(self, axis=dim, keepdims=keepdim, ord=order)


def _as(dtype: DType) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return f.astype(self, dtype, copy=False)

    method.__doc__ = f"The tensor in {dtype}; itself where it is."
    return method


_METHODS: dict[str, Callable[..., Any]] = {
    "clone": _clone,
    "contiguous": _contiguous,
    "view": _view,
    "expand": _expand,
    "unsqueeze": _unsqueeze,
    "numel": _numel,
    "dim": _dim,
    "unbind": _unbind,
    "chunk": _chunk,
    "index_select": _index_select,
    "gather": _gather,
    "masked_fill": _masked_fill,
    "masked_fill_": _masked_fill_,
    "masked_select": _masked_select,
    "fill_": _fill_,
    "fill": _fill,
    "tobytes": _tobytes,
    "zero_": _zero_,
    "copy_": _copy_,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "clamp": _clamp,
    "matmul": _matmul,
    "mm": _mm,
    "bmm": _bmm,
    "norm": _norm,
    "float": _as(float32),
    "half": _as(float16),
    "double": _as(float64),
    "int": _as(int32),
    "long": _as(int64),
    "bool": _as(bool_),
}
METHODS = {name: as_method(name, method) for name, method in _METHODS.items()}
