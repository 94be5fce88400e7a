"""Random differentiable programs, whose gradients differences or PyTorch give as well.

A program is a list of lines of Python in `f`, a library's functions under common names, and the
tensors made so far; its last line is the loss. Values stay near 1, so that gradients neither vanish
nor grow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from random_values import Array

Shape = tuple[int, ...]

SMOOTH = "tanh sigmoid sin cos gelu silu softplus logsigmoid mish erf atan asinh".split()  # noqa: SIM905
KINKED = "relu abs elu selu hardswish softsign relu6".split()  # noqa: SIM905
#: texts of one operand that keep its shape
FORMS = [
    "f.exp(-f.square({x}))",
    "f.sqrt(1 + f.square({x}))",
    "f.log1p(f.square({x}))",
    "f.pow(f.square({x}) + 0.5, 1.3)",
    "f.pow(1.5, f.tanh({x}))",
    "1 / (1 + f.square({x}))",
    "f.rsqrt(0.5 + f.square({x}))",
    "f.softmax({x}, {axis})",
    "f.log_softmax({x}, {axis})",
    "f.cumsum({x}, {axis}) * 0.4",
    "f.cumprod(f.cos({x}), {axis})",
    "f.flip({x}, {axis})",
    "f.roll({x}, 1, {axis})",
    "{x} - f.mean({x}, {axis}, True)",
    "f.cast({x} * 2)",
    "f.clip({x}, -0.7, 0.9)",
]
#: of two operands that broadcast
PAIRS = [
    "{x} + {y}",
    "{x} - {y}",
    "{x} * f.tanh({y})",
    "{x} / (1 + f.square({y}))",
    "f.maximum({x}, {y})",
    "f.minimum({x}, {y})",
    "f.where({x} > {y}, {x} * 2, {y})",
    "f.atan2({x}, 1.5 + f.square({y}))",
    "f.hypot({x}, 1 + f.square({y}))",
    "f.logaddexp({x}, {y})",
    "f.lerp({x}, {y}, 0.3)",
    "f.pow(0.5 + f.square({x}), f.tanh({y}))",
]
FOLDS = ["sum", "mean", "max", "min", "logsumexp", "prod", "var", "std"]


class Program(NamedTuple):
    seed: int
    leaves: list[tuple[str, Shape]]
    lines: list[str]

    def text(self) -> str:
        made = [f"{name} = leaf{shape}" for name, shape in self.leaves]
        return f"seed {self.seed}\n" + "\n".join(made + self.lines)


class Generator:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 77])
        self.seed = seed
        self.shapes: dict[str, Shape] = {}
        self.lines: list[str] = []

    def pick(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def name(self, least: int = 0) -> str | None:
        names = [n for n, s in self.shapes.items() if len(s) >= least]
        return str(self.pick(names)) if names else None

    def add(self, text: str, shape: Shape) -> None:
        if len(shape) > 4 or np.prod(shape, dtype=int) > 400 or 0 in shape:
            return
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.shapes[name] = shape

    def run(self, length: int) -> Program:
        leaves = []
        for i in range(int(self.rng.integers(1, 4))):
            shape = tuple(int(n) for n in self.rng.integers(1, 5, int(self.rng.integers(1, 4))))
            leaves.append((f"x{i}", shape))
            self.shapes[f"x{i}"] = shape
        makers = [self.form, self.pair, self.fold, self.view, self.joined, self.product]
        makers += [self.assigned, self.form, self.pair, self.view]
        while len(self.lines) < length:
            self.pick(makers)()
        self.lines.append(self.loss([n for n, _ in leaves]))
        return Program(self.seed, leaves, self.lines)

    def loss(self, leaves: list[str]) -> str:
        used = [n for n in self.shapes if n not in leaves]
        chosen = [n for n in used if self.rng.random() < 0.6] or used[-1:]
        return "loss = " + " + ".join(f"f.weighted({n}, {i})" for i, n in enumerate(chosen))

    # ---- lines ----------------------------------------------------------------------------------

    def form(self) -> None:
        x = self.name(1)
        if x is None:
            return
        axis = int(self.rng.integers(len(self.shapes[x])))
        if self.rng.random() < 0.5:
            self.add(f"f.{self.pick(SMOOTH + KINKED)}({x})", self.shapes[x])
        else:
            self.add(self.pick(FORMS).format(x=x, axis=axis), self.shapes[x])

    def pair(self) -> None:
        x = self.name()
        partners = [n for n in self.shapes if self.meets(self.shapes[str(x)], self.shapes[n])]
        y = str(self.pick(partners))
        shape = np.broadcast_shapes(self.shapes[str(x)], self.shapes[y])
        self.add(self.pick(PAIRS).format(x=x, y=y), tuple(int(n) for n in shape))

    @staticmethod
    def meets(a: Shape, b: Shape) -> bool:
        try:
            np.broadcast_shapes(a, b)
        except ValueError:
            return False
        return True

    def fold(self) -> None:
        x = self.name(1)
        if x is None:
            return
        shape, op = self.shapes[x], self.pick(FOLDS)
        axis, keep = int(self.rng.integers(len(shape))), bool(self.rng.random() < 0.5)
        if op in ("var", "std") and shape[axis] < 2:
            op = "mean"
        operand = f"f.cos({x})" if op == "prod" else x
        scale = " * 0.4" if op == "sum" else ""
        kept = shape[:axis] + ((1,) if keep else ()) + shape[axis + 1 :]
        # The standard deviation of equal elements has a kink.
        if op == "std":
            text = f"f.sqrt(f.var({operand}, {axis}, {keep}) + 0.1)"
        else:
            text = f"f.{op}({operand}, {axis}, {keep})"
        self.add(text + scale, kept)

    def view(self) -> None:
        x = self.name(1)
        if x is None:
            return
        shape = self.shapes[x]
        kind = self.pick(["reshape", "permute", "slice", "expand", "broadcast", "diagonal", "take"])
        if kind == "reshape":
            self.add(f"{x}.reshape(-1)", (int(np.prod(shape, dtype=int)),))
        elif kind == "permute":
            order = [int(i) for i in self.rng.permutation(len(shape))]
            self.add(f"f.permute({x}, {order})", tuple(shape[i] for i in order))
        elif kind == "slice":
            a = int(self.rng.integers(shape[0]))
            self.add(f"{x}[{a}:]", (shape[0] - a, *shape[1:]))
        elif kind == "take":
            a = int(self.rng.integers(shape[-1]))
            self.add(f"{x}[..., {a}]", shape[:-1])
        elif kind == "expand":
            self.add(f"{x}[:, None]", (shape[0], 1, *shape[1:]))
        elif kind == "broadcast":
            wide = (2, *shape)
            self.add(f"f.broadcast_to({x}, {wide})", wide)
        elif len(shape) > 1:
            n = min(shape[0], shape[1])
            self.add(f"f.diagonal({x})", (*shape[2:], n))

    def joined(self) -> None:
        x = self.name(1)
        if x is None:
            return
        shape = self.shapes[x]
        axis = int(self.rng.integers(len(shape)))
        rest = [
            n
            for n, s in self.shapes.items()
            if len(s) == len(shape)
            and all(a == b or d == axis for d, (a, b) in enumerate(zip(s, shape, strict=True)))
        ]
        y = str(self.pick(rest))
        total = shape[axis] + self.shapes[y][axis]
        self.add(f"f.concat([{x}, {y}], {axis})", (*shape[:axis], total, *shape[axis + 1 :]))

    def product(self) -> None:
        x = self.name(2)
        if x is None:
            return
        a = self.shapes[x]
        fit = [n for n, s in self.shapes.items() if len(s) >= 2 and s[-2] == a[-1]]
        fit = [n for n in fit if self.meets(a[:-2], self.shapes[n][:-2])]
        if not fit:
            self.add(f"{x} @ f.permute_last({x}) * 0.3", (*a[:-1], a[-2]))
            return
        y = str(self.pick(fit))
        b = self.shapes[y]
        batch = np.broadcast_shapes(a[:-2], b[:-2])
        self.add(f"({x} @ {y}) * 0.4", (*(int(n) for n in batch), a[-2], b[-1]))

    def assigned(self) -> None:
        x = self.name(1)
        if x is None:
            return
        shape = self.shapes[x]
        values = [n for n, s in self.shapes.items() if s == shape[1:]]
        value = self.pick([*values, "0.5"])
        self.add(f"f.assigned({x}, {int(self.rng.integers(shape[0]))}, {value})", shape)


def generate(seed: int) -> Program:
    return Generator(seed).run(3 + seed % 12)


def arrays(program: Program) -> list[Array]:
    rng = np.random.default_rng([program.seed, 5])
    return [rng.standard_normal(shape) for _, shape in program.leaves]


def weights(seed: int, number: int, shape: Shape) -> Array:
    return np.random.default_rng([seed, number, 9]).uniform(-1, 1, shape)


# ---- the libraries ------------------------------------------------------------------------------


class Library:
    """What programs call, for this library."""

    def __init__(self, seed: int, dtype: str) -> None:
        import wgtensor as wt

        self._wt, self._seed, self._dtype = wt, seed, dtype

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wt, name)

    def leaf(self, a: Array) -> Any:
        return self._wt.asarray(a, dtype=self._dtype, requires_grad=True)

    def cast(self, x: Any) -> Any:
        return x.astype("float32" if self._dtype == "float32" else "float64")

    def weighted(self, x: Any, number: int) -> Any:
        w = weights(self._seed, number, x.shape)
        return (x * self._wt.asarray(w, dtype=self._dtype)).sum()

    def permute(self, x: Any, order: list[int]) -> Any:
        return x.permute(order)

    def permute_last(self, x: Any) -> Any:
        return x.mT

    def concat(self, xs: list[Any], axis: int) -> Any:
        return self._wt.concat(xs, axis=axis)

    def flip(self, x: Any, axis: int) -> Any:
        return self._wt.flip(x, axis=axis)

    def roll(self, x: Any, by: int, axis: int) -> Any:
        return self._wt.roll(x, by, axis=axis)

    def softmax(self, x: Any, axis: int) -> Any:
        return x.softmax(axis)

    def log_softmax(self, x: Any, axis: int) -> Any:
        return x.log_softmax(axis)

    def cumsum(self, x: Any, axis: int) -> Any:
        return x.cumsum(axis)

    def cumprod(self, x: Any, axis: int) -> Any:
        return x.cumprod(axis)

    def assigned(self, x: Any, i: int, value: Any) -> Any:
        y = x * 1.0
        y[i] = value
        return y


def _fold(name: str) -> Callable[..., Any]:
    def fold(self: Library, x: Any, axis: int, keep: bool) -> Any:
        return getattr(self._wt, name)(x, axis=axis, keepdims=keep)

    return fold


for _name in FOLDS:
    setattr(Library, _name, _fold(_name))


class Torch:
    """The same for PyTorch on the CPU."""

    def __init__(self, seed: int, dtype: str) -> None:
        import torch

        self._torch, self._seed, self._dtype = torch, seed, getattr(torch, dtype)
        f = torch.nn.functional
        self._own: dict[str, Any] = {
            "gelu": f.gelu,
            "silu": f.silu,
            "softplus": f.softplus,
            "logsigmoid": f.logsigmoid,
            "mish": f.mish,
            "elu": f.elu,
            "selu": f.selu,
            "hardswish": f.hardswish,
            "softsign": f.softsign,
            "relu6": f.relu6,
            "hypot": torch.hypot,
            "max": lambda x, axis, keep: torch.amax(x, axis, keep),
            "min": lambda x, axis, keep: torch.amin(x, axis, keep),
            "var": lambda x, axis, keep: torch.var(x, axis, correction=0, keepdim=keep),
            "permute": lambda x, order: x.permute(order),
            "permute_last": lambda x: x.mT,
            "flip": lambda x, axis: torch.flip(x, (axis,)),
            "cast": lambda x: x.to(self._dtype),
        }

    def __getattr__(self, name: str) -> Any:
        return self._own.get(name) or getattr(self._torch, name)

    def leaf(self, a: Array) -> Any:
        return self._torch.tensor(a, dtype=self._dtype, requires_grad=True)

    def weighted(self, x: Any, number: int) -> Any:
        w = weights(self._seed, number, tuple(x.shape))
        return (x * self._torch.tensor(w, dtype=self._dtype)).sum()

    def assigned(self, x: Any, i: int, value: Any) -> Any:
        y = x * 1.0
        y[i] = value
        return y


def loss_of(program: Program, f: Any, leaves: list[Any]) -> Any:
    names = {"f": f, **dict(zip((n for n, _ in program.leaves), leaves, strict=True))}
    for line in program.lines:
        exec(line, names)
    return names["loss"]


def gradients(program: Program, library: type[Any], dtype: str) -> list[Array]:
    f = library(program.seed, dtype)
    leaves = [f.leaf(a) for a in arrays(program)]
    loss = loss_of(program, f, leaves)
    if loss.requires_grad:
        loss.backward()
    return [
        np.zeros(x.shape) if x.grad is None else np.asarray(x.grad.numpy(), np.float64)
        for x in leaves
    ]


def slope_by_differences(program: Program, eps: float = 1e-5) -> tuple[float, list[Array]]:
    """The loss's slope in a random direction, and that direction."""
    f, base = Library(program.seed, "float64"), arrays(program)
    rng = np.random.default_rng([program.seed, 6])
    direction = [rng.standard_normal(a.shape) for a in base]

    def at(t: float) -> float:
        leaves = [f.leaf(a + t * v).detach() for a, v in zip(base, direction, strict=True)]
        return float(loss_of(program, f, leaves).item())

    # Fourth order: Richardson's extrapolation of two central differences.
    near, far = ((at(h) - at(-h)) / (2 * h) for h in (eps, 2 * eps))
    return (4 * near - far) / 3, direction
