"""Random numbers on the device: alike on every adapter, and made where they are used.

A kernel that uses random numbers makes them itself; a new seed or offset compiles nothing.
"""

from __future__ import annotations

from wgtensor.random._choices import choice, multinomial, permutation, randperm, shuffle
from wgtensor.random._distributions import (
    bernoulli,
    bits,
    exponential,
    gumbel,
    normal,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    truncated_normal,
    uniform,
)
from wgtensor.random._generator import (
    Generator,
    default_generator,
    get_state,
    initial_seed,
    manual_seed,
    set_state,
)

__all__ = [
    "Generator",
    "bernoulli",
    "bits",
    "choice",
    "default_generator",
    "exponential",
    "get_state",
    "gumbel",
    "initial_seed",
    "manual_seed",
    "multinomial",
    "normal",
    "permutation",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "set_state",
    "shuffle",
    "truncated_normal",
    "uniform",
]
__dir__ = __all__.copy  # what there is, and not what it is made with
