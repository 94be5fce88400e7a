"""Random programs over tensors, with a reference that knows how wrong a right result may be.

A program is a list of lines of Python, which is also what a failure prints, and beside each line a
function that does the same to NumPy arrays. Floats are evaluated in float64 together with a bound
on the error that float32 makes of them; where such an error could change a comparison or a cast,
the generator takes another line.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from random_moves import move

Array = np.ndarray[Any, Any]

EPS = 2.0e-7
LARGEST = 1e4  # of floats: nothing overflows, and errors stay small
ELEMENTS = 6000


@dataclass
class Value:
    """What a tensor should hold, and for floats how far off it may be."""

    data: Array
    error: Array | float = 0.0

    def __post_init__(self) -> None:
        self.data = np.asarray(self.data)
        if self.data.dtype.kind == "f":
            error = np.asarray(self.error, np.float64)
            self.error = np.broadcast_to(error, self.data.shape)
        else:
            self.error = 0.0

    @property
    def dtype(self) -> str:
        return "float32" if self.data.dtype.kind == "f" else str(self.data.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape


@dataclass
class Handle:
    """A tensor of the program: a value that assignment replaces, seen by each of its names."""

    value: Value


Env = dict[str, Handle]


class Unsuitable(Exception):
    """A line whose result float32 cannot be held to; the generator takes another one."""


@dataclass
class Line:
    text: str
    refer: Callable[[Env], None]
    reads: bool = False


@dataclass
class Program:
    seed: int
    lines: list[Line] = field(default_factory=list)

    def text(self) -> str:
        return "\n".join(
            [HEADER, *(line.text for line in self.lines if line.text)],
        )


HEADER = """\
import numpy as np, wgtensor as wt
def array(seed, shape, dtype):
    rng = np.random.default_rng(seed)
    if dtype == "bool": return wt.asarray(rng.random(shape) < 0.5)
    if dtype == "float32": return wt.asarray(rng.standard_normal(shape, dtype=np.float32))
    return wt.asarray(rng.integers(-9 if dtype == "int32" else 0, 10, shape, dtype=dtype))
def read(name, t): print(name, t.numpy())
"""


def host_array(seed: int, shape: tuple[int, ...], dtype: str) -> Array:
    """As the program's array()."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype == "float32":
        return np.asarray(rng.standard_normal(shape, dtype=np.float32).astype(np.float64))
    return np.asarray(rng.integers(-9 if dtype == "int32" else 0, 10, shape, dtype=dtype))


# ---- the reference: values with errors ----------------------------------------------------------


def rounded(data: Array, error: Any, ops: float = 1.0) -> Value:
    """A float result after one more rounding (or several). Unsuitable where it grows too large."""
    data = np.asarray(data, np.float64)
    total = np.broadcast_to(np.asarray(error, np.float64), data.shape) + ops * EPS * np.abs(data)
    total = total + 1e-37
    if not np.isfinite(data).all() or np.abs(data).max(initial=0) > LARGEST:
        raise Unsuitable
    if (total > 0.05 * (1 + np.abs(data))).any():
        raise Unsuitable
    return Value(data, total)


def as_float(v: Value) -> Value:
    if v.dtype == "float32":
        return v
    data = v.data.astype(np.float64)
    return Value(data, np.where(np.abs(data) > 2**24, EPS * np.abs(data), 0.0))


def meet(a: Value, b: Value) -> tuple[Value, Value]:
    """Both in the dtype they promote to."""
    if a.dtype == b.dtype:
        return a, b
    if "float32" in (a.dtype, b.dtype):
        return as_float(a), as_float(b)
    if a.dtype == "bool":
        return Value(a.data.astype(b.data.dtype)), b
    if b.dtype == "bool":
        return a, Value(b.data.astype(a.data.dtype))
    raise Unsuitable  # int32 with uint32


ONE = Value(np.asarray(1.0))


def add(a: Value, b: Value) -> Value:
    a, b = meet(a, b)
    if a.dtype != "float32":
        return Value(np.asarray(a.data + b.data))
    return rounded(a.data + b.data, np.add(a.error, b.error))


def subtract(a: Value, b: Value) -> Value:
    a, b = meet(a, b)
    if a.dtype == "bool":
        raise Unsuitable
    if a.dtype != "float32":
        return Value(np.asarray(a.data - b.data))
    return rounded(a.data - b.data, np.add(a.error, b.error))


def multiply(a: Value, b: Value) -> Value:
    a, b = meet(a, b)
    if a.dtype != "float32":
        return Value(np.asarray(a.data * b.data))
    error = np.abs(a.data) * b.error + np.abs(b.data) * a.error + np.multiply(a.error, b.error)
    return rounded(a.data * b.data, error)


