"""Tables made of numbers: powers, grids of indices, windows, polynomials, diagonals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor, as_values
from wgtensor._choosing import tril_indices, triu_indices
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._dtypes import get_default_dtype, to_dtype
from wgtensor._functions import arange, zeros, zeros_like
from wgtensor._generated import where as _select
from wgtensor._grids import diag
from wgtensor._manipulation import as_int, flip
from wgtensor._naming import public
from wgtensor._reductions import cumulative_prod
from wgtensor._scattering import put

__all__ = [
    "bartlett",
    "blackman",
    "diag_indices_from",
    "diagflat",
    "fill_diagonal",
    "fromfunction",
    "hamming",
    "hanning",
    "indices",
    "kaiser",
    "piecewise",
    "polyval",
    "tril_indices_from",
    "triu_indices_from",
    "vander",
]

# ---- grids of indices ---------------------------------------------------------------------------


@public
def indices(
    dimensions: Sequence[int], /, *, dtype: Any = "int32", device: DeviceLike = None
) -> Tensor:
    """The indices of each element of a shape: for each axis an array of that shape."""
    shape = tuple(as_int("indices", "a size", n) for n in dimensions)
    table = zeros((len(shape), *shape), dtype=dtype, device=device)
    for axis, n in enumerate(shape):
        along = tuple(n if a == axis else 1 for a in range(len(shape)))
        table[axis] = arange(n, dtype=dtype, device=device).reshape(along)
    return table


@public
def fromfunction(
    function: Callable[..., Any],
    shape: Sequence[int],
    /,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    **kwargs: Any,
) -> Any:
    """What a function gives for the indices of a shape, an array of it for each axis."""
    d = get_default_dtype() if dtype is None else to_dtype(dtype)
    return function(*indices(shape, dtype=d, device=device), **kwargs)


def _matrix(op: str, x: ArrayLike) -> Tensor:
    t = as_tensor(op, x)
    if t.ndim != 2:
        raise ShapeError(f"[{op}] takes a matrix, not shape {t.shape}")
    return t


@public
def tril_indices_from(x: ArrayLike, /, k: int = 0) -> tuple[Tensor, ...]:
    """`tril_indices` of the shape of a matrix."""
    t = _matrix("tril_indices_from", x)
    return tril_indices(t.shape[0], k, t.shape[1], device=t.device)


@public
def triu_indices_from(x: ArrayLike, /, k: int = 0) -> tuple[Tensor, ...]:
    """`triu_indices` of the shape of a matrix."""
    t = _matrix("triu_indices_from", x)
    return triu_indices(t.shape[0], k, t.shape[1], device=t.device)


@public
def diag_indices_from(x: ArrayLike, /) -> tuple[Tensor, ...]:
    """The indices of the main diagonal of an array whose axes have one size, two or more."""
    t = as_tensor("diag_indices_from", x)
    if t.ndim < 2 or len(set(t.shape)) != 1:
        raise ShapeError(f"[diag_indices_from] takes axes of one size, not shape {t.shape}")
    return (arange(t.shape[0], device=t.device),) * t.ndim


# ---- diagonals ----------------------------------------------------------------------------------


@public
def diagflat(v: ArrayLike, /, k: int = 0) -> Tensor:
    """A matrix with the elements of `v`, in row-major order, on its k-th diagonal."""
    return diag(as_tensor("diagflat", v).reshape(-1), k=k)


@public
def fill_diagonal(x: Tensor, value: ArrayLike, /, wrap: bool = False) -> None:
    """Writes to the main diagonal of `x`; values repeat as needed.

    wrap: the diagonal of a tall matrix begins anew below. Raises ShapeError for fewer than two
    dimensions, and for more whose sizes differ.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"[fill_diagonal] writes into a Tensor, not {type(x).__name__}")
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) != 1):
        raise ShapeError(f"[fill_diagonal] shape {x.shape} has no main diagonal")
    if x.ndim == 2:
        step = x.shape[1] + 1
        end = x.size if wrap or x.shape[0] <= x.shape[1] else x.shape[1] * x.shape[1]
    else:
        step = 1 + sum(x.shape[0] ** i for i in range(1, x.ndim))
        end = x.size
    put(x, np.arange(0, end, step), as_values("fill_diagonal", value, x))


# ---- powers -------------------------------------------------------------------------------------


