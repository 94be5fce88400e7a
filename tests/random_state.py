"""What the makers of a random program's lines share: its tensors, and choices among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from helpers import ALL_DTYPES, device_has
from random_values import Env, Handle, Unsuitable, Value, is_float

ELEMENTS = 6000


@dataclass
class Line:
    """A line of Python, and the same for the reference."""

    text: str
    refer: Callable[[Env], None]
    reads: str = ""  # the name that it reads
    row: str = ""  # of the elementwise table


@dataclass
class Program:
    seed: int
    lines: list[Line] = field(default_factory=list)

    def text(self) -> str:
        return "\n".join([HEADER, *(line.text for line in self.lines if line.text)])


HEADER = """\
import numpy as np, wgtensor as wt
def array(seed, shape, dtype):
    rng = np.random.default_rng(seed)
    if dtype == "bool": return wt.asarray(rng.random(shape) < 0.5)
    if "float" in dtype:
        drawn = np.float64 if dtype == "float64" else np.float32
        return wt.asarray(rng.standard_normal(shape, dtype=drawn)).astype(dtype)
    a = rng.integers(0 if dtype[0] == "u" else -9, 10, shape, dtype=dtype)
    return wt.asarray(a * a.dtype.type(1 << 37 if seed % 3 == 0 and "64" in dtype else 1))
def read(name, t): print(name, t.numpy())
"""


class Term(NamedTuple):
    """An operand: its text, and its value among those of the program."""

    text: str
    of: Callable[[Env], Value]


#: dtypes of a plain program; the others draw theirs
PALETTE = ["float32", "int32", "int32", "uint32", "bool"]
SIZES = [
    [1, 2, 3, 4, 5, 8],
    [1, 4, 8, 12, 16],
    [1, 2, 3, 7, 33, 40],
    [0, 1, 2, 3, 4],
    [1, 2, 3],
    [1, 2, 4, 130, 1030],
]


class State:
    """Of a program that is being made: random numbers, and the tensors so far."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.env: Env = {}
        self.count = 0
        self.floats = float(self.rng.choice([0.3, 0.6, 0.9]))
        self.palette = PALETTE
        if self.chance(0.6):
            few = set(self.rng.choice(len(ALL_DTYPES), 4, replace=False).tolist())
            drawn = [d for i, d in enumerate(ALL_DTYPES) if i in few and device_has(d)]
            self.palette = [*drawn, "bool", "float32" if self.chance(0.3) else drawn[0]]
        self.sizes = SIZES[int(self.rng.integers(len(SIZES)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def choose(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def shuffled(self) -> list[str]:
        names = list(self.env)
        self.rng.shuffle(names)
        return names

    def name(self) -> str:
        if not self.env:
            raise Unsuitable
        names = list(self.env)
        if self.chance(0.5):
            names = names[-4:]  # recent ones: chains grow long
        return str(self.choose(names))

    def value(self, name: str) -> Value:
        return self.env[name].value

    def term(self, name: str) -> Term:
        return Term(name, lambda env: env[name].value)

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def define(self, text: str, make: Callable[[Env], Value]) -> Line:
        name = self.fresh()

        def refer(env: Env) -> None:
            env[name] = Handle(make(env))

        return Line(f"{name} = {text}", refer)

    def shape(self) -> tuple[int, ...]:
        for _ in range(20):
            rank = self.choose([0, 1, 1, 2, 2, 2, 3, 3, 4])
            shape = tuple(int(self.choose(self.sizes)) for _ in range(rank))
            if np.prod(shape) <= ELEMENTS:
                return shape
        return (3,)

    def dtype(self) -> str:
        wanted = self.chance(self.floats)
        kind = [d for d in self.palette if is_float(d) == wanted]
        return str(self.choose(kind or self.palette))

    def partner(self, *names: str) -> str:
        """Another value that broadcasts with the named ones to no great size."""
        shape = np.broadcast_shapes(*(self.value(n).shape for n in names))
        for other in self.shuffled():
            try:
                both = np.broadcast_shapes(shape, self.value(other).shape)
            except ValueError:
                continue
            if np.prod(both) <= ELEMENTS:
                return str(other)
        raise Unsuitable

    def number(self, dtype: str) -> Term:
        """A number that changes no operand's dtype."""
        data: Any
        if is_float(dtype):
            number = self.choose([0.5, 2.0, -1.5, 1, 3, True])
            data = np.asarray(float(number))
        elif dtype == "bool":
            number = bool(self.choose([True, False]))
            data = np.asarray(number)
        else:
            number = int(self.choose([0, 1, 2, 3, 7] if dtype[0] == "u" else [0, 1, 2, 7, -1, -3]))
            data = np.asarray(number, dtype)
        value = Value(data, weak=True)
        text = f"({number!r})" if number < 0 else repr(number)
        return Term(text, lambda env: value)

    def key(self, shape: tuple[int, ...]) -> str:
        """What may stand between the brackets of an index."""
        items = []
        for n in shape[: int(self.rng.integers(len(shape) + 1))]:
            if n and self.chance(0.25):
                items.append(str(int(self.rng.integers(-n, n))))
            elif self.chance(0.4):
                items.append(":")
            else:
                step = self.choose(["", "", ":2", ":-1", ":-2", ":3"])
                low, high = sorted(int(x) for x in self.rng.integers(0, n + 1, 2))
                bounds = f"{low}:{high}" if "-" not in step else f"{high}:{low}"
                items.append(self.choose([bounds, ":", f"{low}:"]) + step)
        if self.chance(0.2):
            items.insert(int(self.rng.integers(len(items) + 1)), "None")
        if not items or self.chance(0.1):
            items.append("...")
        return ", ".join(items)
