"""Views of views and assignments through them, by chance, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import wgtensor as wt
from helpers import random_array, source
from tolerances import check

Array = np.ndarray[Any, Any]


@st.composite
def slices(draw: st.DrawFn, size: int) -> slice:
    step = draw(st.sampled_from([1, 1, 2, 3, -1, -1, -2]))
    start = draw(st.one_of(st.none(), st.integers(-size - 1, size + 1)))
    stop = draw(st.one_of(st.none(), st.integers(-size - 1, size + 1)))
    return slice(start, stop, step)


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...], zero_size: bool = True) -> tuple[Any, ...]:
    """A basic index into `shape`."""
    items: list[Any] = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        if size and draw(st.integers(0, 3)) == 0:
            items.append(draw(st.integers(-size, size - 1)))
        else:
            s = draw(slices(size))
            items.append(s if zero_size or len(range(*s.indices(size))) else slice(None))
    if draw(st.integers(0, 3)) == 0:
        items.insert(draw(st.integers(0, len(items))), None)
    if draw(st.integers(0, 3)) == 0 and len([i for i in items if i is not None]) <= len(shape):
        items.append(...)
    return tuple(items)


@st.composite
def shapes_of(draw: st.DrawFn, total: int) -> tuple[int, ...]:
    """A shape with `total` elements."""
    shape: list[int] = []
    rest = total
    for _ in range(draw(st.integers(0, 3))):
        divisors = [d for d in range(1, rest + 1) if rest % d == 0][:12] or [0]
        d = draw(st.sampled_from(divisors))
        shape.append(d)
        rest = rest // d if d else 0
    shape.append(rest if total else draw(st.integers(0, 3)))
    if total == 0 and 0 not in shape:
        shape.append(0)
    return tuple(shape)


def step(draw: Any, a: Array, t: wt.Tensor) -> tuple[Array, wt.Tensor, str]:
    """One view of both, and its program text."""
    kind = draw(
        st.sampled_from(["index", "index", "permute", "reshape", "broadcast", "expand", "squeeze"])
    )
    if kind == "index":
        key = draw(keys(a.shape))
        return a[key], t[key], f"[{key}]"
    if kind == "permute":
        axes = tuple(draw(st.permutations(range(a.ndim))))
        return a.transpose(axes), wt.permute_dims(t, axes), f".transpose({axes})"
    if kind == "reshape":
        shape = draw(shapes_of(a.size))
        return a.reshape(shape), t.reshape(shape), f".reshape({shape})"
    if kind == "broadcast":
        lead = tuple(draw(st.lists(st.integers(1, 3), max_size=1)))
        shape = (*lead, *(draw(st.sampled_from([1, 2, 3])) if d == 1 else d for d in a.shape))
        if np.prod(shape) > 5000 or len(shape) > 8:
            return a, t, ""
        return np.broadcast_to(a, shape), t.broadcast_to(shape), f".broadcast_to({shape})"
    if kind == "expand":
        axis = draw(st.integers(-a.ndim - 1, a.ndim))
        if a.ndim > 6:
            return a, t, ""
        return np.expand_dims(a, axis), wt.expand_dims(t, axis=axis), f".expand_dims({axis})"
    return a.squeeze(), wt.squeeze(t), ".squeeze()"


@settings(max_examples=150)
@given(st.data())
def test_chains_of_views(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["float32", "int32", "bool"]))
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 8]), max_size=4)))
    base = random_array(np.random.default_rng(data.draw(st.integers(0, 99))), shape, dtype)
    kind = data.draw(st.sampled_from(["leaf", "pending", "computed"]))
    a: Array = base
    t = source(kind, base)
    text = f"{kind} {dtype}{shape}"
    for _ in range(data.draw(st.integers(1, 5))):
        a, t, more = step(data.draw, a, t)
        text += more
        assert t.shape == a.shape, text
    if data.draw(st.booleans()):
        check(t, a, name=text)
    other = t if dtype == "bool" else t + t
    check(other, a if dtype == "bool" else a + a, name=text + " twice")


@settings(max_examples=100)
@given(st.data())
def test_assignment(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["float32", "int32", "uint32", "bool"]))
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 5, 8]), min_size=1, max_size=3)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    kind = data.draw(st.sampled_from(["leaf", "pending", "computed"]))
    a = random_array(rng, shape, dtype)
    t = source(kind, a)
    a = a.copy()
    text = f"{kind} {dtype}{shape}"
    views: list[tuple[Array, wt.Tensor]] = []
    for _ in range(data.draw(st.integers(1, 4))):
        key = data.draw(keys(shape))
        target = a[key]
        form = data.draw(st.sampled_from(["scalar", "full", "row", "self", "tensor"]))
        value: Any
        host: Any
        if form == "scalar":
            value = host = (True if dtype == "bool" else 7) if data.draw(st.booleans()) else 0
        elif form == "self" and target.ndim:
            flip = (slice(None, None, -1),)
            host, value = target[flip].copy(), t[key][flip]
        elif form == "row" and target.ndim > 1:
            host = random_array(rng, target.shape[-1:], dtype)
            value = wt.asarray(host)
        elif form == "tensor":
            host = random_array(rng, target.shape, dtype)
            value = wt.where(wt.asarray(host) == wt.asarray(host), wt.asarray(host), 0)
            value = value if dtype != "bool" else wt.asarray(host)
        else:
            host = value = random_array(rng, target.shape, dtype)
        views.append((a.copy(), t[...]))
        a[key] = host
        t[key] = value
        text += f"; [{key}] = {form}"
    if data.draw(st.booleans()):
        views.reverse()
    for i, (before, view) in enumerate(views):
        check(view, before, name=f"{text}: view {i}")
    check(t, a, name=text)
