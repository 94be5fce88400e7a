"""Modules, and parameters, in lists, dicts and chains."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wgtensor._core import Parameter
from wgtensor.nn._module import Module


def _place(op: str, index: Any, length: int) -> str:
    i = operator.index(index)
    if not -length <= i < length:
        raise IndexError(f"[{op}] index {i} is out of range for {length} entries")
    return str(i % length)


class _Modules(Module):
    """Modules under the names 0, 1, 2, ..."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._made(list(self._modules.values())[index])
        return self._modules[_place(type(self).__name__, index, len(self))]

    def __setitem__(self, index: int, module: Module) -> None:
        self.register_module(_place(type(self).__name__, index, len(self)), module)

    def __delitem__(self, index: Any) -> None:
        kept = list(self._modules.values())
        del kept[index]
        self._modules.clear()
        for module in kept:
            self.append(module)

    def _made(self, modules: Any) -> Any:
        made: Any = ModuleList
        return made(modules)

    def append(self, module: Any) -> Any:
        """Adds a module at the end. Returns the container."""
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Any]) -> Any:
        """Adds modules at the end. Returns the container."""
        for module in modules:
            self.append(module)
        return self

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, _Modules):
            return NotImplemented
        return self._made([*self, *other])

    def __iadd__(self, other: Any) -> Any:
        return self.extend(other)

    def pop(self, index: int) -> Any:
        """Takes a module out and returns it."""
        module = self[index]
        del self[index]
        return module

    def insert(self, index: int, module: Module) -> None:
        """Adds a module before the one at `index`."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._modules.clear()
        self.extend(modules)


class Sequential(_Modules):
    """Modules in a chain: each is called with what the one before gives.

    Takes modules, or one dict of names and modules.
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.register_module(name, module)
        else:
            self.extend(modules)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Sequential(dict(list(self._modules.items())[index]))
        place = _place("Sequential", index, len(self))
        return list(self._modules.values())[int(place)]

    def __setitem__(self, index: int, module: Module) -> None:
        names = list(self._modules)
        self.register_module(names[int(_place("Sequential", index, len(self)))], module)

    def _made(self, modules: Any) -> Any:
        return Sequential(*modules)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input


class ModuleList(_Modules):
    """A list of modules, which are found as attributes are."""

    def __repr__(self) -> str:
        """As PyTorch's: neighbours with the same text are one line."""
        runs: list[list[Any]] = []  # first, last, text
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return "ModuleList()"
        lines = [
            (f"({a}): " if a == b else f"({a}-{b}): {b - a + 1} x ") + text.replace("\n", "\n  ")
            for a, b, text in runs
        ]
        return "ModuleList(\n  " + "\n  ".join(lines) + "\n)"

    def __init__(self, modules: Iterable[Any] = ()) -> None:
        super().__init__()
        self.extend(modules)


class ModuleDict(Module):
    """A dict of modules, which are found as attributes are."""

    def __init__(self, modules: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.update({} if modules is None else modules)

    def update(self, modules: Mapping[str, Any]) -> None:
        """Adds or replaces modules."""
        for name, module in modules.items():
            self[name] = module

    def __getitem__(self, name: str) -> Any:
        return self._modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.register_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def pop(self, name: str) -> Any:
        """Takes a module out and returns it."""
        return self._modules.pop(name)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and modules."""
        return self._modules.items()


class ParameterDict(Module):
    """A dict of parameters, which are found as attributes are; tensors become parameters."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.update({} if values is None else values)

    def update(self, values: Mapping[str, Any]) -> None:
        """Adds or replaces parameters."""
        for name, value in values.items():
            self[name] = value

    def __getitem__(self, name: str) -> Any:
        return self._parameters[name]

    def __setitem__(self, name: str, value: Any) -> None:
        p = value if isinstance(value, Parameter) else Parameter(value)
        if name in self._parameters:
            self._parameters[name] = p
        else:
            self.register_parameter(name, p)

    def __delitem__(self, name: str) -> None:
        del self._parameters[name]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, name: object) -> bool:
        return name in self._parameters

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._parameters.keys()

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return self._parameters.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and parameters."""
        return self._parameters.items()

    def extra_repr(self) -> str:
        return ", ".join(f"{name}: {p.shape}" for name, p in self.named_parameters())


class ParameterList(Module):
    """A list of parameters, which are found as attributes are; tensors become parameters."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__()
        self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Adds a parameter at the end. Returns the list."""
        p = value if isinstance(value, Parameter) else Parameter(value)
        self.register_parameter(str(len(self)), p)
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Adds parameters at the end. Returns the list."""
        for value in values:
            self.append(value)
        return self

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ParameterList(list(self._parameters.values())[index])
        return self._parameters[_place("ParameterList", index, len(self))]

    def __setitem__(self, index: int, value: Any) -> None:
        p = value if isinstance(value, Parameter) else Parameter(value)
        self._parameters[_place("ParameterList", index, len(self))] = p

    def extra_repr(self) -> str:
        return ", ".join(f"{name}: {p.shape}" for name, p in self.named_parameters())
