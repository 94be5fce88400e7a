"""Reverse-mode differentiation in PyTorch's words: modes, backward, gradients, custom functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np

from wgtensor import _core
from wgtensor._arrays import to_tensor
from wgtensor._core import Tensor
from wgtensor._gradcheck import GradcheckError, gradcheck, gradgradcheck
from wgtensor._naming import public

__all__ = [
    "Function",
    "GradcheckError",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
__dir__ = __all__.copy  # what there is, and not what it is made with

F = TypeVar("F", bound=Callable[..., Any])


# ---- modes --------------------------------------------------------------------------------------


class _Mode:
    """Records, or does not, on this thread in a block or in each call of a function."""

    _on: bool

    def __new__(cls, function: Any = None, /, *args: Any) -> Any:
        mode = super().__new__(cls)
        return mode(function) if callable(function) else mode

    def __enter__(self) -> None:
        self._before = [*getattr(self, "_before", []), _core.grad_enabled()]
        _core.set_grad_enabled(self._on)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _core.set_grad_enabled(self._before.pop())

    def __call__(self, function: F) -> F:
        on = self._on

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            before = _core.grad_enabled()
            _core.set_grad_enabled(on)
            try:
                return function(*args, **kwargs)
            finally:
                _core.set_grad_enabled(before)

        return inside  # type: ignore[return-value]


class no_grad(_Mode):  # noqa: N801 - PyTorch's name
    """Records nothing: results require no grad, and leaves may change in place.

    A context manager and a decorator, for the thread that runs it.
    """

    _on = False


class inference_mode(_Mode):  # noqa: N801
    """The same as no_grad."""

    _on = False


class enable_grad(_Mode):  # noqa: N801
    """Records, also inside no_grad()."""

    _on = True


class set_grad_enabled(_Mode):  # noqa: N801
    """Records from now on, or not; as a context manager until the block's end."""

    def __new__(cls, mode: bool, /) -> Any:
        return object.__new__(cls)

    def __init__(self, mode: bool, /) -> None:
        self._on = bool(mode)
        self._first = _core.grad_enabled()
        _core.set_grad_enabled(self._on)

    def __enter__(self) -> None:
        super().__enter__()
        self._before[-1] = self._first

    def __call__(self, function: F) -> F:
        _core.set_grad_enabled(self._first)
        return super().__call__(function)


def is_grad_enabled() -> bool:
    """Whether this thread records operations for gradients."""
    return _core.grad_enabled()


