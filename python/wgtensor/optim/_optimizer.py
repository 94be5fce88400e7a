"""What all optimizers share: groups of parameters, their state, a step."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wgtensor import _core, _jit
from wgtensor._core import Tensor
from wgtensor._naming import Named
from wgtensor.autograd import enable_grad
from wgtensor.nn._state import clear_gradients
from wgtensor.optim._saved import Wanted, placed, saved_state

Group = dict[str, Any]
State = dict[str, Any]
Number = Callable[[Group, int], float]  # of a group and the number of the step

_NOT_NEGATIVE = frozenset(
    ["lr", "eps", "weight_decay", "momentum", "lr_decay", "alpha", "initial_accumulator_value"]
)


class Rule(NamedTuple):
    """What a step does with the parameters of a group."""

    formula: str  # of the core
    numbers: dict[str, Number]  # by the names that the formula has
    state: dict[str, float]  # tensors of a parameter's shape in the formula's order: first values


class Optimizer(Named):
    """The base of optimizers, with PyTorch's ways.

    params: tensors, or dicts with "params" and options for these alone. What is no option of a
    group comes from the optimizer's defaults. Learning rates, step counts and what follows from
    them are parameters of the kernels: a change compiles nothing.
    """

    #: names of the tensors that a parameter's state may have
    buffers: frozenset[str] = frozenset()
    #: whether a formula counts from the first step on, so that a state without "step" is none
    counts = True

    defaults: dict[str, Any]
    param_groups: list[Group]
    state: dict[Tensor, State]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._check(defaults)
        self.param_groups = []
        self.state = {}
        self._version = 0  # of groups and states as a whole
        if isinstance(params, Tensor):
            raise TypeError(f"[{self._name}] takes a sequence of tensors, not one")
        if not isinstance(params, Iterable):
            raise TypeError(f"[{self._name}] takes tensors, not {type(params).__name__}")
        given = list(params)
        if not given:
            raise ValueError(f"[{self._name}] no parameters")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _check(self, options: dict[str, Any]) -> None:
        """Raises TypeError for options that are no numbers, ValueError where they make no sense."""
        for name, value in options.items():
            number = isinstance(value, numbers.Real)
            if name == "betas":
                self._check_betas(value)
            elif isinstance(self.defaults.get(name), bool):
                if not isinstance(value, (int, np.bool_)) or value not in (0, 1):
                    raise TypeError(f"[{self._name}] {name} is True or False, not {value!r}")
            elif not number or math.isnan(value):
                what = f"{value}" if number else type(value).__name__
                raise TypeError(f"[{self._name}] {name} is a number, not {what}")
            elif name in _NOT_NEGATIVE and not value >= 0:
                raise ValueError(f"[{self._name}] {name} is not negative: {value}")

    def _check_betas(self, betas: Any) -> None:
        if not isinstance(betas, Sequence) or not all(isinstance(b, numbers.Real) for b in betas):
            raise TypeError(f"[{self._name}] betas are two numbers, not {betas!r}")
        if len(betas) != 2 or not all(0 <= b < 1 for b in betas):
            raise ValueError(f"[{self._name}] betas are two numbers in [0, 1), not {betas}")

    def add_param_group(self, param_group: Any) -> None:
        """Adds a dict with "params" and options. Raises TypeError, ValueError for repeated ones."""
        if not isinstance(param_group, Mapping):
            kind = type(param_group).__name__
            raise TypeError(f"[{self._name}] a group is a dict with params, not {kind}")
        group = dict(param_group)
        params = group.get("params")
        if not isinstance(params, Iterable):
            raise ValueError(f"[{self._name}] a group has params, a list of tensors: {group}")
        group["params"] = [params] if isinstance(params, Tensor) else list(params)
        for p in group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(f"[{self._name}] a parameter is a Tensor, not {type(p).__name__}")
            if not p.is_leaf:
                raise ValueError(
                    f"[{self._name}] a tensor of shape {p.shape} is the result of an operation: "
                    "only leaves can be optimized"
                )
        for name, value in self.defaults.items():
            group.setdefault(name, value)
        self._check({k: v for k, v in group.items() if k in self.defaults})
        ids = [id(p) for g in [*self.param_groups, group] for p in g["params"]]
        if len(set(ids)) < len(ids):
            raise ValueError(f"[{self._name}] a parameter appears twice")
        self.param_groups.append(group)
        self._version += 1

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or makes them zeros."""
        for group in self.param_groups:
            clear_gradients(group["params"], set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates every parameter that has a gradient, and starts that work without waiting.

        closure: computes the loss and its gradients anew; step() returns what it gives.
        Raises OutOfMemoryError: then parameters and state are what they were before, and gradients
        are still to be had.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        _jit.guard(lambda: self._version)
        counted: list[Tensor] = []
        batches = [b for group in self.param_groups for b in self._batches(group, counted)]
        try:
            if batches:
                _core.update(batches)
        except _core.OutOfMemoryError:
            self._uncount(counted)
            raise
        return loss

    def _uncount(self, params: list[Tensor]) -> None:
        """A step of these parameters has not been."""
        for p in params:
            self.state[p]["step"] -= 1
            if self.state[p]["step"] == 0:
                del self.state[p]

    def _rule(self, group: Group) -> Rule:
        """How the group's parameters move.

        Whether something is done at all is a guard() of _jit: then the formula can be recorded.
        """
        raise NotImplementedError(f"[{self._name}] has no _rule()")

    def _batches(self, group: Group, counted: list[Tensor]) -> list[Any]:
        """What _core.update() takes for a group: parameters that take the same numbers together.

        Parameters whose step was counted are added to `counted`.
        """
        rule = self._rule(group)
        maximize = _jit.guard(lambda: bool(group.get("maximize")))
        batches: dict[Any, tuple[list[State], list[Tensor], list[list[Tensor]]]] = {}
        recorded = _core.tracing()
        for p in group["params"]:
            if p.grad is None:
                continue
            state = self.state.get(p)
            if state is None:
                state = self.state[p] = {}
            step = state.get("step", 0) + 1
            key = (step, p.dtype) if recorded else step  # a recorded number has a dtype
            if key not in batches:
                states: list[State] = []
                batches[key] = (states, [], [])
                _jit.at_replay(
                    functools.partial(_count, states, 1), functools.partial(_count, states, -1)
                )
            states, params, tensors = batches[key]
            states.append(state)
            state["step"] = step
            counted.append(p)
            params.append(p)
            tensors.append([kept(state, name, p, value) for name, value in rule.state.items()])
        made = []
        for states, params, tensors in batches.values():
            numbers = {
                name: _number(of, group, states[0], params[0]) for name, of in rule.numbers.items()
            }
            made.append((rule.formula, numbers, maximize, params, tensors))
        return made

    # ---- state ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """State by the number of each parameter, and the groups with those numbers."""
        params = [p for g in self.param_groups for p in g["params"]]
        number = {id(p): i for i, p in enumerate(params)}
        groups = [{**g, "params": [number[id(p)] for p in g["params"]]} for g in self.param_groups]
        kept = {
            number[id(p)]: {k: _snapshot(v) for k, v in s.items()} for p, s in self.state.items()
        }
        return {"state": kept, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from a state_dict() of an optimizer with as many parameters in as many groups.

        Raises ValueError where they differ, where shapes do, and for groups without the options
        that this kind of optimizer has; TypeError for what is no such dict. Then nothing changed.
        """
        here = [len(g["params"]) for g in self.param_groups]
        saved = saved_state(self._name, state_dict, here, self.defaults)
        # All is looked at before anything changes: groups are what they will be then.
        groups = [
            {**own, **group, "params": own["params"]}
            for own, group in zip(self.param_groups, saved.groups, strict=True)
        ]
        state: dict[Tensor, State] = {}
        for group, named in zip(groups, saved.groups, strict=True):
            self._check({k: group[k] for k in self.defaults})
            wanted = Wanted(self.buffers, list(self._rule(group).state), self.counts)
            for i, p in zip(named["params"], group["params"], strict=True):
                if saved.state.get(i):
                    state[p] = placed(self._name, i, saved.state[i], p, wanted)
        for own, group in zip(self.param_groups, groups, strict=True):
            own.update(group)
        self._version += 1
        self.state = state

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {v}" for k, v in sorted(group.items()) if k != "params"]
        return f"{self._name} (\n" + "\n".join(lines) + "\n)"


def _snapshot(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def _count(states: list[State], steps: int) -> None:
    for state in states:
        state["step"] += steps


def _number(of: Number, group: Group, state: State, p: Tensor) -> Any:
    """of(group, step); in a recorded step asked for anew by each replay."""
    if not _core.tracing():
        return of(group, state["step"])
    return _jit.number(lambda: of(group, state["step"]), p.dtype)


def kept(state: State, name: str, p: Tensor, value: float) -> Tensor:
    """A tensor of the state, of the parameter's shape; `value` everywhere at first."""
    found: Tensor | None = state.get(name)
    if found is None:
        with _jit.outside():
            found = state[name] = _core.full(p.shape, value, p.dtype, p.device, "step")
    return found


def with_decay(group: Group, numbers: dict[str, Number]) -> dict[str, Number]:
    """Numbers of a formula that adds weight_decay times the parameter to its gradient."""
    if not _jit.guard(lambda: bool(group["weight_decay"])):
        return numbers
    return {**numbers, "decay": lambda g, _: g["weight_decay"]}


def with_shrinking(group: Group, numbers: dict[str, Number]) -> dict[str, Number]:
    """Numbers of a formula that multiplies the parameter by 1 - lr weight_decay."""
    if not _jit.guard(lambda: bool(group["weight_decay"])):
        return numbers
    return {**numbers, "shrink": lambda g, _: 1 - g["lr"] * g["weight_decay"]}
