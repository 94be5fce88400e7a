"""What a Parameter does beyond a Tensor: copies and pickles stay parameters."""

from __future__ import annotations

from typing import Any

from wgtensor._arrays import asarray
from wgtensor._core import Parameter


def _rebuilt(values: Any, requires_grad: bool) -> Parameter:
    return Parameter(asarray(values), requires_grad)


def _reduce(self: Parameter) -> tuple[Any, ...]:
    return _rebuilt, (self.detach().numpy(), self.requires_grad)


def _copy(self: Parameter) -> Parameter:
    return Parameter(self.detach(), self.requires_grad)


def _deepcopy(self: Parameter, memo: dict[int, Any]) -> Parameter:
    memo[id(self)] = made = _copy(self)
    return made


def install() -> None:
    """Puts the above on the core's class."""
    for name, function in {
        "__reduce__": _reduce,
        "__copy__": _copy,
        "__deepcopy__": _deepcopy,
    }.items():
        setattr(Parameter, name, function)
