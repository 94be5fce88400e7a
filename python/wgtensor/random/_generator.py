"""Where random numbers come from: a key, and how far its sequence is used up."""

from __future__ import annotations

import operator
import os
import threading
from typing import Any

from wgtensor import _core
from wgtensor._naming import public

_WORDS = 2**64


class Generator:
    """A sequence of random numbers: Philox4x32-10 by a 64-bit seed (Salmon et al. 2011).

    A tensor of n elements takes the next ceil(n / 4) blocks, so that no two tensors share random
    bits; what it holds depends on seed, offset and shape alone, not on the device. Without a seed
    the operating system gives one. A generator serves every device, and any thread.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._lock = threading.Lock()
        self._seed = 0
        self._offset = 0
        self.manual_seed(int.from_bytes(os.urandom(8)) if seed is None else seed)

    def manual_seed(self, seed: int) -> Generator:
        """Begins the sequence of `seed`, any integer modulo 2^64. Returns the generator."""
        try:
            number = operator.index(seed)
        except TypeError:
            raise TypeError(f"[manual_seed] a seed is an integer, not {seed!r}") from None
        with self._lock:
            self._seed, self._offset = number % _WORDS, 0
        return self

    def initial_seed(self) -> int:
        """The seed of the sequence."""
        return self._seed

    def get_state(self) -> dict[str, int]:
        """Seed and offset (in blocks of four words), for set_state()."""
        with self._lock:
            return {"seed": self._seed, "offset": self._offset}

    def set_state(self, state: dict[str, int]) -> None:
        """Goes on from what get_state() gave. Raises ValueError for anything else."""
        wanted: Any = {"seed", "offset"}
        if getattr(state, "keys", set)() != wanted:
            raise ValueError(f"[set_state] takes what get_state() gives, not {state!r}")
        seed, offset = (operator.index(state[name]) % _WORDS for name in ("seed", "offset"))
        with self._lock:
            self._seed, self._offset = seed, offset

    def _take(self, elements: int) -> tuple[int, int]:
        """Seed and offset for so many elements, which are used up."""
        with self._lock:
            at = self._offset
            self._offset = (at + (elements + 3) // 4) % _WORDS
            seed = self._seed
        if _core.tracing():  # each replay takes as many
            _core.trace_random(lambda: self._take(elements), at)
        return seed, at

    def __getstate__(self) -> dict[str, int]:
        return self.get_state()

    def __setstate__(self, state: dict[str, int]) -> None:
        self._lock = threading.Lock()
        self._seed, self._offset = state["seed"], state["offset"]

    def __repr__(self) -> str:
        return f"Generator(seed={self._seed}, offset={self._offset})"


#: what functions use that are given no generator
default_generator = Generator()


def generator_of(op: str, generator: Any) -> Generator:
    """The generator that an argument names; None is the default one. Raises TypeError."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"[{op}] generator must be a Generator, not {type(generator).__name__}")
    return generator


@public
def manual_seed(seed: int) -> Generator:
    """Begins the default generator's sequence anew, by `seed`. Returns the generator."""
    return default_generator.manual_seed(seed)


@public
def initial_seed() -> int:
    """The default generator's seed."""
    return default_generator.initial_seed()


@public
def get_state() -> dict[str, int]:
    """The default generator's state."""
    return default_generator.get_state()


@public
def set_state(state: dict[str, int]) -> None:
    """Sets the default generator's state to what get_state() gave."""
    default_generator.set_state(state)