def pick(function: Any) -> Callable[[Value, Value], Value]:
    def run(a: Value, b: Value) -> Value:
        a, b = meet(a, b)
        data = np.asarray(function(a.data, b.data))
        return Value(data, np.broadcast_to(np.maximum(a.error, b.error), data.shape))

    return run


def compare(function: Any) -> Callable[[Value, Value], Value]:
    def run(a: Value, b: Value) -> Value:
        a, b = meet(a, b)
        if a.dtype == "float32":
            doubt = np.add(a.error, b.error)
            apart = np.abs(a.data - b.data)
            if ((apart <= doubt) & (doubt > 0)).any():
                raise Unsuitable
        return Value(np.asarray(function(a.data, b.data)))

    return run


def same_kind(function: Any) -> Callable[[Value, Value], Value]:
    """Integers and bools only."""

    def run(a: Value, b: Value) -> Value:
        a, b = meet(a, b)
        if a.dtype == "float32":
            raise Unsuitable
        return Value(np.asarray(function(a.data, b.data)))

    return run


def divided(a: Value, b: Value) -> Value:
    """a / (abs(b) + 1)"""
    a, d = as_float(a), add(absolute(as_float(b)), ONE)
    data = a.data / d.data
    return rounded(data, (a.error + np.abs(data) * d.error) / (d.data * 0.9), 3)


def smooth(function: Any, slope: float) -> Callable[[Value], Value]:
    def run(a: Value) -> Value:
        a = as_float(a)
        return rounded(function(a.data), np.multiply(a.error, slope), 6)

    return run


def absolute(a: Value) -> Value:
    return Value(np.abs(a.data), a.error)


def negative(a: Value) -> Value:
    if a.dtype == "bool":
        raise Unsuitable
    return Value(np.negative(a.data), a.error)


def relu(a: Value) -> Value:
    if a.dtype == "bool":
        raise Unsuitable
    return Value(np.maximum(a.data, a.data.dtype.type(0)), a.error)


def root(a: Value) -> Value:
    """sqrt(abs(x) + 1)"""
    d = add(absolute(as_float(a)), ONE)
    return rounded(np.sqrt(d.data), np.multiply(d.error, 0.6), 3)


def doubt_at_integers(a: Value) -> None:
    near = np.abs(a.data - np.rint(a.data)) <= a.error
    exact = np.asarray(a.error) == 0
    if (near & ~exact).any():
        raise Unsuitable


def floor(a: Value) -> Value:
    if a.dtype == "bool":
        raise Unsuitable
    if a.dtype == "float32":
        doubt_at_integers(a)
        return Value(np.floor(a.data))
    return a


def cast(a: Value, dtype: str) -> Value:
    if a.dtype == dtype:
        return a
    if dtype == "float32":
        return as_float(a)
    if a.dtype == "float32":
        if dtype == "bool":
            doubt = (np.abs(a.data) <= a.error) & (np.asarray(a.error) > 0)
            if doubt.any():
                raise Unsuitable
            return Value(a.data != 0)
        doubt_at_integers(a)
        if dtype == "uint32" and (a.data < 0).any():
            raise Unsuitable
        return Value(np.trunc(a.data).astype(dtype))
    return Value(a.data.astype(dtype))


def where(c: Value, a: Value, b: Value) -> Value:
    a, b = meet(a, b)
    c = cast(c, "bool")
    data = np.asarray(np.where(c.data, a.data, b.data))
    return Value(data, np.where(c.data, a.error, b.error) if a.dtype == "float32" else 0.0)


def view(a: Value, change: Callable[[Array], Array]) -> Value:
    error = a.error
    if a.dtype == "float32":
        error = change(np.broadcast_to(np.asarray(error, np.float64), a.shape))
    return Value(np.asarray(change(a.data)), error)


def paired(a: Value, b: Value, join: Callable[[list[Array]], Array]) -> Value:
    """Both in one, in the dtype they promote to."""
    a, b = meet(a, b)
    errors = [np.broadcast_to(np.asarray(v.error, np.float64), v.shape) for v in (a, b)]
    return Value(join([a.data, b.data]), join(errors) if a.dtype == "float32" else 0.0)


