"""`wgtensor.jit`: a function is recorded once for each kind of arguments, then replayed."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import struct
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from wgtensor import _core
from wgtensor._arrays import asarray
from wgtensor._core import Tensor
from wgtensor._jit_watch import Watch

__all__ = ["jit"]

P = ParamSpec("P")
R = TypeVar("R")

RECORDINGS = 32  # of one function, least recently used first to go
VARIANTS = 8  # of them for one kind of arguments


class _Leaf:
    """The place of a tensor in a structure of arguments or results."""

    def __repr__(self) -> str:
        return "tensor"


_TENSOR = _Leaf()


def flatten(tree: Any, tensors: list[Any], arrays: bool = False) -> Any:
    """The structure of nested dicts, lists, tuples and dataclasses, whose tensors are appended to a
    list."""
    if isinstance(tree, Tensor) or (arrays and isinstance(tree, np.ndarray)):
        tensors.append(tree)
        return _TENSOR
    if isinstance(tree, dict):
        kind: Any = type(tree)
        if isinstance(tree, defaultdict):
            kind = functools.partial(kind, tree.default_factory)
            kind = _Kind(kind, (type(tree), tree.default_factory))
        return _dict_of, (kind, *((k, flatten(v, tensors, arrays)) for k, v in tree.items()))
    if isinstance(tree, (list, tuple)):
        return type(tree), tuple(flatten(v, tensors, arrays) for v in tree)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [f.name for f in dataclasses.fields(tree) if hasattr(tree, f.name)]
        values = (flatten(getattr(tree, name), tensors, arrays) for name in names)
        return _fields_of, (type(tree), *zip(names, values, strict=True))
    return _Other(tree)


class _Kind:
    """How to make a dict of its items, and what it is known by."""

    def __init__(self, make: Callable[..., Any], key: Hashable) -> None:
        self.make, self.key = make, key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kind) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _dict_of(kind: Any, items: list[tuple[Any, Any]]) -> Any:
    make = kind.make if isinstance(kind, _Kind) else kind
    return make(items)


def _fields_of(kind: Any, items: list[tuple[str, Any]]) -> Any:
    made = object.__new__(kind)
    for name, value in items:
        object.__setattr__(made, name, value)  # as that of a frozen one
    return made


def _key_of(value: Any) -> Any:
    """What tells values apart: floats by their bits, so that -0.0 is not 0.0 and NaN is itself."""
    if type(value) is float:
        return struct.pack("d", value)
    if type(value) is complex:
        return struct.pack("dd", value.real, value.imag)
    return value.tobytes() if isinstance(value, np.generic) else value


class _Other:
    """What is no tensor: part of the key."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = _key_of(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Other) or type(self.value) is not type(other.value):
            return False
        return self.key is other.key or bool(self.key == other.key)

    def __hash__(self) -> int:
        return hash((type(self.value), self.key))


def others_of(structure: Any) -> Iterator[Any]:
    """What is no tensor in a structure."""
    if isinstance(structure, _Other):
        yield structure.value
    elif isinstance(structure, tuple):
        for item in structure:
            yield from others_of(item)


def unflatten(structure: Any, tensors: Any) -> Any:
    """The inverse of flatten(), with tensors from an iterator."""
    if structure is _TENSOR:
        return next(tensors)
    if isinstance(structure, _Other):
        return structure.value
    kind, items = structure
    if kind in (_dict_of, _fields_of):
        return kind(items[0], [(k, unflatten(v, tensors)) for k, v in items[1:]])
    values = [unflatten(v, tensors) for v in items]
    return kind(*values) if hasattr(kind, "_fields") else kind(values)


class _Recording:
    """One run of the function, to be repeated while its guards hold."""

    def __init__(self) -> None:
        self.guards: list[tuple[Callable[[], Any], Any]] = []
        self.replay: _core.Replay
        self.structure: Any
        self.hooks: list[tuple[Callable[[], None], Callable[[], None]]] = []
        self.watch: Watch

    def holds(self) -> bool:
        return (
            self.watch.holds()
            and all(function() == value for function, value in self.guards)
            and self.replay.holds()
        )

    def undo(self, hooks: int) -> None:
        """Takes back what the first of the hooks have counted."""
        for _, undo in self.hooks[:hooks]:
            undo()


class _Local(threading.local):
    recording: _Recording | None = None


_local = _Local()
_lock = threading.RLock()  # of recordings and replays: state is read and changed in one step


def number(function: Callable[[], float], dtype: Any) -> Any:
    """What `function` gives: a plain number, or in a recording a 0-d tensor asked for anew by each
    replay."""
    return _core.trace_number(function, dtype) if _core.tracing() else function()


def guard(function: Callable[[], R]) -> R:
    """What `function` gives; what is recorded holds only while it gives that."""
    value = function()
    if _core.tracing() and _local.recording is not None:
        _local.recording.guards.append((function, value))
    return value


def guard_item(*places: Any) -> None:
    """What is recorded holds only while dicts have the same things at keys: a dict, a key, ..."""
    if _core.tracing() and _local.recording is not None:
        for holder, key in zip(places[::2], places[1::2], strict=True):
            _local.recording.watch.add(holder, key)


class outside:  # noqa: N801 - read as `with outside():`
    """What a recorded function does in this block happens once: state that it makes is there."""

    def __enter__(self) -> None:
        _core.trace_pause()

    def __exit__(self, *error: object) -> None:
        _core.trace_resume()