@public
def vander(x: ArrayLike, /, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """Powers of the elements of a vector, one to a row, from N - 1 down to 0, or up from 0.

    Products of the element before, as NumPy's. Raises ShapeError, DTypeError for bools.
    """
    t = as_tensor("vander", x)
    if t.ndim != 1:
        raise ShapeError(f"[vander] takes a vector, not shape {t.shape}")
    if t.dtype.kind == "b":
        raise DTypeError("[vander] bools have no powers: use astype(int)")
    count = t.size if N is None else as_int("vander", "N", N)
    if count < 0:
        raise ValueError(f"[vander] N must not be negative, not {count}")
    if count == 0 or t.size == 0:
        return zeros((t.size, count), dtype=t.dtype, device=t.device)
    rows = t.expand_dims(1).broadcast_to((t.size, count - 1))
    made = cumulative_prod(rows, axis=1, include_initial=True)
    return made if increasing else flip(made, axis=1)


@public
def polyval(p: ArrayLike, x: ArrayLike, /) -> Tensor:
    """The polynomial with these coefficients, the highest power first, at each `x`: Horner's rule,
    in one kernel. Raises ShapeError where the coefficients are no vector."""
    t = as_tensor("polyval", x)
    coefficients = as_tensor("polyval", p, t.device)
    if coefficients.ndim != 1:
        raise ShapeError(f"[polyval] coefficients are a vector, not shape {coefficients.shape}")
    y = zeros_like(t)
    for c in coefficients:
        y = y * t + c
    return y


# ---- windows ------------------------------------------------------------------------------------


def _window(op: str, make: Callable[..., Any], m: int, dtype: Any, device: DeviceLike) -> Tensor:
    """NumPy's, made in float64 and rounded once."""
    d = get_default_dtype() if dtype is None else to_dtype(dtype)
    if d.kind != "f":
        raise DTypeError(f"[{op}] gives floats, not {d}")
    return _core.from_array(make(as_int(op, "M", m)).astype(d.numpy), d, device, op)


@public
def bartlett(M: int, /, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:  # noqa: N803
    """Bartlett's window of M points, a triangle that begins and ends with 0; rounded once."""
    return _window("bartlett", np.bartlett, M, dtype, device)


@public
def blackman(M: int, /, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:  # noqa: N803
    """Blackman's window of M points: 0.42, 0.5 and 0.08 times cosines; rounded once."""
    return _window("blackman", np.blackman, M, dtype, device)


@public
def hamming(M: int, /, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:  # noqa: N803
    """Hamming's window of M points: 0.54 - 0.46 cos(2 pi n / (M - 1)); rounded once."""
    return _window("hamming", np.hamming, M, dtype, device)


@public
def hanning(M: int, /, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:  # noqa: N803
    """Hann's window of M points: 0.5 - 0.5 cos(2 pi n / (M - 1)); rounded once."""
    return _window("hanning", np.hanning, M, dtype, device)


@public
def kaiser(
    M: int,  # noqa: N803
    beta: float,
    /,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
) -> Tensor:
    """Kaiser's window of M points with the shape beta; rounded once."""
    return _window("kaiser", lambda m: np.kaiser(m, float(beta)), M, dtype, device)


# ---- pieces -------------------------------------------------------------------------------------


@public
def piecewise(
    x: ArrayLike, condlist: Any, funclist: Sequence[Any], /, *args: Any, **kwargs: Any
) -> Tensor:
    """For each element what the function, or the number, of the last condition that holds gives;
    one more of them is for where none does, else 0.

    Functions see all of `x`, not just the elements of theirs, and one kernel chooses. The result
    has the dtype of `x`. Raises ValueError for another number of functions.
    """
    t = as_tensor("piecewise", x)
    single = isinstance(condlist, Tensor) and condlist.shape == t.shape
    conditions = [condlist] if single or np.ndim(condlist) == 0 else list(condlist)
    if conditions and not single and np.ndim(conditions[0]) == 0 and t.ndim:
        conditions = [condlist]
    n = len(conditions)
    if len(funclist) not in (n, n + 1):
        raise ValueError(f"[piecewise] {len(funclist)} functions for {n} conditions")

    def value(f: Any) -> Any:
        made = f(t, *args, **kwargs) if callable(f) else f
        return made._astype(t.dtype) if isinstance(made, Tensor) else made

    y = zeros_like(t) if len(funclist) == n else _filled(t, value(funclist[n]))
    for condition, f in zip(conditions, funclist, strict=False):
        y = _select(as_tensor("piecewise", condition, t.device), value(f), y)
    return y


def _filled(like: Tensor, value: Any) -> Tensor:
    made = as_values("piecewise", value, like)
    return made.broadcast_to(like.shape)