def reduced(op: str, a: Value, axis: Any, keepdims: bool) -> Value:
    options: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    empty = a.data.size == 0
    if op in ("max", "min"):
        if empty:
            raise Unsuitable
        data = getattr(np, op)(a.data, **options)
        error = np.broadcast_to(np.asarray(a.error, np.float64), a.shape)
        return Value(np.asarray(data), np.max(error, **options) if a.dtype == "float32" else 0.0)
    if op == "sum" and a.dtype != "float32":
        wide = np.int32 if a.dtype == "bool" else a.data.dtype
        return Value(np.asarray(np.sum(a.data, dtype=wide, **options)))
    a = as_float(a)
    total = np.asarray(np.sum(a.data, **options))
    error = np.sum(np.broadcast_to(np.asarray(a.error, np.float64), a.shape), **options)
    count = a.data.size // max(total.size, 1)
    error = error + EPS * 10 * np.sum(np.abs(a.data), **options)
    if op == "mean":
        if empty:
            raise Unsuitable
        return rounded(total / count, error / count, 2)
    return rounded(total, error)


def error_of(a: Value) -> Array:
    return np.broadcast_to(np.asarray(a.error, np.float64), a.shape)


def truths(op: str, a: Value, axis: Any, keepdims: bool) -> Value:
    """any, all, count_nonzero: Unsuitable where an error could make a zero, or undo one."""
    if a.dtype == "float32" and ((np.abs(a.data) <= error_of(a)) & (error_of(a) > 0)).any():
        raise Unsuitable
    data = np.asarray(getattr(np, op)(a.data, axis=axis, keepdims=keepdims))
    return Value(data.astype(np.int32) if op == "count_nonzero" else data)


def place(op: str, a: Value, axis: int | None, keepdims: bool) -> Value:
    """argmax and argmin: Unsuitable where an error could change the order."""
    if a.data.size == 0:
        raise Unsuitable
    if a.dtype == "float32" and error_of(a).any():
        along = a.data.reshape(-1) if axis is None else np.moveaxis(a.data, axis, -1)
        gaps = np.diff(np.sort(along, axis=-1), axis=-1)
        if along.shape[-1] > 1 and gaps.min(initial=np.inf) <= 2 * error_of(a).max():
            raise Unsuitable
    data = getattr(np, op)(a.data, axis=axis, keepdims=keepdims)
    return Value(np.asarray(data, np.int32))


def log_sum_exp(a: Value, axis: Any, keepdims: bool) -> Value:
    a = as_float(a)
    if a.data.size == 0:
        raise Unsuitable
    top = a.data.max(axis=axis, keepdims=True)
    total = np.exp(a.data - top).sum(axis=axis, keepdims=keepdims)
    data = np.log(total) + top.reshape(total.shape)
    size = np.abs(a.data).max(axis=axis, keepdims=keepdims)
    error = error_of(a).max(axis=axis, keepdims=keepdims)
    return rounded(data, error + EPS * (10 + 2 * size))


def variance(a: Value, axis: Any, keepdims: bool) -> Value:
    a = as_float(a)
    if a.data.size == 0:
        raise Unsuitable
    data = np.var(a.data, axis=axis, keepdims=keepdims)
    off = np.abs(a.data - a.data.mean(axis=axis, keepdims=True))
    each = error_of(a) + EPS * np.abs(a.data)
    each = each + each.mean(axis=axis, keepdims=True)
    error = np.mean(2 * off * each + each**2, axis=axis, keepdims=keepdims)
    return rounded(data, error, 10)


def scanned(op: str, a: Value, axis: int) -> Value:
    function = {"sum": np.add, "max": np.maximum, "min": np.minimum}[op]
    if a.dtype != "float32":
        wide = np.int32 if a.dtype == "bool" and op == "sum" else a.data.dtype
        return Value(np.asarray(function.accumulate(a.data, axis=axis, dtype=wide)))
    data = function.accumulate(a.data, axis=axis)
    if op != "sum":
        return Value(data, np.maximum.accumulate(error_of(a), axis=axis))
    error = np.add.accumulate(error_of(a) + 10 * EPS * np.abs(a.data), axis=axis)
    return rounded(data, error)


def log_softmax(a: Value, axis: int) -> Value:
    a = as_float(a)
    if a.data.size == 0:
        return a
    total = log_sum_exp(a, axis, True)
    size = np.abs(a.data).max(axis=axis, keepdims=True)
    return rounded(a.data - total.data, error_of(a) + total.error + EPS * size, 2)


def product(a: Value, b: Value) -> Value:
    a, b = meet(a, b)
    if a.dtype == "bool":
        raise Unsuitable
    if a.dtype != "float32":
        return Value(np.asarray(np.matmul(a.data, b.data)))
    ea = np.broadcast_to(np.asarray(a.error, np.float64), a.shape)
    eb = np.broadcast_to(np.asarray(b.error, np.float64), b.shape)
    error = np.matmul(np.abs(a.data), eb) + np.matmul(ea, np.abs(b.data)) + np.matmul(ea, eb)
    error = error + EPS * 10 * np.matmul(np.abs(a.data), np.abs(b.data))
    return rounded(np.matmul(a.data, b.data), error)


