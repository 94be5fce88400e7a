"""What a recorded function finds by name: variables, attributes and items that may be rebound."""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from wgtensor import _core
from wgtensor._core import Tensor

_MOST = 20_000  # places that are looked at
_DEPTH = 16
_PLAIN = 256  # plain values of one list or dict that are watched
_WHOLE = {"items", "values", "keys"}  # who asks a dict for these reads all of it
_STATE = ("param_groups", "state")  # of optimizers, which watch it themselves
_SIMPLE = (bool, int, float, complex, str, bytes, type(None))
_GONE = object()


class Place:
    """Where a value is found: a variable of a closure, or what a list or a mapping has at a key."""

    __slots__ = ("always", "holder", "key", "parent", "size", "sized", "value")

    def __init__(self, holder: Any, key: Any, value: Any, parent: Place | None) -> None:
        self.holder, self.key, self.value, self.parent = holder, key, value, parent
        self.always = False  # watched whatever the recording meets
        self.sized = False  # and how many entries there are
        self.size = len(value) if isinstance(value, (list, dict)) else -1

    def now(self) -> Any:
        holder, key = self.holder, self.key
        if isinstance(holder, dict):
            return dict.get(holder, key, _GONE)
        if type(holder) is types.CellType:
            try:
                return holder.cell_contents
            except ValueError:
                return _GONE
        if isinstance(holder, type):
            return getattr(holder, key, _GONE)
        return holder[key] if key < len(holder) else _GONE

    def holds(self) -> bool:
        value = self.now()
        if value is self.value:
            return self.size < 0 or len(value) == self.size
        return (
            isinstance(value, _SIMPLE) and type(value) is type(self.value) and value == self.value
        )

    def item(self) -> tuple[Any, Any, Any, int]:
        """The place as the core looks at it."""
        if self.value is _GONE:
            return self.holder, self.key, None, -2
        return self.holder, self.key, self.value, self.size

    def restore(self) -> None:
        if type(self.holder) is types.CellType:
            self.holder.cell_contents = self.value
        else:
            self.holder[self.key] = self.value


@functools.lru_cache(maxsize=1024)
def _names(code: types.CodeType) -> tuple[frozenset[str], ...]:
    """The globals and attributes that a function reads, the variables that it binds, and its words:
    the keys that it may read."""
    reads, attributes, binds = set(), set(), set()
    words = {c for c in code.co_consts if isinstance(c, str) and c.isidentifier()}
    for step in dis.get_instructions(code):
        if step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME")):
            reads.add(step.argval)
        elif step.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")):
            attributes.add(step.argval)
        elif step.opname in ("STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF"):
            binds.add(step.argval)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            for mine, its in zip((reads, attributes, binds, words), _names(inner), strict=True):
                mine |= its
    return tuple(map(frozenset, (reads, attributes, binds, words)))


def _is_implicit(name: str) -> bool:
    """Whether a method is called without its name: by operators, or as modules are."""
    return name == "forward" or name.startswith("__")


def _is_users(value: Any) -> bool:
    """Whether it is a module that somebody may change: none of Python's, none installed."""
    if not isinstance(value, types.ModuleType) or _is_ours(value.__name__):
        return False
    where = getattr(value, "__file__", None) or ""
    known = value.__name__.partition(".")[0] in sys.stdlib_module_names
    return not known and "site-packages" not in where and "dist-packages" not in where


def _is_ours(module: str | None) -> bool:
    return (module or "").partition(".")[0] in ("wgtensor", "builtins", "numpy")


