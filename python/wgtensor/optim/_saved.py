"""What an optimizer looks at before it goes on from a saved state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from wgtensor._core import Tensor
from wgtensor.nn._state import moved_value


class Saved(NamedTuple):
    """The parts of a state dict: groups, and the state of each parameter by its number there."""

    groups: list[Mapping[str, Any]]
    state: Mapping[Any, Mapping[str, Any]]


def saved_state(
    name: str, state_dict: Any, here: Sequence[int], defaults: Mapping[str, Any]
) -> Saved:
    """The parts of what `state_dict()` gave, for groups of `here` parameters.

    Raises ValueError where it does not fit these groups and options, TypeError where it is of
    another form.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(
            f"[{name}] load_state_dict() takes what state_dict() gave, not "
            f"{type(state_dict).__name__}"
        )
    missing = [part for part in ("state", "param_groups") if part not in state_dict]
    if missing:
        raise ValueError(f"[{name}] the state dict has no {' and no '.join(missing)}")
    state, groups = state_dict["state"], state_dict["param_groups"]
    _check_form(name, state, groups)
    there = [len(g["params"]) for g in groups]
    if list(here) != there:
        raise ValueError(f"[{name}] groups of {there} parameters do not fit those of {here} here")
    # Flags may be younger than a file.
    options = {k for k, v in defaults.items() if not isinstance(v, bool)}
    lacking = sorted({k for g in groups for k in options if k not in g})
    if lacking:
        raise ValueError(
            f"[{name}] the state dict is of another kind of optimizer: its groups have no "
            f"{', '.join(lacking)}"
        )
    numbers = [i for g in groups for i in g["params"]]
    if not all(isinstance(i, (int, str)) for i in numbers):
        raise TypeError(f"[{name}] the state dict's params are numbers of parameters")
    strangers = [i for i in state if i not in numbers]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"[{name}] a parameter appears twice in the state dict's groups")
    if strangers:
        raise ValueError(f"[{name}] the state dict has parameters {strangers}, which no group has")
    return Saved(list(groups), state)


def _check_form(name: str, state: Any, groups: Any) -> None:
    """Raises TypeError for what has not the form of a state dict."""
    if not isinstance(state, Mapping) or not all(isinstance(s, Mapping) for s in state.values()):
        raise TypeError(f"[{name}] the state dict's state is a dict of dicts")
    if not isinstance(groups, Sequence) or not all(
        isinstance(g, Mapping) and isinstance(g.get("params"), Sequence) for g in groups
    ):
        raise TypeError(f"[{name}] the state dict's param_groups are dicts with a list of params")


class Wanted(NamedTuple):
    """Names of tensors that a state may have, of those that it must, whether it counts steps."""

    known: frozenset[str]
    needed: Sequence[str]
    counts: bool


def placed(
    name: str, number: Any, state: Mapping[str, Any], p: Tensor, wanted: Wanted
) -> dict[str, Any]:
    """The state of a parameter from elsewhere, of its dtype and on its device.

    Raises ValueError for a shape that is not the parameter's, for what is missing and for what
    this kind of optimizer does not know, TypeError for what is no tensor or no count.
    """
    given = {k: v for k, v in state.items() if v is not None}  # None: as PyTorch saves nothing yet
    known = wanted.known | {"step"}
    strange = [str(k) for k in given if k not in known]
    missing = [k for k in wanted.needed if k not in given]
    if wanted.counts and "step" not in given:
        missing.append("step")
    for what, keys in (("has no", missing), ("is of another optimizer: it has", strange)):
        if keys:
            raise ValueError(f"[{name}] the state of parameter {number} {what} {', '.join(keys)}")
    out: dict[str, Any] = {"step": _count(name, number, given.pop("step", 1))}
    for key, value in given.items():
        out[key] = _buffer(name, f"{key} of parameter {number}", value, p)
    return out


def _buffer(name: str, what: str, value: Any, p: Tensor) -> Tensor:
    if not hasattr(value, "shape"):
        raise TypeError(f"[{name}] {what} is a tensor, not {type(value).__name__}")
    if tuple(value.shape) != p.shape:
        raise ValueError(
            f"[{name}] {what} has the shape {tuple(value.shape)} in the state dict, {p.shape} here"
        )
    try:
        return moved_value(value, p)
    except (TypeError, ValueError) as error:
        raise TypeError(f"[{name}] {what} is no tensor of numbers: {error}") from None


_MOST_STEPS = 2**53  # that floats count


def _count(name: str, number: Any, value: Any) -> int:
    """A number of steps: an integer, or a tensor of one, as PyTorch saves it."""
    try:
        steps = int(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        steps = -1
    if not 0 <= steps <= _MOST_STEPS or steps != value or isinstance(value, bool):
        raise TypeError(f"[{name}] step of parameter {number} is a count, not {value!r}")
    return steps
