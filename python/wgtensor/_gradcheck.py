"""Gradients against differences of function values, in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._arrays import asarray
from wgtensor._core import Tensor

Array = np.ndarray[Any, Any]


class GradcheckError(RuntimeError):
    """A gradient that differences of the function's values contradict."""


def _outputs(fn: Callable[..., Any], args: Sequence[Any]) -> list[Tensor]:
    made = fn(*args)
    items = [made] if isinstance(made, Tensor) else list(made)
    return [t for t in items if isinstance(t, Tensor) and t.dtype.kind == "f"]


def _checked(args: Sequence[Any]) -> list[int]:
    at = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
    if not at:
        raise ValueError("[gradcheck] no input requires grad")
    for i in at:
        if args[i].dtype.itemsize < 8:
            raise ValueError(f"[gradcheck] input {i} is {args[i].dtype}: differences need float64")
    return at


def _numerical(fn: Callable[..., Any], args: Sequence[Any], i: int, eps: float) -> list[Array]:
    """For each output the matrix of central differences: (elements of input i, of the output)."""
    base = args[i].numpy()
    rows: list[list[Array]] = []
    for k in range(base.size):
        moved = []
        for step in (eps, -eps):
            x = base.copy()
            x.reshape(-1)[k] += step
            others = [a.detach() if isinstance(a, Tensor) else a for a in args]
            others[i] = asarray(x, device=args[i].device)
            moved.append([t.numpy().reshape(-1) for t in _outputs(fn, others)])
        rows.append([(p - m) / (2 * eps) for p, m in zip(*moved, strict=True)])
    if not rows:
        return []
    return [np.stack(r) for r in zip(*rows, strict=True)]


def _analytical(outputs: list[Tensor], inputs: list[Tensor]) -> list[list[Array]]:
    """For each output and input the same matrix, by a backward for each element of the output."""
    found = []
    for t in outputs:
        columns: list[list[Array]] = [[] for _ in inputs]
        for k in range(t.size):
            seed = np.zeros(t.shape, t.dtype.numpy)
            seed.reshape(-1)[k] = 1
            grads = (
                _core.run_backward(
                    [t], [asarray(seed, device=t.device)], inputs, True, False, False
                )
                if t.requires_grad
                else [None] * len(inputs)
            )
            for column, g, x in zip(columns, grads, inputs, strict=True):
                if g is not None and g.shape != x.shape:
                    raise GradcheckError(
                        f"[gradcheck] a gradient of shape {g.shape} for an input of {x.shape}"
                    )
                column.append(np.zeros(x.size) if g is None else g.numpy().reshape(-1))
        found.append([np.stack(c, axis=1) if c else np.zeros((0, 0)) for c in columns])
    return found


def gradcheck(
    fn: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Whether backward agrees with central differences of `fn` at `inputs`, element by element.

    Every input that requires grad must be float64; `fn` gives a tensor or several. Raises
    GradcheckError naming output, input and both matrices, or gives False without
    `raise_exception`.
    """
    args = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    at = _checked(args)
    outputs = _outputs(fn, args)
    try:
        analytical = _analytical(outputs, [args[i] for i in at])
        for column, i in enumerate(at):
            for o, numerical in enumerate(_numerical(fn, args, i, eps)):
                exact = analytical[o][column]
                if not np.allclose(exact, numerical, rtol=rtol, atol=atol, equal_nan=True):
                    raise GradcheckError(
                        f"[gradcheck] output {o} by input {i}: backward gives\n{exact}\n"
                        f"and differences\n{numerical}"
                    )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    fn: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Sequence[Tensor] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """gradcheck of the gradients of `fn`, which are functions of its inputs and of the gradients of
    its outputs; those are drawn at random (seed 0) unless given.
    """
    args = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    at = _checked(args)
    outputs = _outputs(fn, args)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        grad_outputs = [asarray(rng.standard_normal(t.shape), device=t.device) for t in outputs]
    seeds = [g.detach() for g in grad_outputs]
    for g in seeds:
        g.requires_grad = True

    def gradients(*both: Any) -> list[Tensor]:
        given, weights = list(both[: len(args)]), list(both[len(args) :])
        for i in at:  # differences are taken at tensors without grad
            if not given[i].requires_grad:
                given[i].requires_grad = True
        found = _core.run_backward(
            _outputs(fn, given), weights, [given[i] for i in at], True, True, False
        )
        return [
            _core.full(given[i].shape, 0, given[i].dtype, given[i].device, "gradgradcheck")
            if g is None
            else g
            for i, g in zip(at, found, strict=True)
        ]

    return gradcheck(gradients, (*args, *seeds), eps, atol, rtol, raise_exception)
