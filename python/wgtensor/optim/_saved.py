"""What an optimizer looks at before it goes on from a saved state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from wgtensor._core import Tensor
from wgtensor.nn._state import moved_value


class Saved(NamedTuple):
    """The parts of a state dict: groups, the numbers of their parameters, the state of each."""

    groups: list[Mapping[str, Any]]
    numbers: list[Any]
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
    strangers = [i for i in state if i not in numbers]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"[{name}] a parameter appears twice in the state dict's groups")
    if strangers:
        raise ValueError(f"[{name}] the state dict has parameters {strangers}, which no group has")
    return Saved(list(groups), numbers, state)


def _check_form(name: str, state: Any, groups: Any) -> None:
    """Raises TypeError for what has not the form of a state dict."""
    if not isinstance(state, Mapping) or not all(isinstance(s, Mapping) for s in state.values()):
        raise TypeError(f"[{name}] the state dict's state is a dict of dicts")
    if not isinstance(groups, Sequence) or not all(
        isinstance(g, Mapping) and isinstance(g.get("params"), Sequence) for g in groups
    ):
        raise TypeError(f"[{name}] the state dict's param_groups are dicts with a list of params")


def placed(name: str, number: Any, state: Mapping[str, Any], p: Tensor) -> dict[str, Any]:
    """The state of a parameter from elsewhere, of its dtype and on its device.

    Raises ValueError for a shape that is not the parameter's, TypeError for a count that is none.
    """
    out: dict[str, Any] = {}
    for key, value in state.items():
        if key == "step":
            out[key] = _count(name, number, value)
        elif value is None:  # as PyTorch saves what is not there yet
            continue
        else:
            shape = tuple(getattr(value, "shape", ()))
            if shape != p.shape:
                raise ValueError(
                    f"[{name}] {key} of parameter {number} has the shape {shape} in the state "
                    f"dict, {p.shape} here"
                )
            out[key] = moved_value(value, p)
    return out


def _count(name: str, number: Any, value: Any) -> int:
    """A number of steps: an integer, or a tensor of one, as PyTorch saves it."""
    try:
        steps = int(value)
    except (TypeError, ValueError, RuntimeError):
        steps = -1
    if steps < 0 or steps != value:
        raise TypeError(f"[{name}] step of parameter {number} is a count, not {value!r}")
    return steps
