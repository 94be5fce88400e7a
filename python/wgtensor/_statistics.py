"""Statistics made of reductions: ranges, weighted means, covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor import _reductions as r
from wgtensor._arrays import ArrayLike, as_tensor, host_data
from wgtensor._core import ShapeError, Tensor
from wgtensor._dtypes import result_type
from wgtensor._elementwise import clip
from wgtensor._functions import matmul, ones_like
from wgtensor._generated import sqrt, trunc
from wgtensor._grids import diagonal
from wgtensor._manipulation import axis_of, concat
from wgtensor._naming import public
from wgtensor._reductions import Axis

__all__ = ["average", "corrcoef", "cov", "ptp"]


def as_floats(op: str, x: ArrayLike, device: Any = None) -> Tensor:
    """Integers and bools in the default float."""
    t = as_tensor(op, x, device)
    return t if t.dtype.kind == "f" else t._astype(_core.default_float())


@public
def ptp(x: ArrayLike, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The largest element less the smallest over axes; NaN wins. ValueError for no elements."""
    t = as_tensor("ptp", x)
    return r.max(t, axis=axis, keepdims=keepdims) - r.min(t, axis=axis, keepdims=keepdims)


@public
def average(
    x: ArrayLike,
    /,
    axis: int | None = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """sum(weights * x) / sum(weights) over an axis, all by default; the mean without weights.

    weights: of the shape of `x`, or a vector along the axis; a sum of 0 divides as floats do.
    returned: gives (average, sums of weights). Raises ShapeError.
    """
    t = as_floats("average", x)
    if weights is None:
        w = ones_like(t) if returned else None
        mean = r.mean(t, axis=axis, keepdims=keepdims)
        return mean if w is None else (mean, r.sum(w, axis=axis, keepdims=keepdims))
    w = as_tensor("average", weights, t.device)
    if w.shape != t.shape:
        if axis is None or w.ndim != 1 or w.size != t.shape[axis_of("average", axis, t.ndim)]:
            raise ShapeError(
                f"[average] weights of shape {w.shape} for elements of shape {t.shape} and axis "
                f"{axis}"
            )
        w = w.reshape((-1,) + (1,) * (t.ndim - 1 - axis_of("average", axis, t.ndim)))
    dtype = result_type(t.dtype, w.dtype)
    wide = _core.unpacked(dtype)
    w = w._astype(wide).broadcast_to(t.shape)
    total = r.sum(w, axis=axis, keepdims=keepdims)
    mean = (r.sum(t._astype(wide) * w, axis=axis, keepdims=keepdims) / total)._astype(dtype)
    return (mean, total._astype(dtype)) if returned else mean


def _observations(op: str, m: ArrayLike, y: ArrayLike | None, rowvar: bool) -> Tensor:
    """One row to a variable."""

    def rows(x: ArrayLike, device: Any) -> Tensor:
        t = as_floats(op, x, device)
        if t.ndim > 2:
            raise ShapeError(f"[{op}] takes a vector or a matrix, not shape {t.shape}")
        if t.ndim < 2:
            return t.reshape((1, -1))
        return t if rowvar else t.T

    t = rows(m, None)
    return t if y is None else concat([t, rows(y, t.device)], axis=0)


def _weights(op: str, name: str, w: ArrayLike, n: int, like: Tensor) -> Tensor:
    """Weights in a dtype, checked: at once where they are host data, else with the next read."""
    data = host_data(op, w)
    t = as_tensor(op, w, like.device)
    if t.shape != (n,):
        raise ShapeError(f"[{op}] {name} is a vector of {n} elements, not of shape {t.shape}")
    counts = name == "fweights"
    t = t._astype(like.dtype)
    if data is None:
        bad = (t < 0) | (t != trunc(t)) if counts else t < 0
        what = "integers and not negative" if counts else "not negative"
        return t + _core.checked(bad, op, f"{name} are {what}")._astype(t.dtype)
    if counts and (data != np.trunc(data)).any():
        raise TypeError(f"[{op}] fweights are integers: how often each observation counts")
    if (data < 0).any():
        raise ValueError(f"[{op}] {name} are not negative")
    return t


@public
def cov(
    m: ArrayLike,
    /,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
) -> Tensor:
    """Covariances of variables, one to a row (to a column unless `rowvar`), of which `y` has more.

    Over n - 1, or n with `bias`, or n - ddof. fweights: how often each observation counts;
    aweights: how much. NaN or inf where the divisor is 0. In floats. Raises ShapeError, TypeError
    for fweights that are no integers, ValueError for negative weights: with the next read where
    they are tensors.
    """
    return _covariance("cov", m, y, rowvar, bias, ddof, fweights, aweights)


def _covariance(
    op: str,
    m: ArrayLike,
    y: ArrayLike | None,
    rowvar: bool,
    bias: bool = False,
    ddof: Any = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
) -> Tensor:
    if not (ddof is None or (isinstance(ddof, (int, float, np.number)) and ddof == int(ddof))):
        raise ValueError(f"[{op}] ddof must be an integer, not {ddof!r}")
    less = (0 if bias else 1) if ddof is None else ddof
    given = _observations(op, m, y, rowvar)
    t = given._astype(_core.unpacked(given.dtype))
    n = t.shape[1]
    f = None if fweights is None else _weights(op, "fweights", fweights, n, t)
    a = None if aweights is None else _weights(op, "aweights", aweights, n, t)
    w = f if a is None else a if f is None else f * a
    if w is None:
        centred = t - r.mean(t, axis=1, keepdims=True)
        total: Any = n - less
        other = centred
    else:
        mass = r.sum(w)
        centred = t - r.sum(t * w, axis=1, keepdims=True) / mass
        other = centred * w
        total = mass - less if a is None else mass - less * r.sum(w * a) / mass
    product = matmul(other, centred.T)
    factor = product / total if isinstance(total, Tensor) or total > 0 else product * float("inf")
    c = factor._astype(given.dtype)
    return c.reshape(()) if c.size == 1 else c


@public
def corrcoef(m: ArrayLike, /, y: ArrayLike | None = None, rowvar: bool = True) -> Tensor:
    """Pearson's correlations of variables: `cov` over both standard deviations, within [-1, 1].

    NaN where a variable does not vary. In floats. Raises ShapeError.
    """
    c = _covariance("corrcoef", m, y, rowvar)
    if c.ndim == 0:
        return c / c
    scale = sqrt(diagonal(c))
    return clip(c / scale.expand_dims(1) / scale.expand_dims(0), -1.0, 1.0)
