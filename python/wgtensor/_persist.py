"""State that outlives its device: copies on the host, from which recover() makes it anew."""

from __future__ import annotations

import copy
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wgtensor import _core
from wgtensor._core import Device, Tensor
from wgtensor._dtypes import DType, uint16
from wgtensor.autograd import no_grad
from wgtensor.random._generator import Generator

__all__ = ["Persisted", "persist"]


class _Host(NamedTuple):
    """A tensor's value on the host."""

    bits: np.ndarray[Any, Any]
    dtype: DType
    device: Device

    @classmethod
    def of(cls, t: Tensor) -> _Host:
        t = t.detach()
        plain = t if t.dtype.name != "bfloat16" else _core.bitcast(t, uint16)
        return cls(np.array(plain.numpy()), t.dtype, t.device)  # a copy: reads may be staging

    def tensor(self) -> Tensor:
        if self.dtype.name != "bfloat16":
            return _core.from_array(self.bits, self.dtype, self.device)
        return _core.bitcast(_core.from_array(self.bits, uint16, self.device), self.dtype)


def _mapped(tree: Any, kind: type, function: Callable[[Any], Any]) -> Any:
    """A state with what is of a kind replaced, and the rest copied."""
    if isinstance(tree, kind):
        return function(tree)
    if type(tree) is dict:
        return {k: _mapped(v, kind, function) for k, v in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(_mapped(v, kind, function) for v in tree)
    return copy.deepcopy(tree)


def _module() -> Any:
    """The class; its package is imported when it is needed first."""
    from wgtensor.nn._module import Module

    return Module


def _optimizer() -> Any:
    from wgtensor.optim._optimizer import Optimizer

    return Optimizer


def _tensors_of(obj: Any) -> Iterator[Tensor]:
    """The tensors whose values belong to an object and are kept as they are."""
    if isinstance(obj, Tensor):
        yield obj
    elif isinstance(obj, _module()):
        yield from obj.parameters()
        yield from obj.buffers()
    elif isinstance(obj, _optimizer()):
        for group in obj.param_groups:
            yield from group["params"]


def _state_of(obj: Any) -> Any:
    """What else it needs, as a state with tensors in it; None where that is nothing."""
    if isinstance(obj, (Tensor, _module())):
        return None
    return obj.get_state() if isinstance(obj, Generator) else obj.state_dict()


def _state_tensors(state: Any) -> Iterator[Tensor]:
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, (dict, list, tuple)):
        for v in state.values() if isinstance(state, dict) else state:
            yield from _state_tensors(v)


def _members(objects: tuple[Any, ...]) -> Iterator[Any]:
    for obj in objects:
        if isinstance(obj, (list, tuple)):
            yield from _members(tuple(obj))
        elif isinstance(obj, dict):
            yield from _members(tuple(obj.values()))
        elif isinstance(obj, (Tensor, _module(), _optimizer(), Generator)) or (
            hasattr(obj, "state_dict") and hasattr(obj, "load_state_dict")
        ):
            yield obj
        else:
            raise TypeError(
                f"[persist] takes tensors, modules, optimizers, schedules and generators, "
                f"not {type(obj).__name__}"
            )


