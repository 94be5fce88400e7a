"""Random programs over tensors, with a reference that knows how wrong a right result may be.

A program is a list of lines of Python, which is also what a failure prints, and beside each line a
function that does the same to NumPy arrays with errors (random_values). Lines are made by
random_elementwise (rows of the table), random_sums and random_lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import random_elementwise as elementwise
import random_lines as lines
import random_places as places
import random_sums as sums
from random_state import Line, Program, State
from random_values import Array, Env, Unsuitable, Value, host_array, is_float

Reads = list[tuple[str, Value]]

#: how often each kind of line is tried
MAKERS: list[tuple[float, Callable[[State], Line]]] = [
    (1.0, lines.given),
    (0.7, lines.created),
    (10.0, elementwise.row),
    (1.5, elementwise.in_place),
    (1.5, elementwise.cast_line),
    (0.7, elementwise.clip),
    (0.7, elementwise.composed),
    (2.5, lines.indexed),
    (3.5, lines.reshaped),
    (2.0, lines.moved),
    (1.5, lines.joined),
    (3.5, sums.reduction),
    (0.7, sums.place),
    (1.2, sums.scan),
    (1.0, sums.softmax),
    (1.5, sums.product),
    (3.0, lines.assigned),
    (2.0, places.looked_up),
    (0.4, places.masked),
    (1.0, places.set_where),
    (1.5, places.set_there),
    (0.8, places.folded),
    (0.7, lines.alias),
    (1.5, lines.drop),
    (1.5, lines.look),
    (1.0, lines.evaluated),
]
WEIGHTS = np.cumsum([w for w, _ in MAKERS]) / sum(w for w, _ in MAKERS)


class Generator:
    def __init__(self, seed: int) -> None:
        self.state = State(seed)
        self.program = Program(seed)
        self.reads: Reads = []

    def run(self, length: int) -> None:
        s = self.state
        for _ in range(int(s.rng.integers(1, 4))):
            self.attempt(lines.given)
        while len(self.program.lines) < length:
            self.attempt(MAKERS[int(np.searchsorted(WEIGHTS, s.rng.random(), "right"))][1])
        share = s.choose([1.0, 0.6, 0.2])
        for i, name in enumerate(s.shuffled()):
            if i == 0 or s.chance(share):
                self.attempt(lambda s, name=name: lines.reading(name))

    def attempt(self, make: Callable[[State], Line]) -> None:
        """A line that is unsuitable leaves no trace but in the random numbers."""
        env = self.state.env
        before = [(name, handle, handle.value) for name, handle in env.items()]
        try:
            with np.errstate(all="ignore"):
                line = make(self.state)
                line.refer(env)
        except Unsuitable:
            env.clear()
            for name, handle, value in before:
                handle.value = value
                env[name] = handle
            return
        self.program.lines.append(line)
        if line.reads:
            self.reads.append((line.reads, env[line.reads].value))


def generate_with_reads(seed: int, length: int | None = None) -> tuple[Program, Reads]:
    """The program of that seed, and what it should read."""
    generator = Generator(seed)
    generator.run(length or (80 if seed % 40 == 39 else 6 + seed % 23))
    return generator.program, generator.reads


def generate(seed: int, length: int | None = None) -> Program:
    return generate_with_reads(seed, length)[0]


# ---- running ------------------------------------------------------------------------------------


def expected_reads(program: Program) -> Reads:
    """Names and values of what the program reads. Any exception: it is no program."""
    env: Env = {}
    reads = []
    with np.errstate(all="ignore"):
        for line in program.lines:
            line.refer(env)
            if line.reads:
                reads.append((line.reads, env[line.reads].value))
    return reads


def run(program: Program) -> list[Array]:
    """What the program reads, on the device."""
    import wgtensor as wt

    got: list[Array] = []

    def array(seed: int, shape: tuple[int, ...], dtype: str) -> wt.Tensor:
        return wt.asarray(host_array(seed, shape, dtype)).astype(dtype)

    names: dict[str, Any] = {
        "wt": wt,
        "np": np,
        "array": array,
        "read": lambda name, t: got.append(t.numpy()),
    }
    for line in program.lines:
        exec(line.text, names)
    return got


def disagreement(program: Program, reads: Reads | None = None) -> str:
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
        if is_float(value.dtype):
            off = np.abs(actual.astype(np.float64) - value.data)
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