def at_replay(function: Callable[[], None], undo: Callable[[], None]) -> None:
    """Calls it before each replay, for counts that the recorded function keeps in Python; `undo`
    where the recording or a replay fails."""
    if _core.tracing() and _local.recording is not None:
        _local.recording.hooks.append((function, undo))


class Jitted(Generic[P, R]):
    """A function whose work is recorded at its first call and replayed at later ones."""

    def __init__(self, function: Callable[P, R]) -> None:
        self._function = function
        self._recordings: OrderedDict[Hashable, list[_Recording]] = OrderedDict()
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        given: list[Any] = []
        structure = flatten((args, kwargs), given, arrays=True)
        tensors = [t if isinstance(t, Tensor) else asarray(t) for t in given]
        if _core.tracing():  # a jitted function inside another one is a part of it
            inner: R = self._function(*args, **kwargs)
            return inner
        if _core.grad_enabled() and any(t.requires_grad for t in tensors):
            raise RuntimeError(
                "[jit] an argument requires a gradient, and results of recorded functions have "
                "none: take backward() or grad() into the function, or detach() the argument"
            )
        with _lock:
            return self._run(structure, tensors)

    def _run(self, structure: Any, tensors: list[Tensor]) -> R:
        key = self._key(structure, tensors)
        known = self._recordings.setdefault(key, [])
        self._recordings.move_to_end(key)
        for recording in known:
            if not recording.holds():
                continue
            results = self._replay(recording, tensors)
            if results is not None:
                return self._result(recording, results)
            known.remove(recording)  # a tensor that it knows has changed its shape
            break
        return self._record(known, structure, tensors)

    @staticmethod
    def _replay(recording: _Recording, tensors: list[Tensor]) -> list[Tensor] | None:
        done = 0
        results = None
        try:
            for hook, _ in recording.hooks:
                hook()
                done += 1
            results = recording.replay(tensors)
        finally:
            if results is None:
                recording.undo(done)
        return results

    def _key(self, structure: Any, tensors: list[Tensor]) -> Hashable:
        key = (structure, _core.kinds_of(tensors))
        try:
            hash(key)
        except TypeError as error:
            raise TypeError(
                f"[jit] arguments are tensors, arrays and what can be hashed: {error}"
            ) from None
        return key

    def _record(self, known: list[_Recording], structure: Any, tensors: list[Tensor]) -> R:
        recording = _Recording()
        recording.watch = Watch(self._function, list(others_of(structure)))
        first = next(iter(tensors), None)
        if first is None:  # the device of what it knows
            first = next(recording.watch.tensors(), None)
        device = None if first is None else first.device
        twins = {id(t): t.__copy__() for t in tensors}  # the same object, the same alias
        aliases = [twins[id(t)] for t in tensors]
        outputs: list[Tensor] = []
        _core.trace_begin(device)
        _local.recording = recording
        try:
            args, kwargs = unflatten(structure, iter(aliases))
            recording.structure = flatten(self._function(*args, **kwargs), outputs)
            recording.watch.keep(_core.trace_known())
            recording.replay = _core.trace_end(outputs, aliases, tensors)
            results = recording.replay.first(tensors)
        except BaseException:
            if _core.tracing():
                _core.trace_cancel()
            recording.undo(len(recording.hooks))
            raise
        finally:
            _local.recording = None
        del outputs, aliases, twins, args, kwargs
        known.append(recording)
        del known[:-VARIANTS]
        while len(self._recordings) > RECORDINGS:
            self._recordings.popitem(last=False)
        return self._result(recording, results)

    def _result(self, recording: _Recording, results: list[Tensor]) -> R:
        value: R = unflatten(recording.structure, iter(results))
        return value

    def clear(self) -> None:
        """Forgets what was recorded, and the tensors that it knows."""
        self._recordings.clear()

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else functools.partial(self, owner)


def jit(function: Callable[P, R]) -> Jitted[P, R]:
    """A function that does the same as `function`, of which Python runs only the first call.

    That call is recorded: the operations on tensors become a program, and later calls with
    arguments of the same shapes and dtypes run it, without Python and without making the graph
    anew. Arguments and results may be nested in dicts, lists, tuples and dataclasses. Tensors that
    the function knows from elsewhere, as parameters of a model, are read anew by each call; those
    that it changes in place change by each call, and so does their ``.grad``. Arguments that are no
    tensors belong to the key: another value is another recording; so pass numbers that change as
    0-d tensors. The same holds for variables of closures and modules that the function reads, for
    plain values in the lists and dicts among them, for attributes and items that lead to its
    tensors, for hooks, and for the default dtype and device: where they change, it is recorded
    anew. Random numbers go on from call to call, learning rates and steps of optimisers are asked
    for anew.

    Reading a value inside, as ``loss.item()``, raises RuntimeError; so does later use of tensors
    that were made inside and not returned. Results do not require gradients: take the whole step,
    with its backward(), into the function. What else the function does in Python happens once.
    Raises TypeError for what cannot be called, and for coroutines and generators.
    """
    if not callable(function):
        raise TypeError(f"[jit] takes a function, not {type(function).__name__}")
    plain = inspect.unwrap(function)
    for what, kind in (
        ("a coroutine", inspect.iscoroutinefunction),
        ("an asynchronous generator", inspect.isasyncgenfunction),
        ("a generator", inspect.isgeneratorfunction),
    ):
        if kind(plain):
            raise TypeError(f"[jit] takes a function that runs to its end at once, not {what}")
    return Jitted(function)
