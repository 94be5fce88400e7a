"""Reductions, scans and softmax as methods: NumPy's arguments, and PyTorch's word for an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtensor import _functions as f
from wgtensor import _quantiles
from wgtensor import _reductions as r
from wgtensor._arrays import into
from wgtensor._core import Tensor
from wgtensor._naming import public


def _one_axis(name: str, axis: Any, dim: Any, default: Any) -> Any:
    """`axis`, or PyTorch's word for it."""
    if dim is None:
        return axis
    if axis is not default:
        raise TypeError(f"[{name}] takes axis= or dim=, not both: {axis!r} and {dim!r}")
    return dim


def _reduction(name: str) -> Callable[..., Tensor]:
    """sum, mean, prod: NumPy's arguments, with a dtype to reduce in."""
    function = getattr(r, name)

    def method(
        self: Tensor,
        axis: r.Axis = None,
        dtype: Any = None,
        out: Tensor | None = None,
        keepdims: bool = False,
        *,
        dim: r.Axis = None,
    ) -> Tensor:
        x = r.in_dtype(name, self, dtype)
        y: Tensor = function(x, axis=_one_axis(name, axis, dim, None), keepdims=keepdims)
        return into(name, out, r.in_dtype(name, y, dtype))

    return _named(method, name, function.__doc__)


def _extremum(name: str) -> Callable[..., Tensor]:
    function = getattr(r, name)

    def method(
        self: Tensor,
        axis: r.Axis = None,
        out: Tensor | None = None,
        keepdims: bool = False,
        *,
        dim: r.Axis = None,
    ) -> Tensor:
        if dim is not None:
            raise TypeError(
                f"[{name}] dim={dim!r} gives values and indices in PyTorch: "
                f"axis= gives the values, arg{name} the indices"
            )
        y: Tensor = function(self, axis=axis, keepdims=keepdims)
        return into(name, out, y)

    return _named(method, name, function.__doc__)


def _quantile(name: str) -> Callable[..., Tensor]:
    function = getattr(_quantiles, name)

    def method_(
        self: Tensor,
        q: Any,
        axis: r.Axis = None,
        keepdims: bool = False,
        *,
        method: str = "linear",
        dim: r.Axis = None,
    ) -> Tensor:
        a = _one_axis(name, axis, dim, None)
        y: Tensor = function(self, q, axis=a, keepdims=keepdims, method=method)
        return y

    return _named(method_, name, function.__doc__)


def _truth(name: str) -> Callable[..., Tensor]:
    function = getattr(r, name)

    def method(
        self: Tensor,
        axis: r.Axis = None,
        out: Tensor | None = None,
        keepdims: bool = False,
        *,
        dim: r.Axis = None,
    ) -> Tensor:
        y: Tensor = function(self, axis=_one_axis(name, axis, dim, None), keepdims=keepdims)
        return into(name, out, y)

    return _named(method, name, function.__doc__)


def _place(name: str) -> Callable[..., Tensor]:
    function = getattr(r, name)

    def method(
        self: Tensor,
        axis: int | None = None,
        out: Tensor | None = None,
        *,
        keepdims: bool = False,
        dim: int | None = None,
    ) -> Tensor:
        y: Tensor = function(self, axis=_one_axis(name, axis, dim, None), keepdims=keepdims)
        return into(name, out, y)

    return _named(method, name, function.__doc__)


def _spread(name: str) -> Callable[..., Tensor]:
    function = getattr(r, name)

    def method(
        self: Tensor,
        axis: r.Axis = None,
        dtype: Any = None,
        out: Tensor | None = None,
        ddof: float | None = None,
        keepdims: bool = False,
        *,
        correction: float | None = None,
        dim: r.Axis = None,
    ) -> Tensor:
        less = r.correction_of(name, correction, ddof)
        if dim is not None and correction is None:
            raise TypeError(
                f"[{name}] dim={dim!r} needs correction=: 1 is PyTorch's default, 0 NumPy's"
            )
        x = r.in_dtype(name, self, dtype)
        y: Tensor = function(
            x,
            axis=_one_axis(name, axis, dim, None),
            correction=less,
            keepdims=keepdims,
        )
        return into(name, out, y)

    return _named(method, name, function.__doc__)


def _scan(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def method(
        self: Tensor,
        axis: int | None = None,
        dtype: Any = None,
        out: Tensor | None = None,
        *,
        dim: int | None = None,
    ) -> Tensor:
        return r.flat_scan(name, self, _one_axis(name, axis, dim, None), dtype, out, function)

    doc = f"{function.__name__} along an axis; without one of all elements in row-major order."
    return _named(method, name, doc)


def _logsumexp(
    self: Tensor, axis: r.Axis = None, keepdims: bool = False, *, dim: r.Axis = None
) -> Tensor:
    """log(sum(exp(x))) over axes with no overflow on the way."""
    axis = _one_axis("logsumexp", axis, dim, None)
    return r.logsumexp(self, axis=axis, keepdims=keepdims)


def _named(method: Callable[..., Any], name: str, doc: str | None) -> Callable[..., Any]:
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = doc
    return method


def _softmax(self: Tensor, axis: int = -1, *, dim: int | None = None) -> Tensor:
    """exp(x - max(x)) / sum of the same, along an axis."""
    return f.softmax(self, axis=_one_axis("softmax", axis, dim, -1))


def _log_softmax(self: Tensor, axis: int = -1, *, dim: int | None = None) -> Tensor:
    """The logarithm of softmax along an axis, without its underflow."""
    return f.log_softmax(self, axis=_one_axis("log_softmax", axis, dim, -1))


METHODS: dict[str, Any] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    **{name: _reduction(name) for name in ("sum", "prod", "mean")},
    **{name: _extremum(name) for name in ("max", "min")},
    **{name: _truth(name) for name in ("any", "all")},
    **{name: _quantile(name) for name in ("quantile", "nanquantile")},
    **{name: _place(name) for name in ("argmax", "argmin")},
    **{name: _spread(name) for name in ("var", "std")},
    "logsumexp": _logsumexp,
    "cumsum": public(_scan("cumsum", r.cumulative_sum)),
    "cumprod": public(_scan("cumprod", r.cumulative_prod)),
}
