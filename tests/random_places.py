"""Lines of random programs with places that are data: lookups, masks, writes and folds there."""

from __future__ import annotations

import numpy as np

from random_state import ELEMENTS, Line, State
from random_values import Array, Env, Unsuitable, cast, view


def _integers(s: State, axis_size: int) -> tuple[str, str]:
    """A tensor of integers that leads to places of such an axis: its name and its text."""
    for name in s.shuffled():
        v = s.value(name)
        fits = v.dtype not in ("bool",) and v.data.dtype.kind in "iu" and len(v.shape) <= 2
        if fits and axis_size and v.data.size <= 400 and axis_size < 128:
            return name, f"({name} % {axis_size})"
    raise Unsuitable


def _target(s: State) -> tuple[str, int, int]:
    """A tensor, one of its axes, and the size there."""
    a = s.name()
    shape = s.value(a).shape
    if not shape:
        raise Unsuitable
    axis = int(s.rng.integers(len(shape)))
    return a, axis, shape[axis]


def looked_up(s: State) -> Line:
    """Elements along an axis at integers that the program made."""
    a, axis, size = _target(s)
    i, text = _integers(s, size)
    shape, places = s.value(a).shape, s.value(i).shape
    if np.prod(shape) // size * np.prod(places) > ELEMENTS or len(shape) + len(places) > 6:
        raise Unsuitable

    def change(env: Env, x: Array) -> Array:
        return np.take(x, env[i].value.data % size, axis)

    form = s.choose(["take", "wrap", "key"])
    written = {
        "take": f"wt.take({a}, {text}, axis={axis})",
        "wrap": f"wt.take({a}, {i}, axis={axis}, mode='wrap')",
        "key": f"{a}[{':, ' * axis}{text}]",
    }
    return s.define(written[form], lambda env: view(env[a].value, lambda x: change(env, x)))


def _mask(s: State, shape: tuple[int, ...]) -> str:
    for name in s.shuffled():
        v = s.value(name)
        if v.dtype == "bool" and v.shape and v.shape == shape[: len(v.shape)]:
            return str(name)
    raise Unsuitable


def masked(s: State) -> Line:
    a = s.name()
    m = _mask(s, s.value(a).shape)
    return s.define(f"{a}[{m}]", lambda env: view(env[a].value, lambda x: x[env[m].value.data]))


def set_where(s: State) -> Line:
    """x[mask] = a number."""
    a = s.name()
    m = _mask(s, s.value(a).shape)
    number = s.number(s.value(a).dtype)

    def refer(env: Env) -> None:
        handle, v, mask = env[a], number.of(env), env[m].value.data
        data, error = handle.value.data.copy(), np.array(handle.value.error)
        data[mask], error[mask] = v.data, v.error
        handle.value = type(v)(data, error, handle.value.dtype)

    return Line(f"{a}[{m}] = {number.text}", refer)


def set_there(s: State) -> Line:
    """x[integers] = a number or another tensor: the last write stays."""
    a, axis, size = _target(s)
    i, text = _integers(s, size)
    dtype, shape, places = s.value(a).dtype, s.value(a).shape, s.value(i).shape
    selected = (*shape[:axis], *places, *shape[axis + 1 :])
    number = s.number(dtype)
    other = ""
    if s.chance(0.6):
        for b in s.shuffled():
            try:
                if np.broadcast_shapes(s.value(b).shape, selected) == selected:
                    other = b
            except ValueError:
                continue

    def refer(env: Env) -> None:
        handle = env[a]
        v = cast(env[other].value, dtype) if other else number.of(env)
        data, error = handle.value.data.copy(), np.array(handle.value.error)
        key = (slice(None),) * axis + (env[i].value.data % size,)
        data[key], error[key] = v.data, v.error
        handle.value = type(v)(data, error, dtype)

    return Line(f"{a}[{':, ' * axis}{text}] = {other or number.text}", refer)


def folded(s: State) -> Line:
    """ufunc.at of integers and bools, whose results are exact."""
    a, axis, size = _target(s)
    i, text = _integers(s, size)
    target = s.value(a)
    name = s.choose(["add", "maximum", "minimum"])
    if target.data.dtype.kind not in "iu":
        raise Unsuitable
    number = s.number(target.dtype)

    def refer(env: Env) -> None:
        handle = env[a]
        data = handle.value.data.copy()
        key = (slice(None),) * axis + (env[i].value.data % size,)
        getattr(np, name).at(data, key, number.of(env).data)
        handle.value = type(handle.value)(data)

    key = f"({'slice(None), ' * axis}{text},)"
    return Line(f"np.{name}.at({a}, {key}, {number.text})", refer)