def softmax(a: Value, axis: int) -> Value:
    a = as_float(a)
    if a.data.size == 0:
        return a
    e = np.exp(a.data - a.data.max(axis=axis, keepdims=True))
    p = e / e.sum(axis=axis, keepdims=True)
    error = np.broadcast_to(np.asarray(a.error, np.float64), a.shape).max(axis=axis, keepdims=True)
    spread = np.ptp(a.data, axis=axis, keepdims=True) * EPS
    return rounded(p, p * np.expm1(2 * error + 2 * spread), 20)


# ---- the generator ------------------------------------------------------------------------------

BINARY: list[tuple[str, Callable[[Value, Value], Value]]] = [
    ("{} + {}", add),
    ("{} + {}", add),
    ("{} - {}", subtract),
    ("{} * {}", multiply),
    ("wt.maximum({}, {})", pick(np.maximum)),
    ("wt.minimum({}, {})", pick(np.minimum)),
    ("{} / (wt.abs({}) + 1.0)", divided),
    ("{} < {}", compare(np.less)),
    ("{} >= {}", compare(np.greater_equal)),
    ("{} == {}", compare(np.equal)),
    ("{} != {}", compare(np.not_equal)),
    ("{} & {}", same_kind(np.bitwise_and)),
    ("{} ^ {}", same_kind(np.bitwise_xor)),
    ("{} | {}", same_kind(np.bitwise_or)),
    ("wt.logical_and({}, {})", lambda a, b: Value(cast(a, "bool").data & cast(b, "bool").data)),
]
UNARY: list[tuple[str, Callable[[Value], Value]]] = [
    ("wt.tanh({})", smooth(np.tanh, 1)),
    ("wt.sigmoid({})", smooth(lambda x: 1 / (1 + np.exp(-x)), 0.3)),
    ("wt.exp(-wt.abs({} * 1.0))", lambda a: smooth(np.exp, 1)(negative(absolute(as_float(a))))),
    ("wt.abs({})", absolute),
    ("-{}", negative),
    ("wt.relu({})", relu),
    ("wt.sqrt(wt.abs({}) + 1.0)", root),
    ("wt.log(wt.abs({}) + 1.0)", lambda a: smooth(np.log, 1)(add(absolute(as_float(a)), ONE))),
    ("wt.floor({})", floor),
    ("wt.logical_not({})", lambda a: Value(~cast(a, "bool").data)),
    ("{}.copy()", lambda a: a),
]
INTEGER: list[tuple[str, Any]] = [
    ("{} // {}", np.floor_divide),
    ("{} % {}", np.remainder),
    ("{} & {}", np.bitwise_and),
    ("{} ^ {}", np.bitwise_xor),
]


