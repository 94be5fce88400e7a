"""Modules: parts of a network that hold parameters, buffers and other modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any, Self

from wgtensor import _jit
from wgtensor._arrays import DeviceLike, asarray
from wgtensor._core import Device, Parameter, Tensor
from wgtensor._dtypes import DType, to_dtype
from wgtensor.nn._state import (
    LoadResult,
    mismatches,
    moved,
    set_value,
    target_of,
)

Hook = Callable[..., Any]


class Handle:
    """What registering a hook gives: `remove()` takes it off again."""

    def __init__(self, hooks: dict[int, Hook], key: int) -> None:
        self._hooks, self._key = hooks, key

    def remove(self) -> None:
        self._hooks.pop(self._key, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Module:
    """The base of every part of a network, with PyTorch's ways.

    A Parameter or Module that becomes an attribute is found by parameters(), state_dict() and the
    others, in the order in which attributes were first set. Subclasses call ``super().__init__()``
    before they set any, and define ``forward``, which calling the module runs.
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self) -> None:
        put = super().__setattr__
        put("training", True)
        put("_parameters", {})
        put("_buffers", {})
        put("_modules", {})
        put("_transient", set())  # names of buffers that state_dict() leaves out
        put("_before", {})
        put("_after", {})
        put("_keys", count())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes. Subclasses define it."""
        raise NotImplementedError(f"[{type(self).__name__}] has no forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for hook in tuple(self._before.values()):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        _jit.guard(lambda: self.training)
        result = self.forward(*args, **kwargs)
        for hook in tuple(self._after.values()):
            changed = hook(self, args, result)
            result = result if changed is None else changed
        return result

    # ---- attributes -----------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        for kind in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(kind, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        kinds = {Parameter: "_parameters", Module: "_modules"}
        for kind, where in kinds.items():
            if isinstance(value, kind):
                self._check_ready(name)
                self._put(where, name, value)
                return
        for where in ("_parameters", "_modules", "_buffers"):
            held = self.__dict__.get(where, {})
            if name not in held:
                continue
            if value is None or (where == "_buffers" and isinstance(value, Tensor)):
                held[name] = value
                return
            wanted = {"_parameters": "Parameter", "_modules": "Module", "_buffers": "Tensor"}
            raise TypeError(
                f"[{type(self).__name__}] {name} takes a {wanted[where]} or None, not "
                f"{type(value).__name__}"
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parameters, *self._buffers, *self._modules]

    def _check_ready(self, name: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(
                f"[{type(self).__name__}] call super().__init__() before setting {name!r}"
            )

    def _forget(self, name: str) -> bool:
        self.__dict__.pop(name, None)
        self._transient.discard(name)
        held = (self._parameters, self._buffers, self._modules)
        found = [d for d in held if name in d]
        for d in found:
            del d[name]
        return bool(found)

    def _put(self, where: str, name: str, value: Any) -> None:
        """Under a name; one that is there keeps its place."""
        held = self.__dict__[where]
        if name not in held:
            self._forget(name)
        held[name] = value

    def _check_name(self, what: str, name: str) -> None:
        self._check_ready(name)
        if not name or "." in name:
            raise ValueError(f"[{what}] a name without dots is needed, not {name!r}")
        taken = name not in {**self._parameters, **self._buffers, **self._modules}
        if hasattr(self, name) and taken:
            raise KeyError(f"[{what}] {type(self).__name__} already has an attribute {name!r}")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter, or None for one that is left out, under a name."""
        self._check_name("register_parameter", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"[register_parameter] {name} is a {type(param).__name__}")
        self._put("_parameters", name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is state but no parameter; state_dict() has it if `persistent`."""
        self._check_name("register_buffer", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"[register_buffer] {name} is a {type(tensor).__name__}")
        self._put("_buffers", name, tensor)
        if not persistent:
            self._transient.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Adds a module under a name."""
        self._check_name("register_module", name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"[register_module] {name} is a {type(module).__name__}")
        self._put("_modules", name, module)

    add_module = register_module

    # ---- hooks ----------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook: Hook) -> Handle:
        """Calls hook(module, args) before forward(); unless None, its result replaces args."""
        return self._register(self._before, hook)

    def register_forward_hook(self, hook: Hook) -> Handle:
        """Calls hook(module, args, result) after forward(); it may return another result."""
        return self._register(self._after, hook)

    def _register(self, hooks: dict[int, Hook], hook: Hook) -> Handle:
        key = next(self._keys)
        hooks[key] = hook
        return Handle(hooks, key)

    # ---- what it holds --------------------------------------------------------------------------

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """The module itself and all inside it, each once, with dotted names."""
        yield from self._walk(prefix, set())

    def _walk(self, prefix: str, seen: set[int]) -> Iterator[tuple[str, Module]]:
        if id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module._walk(f"{prefix}.{name}" if prefix else name, seen)

    def modules(self) -> Iterator[Module]:
        """The module itself and all inside it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules that are attributes of this one."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules that are attributes of this one."""
        return (module for _, module in self.named_children())

    def _named(self, where: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen = set()
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name, t in getattr(module, where).items():
                if t is not None and id(t) not in seen:
                    seen.add(id(t))
                    yield f"{path}.{name}" if path else name, t

    def named_parameters(
        self, prefix: str = "", recurse: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with dotted names, each once."""
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Parameters, each once."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Buffers with dotted names, each once."""
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Buffers, each once."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name. Raises AttributeError."""
        module = self
        for name in target.split(".") if target else []:
            found = module._modules.get(name)
            if found is None:
                raise AttributeError(f"{type(module).__name__} has no module {name!r}")
            module = found
        return module

    # ---- modes ----------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Sets `training` here and in all modules inside: dropout and batch norm look at it."""
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self) -> Self:
        """train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Whether gradients are computed for the parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or makes them zeros."""
        for p in self.parameters():
            if p.grad is None:
                continue
            p.grad = None if set_to_none else p.grad.detach() * 0

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Calls fn with every module inside, innermost first, and with this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    # ---- dtype and device -----------------------------------------------------------------------

    def to(self, *args: Any, dtype: Any = None, device: DeviceLike = None) -> Self:
        """Moves parameters and buffers to a device, and those of floats to a dtype, in place.

        Takes a dtype, a device, both, or a tensor that has both.
        """
        target = target_of(args, dtype, device)
        for p in self.parameters():
            moved(p, target)
        for b in self.buffers():
            moved(b, target)
        return self

    def _cast(self, dtype: DType) -> Self:
        return self.to(dtype=dtype)

    def float(self) -> Self:
        """to(float32)."""
        return self._cast(to_dtype("float32"))

    def double(self) -> Self:
        """to(float64)."""
        return self._cast(to_dtype("float64"))

    def half(self) -> Self:
        """to(float16)."""
        return self._cast(to_dtype("float16"))

    def bfloat16(self) -> Self:
        """to(bfloat16)."""
        return self._cast(to_dtype("bfloat16"))

    # ---- state ----------------------------------------------------------------------------------

    def state_dict(self, prefix: str = "") -> dict[str, Tensor]:
        """Parameters and persistent buffers by dotted names, also of shared modules.

        The tensors are the state as it is now: later training does not change them.
        """
        state: dict[str, Tensor] = {}
        self._save(state, prefix)
        return state

    def _save(self, state: dict[str, Tensor], prefix: str) -> None:
        for name, t in self._saved():
            state[prefix + name] = t.detach()
        for name, module in self._modules.items():
            if module is not None:
                module._save(state, f"{prefix}{name}.")

    def _saved(self) -> Iterator[tuple[str, Tensor]]:
        for name, t in [*self._parameters.items(), *self._buffers.items()]:
            if t is not None and name not in self._transient:
                yield name, t

    def _targets(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        for name, t in self._saved():
            yield prefix + name, t
        for name, module in self._modules.items():
            if module is not None:
                yield from module._targets(f"{prefix}{name}.")

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> LoadResult:
        """Takes over the values of a state_dict(), in the dtypes and on the devices that are here.

        Nothing is changed where something does not fit: the error lists every missing and
        unexpected name (unless strict is False) and every shape that differs. Returns the names.
        """
        targets = dict(self._targets())
        result = mismatches(type(self).__name__, targets, state_dict, strict)
        for name, t in targets.items():
            if name in state_dict:
                set_value(t, moved_value(state_dict[name], t))
        return result

    # ---- as text --------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What repr() shows between the brackets, before the modules inside."""
        return ""

    def __repr__(self) -> str:
        lines = [
            f"({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self._modules.items()
        ]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        head = [extra] if extra else []
        return f"{type(self).__name__}(\n  " + "\n  ".join([*head, *lines]) + "\n)"


def moved_value(value: Any, like: Tensor) -> Tensor:
    """A value for the place of another tensor, of its dtype and on its device."""
    if not isinstance(value, Tensor):
        return asarray(value, dtype=like.dtype, device=like.device)
    here: Device = like.device
    return (value if value.device == here else value.to(here)).detach()._astype(like.dtype)