class detect_anomaly:  # noqa: N801
    """In this block backward raises RuntimeError at the first operation whose gradient has NaN.

    The message names the operation and, where its forward call was in such a block too, the Python
    line of that. Waits for every gradient: for looking for faults only.
    """

    def __enter__(self) -> None:
        self._before = _core.anomaly_enabled()
        _core.set_anomaly_enabled(True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _core.set_anomaly_enabled(self._before)


# ---- backward -----------------------------------------------------------------------------------


def _tensors(op: str, what: str, value: Any) -> list[Tensor]:
    try:
        items = [value] if isinstance(value, Tensor) else list(value)
    except TypeError:
        items = [value]
    for t in items:
        if not isinstance(t, Tensor):
            raise TypeError(f"[{op}] {what} must be tensors, not {type(t).__name__}")
    return items


def _grads(op: str, outputs: list[Tensor], grads: Any) -> list[Tensor | None]:
    if grads is None:
        return []
    one = isinstance(grads, (Tensor, int, float)) or hasattr(grads, "__array__")
    try:
        items = [grads] if one else list(grads)
    except TypeError:
        raise TypeError(
            f"[{op}] gradients are tensors or arrays, not {type(grads).__name__}"
        ) from None
    if len(items) != len(outputs):
        raise ValueError(f"[{op}] {len(items)} gradients for {len(outputs)} outputs")
    return [
        g if g is None or isinstance(g, Tensor) else to_tensor(op, g, t.dtype, t.device)
        for g, t in zip(items, outputs, strict=True)
    ]


def _graph_flags(op: str, retain: Any, create: Any) -> tuple[bool, bool]:
    """Whether to keep the graph, which create_graph says where retain_graph does not; and that."""
    for name, flag in (("retain_graph", retain), ("create_graph", create)):
        if flag is not None and not isinstance(flag, (bool, int, np.bool_)):
            raise TypeError(f"[{op}] {name} must be True or False, not {flag!r}")
    return bool(create if retain is None else retain), bool(create)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Adds the gradients of the sum of `tensors`, weighted by `grad_tensors`, to .grad of the
    leaves they depend on, or of `inputs` alone.

    grad_tensors: of each tensor's shape; None for those of one element: 1. retain_graph: keeps what
    the graph saved, for another backward; `create_graph` by default. create_graph: gradients have
    gradients themselves. Raises RuntimeError where a tensor does not require grad, for gradients of
    other shapes, and for a graph whose saved tensors are gone.
    """
    outputs = _tensors("backward", "outputs", tensors)
    wanted = [] if inputs is None else _tensors("backward", "inputs", inputs)
    if inputs is not None and not wanted:
        raise RuntimeError("[backward] inputs is empty")
    retain, create_graph = _graph_flags("backward", retain_graph, create_graph)
    grads = _grads("backward", outputs, grad_tensors)
    _core.run_backward(outputs, grads, wanted, retain, create_graph, True)


@public
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """Gradients of the sum of `outputs` with respect to `inputs`; .grad stays as it is.

    Arguments as of `backward`. An input that the outputs do not depend on raises RuntimeError, but
    gives None with `allow_unused` and zeros with `materialize_grads`.
    """
    of = _tensors("grad", "outputs", outputs)
    to = _tensors("grad", "inputs", inputs)
    retain, create_graph = _graph_flags("grad", retain_graph, create_graph)
    if not to:
        return ()
    found = _core.run_backward(
        of, _grads("grad", of, grad_outputs), to, retain, create_graph, False
    )
    if materialize_grads:
        found = [
            _core.full(t.shape, 0, t.dtype, t.device, "grad") if g is None else g
            for g, t in zip(found, to, strict=True)
        ]
    elif not allow_unused and any(g is None for g in found):
        i = next(i for i, g in enumerate(found) if g is None)
        raise RuntimeError(
            f"[grad] the outputs do not depend on input {i} of shape {to[i].shape}: "
            "allow_unused=True gives None for it"
        )
    return tuple(found)  # type: ignore[arg-type]


class RemovableHandle:
    """A registered hook: remove() takes it away, also at the end of a `with` block."""

    def __init__(self, tensor: Tensor, number: int) -> None:
        self._tensor, self._number = tensor, number

    def remove(self) -> None:
        self._tensor._remove_hook(self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


# ---- functions of one's own ---------------------------------------------------------------------


class FunctionCtx:
    """What forward leaves for backward."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self._saved: tuple[Tensor | None, ...] = ()
        self._constant: tuple[Tensor, ...] = ()
        self._outputs: list[Tensor] = []
        self._materialize = True
        self._as_output: Callable[[Tensor, int], Tensor] | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors, operands or results for the most part, until backward has used them."""
        self._saved = tensors

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Results that require no grad, whatever the operands do."""
        self._constant = outputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros, and not None, for results that nothing depended on."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What save_for_backward kept."""
        made = self._as_output
        if made is None:
            return self._saved
        at = {id(t): i for i, t in enumerate(self._outputs)}
        return tuple(made(t, at[id(t)]) if id(t) in at else t for t in self._saved)  # type: ignore[arg-type]


class Function:
    """A differentiable function with forward and backward of its own, as PyTorch's.

    Subclasses define static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``, which
    gives a gradient (or None) for each argument of forward; ``apply(*args)`` calls it. forward may
    leave out `ctx` where ``setup_context(ctx, inputs, output)`` is defined.
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("[Function] a subclass defines forward")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise NotImplementedError("[Function] a subclass defines backward")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """The results of forward, with backward for their gradients."""
        at = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        recorded = _core.grad_enabled() and any(args[i].requires_grad for i in at)
        ctx = FunctionCtx(tuple(isinstance(a, Tensor) and a.requires_grad for a in args))
        setup = getattr(cls, "setup_context", None)
        with no_grad():
            if setup is None:
                result = cls.forward(ctx, *args)
            else:
                result = cls.forward(*args)
                setup(ctx, args, result)
        if not recorded:
            return result
        single = isinstance(result, Tensor)
        outputs = [result] if single else list(result)
        constant = {id(t) for t in ctx._constant}
        chosen = [
            i
            for i, t in enumerate(outputs)
            if isinstance(t, Tensor) and t.dtype.kind == "f" and id(t) not in constant
        ]
        ctx._outputs = [outputs[i] for i in chosen]
        made = _core.attach(
            cls.__name__,
            [args[i] for i in at],
            ctx._outputs,
            cls._callback(ctx, at, args),
            bool(ctx._saved),
        )
        for i, t in zip(chosen, made, strict=True):
            outputs[i] = t
        return outputs[0] if single else tuple(outputs)

    @classmethod
    def _callback(
        cls, ctx: FunctionCtx, at: list[int], args: tuple[Any, ...]
    ) -> Callable[..., Any]:
        count, wanted = len(args), [args[i].shape for i in at]
        likes = [(t.shape, t.dtype, t.device) for t in ctx._outputs]
        name = cls.__name__

        def call(grads: list[Tensor | None], needed: list[bool], as_output: Any) -> list[Any]:
            if ctx._materialize:
                grads = [
                    _core.full(s, 0, d, where, name) if g is None else g
                    for g, (s, d, where) in zip(grads, likes, strict=True)
                ]
            ctx._as_output = as_output
            try:
                result = cls.backward(ctx, *grads)
            finally:
                ctx._as_output = None
            found = list(result) if isinstance(result, (tuple, list)) else [result]
            if len(found) < count or any(g is not None for g in found[count:]):
                raise RuntimeError(
                    f"[{name}] backward gave {len(found)} gradients for {count} arguments"
                )
            for i, like in zip(at, wanted, strict=True):
                if found[i] is not None and found[i].shape != like:
                    raise RuntimeError(
                        f"[{name}] backward gave a gradient of shape {found[i].shape} for argument "
                        f"{i} of shape {like}"
                    )
            return [found[i] for i in at]

        return call
