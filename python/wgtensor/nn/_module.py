"""Modules: parts of a network that hold parameters, buffers and other modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from wgtensor import _core, _jit
from wgtensor._arrays import DeviceLike
from wgtensor._core import Parameter, Tensor
from wgtensor._dtypes import DType, to_dtype
from wgtensor._naming import Named
from wgtensor.nn._hooks import Changes, GradientHooks, Handle, Hook, Hooks
from wgtensor.nn._state import (
    LoadResult,
    clear_gradients,
    mismatches,
    module_target,
    moved,
    moved_value,
    set_value,
)


class Module(Named):
    """The base of every part of a network, with PyTorch's ways.

    A Parameter or Module that becomes an attribute is found by parameters(), state_dict() and the
    others, in the order in which attributes were first set. Subclasses call ``super().__init__()``
    before they set any, and define ``forward``, which calling the module runs.
    """

    training: bool
    _changes: Changes
    _before: Hooks
    _after: Hooks
    _gradient_before: Hooks
    _gradient_after: Hooks
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
        put("_changes", Changes())
        for kind in ("_before", "_after", "_gradient_before", "_gradient_after"):
            put(kind, Hooks(self._changes))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes. Subclasses define it."""
        raise NotImplementedError(f"[{type(self).__name__}] has no forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._before:
            args, kwargs = self._before.before(self, args, kwargs)
        if _core.tracing():
            _jit.guard_item(self.__dict__, "training", self._changes.__dict__, "count")
        if self._gradient_before or self._gradient_after:
            hooks = GradientHooks(self, self._gradient_before, self._gradient_after)
            args = hooks.enter(args)
            result = hooks.leave(self.forward(*args, **kwargs))
        else:
            result = self.forward(*args, **kwargs)
        return self._after.after(self, args, kwargs, result) if self._after else result

    # ---- attributes -----------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        held = self.__dict__
        if "_parameters" in held:  # else __init__ has not run
            for found in (held["_parameters"], held["_modules"], held["_buffers"]):
                if name in found:
                    return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        for kind, where in ((Parameter, "_parameters"), (Module, "_modules")):
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
        self._transient.discard(name)
        held = (self.__dict__, self._parameters, self._buffers, self._modules)
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

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Calls hook(module, args) before forward(); unless None, its result replaces args.

        with_kwargs: hook(module, args, kwargs), which gives both. prepend: before earlier ones.
        """
        return self._before.add(hook, prepend, with_kwargs)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Calls hook(module, args, result) after forward(); it may return another result.

        with_kwargs: hook(module, args, kwargs, result). prepend: before earlier ones.
        """
        return self._after.add(hook, prepend, with_kwargs)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> Handle:
        """Calls hook(module, grad_input, grad_output) when backward has come to the arguments.

        Both are tuples, with None for what has no gradient; unless None, what the hook gives
        replaces grad_input.
        """
        return self._gradient_after.add(hook, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> Handle:
        """Calls hook(module, grad_output) when backward comes to the results; it may replace it."""
        return self._gradient_before.add(hook, prepend)

    # ---- what it holds --------------------------------------------------------------------------

    def named_modules(
        self, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """The module itself and all inside it, with dotted names; each once unless told not to."""
        yield from self._walk(prefix, set() if remove_duplicate else None)

    def _walk(self, prefix: str, seen: set[int] | None) -> Iterator[tuple[str, Module]]:
        if seen is not None:
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

    def _named(
        self, where: str, prefix: str, recurse: bool, once: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix, once) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, t in getattr(module, where).items():
                if t is not None and not (once and id(t) in seen):
                    seen.add(id(t))
                    yield f"{path}.{name}" if path else name, t

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with dotted names, each once unless told not to."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Parameters, each once."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers with dotted names, each once unless told not to."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

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
        clear_gradients(list(self.parameters()), set_to_none)

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
        target = module_target(args, dtype, device)
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
        Raises TypeError for what is no dict.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"[load_state_dict] takes a dict of names and tensors, not "
                f"{type(state_dict).__name__}"
            )
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
