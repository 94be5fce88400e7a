"""What modules do with the values of their tensors: replace, move, compare with a saved state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from wgtensor import _core
from wgtensor._arrays import DeviceLike, asarray, target_of
from wgtensor._core import Device, DTypeError, Tensor
from wgtensor._dtypes import DType
from wgtensor._functions import zeros_like
from wgtensor.autograd import no_grad


class LoadResult(NamedTuple):
    """Names that load_state_dict() did not find, and those that it had no place for."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Target(NamedTuple):
    """Where to() moves tensors."""

    dtype: DType | None
    device: Device | None


def set_value(t: Tensor, value: Tensor) -> None:
    """Moves the handle `t` to a value, outside of the tape."""
    with no_grad():
        t._assign(value)


def clear_gradients(params: list[Any], set_to_none: bool) -> None:
    """Forgets the gradients of parameters, or makes them zeros, also where they are NaN."""
    if set_to_none:
        _core.forget_gradients(params)
        return
    for p in params:
        if p.grad is not None:
            p.grad = zeros_like(p.grad)


def module_target(args: tuple[Any, ...], dtype: Any, device: DeviceLike) -> Target:
    """The meaning of to()'s arguments. Raises TypeError, DTypeError for what is no float."""
    d, where = target_of(args, dtype, device)
    if d is not None and d.kind != "f":
        raise DTypeError(f"[to] a module takes a float dtype, not {d}")
    return Target(d, where)


def moved(t: Tensor, target: Target) -> None:
    """Moves a tensor, with its gradient, in place."""
    gradient = t.grad
    dtype = target.dtype if target.dtype is not None and t.dtype.kind == "f" else t.dtype
    if t.dtype == dtype and target.device in (None, t.device):
        return
    t.grad = None
    set_value(t, _elsewhere(t.detach(), dtype, target.device))
    if gradient is not None:
        t.grad = _elsewhere(gradient.detach(), dtype, target.device)


def _elsewhere(t: Tensor, dtype: DType, device: Device | None) -> Tensor:
    t = t._astype(dtype)
    return t if device in (None, t.device) else t.to(device)


def mismatches(
    module: str, targets: Mapping[str, Tensor], state: Mapping[str, Any], strict: bool
) -> LoadResult:
    """Compares names and shapes. Raises ValueError with a list of everything."""
    missing = [name for name in targets if name not in state]
    unexpected = [name for name in state if name not in targets]
    shapes = [
        f"{name}: {tuple(getattr(state[name], 'shape', ()))} in the state, {t.shape} here"
        for name, t in targets.items()
        if name in state and tuple(getattr(state[name], "shape", ())) != t.shape
    ]
    faults = []
    if strict and missing:
        faults.append("missing: " + ", ".join(missing))
    if strict and unexpected:
        faults.append("unexpected: " + ", ".join(unexpected))
    faults += shapes
    if faults:
        raise ValueError(f"[load_state_dict] {module}:\n  " + "\n  ".join(faults))
    return LoadResult(missing, unexpected)


def moved_value(value: Any, like: Tensor) -> Tensor:
    """A value for the place of another tensor, of its dtype and on its device."""
    if not isinstance(value, Tensor):
        return asarray(value, dtype=like.dtype, device=like.device)
    here: Device = like.device
    return (value if value.device == here else value.to(here)).detach()._astype(like.dtype)
