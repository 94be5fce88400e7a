"""NumPy's functions on tensors: np.exp(t), ndarray + t, np.add(a, t, out=...), np.add.reduce(t)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wgtensor import _core, _generated
from wgtensor import _functions as f
from wgtensor import _reductions as r
from wgtensor._arrays import from_host, into
from wgtensor._core import ShapeError, Tensor, UnsupportedError
from wgtensor._elementwise import divmod as _divmod
from wgtensor._elementwise import fabs, float_power, modf
from wgtensor._generated import ALIASES, UFUNCS

_FUNCTIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.matmul: f.matmul,
    np.divmod: _divmod,
    np.fabs: fabs,
    np.float_power: float_power,
    np.modf: modf,
    **{
        getattr(np, name): function
        for name, function in UFUNCS.items()
        if isinstance(getattr(np, name), np.ufunc)  # sinc, say, is a function of several
    },
    **{
        getattr(np, name): getattr(_generated, row)
        for name, row in ALIASES.items()
        if isinstance(getattr(np, name, None), np.ufunc)
    },
}
_REDUCTIONS: dict[np.ufunc, Callable[..., Tensor]] = {
    np.add: r.sum,
    np.multiply: r.prod,
    np.maximum: r.max,
    np.minimum: r.min,
    np.logical_or: r.any,
    np.logical_and: r.all,
}
_SCANS: dict[np.ufunc, Callable[..., Tensor]] = {
    np.add: r.cumulative_sum,
    np.multiply: r.cumulative_prod,
    np.maximum: r.cumulative_max,
    np.minimum: r.cumulative_min,
}
_FOLDS: dict[np.ufunc, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
}
# What NumPy's callers may pass and what we do anyway.
_NEUTRAL = {"where": True, "casting": "same_kind", "order": "K", "subok": True, "dtype": None}


def _defers(x: Any) -> bool:
    """Whether a type has its own way with ufuncs, as dask's or astropy's arrays do."""
    if isinstance(x, (Tensor, np.generic)):
        return False
    own = getattr(type(x), "__array_ufunc__", None)
    return own is not None and own is not np.ndarray.__array_ufunc__


def _store(name: str, out: tuple[Any, ...], result: Tensor) -> Any:
    if not out or out[0] is None:
        return result
    (target,) = out
    if isinstance(target, Tensor):
        return into(name, target, result)
    np.copyto(target, result.numpy(), casting="same_kind")
    return target


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """NumPy's ufunc protocol. Raises UnsupportedError for what no function of ours does."""
    out = kwargs.pop("out", ())
    if any(_defers(x) for x in (*inputs, *out)):
        return NotImplemented
    name = ufunc.__name__
    if method == "reduce" and ufunc in _REDUCTIONS:
        x = inputs[0]
        x = x if isinstance(x, Tensor) else from_host(name, np.asarray(x), None, self.device)
        return _store(name, out, _reduce(name, _REDUCTIONS[ufunc], x, **kwargs))
    if method == "accumulate" and ufunc in _SCANS:
        return _store(name, out, _accumulate(name, _SCANS[ufunc], *inputs, **kwargs))
    if method == "at" and ufunc in _FOLDS:
        return _fold_at(name, _FOLDS[ufunc], *inputs)
    if method == "outer" and ufunc.nin == 2 and ufunc in _FUNCTIONS and ufunc.signature is None:
        return _outer(self, ufunc, *inputs, out=out, **kwargs)
    extra = [k for k, v in kwargs.items() if k not in _NEUTRAL or v is not _NEUTRAL[k]]
    function = _FUNCTIONS.get(ufunc)
    if method != "__call__" or function is None or (ufunc.nout > 1 and out):
        called = name if method == "__call__" else f"{name}.{method}"
        raise UnsupportedError(
            f"[{called}] is not there for tensors: np.{called}(np.asarray(t)) runs on the host"
        )
    if extra:
        raise UnsupportedError(f"[{name}] does not take {', '.join(extra)} for tensors")
    device = next(x.device for x in (*inputs, *out) if isinstance(x, Tensor))
    operands = [
        from_host(name, x, None, device) if isinstance(x, np.ndarray) else x for x in inputs
    ]
    return _store(name, out, function(*operands))


def _outer(self: Tensor, ufunc: np.ufunc, a: Any, b: Any, **kwargs: Any) -> Any:
    """ufunc.outer: all pairs, over the axes of `a` and then those of `b`."""
    name = f"{ufunc.__name__}.outer"
    x, y = (
        v if isinstance(v, Tensor) else from_host(name, np.asarray(v), None, self.device)
        for v in (a, b)
    )
    return array_ufunc(self, ufunc, "__call__", x.reshape(x.shape + (1,) * y.ndim), y, **kwargs)


def _fold_at(name: str, fold: str, x: Any, key: Any, value: Any) -> None:
    """ufunc.at: the value folded into the indexed elements, as often as they are indexed."""
    if not isinstance(x, Tensor):
        raise TypeError(f"[{name}.at] writes into a Tensor here, not {type(x).__name__}")
    x._become(_core.accumulate(x, key, value, fold, f"{name}.at"), f"{name}.at")


def _reduce(
    name: str,
    function: Callable[..., Tensor],
    x: Tensor,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    **rest: Any,
) -> Tensor:
    rest = {k: v for k, v in rest.items() if k != "where" or v is not True}
    if rest:
        raise UnsupportedError(f"[{name}.reduce] does not take {', '.join(rest)} for tensors")
    if dtype is not None:
        x = f.astype(x, dtype, copy=False)
    return function(x, axis=axis, keepdims=keepdims)


def _accumulate(
    name: str,
    function: Callable[..., Tensor],
    x: Tensor,
    axis: Any = 0,
    dtype: Any = None,
    **rest: Any,
) -> Tensor:
    if rest:
        raise UnsupportedError(f"[{name}.accumulate] does not take {', '.join(rest)} for tensors")
    if x.ndim == 0:
        raise ShapeError(f"[{name}.accumulate] takes no 0-d tensors")
    if dtype is not None:
        x = f.astype(x, dtype, copy=False)
    return function(x, axis=axis)