class Persisted:
    """Objects whose state has a copy on the host; see persist()."""

    def __init__(self, objects: list[Any]) -> None:
        unique = {id(obj): obj for obj in objects}
        self._objects = [weakref.ref(obj, self._died) for obj in unique.values()]
        self._tensors: list[tuple[weakref.ref[Tensor], _Host]] = []
        self._states: list[tuple[weakref.ref[Any], Any]] = []
        self.update()

    def _died(self, _: Any, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ends() and not any(ref() is not None for ref in self._objects):
            self.forget()

    def _alive(self) -> list[Any]:
        return [obj for ref in self._objects if (obj := ref()) is not None]

    def update(self) -> None:
        """Copies the state as it is now, and waits for it.

        The copy that was there stays until the new one is whole. Raises DeviceLostError.
        """
        objects = self._alive()
        found = {id(t): t for obj in objects for t in _tensors_of(obj)}
        states = [(obj, s) for obj in objects if (s := _state_of(obj)) is not None]
        _core.eval([*found.values(), *(t for _, s in states for t in _state_tensors(s))])
        tensors = [(weakref.ref(t), _Host.of(t)) for t in found.values()]
        kept = [(weakref.ref(obj), _mapped(s, Tensor, _Host.of)) for obj, s in states]
        with _lock:
            self._tensors, self._states = tensors, kept

    def restore(self) -> None:
        """Sets everything back to the copy, in place; gradients are forgotten."""
        with _lock, no_grad():
            # Nothing changes before all of it is there.
            made = [(t, host.tensor()) for ref, host in self._tensors if (t := ref()) is not None]
            states = [
                (obj, _mapped(s, _Host, _Host.tensor))
                for ref, s in self._states
                if (obj := ref()) is not None
            ]
            _core.eval([value for _, value in made])
            for t, value in made:
                t._revive(value)
                if t.is_leaf and t.grad is not None:
                    t.grad = None
            for obj, state in states:
                if isinstance(obj, Generator):
                    obj.set_state(state)
                else:
                    obj.load_state_dict(state)

    def forget(self) -> None:
        """Lets the copy go: a loss of the device is a loss of this state from now on."""
        with _lock:
            if self in _groups:
                _groups.remove(self)
            self._tensors, self._states = [], []

    def _lost_on(self, device: Device) -> bool:
        held = [t for ref, _ in self._tensors if (t := ref()) is not None]
        for ref, _ in self._states:
            if (obj := ref()) is not None:
                held += _state_tensors(_state_of(obj))
        return any(t.device == device and t._is_lost() for t in held)

    @property
    def nbytes(self) -> int:
        """Bytes that the copy takes on the host."""
        held = [host.bits.nbytes for _, host in self._tensors]
        for _, state in self._states:
            _mapped(state, _Host, lambda host: held.append(host.bits.nbytes))
        return sum(held)

    def __repr__(self) -> str:
        names = ", ".join(type(obj).__name__ for obj in self._alive())
        return f"Persisted({names}: {self.nbytes:,} bytes on the host)"


_lock = threading.RLock()
_groups: list[Persisted] = []  # the newest last


def persist(*objects: Any) -> Persisted:
    """Keeps a copy of state on the host, from which ``device.recover()`` makes it anew.

    Takes tensors, modules (parameters and buffers), optimizers (with the parameters that they
    update), schedules, random generators, whatever has state_dict() and load_state_dict(), and
    lists and dicts of these. The copy is made at the call, at each update() of what it returns, and
    when persist() takes the same objects again; nothing is copied in between, so that a training
    says itself what its loop costs, and to which step it goes back. After a loss all objects of one
    call go back together, the very same Python objects; gradients are forgotten. The copy lives as
    long as the objects. Raises TypeError for anything else, DeviceLostError.
    """
    found = list(_members(objects))
    if not found:
        raise TypeError("[persist] takes one object or more")
    group = Persisted(found)
    ids = {id(obj) for obj in found}
    with _lock:
        for old in list(_groups):
            if {id(obj) for obj in old._alive()} <= ids:
                _groups.remove(old)
        _groups.append(group)
    return group


def _recover(self: Device) -> None:
    """Makes a lost device anew. Persisted state is back then; what else was on it raises
    DeviceLostError when touched. Does nothing for a device that is well.
    """
    with _lock:  # of several threads each finds the state restored
        _core_recover(self)
        for group in list(_groups):
            if group._lost_on(self):
                group.restore()


_core_recover = Device.recover


def install() -> None:
    """Puts recover() on the core's class; the stub lists it."""
    setattr(Device, "recover", _recover)  # noqa: B010