class Watch:
    """The places that a function and its arguments begin at, before it is recorded."""

    def __init__(self, function: Callable[..., Any], others: Sequence[Any]) -> None:
        self._found: list[Place] = []
        self._attributes: set[str] = set()
        self._code: list[tuple[set[str], frozenset[str], frozenset[str]]] = []
        self._read: frozenset[str] = frozenset()  # names and keys that what is called may read
        self._words: frozenset[str] = frozenset()  # of them the keys
        self._plain: list[Place] = []  # plain attributes
        self._held: list[tuple[Any, Place | None]] = []  # lists and dicts, and where they are
        self._managed: set[int] = set()  # of them those that the library's own classes keep
        self._seen: set[int] = set()
        self.kept: list[Place] = []
        self._items: list[tuple[Any, Any, Any, int]] = []  # the same, for the core
        for root in (function, *others):
            self._walk(root, None, 0)
        for made in self._plain:
            made.always = made.key in self._attributes
        self._reach()
        for holder, place in self._held:
            if id(holder) not in self._managed and self._is_read(place):
                self._add_plain(holder, place)

    def tensors(self) -> Iterator[Tensor]:
        """Those that the function may use."""
        return (p.value for p in self._found if isinstance(p.value, Tensor))

    # ---- looking --------------------------------------------------------------------------------

    def _add(self, holder: Any, key: Any, value: Any, parent: Place | None, depth: int) -> Place:
        place = Place(holder, key, value, parent)
        self._found.append(place)
        self._walk(value, place, depth + 1)
        return place

    def _walk(self, value: Any, place: Place | None, depth: int) -> None:
        if isinstance(value, (Tensor, *_SIMPLE, types.ModuleType, type)):
            return
        if id(value) in self._seen or depth > _DEPTH or len(self._found) > _MOST:
            return
        self._seen.add(id(value))
        if isinstance(value, types.FunctionType):
            self._walk_function(value, place, depth)
        elif isinstance(value, types.MethodType):
            for part in (value.__func__, value.__self__):
                self._walk(part, place, depth + 1)
        elif isinstance(value, functools.partial):
            for part in (value.func, value.args, value.keywords):
                self._walk(part, place, depth + 1)
        elif isinstance(value, (dict, list, tuple)):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in tuple(items):
                if not isinstance(item, _SIMPLE):
                    made = self._add(value, key, item, place, depth)
                    made.always = hasattr(item, "_modules")  # a layer, if without parameters
            if not isinstance(value, tuple):
                self._held.append((value, place))
        elif hasattr(value, "_recordings"):  # a jitted function inside
            self._walk(value._function, place, depth + 1)
        elif hasattr(value, "__dict__"):
            self._walk_object(value, place, depth)

    def _walk_function(
        self, function: types.FunctionType, place: Place | None, depth: int, names: Any = ()
    ) -> None:
        """names: those that it is called by, if it is one of many that may not be called at all."""
        if _is_ours(function.__module__):
            return
        reads, attributes, binds, words = _names(function.__code__)
        self._attributes |= attributes
        self._code.append((set(names), reads | attributes, words))
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        variables: list[tuple[Any, str]] = [(c, name) for name, c in cells]
        variables += [(function.__globals__, n) for n in reads if n in function.__globals__]
        modules = [m for n in reads if _is_users(m := function.__globals__.get(n))]
        for module in modules:  # grows by modules of modules
            found = [(vars(module), n) for n in attributes if n in vars(module)]
            variables += found
            modules += [
                m
                for held, n in found
                if _is_users(m := held[n]) and all(m is not k for k in modules)
            ]
        for name in reads:
            kind = function.__globals__.get(name)
            if isinstance(kind, type) and not _is_ours(kind.__module__):
                self._add_attributes(kind, attributes, place)
        for holder, name in variables:
            value = Place(holder, name, None, None).now()
            made = self._add(holder, name, value, place, depth)
            made.always = name not in binds or isinstance(value, Tensor)

    def _add_attributes(self, kind: type, names: frozenset[str], place: Place | None) -> None:
        """Plain attributes of a class that is itself a variable: constants, as of settings."""
        for name in names:
            value = getattr(kind, name, None)
            if value is not None and isinstance(value, _SIMPLE):
                made = Place(kind, name, value, place)
                made.always = True
                self._found.append(made)

    def _walk_class(self, kind: type, held: dict[str, Any], place: Place | None) -> None:
        """Plain attributes of an object's class that it has none of its own of."""
        for name, value in vars(kind).items():
            if isinstance(value, _SIMPLE) and name[:2] != "__" and name not in held:
                made = [Place(kind, name, value, place), Place(held, name, _GONE, place)]
                self._found += made
                self._plain += made

    def _walk_object(self, value: Any, place: Place | None, depth: int) -> None:
        """Attributes, and what the methods of its classes know."""
        for kind in type(value).__mro__:
            if _is_ours(kind.__module__):
                continue
            self._walk_class(kind, vars(value), place)
            for name, method in vars(kind).items():
                plain = getattr(method, "__wrapped__", method)
                if isinstance(plain, types.FunctionType) and not _is_implicit(name):
                    if id(plain) not in self._seen and depth < _DEPTH:
                        self._seen.add(id(plain))
                        self._walk_function(plain, place, depth + 1, (name,))
                else:
                    self._walk(plain, place, depth + 1)
        attributes = vars(value)
        ours = any(_is_ours(kind.__module__) for kind in type(value).__mro__[:-1])
        for key, item in tuple(attributes.items()):
            if ours and (key in _STATE or key[0] == "_"):
                self._manage(item)
            made = self._add(attributes, key, item, place, depth)
            if isinstance(item, _SIMPLE):
                self._plain.append(made)

    def _reach(self) -> None:
        """Finds what functions read that may be called, by their names in those that are."""
        read: set[str] = set()
        words: set[str] = set()
        left, count = self._code, -1
        while count != len(left):
            count = len(left)
            for names, its, keys in left:
                if not names or names & read:
                    read |= its
                    words |= keys
            left = [code for code in left if code[0] and not code[0] & read]
        self._read, self._words = frozenset(read | words), frozenset(words)

    def _is_read(self, place: Place | None) -> bool:
        """Whether the way to a place has only names and keys that may be read."""
        while place is not None:
            by_name = isinstance(place.key, str) and type(place.holder) is not types.CellType
            if by_name and place.key not in self._read:
                return False
            place = place.parent
        return True

    def _manage(self, item: Any) -> None:
        if isinstance(item, (dict, list)) and id(item) not in self._managed:
            self._managed.add(id(item))
            for inner in item.values() if isinstance(item, dict) else item:
                self._manage(inner)

    def _add_plain(self, holder: Any, place: Place | None) -> None:
        """Plain values of a list, and those of a dict whose keys the function may read, also where
        there is none yet."""
        found: list[tuple[Any, Any]]
        if isinstance(holder, list):
            found = [(i, v) for i, v in enumerate(holder[:_PLAIN]) if isinstance(v, _SIMPLE)]
        elif self._read & _WHOLE:
            found = [(k, v) for k, v in holder.items() if isinstance(v, _SIMPLE)][:_PLAIN]
        else:
            held = [(word, dict.get(holder, word, _GONE)) for word in self._words]
            if holder and all(v is _GONE for _, v in held):
                return  # nothing in it has such a name: the words are another dict's keys
            found = [(k, v) for k, v in held if v is _GONE or isinstance(v, _SIMPLE)][:_PLAIN]
        if place is not None:
            place.sized = isinstance(holder, list) or bool(self._read & _WHOLE)
        for key, value in found:
            if len(self._found) < _MOST:
                made = Place(holder, key, value, place)
                made.always = True
                self._found.append(made)

    # ---- watching -------------------------------------------------------------------------------

    def keep(self, met: Sequence[Tensor]) -> None:
        """Watches the places that lead to tensors which a recording met, and variables.

        Raises RuntimeError where the function itself has put another tensor into one of them.
        """
        known = {id(t) for t in met}
        kept: dict[int, Place] = {}
        for place in self._found:
            if isinstance(place.value, Tensor) and id(place.value) in known:
                self._check(place)
            elif place.always:
                if not place.sized or (place.size >= 0 and len(place.value) != place.size):
                    place.size = -1
                if not place.holds():
                    continue
            else:
                continue
            link: Place | None = place
            while link is not None and id(link) not in kept:
                kept[id(link)] = link
                if link.size >= 0 and len(link.value) != link.size:
                    link.size = -1  # the function itself adds to it
                link = link.parent
        self.kept += kept.values()
        self._found.clear()

    @staticmethod
    def _check(place: Place) -> None:
        value = place.now()
        if value is place.value or not isinstance(value, Tensor):
            return
        place.restore()
        raise RuntimeError(
            f"[jit] the function reads {place.key!r} and puts another tensor there, which a replay "
            "could not repeat: change it in place, x[...] = value, or return it"
        )

    def add(self, holder: dict[str, Any], key: str) -> None:
        """Watches what a dict has at a key."""
        self.kept.append(Place(holder, key, holder.get(key, _GONE), None))

    def holds(self) -> bool:
        """Whether all of them have what they had."""
        if len(self._items) != len(self.kept):
            self._items = [p.item() for p in self.kept]
        return _core.same_items(self._items) or all(place.holds() for place in self.kept)
