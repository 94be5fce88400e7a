"""Hooks of modules: what is called before and after forward(), and with gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

from wgtensor import _core
from wgtensor._core import Tensor
from wgtensor.autograd import Function

Hook = Callable[..., Any]


class Changes:
    """How often hooks of a module were added or removed."""

    def __init__(self) -> None:
        self.count = 0


class Handle:
    """What registering a hook gives: `remove()` takes it off again."""

    def __init__(self, hooks: Hooks, key: int) -> None:
        self._hooks, self._key = hooks, key

    def remove(self) -> None:
        if self._hooks.entries.pop(self._key, None) is not None:
            self._hooks.changes.count += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Entry(NamedTuple):
    hook: Hook
    with_kwargs: bool


class Hooks:
    """Hooks of one kind, in the order in which they are called."""

    def __init__(self, changes: Changes) -> None:
        self.changes = changes
        self.entries: dict[int, Entry] = {}
        self._next = 0

    def __bool__(self) -> bool:
        return bool(self.entries)

    def add(self, hook: Hook, prepend: bool = False, with_kwargs: bool = False) -> Handle:
        if not callable(hook):
            raise TypeError(f"[register_hook] a hook is a function, not {type(hook).__name__}")
        key, entry = self._next, Entry(hook, with_kwargs)
        self._next += 1
        self.changes.count += 1
        if prepend:
            self.entries = {key: entry, **self.entries}
        else:
            self.entries[key] = entry
        return Handle(self, key)

    def before(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Arguments as the hooks want them."""
        for hook, with_kwargs in tuple(self.entries.values()):
            changed = hook(module, args, kwargs) if with_kwargs else hook(module, args)
            if changed is None:
                continue
            if with_kwargs:
                args, kwargs = changed
            else:
                args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def after(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """The result as the hooks want it."""
        for hook, with_kwargs in tuple(self.entries.values()):
            given = (module, args, kwargs) if with_kwargs else (module, args)
            changed = hook(*given, result)
            result = result if changed is None else changed
        return result


class _Boundary(Function):
    """Tensors on their way, whose gradients a function may look at and replace."""

    @staticmethod
    def forward(ctx: Any, look: Callable[..., Any], *tensors: Tensor) -> Any:
        ctx.look = look
        return tuple(t.detach() for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, *ctx.look(grads)


class GradientHooks:
    """What a call of a module with hooks of its gradients does around forward()."""

    def __init__(self, module: Any, before: Hooks, after: Hooks) -> None:
        self.module, self.before, self.after = module, before, after
        self.of_outputs: tuple[Any, ...] = ()
        self.inputs = 0
        self.wraps_inputs = False

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, from which gradients come to the hooks."""
        self.inputs = len(args)
        at = _tracked(args)
        self.wraps_inputs = bool(at)
        return _passed(args, at, lambda grads: self._inputs(at, grads))

    def leave(self, result: Any) -> Any:
        """The result, to which gradients come first."""
        single = isinstance(result, Tensor)
        values = (result,) if single else tuple(result) if isinstance(result, (tuple, list)) else ()
        at = _tracked(values)
        if not at:
            return result
        passed = _passed(values, at, lambda grads: self._outputs(len(values), at, grads))
        return passed[0] if single else type(result)(passed)

    def _outputs(self, count: int, at: list[int], grads: Iterable[Any]) -> tuple[Any, ...]:
        self.of_outputs = _placed(count, at, grads)
        for hook, _ in tuple(self.before.entries.values()):
            changed = hook(self.module, self.of_outputs)
            if changed is not None:
                self.of_outputs = changed if isinstance(changed, tuple) else (changed,)
        if not self.wraps_inputs:
            self._call((None,) * self.inputs)
        return tuple(self.of_outputs[i] for i in at)

    def _inputs(self, at: list[int], grads: Iterable[Any]) -> tuple[Any, ...]:
        changed = self._call(_placed(self.inputs, at, grads))
        return tuple(changed[i] for i in at)

    def _call(self, of_inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook, _ in tuple(self.after.entries.values()):
            changed = hook(self.module, of_inputs, self.of_outputs)
            if changed is not None:
                of_inputs = changed if isinstance(changed, tuple) else (changed,)
        return of_inputs


def _tracked(values: tuple[Any, ...]) -> list[int]:
    if not _core.grad_enabled():
        return []
    return [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]


def _placed(count: int, at: list[int], grads: Iterable[Any]) -> tuple[Any, ...]:
    found: list[Any] = [None] * count
    for i, grad in zip(at, grads, strict=True):
        found[i] = grad
    return tuple(found)


def _passed(values: tuple[Any, ...], at: list[int], look: Callable[..., Any]) -> tuple[Any, ...]:
    if not at:
        return values
    passed = list(values)
    for i, t in zip(at, _Boundary.apply(look, *(values[i] for i in at)), strict=True):
        passed[i] = t
    return tuple(passed)
