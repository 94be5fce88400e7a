"""What a Parameter does beyond a Tensor: copies and pickles stay parameters."""

from __future__ import annotations

from typing import Any

from wgtensor._arrays import asarray
from wgtensor._core import Parameter, Tensor
from wgtensor.autograd import no_grad


def _rebuilt(values: Any, requires_grad: bool) -> Parameter:
    return Parameter(asarray(values), requires_grad)


def _reduce(self: Parameter) -> tuple[Any, ...]:
    return _rebuilt, (self.detach().numpy(), self.requires_grad)


def _copy(self: Parameter) -> Parameter:
    return Parameter(self.detach(), self.requires_grad)


def _deepcopy(self: Parameter, memo: dict[int, Any]) -> Parameter:
    memo[id(self)] = made = _copy(self)
    return made


def _data(self: Parameter) -> Tensor:
    """The value off the tape. Assigning gives the parameter another one, as ``p.data -= x`` does;
    what is changed in place otherwise is a tensor of its own.
    """
    return self.detach()


def _set_data(self: Parameter, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"[data] a parameter's data is a Tensor, not {type(value).__name__}")
    with no_grad():
        self._assign(value.detach())


def _repr(self: Parameter) -> str:
    return f"Parameter containing:\n{Tensor.__repr__(self)}"


def install() -> None:
    """Puts the above on the core's class."""
    for name, function in {
        "__reduce__": _reduce,
        "__copy__": _copy,
        "__deepcopy__": _deepcopy,
        "__repr__": _repr,
        "data": property(_data, _set_data),
    }.items():
        setattr(Parameter, name, function)
