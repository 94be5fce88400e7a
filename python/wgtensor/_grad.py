"""Gradients as functions of functions: grad, value_and_grad, vjp, jvp; and checkpoint."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from wgtensor import _core
from wgtensor._core import DTypeError, Tensor, UnsupportedError
from wgtensor.random._generator import default_generator

__all__ = ["checkpoint", "grad", "jvp", "value_and_grad", "vjp"]

# How many of these functions are at work on the thread: inner gradients have gradients themselves.
_active = threading.local()


@contextmanager
def _level() -> Iterator[bool]:
    """Records in the block; gives whether it is inside another one."""
    depth = getattr(_active, "depth", 0)
    before = _core.grad_enabled()
    _active.depth = depth + 1
    _core.set_grad_enabled(True)
    try:
        yield depth > 0
    finally:
        _active.depth = depth
        _core.set_grad_enabled(before)


def _flatten(tree: Any, leaves: list[Tensor]) -> Any:
    """The same structure with numbers of leaves for tensors."""
    if isinstance(tree, Tensor):
        leaves.append(tree)
        return len(leaves) - 1
    if isinstance(tree, (list, tuple)):
        parts = [_flatten(x, leaves) for x in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if isinstance(tree, dict):
        return {k: _flatten(v, leaves) for k, v in tree.items()}
    raise TypeError(
        f"[grad] arguments to differentiate are tensors in lists, tuples and dicts, not a "
        f"{type(tree).__name__}"
    )


def _filled(structure: Any, leaves: Sequence[Any]) -> Any:
    if isinstance(structure, int):
        return leaves[structure]
    if isinstance(structure, dict):
        return {k: _filled(v, leaves) for k, v in structure.items()}
    parts = [_filled(x, leaves) for x in structure]
    return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)


def _variable(t: Tensor) -> Tensor:
    """A variable of its own with the value of `t`, on whose gradients others depend as on `t`."""
    if t.requires_grad:
        return t.reshape(t.shape)
    if t.dtype.kind != "f":
        raise DTypeError(f"[grad] only floating-point tensors have gradients, not {t.dtype}")
    fresh = t.detach()
    fresh.requires_grad = True
    return fresh


class _Call:
    """A call with some arguments as variables."""

    def __init__(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, argnums: Any, nested: bool
    ) -> None:
        numbers = [argnums] if isinstance(argnums, int) else list(argnums)
        self.single = isinstance(argnums, int)
        given: list[Tensor] = []
        try:
            structures = [_flatten(args[i], given) for i in numbers]
        except IndexError:
            raise ValueError(
                f"[grad] argnums {argnums!r} of a call with {len(args)} arguments"
            ) from None
        self.structures = structures
        self.variables = [_variable(t) for t in given]
        self.create_graph = nested or any(t.requires_grad for t in given)
        called = list(args)
        for i, s in zip(numbers, structures, strict=True):
            called[i] = _filled(s, self.variables)
        self.result = fn(*called, **kwargs)

    def gradients(self, outputs: list[Tensor], seeds: list[Any], retain: bool) -> Any:
        pairs = [
            (t, s)
            for t, s in zip(outputs, seeds or [None] * len(outputs), strict=True)
            if t.requires_grad
        ]
        found: list[Tensor | None] = [None] * len(self.variables)
        if pairs:
            found = _core.run_backward(
                [t for t, _ in pairs],
                [s for _, s in pairs],
                self.variables,
                retain or self.create_graph,
                self.create_graph,
                False,
            )
        grads = [
            _core.full(v.shape, 0, v.dtype, v.device, "grad") if g is None else g
            for g, v in zip(found, self.variables, strict=True)
        ]
        made = [_filled(s, grads) for s in self.structures]
        return made[0] if self.single else tuple(made)

    def kept(self, tree: Any) -> Any:
        """A result without the graph of this call, unless an outer one needs it."""
        if self.create_graph:
            return tree
        if isinstance(tree, Tensor):
            return tree.detach()
        if isinstance(tree, (list, tuple)):
            parts = [self.kept(x) for x in tree]
            return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
        if isinstance(tree, dict):
            return {k: self.kept(v) for k, v in tree.items()}
        return tree


def value_and_grad(
    fn: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """A function that gives (value, gradients) of a function of one number; see grad."""

    @functools.wraps(fn)
    def both(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        with _level() as nested:
            call = _Call(fn, args, kwargs, argnums, nested)
            value = call.result
            if has_aux:
                if not isinstance(value, tuple) or len(value) != 2:
                    raise TypeError("[grad] with has_aux the function gives (value, aux)")
                value = value[0]
            if not isinstance(value, Tensor) or value.size != 1:
                what = value.shape if isinstance(value, Tensor) else type(value).__name__
                raise TypeError(f"[grad] the function gives one number, not {what}: see vjp")
            gradients = call.gradients([value], [], False)
            return call.kept(call.result), gradients

    return both


def grad(
    fn: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradients of `fn` with respect to its arguments `argnums`.

    fn gives one number, with `has_aux` a pair of that and anything else, which comes back beside
    the gradients. Arguments to differentiate are tensors in lists, tuples and dicts; gradients have
    the same structure. grad(grad(fn)) and other nestings work; tensors that fn takes from elsewhere
    count as constants unless an outer grad is at work. Raises TypeError for other results.
    """
    both = value_and_grad(fn, argnums, has_aux)

    @functools.wraps(fn)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def vjp(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """(fn(*primals), pull) where pull(cotangents) gives, for each primal, the gradient of the
    results weighted by `cotangents`, which have their structure. pull may be called again.

    With `has_aux` fn gives (result, aux), and vjp (result, pull, aux).
    """
    with _level() as nested:
        call = _Call(fn, primals, {}, range(len(primals)), nested)
        result, aux = call.result if has_aux else (call.result, None)
        outputs: list[Tensor] = []
        _flatten(result, outputs)

    def pull(cotangents: Any) -> Any:
        seeds: list[Tensor] = []
        _flatten(cotangents, seeds)
        if len(seeds) != len(outputs):
            raise ValueError(f"[vjp] {len(seeds)} cotangents for {len(outputs)} results")
        return call.gradients(outputs, seeds, True)

    kept = call.kept(result)
    return (kept, pull, aux) if has_aux else (kept, pull)


def jvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """(fn(*primals), its derivative in the direction of `tangents`), by two reverse passes.

    The gradient is linear in the weights of the results, so its own gradient with respect to them
    is the derivative forwards (Townsend 2017).
    """
    with _level() as nested:
        call = _Call(fn, tuple(primals), {}, range(len(primals)), nested)
        outer, call.create_graph = call.create_graph, True
        outputs: list[Tensor] = []
        structure = _flatten(call.result, outputs)
        directions: list[Tensor] = []
        for t in tangents:
            _flatten(t, directions)
        if [t.shape for t in directions] != [v.shape for v in call.variables]:
            raise ValueError(
                f"[jvp] tangents of shapes {[t.shape for t in directions]} for primals of "
                f"{[v.shape for v in call.variables]}"
            )
        seeds = [_core.full(t.shape, 0, t.dtype, t.device, "jvp") for t in outputs]
        for s in seeds:
            s.requires_grad = True
        flat: list[Tensor] = []
        _flatten(call.gradients(outputs, seeds, True), flat)
        pairs = [(g, d) for g, d in zip(flat, directions, strict=True) if g.requires_grad]
        found: list[Tensor | None] = [None] * len(seeds)
        if pairs:
            found = _core.run_backward(
                [g for g, _ in pairs], [d for _, d in pairs], seeds, True, outer, False
            )
        made = [s.detach() if g is None else g for g, s in zip(found, seeds, strict=True)]
        call.create_graph = outer
        return call.kept(call.result), _filled(structure, made)


def checkpoint(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """fn(*args), of which nothing is kept for backward: that calls `fn` again.

    fn gives a tensor or a tuple of them, and the same ones again when it is called again: it then
    finds the default generator of random numbers as it was. Gradients reach its arguments and
    whatever else it uses that requires grad. Raises UnsupportedError in backward under jit where
    `fn` takes random numbers.
    """
    if not _core.grad_enabled():
        return fn(*args, **kwargs)
    start, random = _core.next_sequence(), default_generator.get_state()
    result = fn(*args, **kwargs)
    lots = default_generator.get_state() != random
    single = isinstance(result, Tensor)
    outputs: list[Any] = [result] if single else list(result)
    at = [i for i, t in enumerate(outputs) if isinstance(t, Tensor) and t.requires_grad]
    inputs = _core.graph_inputs([outputs[i] for i in at], start)
    if not inputs:
        return result

    def again(grads: list[Tensor | None], needed: list[bool], _: Any) -> list[Tensor | None]:
        create, now = _core.grad_enabled(), default_generator.get_state()
        if lots and _core.tracing():
            raise UnsupportedError("[checkpoint] jit replays no random numbers a second time")
        _core.set_grad_enabled(True)
        default_generator.set_state(random)
        try:
            made = fn(*args, **kwargs)
        finally:
            default_generator.set_state(now)
            _core.set_grad_enabled(create)
        made = [made] if isinstance(made, Tensor) else list(made)
        pairs = [(made[i], g) for i, g in zip(at, grads, strict=True) if g is not None]
        wanted = [t for t, n in zip(inputs, needed, strict=True) if n]
        found = iter(
            _core.run_backward(
                [t for t, _ in pairs], [g for _, g in pairs], wanted, create, create, False
            )
        )
        return [next(found) if n else None for n in needed]

    attached = _core.attach("checkpoint", inputs, [outputs[i].detach() for i in at], again, True)
    for i, t in zip(at, attached, strict=True):
        outputs[i] = t
    return outputs[0] if single else tuple(outputs)