class Generator:
    def __init__(self, seed: int, length: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.program = Program(seed)
        self.env: Env = {}
        self.count = 0
        self.length = length
        self.matmuls = bool(self.rng.random() < 0.3)
        self.floats = float(self.rng.choice([0.3, 0.6, 0.9]))
        self.sizes = [
            [1, 2, 3, 4, 5, 8],
            [1, 4, 8, 12, 16],
            [1, 2, 3, 7, 33, 40],
            [0, 1, 2, 3, 4],
            [1, 2, 3],
            [1, 2, 4, 130, 1030],
        ][int(self.rng.integers(6))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def choose(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def run(self) -> Program:
        for _ in range(int(self.rng.integers(1, 4))):
            self.attempt(self.input)
        makers: list[tuple[float, Callable[[], Line]]] = [
            (1.0, self.input),
            (6.0, self.binary),
            (3.0, self.unary),
            (2.5, self.scalar),
            (2.0, self.select),
            (1.5, self.cast),
            (6.0, self.view),
            (2.0, self.moved),
            (1.5, self.joined),
            (4.0, self.reduction),
            (2.0, self.other_reduction),
            (1.0, self.scan),
            (1.0, self.softmax),
            (2.0 if self.matmuls else 0.0, self.matmul),
            (3.0, self.assign),
            (2.0, self.in_place),
            (0.7, self.alias),
            (1.5, self.drop),
            (1.5, self.look),
            (1.0, self.evaluate),
        ]
        weights = np.array([w for w, _ in makers])
        while len(self.program.lines) < self.length:
            self.attempt(makers[int(self.rng.choice(len(makers), p=weights / weights.sum()))][1])
        names = list(self.env)
        self.rng.shuffle(names)
        share = self.choose([1.0, 0.6, 0.2])
        for i, name in enumerate(names):
            if i == 0 or self.chance(share):
                self.program.lines.append(reading(name))
        return self.program

    def attempt(self, make: Callable[[], Line]) -> None:
        try:
            line = make()
            trial = {name: Handle(h.value) for name, h in self.env.items()}
            with np.errstate(all="ignore"):
                line.refer(trial)
                line.refer(self.env)
        except Unsuitable:
            return
        self.program.lines.append(line)

    # What lines are made of.

    def name(self) -> str:
        if not self.env:
            raise Unsuitable
        names = list(self.env)
        if self.chance(0.5):
            names = names[-4:]  # recent ones: chains grow long
        return str(self.choose(names))

    def value(self, name: str) -> Value:
        return self.env[name].value

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
        if self.chance(self.floats):
            return "float32"
        return str(self.choose(["int32", "int32", "uint32", "bool"]))

    # Lines.

    def input(self) -> Line:
        shape, dtype, seed = self.shape(), self.dtype(), int(self.rng.integers(1000))
        if self.env and self.chance(0.6):  # one that fits to what there is
            like = self.value(self.name()).shape
            shape = tuple(1 if self.chance(0.2) else n for n in like[int(self.rng.integers(2)) :])
        kind = self.choose(["array"] * 5 + ["full", "arange"])
        if kind == "array":
            return self.define(
                f"array({seed}, {shape}, {dtype!r})",
                lambda env: Value(host_array(seed, shape, dtype)),
            )
        if kind == "full":
            number = self.choose([0, 1, 3])
            data = np.full(shape, number, np.float64 if dtype == "float32" else dtype)
            return self.define(
                f"wt.full({shape}, {number}, dtype={dtype!r})", lambda env: Value(data)
            )
        n = int(self.choose(self.sizes))
        step = self.choose([1, 2, -1])
        return self.define(
            f"wt.arange(0, {n * step}, {step})",
            lambda env: Value(np.arange(0, n * step, step, dtype=np.int32)),
        )

    def partner(self, name: str) -> str:
        """Another value that broadcasts with the named one to no great size."""
        shape = self.value(name).shape
        names = list(self.env)
        self.rng.shuffle(names)
        for other in names:
            try:
                both = np.broadcast_shapes(shape, self.value(other).shape)
            except ValueError:
                continue
            if np.prod(both) <= ELEMENTS:
                return str(other)
        raise Unsuitable

    def binary(self) -> Line:
        a = self.name()
        b = self.partner(a)
        text, function = self.choose(BINARY)
        return self.define(text.format(a, b), lambda env: function(env[a].value, env[b].value))

    def unary(self) -> Line:
        a = self.name()
        text, function = self.choose(UNARY)
        return self.define(text.format(a), lambda env: function(env[a].value))

    def number(self, dtype: str) -> tuple[str, Value]:
        if dtype == "float32":
            f = self.choose([0.5, 2.0, -1.5, 1, 3, True])
            return repr(f), Value(np.asarray(float(f)))
        if dtype == "bool":
            b = bool(self.choose([True, False]))
            return repr(b), Value(np.asarray(b))
        i = int(self.choose([1, 2, 3, 7] if dtype == "uint32" else [1, 2, 3, 7, -1, -3]))
        return repr(i), Value(np.asarray(i, dtype))

    def scalar(self) -> Line:
        a = self.name()
        dtype = self.value(a).dtype
        text, number = self.number(dtype)
        if dtype in ("int32", "uint32") and self.chance(0.4):
            form, ufunc = self.choose(INTEGER)
            return self.define(
                form.format(a, text),
                lambda env: Value(np.asarray(ufunc(env[a].value.data, number.data))),
            )
        form, function = self.choose(BINARY[:6])
        if self.chance(0.3):
            return self.define(form.format(text, a), lambda env: function(number, env[a].value))
        return self.define(form.format(a, text), lambda env: function(env[a].value, number))

    def select(self) -> Line:
        c = self.name()
        a = self.partner(c)
        b = self.partner(a)
        np_shape = [self.value(n).shape for n in (a, b, c)]
        try:
            if np.prod(np.broadcast_shapes(*np_shape)) > ELEMENTS:
                raise Unsuitable
        except ValueError:
            raise Unsuitable from None
        return self.define(
            f"wt.where({c}, {a}, {b})",
            lambda env: where(env[c].value, env[a].value, env[b].value),
        )

    def cast(self) -> Line:
        a, dtype = self.name(), self.choose(["float32", "float32", "int32", "uint32", "bool"])
        return self.define(f"{a}.astype({dtype!r})", lambda env: cast(env[a].value, dtype))

    def key(self, shape: tuple[int, ...]) -> str:
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

    def view(self) -> Line:
        a = self.name()
        shape = self.value(a).shape
        kind = self.choose(["index", "index", "permute", "mT", "reshape", "broadcast", "expand"])
        if kind == "index":
            key = self.key(shape)
            text, code = f"{a}[{key}]", f"x[{key}]"
        elif kind == "permute":
            axes = tuple(int(i) for i in self.rng.permutation(len(shape)))
            text, code = f"wt.permute_dims({a}, {axes})", f"x.transpose({axes})"
        elif kind == "mT" and len(shape) >= 2:
            text, code = f"{a}.mT", "x.swapaxes(-1, -2)"
        elif kind == "reshape":
            to = self.choose(list(itertools.islice(reshapes(shape), 8)))
            text, code = f"{a}.reshape({to})", f"x.reshape({to})"
        elif kind == "broadcast":
            to = tuple(int(self.choose([2, 3])) if n == 1 else n for n in shape)
            to = (2, *to) if self.chance(0.3) else to
            if np.prod(to) > ELEMENTS or len(to) > 6:
                raise Unsuitable
            text, code = f"{a}.broadcast_to({to})", f"np.broadcast_to(x, {to})"
        elif kind == "expand" and len(shape) < 5:
            axis = int(self.rng.integers(-len(shape) - 1, len(shape) + 1))
            text, code = f"wt.expand_dims({a}, axis={axis})", f"np.expand_dims(x, {axis})"
        else:
            text, code = f"wt.squeeze({a})", "x.squeeze()"
        change = eval(f"lambda x: {code}", {"np": np})
        return self.define(text, lambda env: view(env[a].value, change))

    def moved(self) -> Line:
        a = self.name()
        text, code = move(self.rng, self.value(a).shape)
        change: Callable[[Array], Array] = eval(f"lambda x: {code}", {"np": np})
        made = change(np.zeros(self.value(a).shape, np.bool_))
        if made.size > ELEMENTS or made.ndim > 6:
            raise Unsuitable
        return self.define(text.replace("X", a), lambda env: view(env[a].value, change))

    def joined(self) -> Line:
        """Two values along an axis; the second one is cut to fit where it is larger."""
        a, b = self.name(), self.name()
        shape, other = self.value(a).shape, self.value(b).shape
        if not shape or len(shape) != len(other) or 2 * np.prod(shape) > ELEMENTS:
            raise Unsuitable
        axis = int(self.rng.integers(len(shape)))
        stacked = len(shape) < 5 and self.chance(0.3)
        sizes = [
            m if i != axis or stacked else n
            for i, (m, n) in enumerate(zip(shape, other, strict=True))
        ]
        if any(m > n for m, n in zip(sizes, other, strict=True)):
            raise Unsuitable
        key = ", ".join(f":{n}" for n in sizes)
        cut: Callable[[Array], Array] = eval(f"lambda x: x[{key}]")
        function = "stack" if stacked else "concat"
        join = np.stack if stacked else np.concatenate
        return self.define(
            f"wt.{function}([{a}, {b}[{key}]], axis={axis})",
            lambda env: paired(env[a].value, view(env[b].value, cut), lambda v: join(v, axis)),
        )

    def reduction(self) -> Line:
        a = self.name()
        rank = len(self.value(a).shape)
        op = self.choose(["sum", "sum", "max", "min", "mean"])
        axis: Any = None
        if rank and self.chance(0.8):
            axes = self.rng.permutation(rank)[: int(self.rng.integers(1, rank + 1))]
            axis = tuple(int(x) - (rank if self.chance(0.3) else 0) for x in axes)
            axis = axis[0] if len(axis) == 1 else axis
        keep = self.chance(0.3)
        return self.define(
            f"wt.{op}({a}, axis={axis}, keepdims={keep})",
            lambda env: reduced(op, env[a].value, axis, keep),
        )

    def other_reduction(self) -> Line:
        a = self.name()
        rank = len(self.value(a).shape)
        ops: list[str] = ["any", "all", "count_nonzero", "argmax", "argmin", "logsumexp", "var"]
        op = self.choose(ops)
        axis = int(self.rng.integers(-rank, rank)) if rank and self.chance(0.7) else None
        keep = self.chance(0.3)

        def refer(env: Env) -> Value:
            v = env[a].value
            if op in ("any", "all", "count_nonzero"):
                return truths(op, v, axis, keep)
            if op in ("argmax", "argmin"):
                return place(op, v, axis, keep)
            return (log_sum_exp if op == "logsumexp" else variance)(v, axis, keep)

        return self.define(f"wt.{op}({a}, axis={axis}, keepdims={keep})", refer)

    def scan(self) -> Line:
        a = self.name()
        rank = len(self.value(a).shape)
        if not rank:
            raise Unsuitable
        op = self.choose(["sum", "max", "min"])
        axis = int(self.rng.integers(-rank, rank))
        return self.define(
            f"wt.cumulative_{op}({a}, axis={axis})", lambda env: scanned(op, env[a].value, axis)
        )

    def softmax(self) -> Line:
        a = self.name()
        rank = len(self.value(a).shape)
        if not rank:
            raise Unsuitable
        axis = int(self.rng.integers(-rank, rank))
        if self.chance(0.3):
            return self.define(
                f"wt.log_softmax({a}, axis={axis})", lambda env: log_softmax(env[a].value, axis)
            )
        return self.define(f"wt.softmax({a}, axis={axis})", lambda env: softmax(env[a].value, axis))

    def matmul(self) -> Line:
        a = self.name()
        x = self.value(a)
        if not x.shape:
            raise Unsuitable
        for b in self.rng.permutation(list(self.env)):
            y = self.value(b)
            if y.dtype != x.dtype or not y.shape:
                continue
            for text, turn in ((str(b), False), (f"{b}.mT", True)):
                if turn and len(y.shape) < 2:
                    continue
                try:
                    shape = np.matmul(
                        np.zeros(x.shape),
                        np.zeros(y.shape).swapaxes(-1, -2) if turn else np.zeros(y.shape),
                    ).shape
                except ValueError:
                    continue
                if np.prod(shape) <= ELEMENTS and len(shape) <= 5:
                    written = f"{a} @ {text}"
                    if len(x.shape) > 1 and len(y.shape) > 1 and self.chance(0.3):
                        second = "kj" if turn else "jk"
                        written = f"wt.einsum('...ij,...{second}->...ik', {a}, {b})"
                    return self.define(
                        written,
                        lambda env, b=str(b), turn=turn: product(
                            env[a].value,
                            view(env[b].value, lambda v: v.swapaxes(-1, -2))
                            if turn
                            else env[b].value,
                        ),
                    )
        raise Unsuitable

    def assign(self) -> Line:
        a = self.name()
        target = self.value(a)
        key = self.key(target.shape)
        part = eval(f"x[{key}]", {"x": target.data})
        form = self.choose(["scalar", "scalar", "self", "other", "more"])
        dtype = target.dtype
        sign = "="
        if form == "more" and dtype != "bool":
            text, number = self.number(dtype)
            sign, cut = "+=", eval(f"lambda x: x[{key}]")
            find: Callable[[Env], Value] = lambda env: add(view(env[a].value, cut), number)  # noqa: E731
        elif form == "scalar":
            text, number = self.number(dtype)
            find = lambda env: number  # noqa: E731
        elif form == "self" and part.ndim:
            flips = ", ".join(self.choose([":", "::-1"]) for _ in range(part.ndim))
            text = f"{a}[{key}][{flips}]"
            change = eval(f"lambda x: x[{key}][{flips}]")
            find = lambda env: view(env[a].value, change)  # noqa: E731
        else:
            text = ""
            for b in self.rng.permutation(list(self.env)):
                try:
                    if np.broadcast_shapes(self.value(b).shape, part.shape) == part.shape:
                        text = str(b)
                        break
                except ValueError:
                    continue
            if not text:
                raise Unsuitable
            find = lambda env: cast(env[text].value, dtype)  # noqa: E731

        def refer(env: Env) -> None:
            handle = env[a]
            value = find(env)
            data = handle.value.data.copy()
            error: Any = np.array(np.broadcast_to(handle.value.error, data.shape), np.float64)
            exec(f"x[{key}] = v", {"x": data, "v": value.data})
            exec(f"x[{key}] = v", {"x": error, "v": np.asarray(value.error)})
            handle.value = Value(data, error if handle.value.dtype == "float32" else 0.0)

        return Line(f"{a}[{key}] {sign} {text}", refer)

    def in_place(self) -> Line:
        a = self.name()
        dtype = self.value(a).dtype
        text, function = self.choose([("+=", add), ("-=", subtract), ("*=", multiply), ("+=", add)])
        operand, number = self.number(dtype)
        if self.chance(0.6):
            other = self.partner(a)
            y = self.value(other)
            if np.broadcast_shapes(y.shape, self.value(a).shape) != self.value(a).shape:
                raise Unsuitable
            if y.dtype not in (dtype, "bool"):
                raise Unsuitable
            operand = other

        def refer(env: Env) -> None:
            handle = env[a]
            value = number if operand not in env else env[operand].value
            result = function(handle.value, value)
            if result.dtype != handle.value.dtype:
                raise Unsuitable
            handle.value = result

        return Line(f"{a} {text} {operand}", refer)

    def alias(self) -> Line:
        a, b = self.name(), self.fresh()

        def refer(env: Env) -> None:
            env[b] = env[a]

        return Line(f"{b} = {a}", refer)

    def drop(self) -> Line:
        if len(self.env) < 4:
            raise Unsuitable
        a = self.name()

        def refer(env: Env) -> None:
            env.pop(a)

        return Line(f"del {a}", refer)

    def look(self) -> Line:
        return reading(self.name())

    def evaluate(self) -> Line:
        names = sorted({self.name() for _ in range(int(self.rng.integers(1, 4)))})
        return Line(f"wt.eval({', '.join(names)})", lambda env: [env[n] for n in names] and None)


def reading(name: str) -> Line:
    return Line(f"read({name!r}, {name})", lambda env: env[name] and None, reads=True)


def reshapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    total = int(np.prod(shape))
    yield (total,)
    for d in (2, 3, 4, 5, 7, 8):
        if total and total % d == 0:
            yield (d, total // d)
            yield (total // d, d)
    yield (*shape, 1)
    if len(shape) > 1:
        yield (shape[0] * shape[1], *shape[2:])


def generate(seed: int, length: int | None = None) -> Program:
    return Generator(seed, length or (80 if seed % 40 == 39 else 6 + seed % 23)).run()


# ---- running ------------------------------------------------------------------------------------


def expected_reads(program: Program) -> list[tuple[str, Value]]:
    """Names and values of what the program reads. Any exception: it is no program."""
    env: Env = {}
    reads = []
    with np.errstate(all="ignore"):
        for line in program.lines:
            line.refer(env)
            if line.reads:
                name = line.text.split("'")[1]
                reads.append((name, env[name].value))
    return reads


def run(program: Program) -> list[Array]:
    """What the program reads, on the device."""
    import wgtensor as wt

    got: list[Array] = []

    def array(seed: int, shape: tuple[int, ...], dtype: str) -> wt.Tensor:
        data = host_array(seed, shape, dtype)
        return wt.asarray(data.astype(np.float32) if data.dtype.kind == "f" else data)

    names: dict[str, Any] = {
        "wt": wt,
        "np": np,
        "array": array,
        "read": lambda name, t: got.append(t.numpy()),
    }
    for line in program.lines:
        exec(line.text, names)
    return got


def disagreement(program: Program, reads: list[tuple[str, Value]] | None = None) -> str:
    """What is wrong with a run of the program; nothing if nothing is."""
    expected = expected_reads(program) if reads is None else reads
    try:
        got = run(program)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    for i, ((name, value), actual) in enumerate(zip(expected, got, strict=True)):
        where = f"read {i} of {name}"
        if actual.shape != value.shape:
            return f"{where}: shape {actual.shape}, expected {value.shape}"
        if str(actual.dtype) != value.dtype:
            return f"{where}: dtype {actual.dtype}, expected {value.dtype}"
        if value.dtype == "float32":
            off = np.abs(actual - value.data)
            wrong = ~(off <= np.asarray(value.error) + 1e-37)
        else:
            wrong = actual != value.data
        if wrong.any():
            at = tuple(int(k) for k in np.argwhere(wrong)[0])
            return (
                f"{where}: {int(wrong.sum())} of {wrong.size} elements differ, "
                f"at {at} {actual[at]!r} is not {value.data[at]!r}"
            )
    return ""


def minimal(program: Program, fails: Callable[[Program], str]) -> Program:
    """The program without all lines that it fails without."""
    best = program
    size = max(len(best.lines) // 2, 1)
    while True:
        shrunk = False
        at = len(best.lines) - size
        while at > -size:
            lines = best.lines[: max(at, 0)] + best.lines[max(at, 0) + size :]
            candidate = Program(program.seed, lines)
            try:
                expected_reads(candidate)
                if lines and fails(candidate):
                    best, shrunk = candidate, True
            except Exception:
                pass  # a line needs what was taken out
            at -= size
        if size == 1 and not shrunk:
            return best
        if not shrunk:
            size = max(size // 2, 1)
        size = min(size, max(len(best.lines) // 2, 1))
