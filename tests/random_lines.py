"""Lines of random programs: new tensors, views, joins, assignments, names that come and go."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from random_moves import move
from random_rows import apply
from random_state import ELEMENTS, Line, State
from random_values import (
    EPS,
    Array,
    Env,
    Unsuitable,
    Value,
    cast,
    filled,
    host_value,
    is_float,
    paired,
    view,
)


def given(s: State) -> Line:
    """An array of the host, often one that fits to what there is."""
    shape, dtype, seed = s.shape(), s.dtype(), int(s.rng.integers(1000))
    if s.env and s.chance(0.6):
        like = s.value(s.name()).shape
        shape = tuple(1 if s.chance(0.2) else n for n in like[int(s.rng.integers(2)) :])
    return s.define(
        f"array({seed}, {shape}, {dtype!r})", lambda env: host_value(seed, shape, dtype)
    )


def created(s: State) -> Line:
    """A tensor that a function makes of numbers alone."""
    kind = s.choose(["full", "like", "arange", "arange", "linspace", "eye", "tri"])
    shape, dtype = s.shape(), s.dtype()
    if kind == "full":
        number = s.choose([0, 1, 3])
        full = filled(shape, number, dtype)
        return s.define(f"wt.full({shape}, {number}, dtype={dtype!r})", lambda env: full)
    if kind == "like":
        a, name = s.name(), s.choose(["zeros_like", "ones_like"])
        like = s.value(a)
        full = filled(like.shape, int(name == "ones_like"), like.dtype)
        return s.define(f"wt.{name}({a})", lambda env: full)
    n, m, k = int(s.choose(s.sizes)), int(s.choose(s.sizes)), int(s.rng.integers(-2, 3))
    if kind == "arange":
        step = s.choose([1, 2, -1, 0.5])
        data = np.arange(0, n * step, step, dtype=np.int32 if isinstance(step, int) else None)
        return s.define(f"wt.arange(0, {n * step}, {step})", lambda env: Value(data))
    if kind == "linspace":
        start, stop, end = s.choose([0, -1.5]), s.choose([1, 3.0]), s.chance(0.5)
        data = np.linspace(start, stop, n, endpoint=end)
        return s.define(
            f"wt.linspace({start}, {stop}, {n}, endpoint={end})",
            lambda env: Value(data, 2 * EPS["float32"] * max(abs(start), abs(stop))),
        )
    if n * m > ELEMENTS:
        raise Unsuitable
    host = np.float64 if is_float(dtype) else np.dtype(dtype)
    value = Value(getattr(np, kind)(n, m, k, dtype=host), 0.0, dtype)
    return s.define(f"wt.{kind}({n}, {m}, k={k}, dtype={dtype!r})", lambda env: value)


def indexed(s: State) -> Line:
    a = s.name()
    key = s.key(s.value(a).shape)
    return s.define(f"{a}[{key}]", _viewed(a, f"x[{key}]"))


def _viewed(a: str, code: str) -> Callable[[Env], Value]:
    change = eval(f"lambda x: {code}", {"np": np})
    return lambda env: view(env[a].value, change)


def reshaped(s: State) -> Line:
    """Views that are no index."""
    a = s.name()
    shape = s.value(a).shape
    kind = s.choose(["permute", "mT", "reshape", "broadcast", "expand"])
    if kind == "permute":
        axes = tuple(int(i) for i in s.rng.permutation(len(shape)))
        return s.define(f"wt.permute_dims({a}, {axes})", _viewed(a, f"x.transpose({axes})"))
    if kind == "mT" and len(shape) >= 2:
        return s.define(f"{a}.mT", _viewed(a, "x.swapaxes(-1, -2)"))
    if kind == "reshape":
        to = s.choose(list(itertools.islice(reshapes(shape), 8)))
        return s.define(f"{a}.reshape({to})", _viewed(a, f"x.reshape({to})"))
    if kind == "broadcast":
        to = tuple(int(s.choose([2, 3])) if n == 1 else n for n in shape)
        to = (2, *to) if s.chance(0.3) else to
        if np.prod(to) > ELEMENTS or len(to) > 6:
            raise Unsuitable
        return s.define(f"{a}.broadcast_to({to})", _viewed(a, f"np.broadcast_to(x, {to})"))
    if kind == "expand" and len(shape) < 5:
        axis = int(s.rng.integers(-len(shape) - 1, len(shape) + 1))
        return s.define(
            f"wt.expand_dims({a}, axis={axis})", _viewed(a, f"np.expand_dims(x, {axis})")
        )
    return s.define(f"wt.squeeze({a})", _viewed(a, "x.squeeze()"))


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


def moved(s: State) -> Line:
    a = s.name()
    text, code = move(s.rng, s.value(a).shape)
    change: Callable[[Array], Array] = eval(f"lambda x: {code}", {"np": np})
    made = change(np.zeros(s.value(a).shape, np.bool_))
    if made.size > ELEMENTS or made.ndim > 6:
        raise Unsuitable
    return s.define(text.replace("X", a), lambda env: view(env[a].value, change))


def joined(s: State) -> Line:
    """Two values along an axis; the second one is cut to fit where it is larger."""
    a, b = s.name(), s.name()
    shape, other = s.value(a).shape, s.value(b).shape
    if not shape or len(shape) != len(other) or 2 * np.prod(shape) > ELEMENTS:
        raise Unsuitable
    axis = int(s.rng.integers(len(shape)))
    stacked = len(shape) < 5 and s.chance(0.3)
    sizes = [
        m if i != axis or stacked else n for i, (m, n) in enumerate(zip(shape, other, strict=True))
    ]
    if any(m > n for m, n in zip(sizes, other, strict=True)):
        raise Unsuitable
    key = ", ".join(f":{n}" for n in sizes)
    cut: Callable[[Array], Array] = eval(f"lambda x: x[{key}]")
    function = "stack" if stacked else "concat"
    join = np.stack if stacked else np.concatenate
    return s.define(
        f"wt.{function}([{a}, {b}[{key}]], axis={axis})",
        lambda env: paired([env[a].value, view(env[b].value, cut)], lambda v: join(v, axis)),
    )


def assigned(s: State) -> Line:
    """x[key] = a number, a part of itself, another tensor; or += there."""
    a = s.name()
    target = s.value(a)
    key = s.key(target.shape)
    part = eval(f"x[{key}]", {"x": target.data})
    form = s.choose(["number", "number", "self", "other", "more"])
    number = s.number(target.dtype)
    text, sign, find = number.text, "=", number.of
    if form == "more" and target.dtype != "bool":
        sign, cut = "+=", _viewed(a, f"x[{key}]")
        find = lambda env: apply("add", cut(env), number.of(env))  # noqa: E731
    elif form == "self" and part.ndim:
        flips = ", ".join(s.choose([":", "::-1"]) for _ in range(part.ndim))
        text, find = f"{a}[{key}][{flips}]", _viewed(a, f"x[{key}][{flips}]")
    elif form != "number":
        text = next((b for b in s.shuffled() if _broadcasts(s.value(b).shape, part.shape)), "")
        if not text:
            raise Unsuitable
        find = lambda env: cast(env[text].value, target.dtype)  # noqa: E731

    def refer(env: Env) -> None:
        handle, value = env[a], find(env)
        data, error = handle.value.data.copy(), np.array(handle.value.error)
        exec(f"x[{key}] = v", {"x": data, "v": value.data})
        exec(f"x[{key}] = v", {"x": error, "v": value.error})
        handle.value = Value(data, error, handle.value.dtype)

    return Line(f"{a}[{key}] {sign} {text}", refer)


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def alias(s: State) -> Line:
    a, b = s.name(), s.fresh()

    def refer(env: Env) -> None:
        env[b] = env[a]

    return Line(f"{b} = {a}", refer)


def drop(s: State) -> Line:
    if len(s.env) < 4:
        raise Unsuitable
    a = s.name()

    def refer(env: Env) -> None:
        del env[a]

    return Line(f"del {a}", refer)


def reading(name: str) -> Line:
    return Line(f"read({name!r}, {name})", lambda env: _known(env, name), reads=name)


def look(s: State) -> Line:
    return reading(s.name())


def evaluated(s: State) -> Line:
    names = sorted({s.name() for _ in range(int(s.rng.integers(1, 4)))})
    return Line(f"wt.eval({', '.join(names)})", lambda env: _known(env, *names))


def _known(env: Env, *names: Any) -> None:
    for name in names:
        env[name]  # KeyError: it is no program
