"""Arguments of what slides windows over a tensor's last dimensions: convolution and pooling."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wgtensor._core import DTypeError, ShapeError, Tensor

#: One number for all dimensions, or one for each.
Sizes = int | Sequence[int]
#: 'same', 'valid', numbers as of `Sizes`, or for each dimension a pair (before, after).
Padding = str | int | Sequence[int] | Sequence[tuple[int, int]]


def sizes_of(op: str, name: str, value: Any, n: int, least: int) -> tuple[int, ...]:
    """One integer for each of n dimensions. Raises TypeError, and ValueError below `least`."""
    every = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(every) == 1:
        every *= n
    if len(every) != n:
        raise ValueError(f"[{op}] {name} is one integer or {n}, not {value!r}")
    try:
        found = tuple(operator.index(x) for x in every)
    except TypeError:
        raise TypeError(f"[{op}] {name} must be of integers, not {value!r}") from None
    if min(found) < least:
        raise ValueError(f"[{op}] {name} must be {least} or more, not {value!r}")
    return found


def spans_of(sizes: Sequence[int], dilations: Sequence[int]) -> tuple[int, ...]:
    """Elements from the first to the last that a window sees, along each dimension."""
    return tuple(d * (k - 1) + 1 for k, d in zip(sizes, dilations, strict=True))


@dataclass(frozen=True)
class Windows:
    """Windows over the last dimensions: what they see, how far apart, what surrounds the input."""

    op: str
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]

    @property
    def spans(self) -> tuple[int, ...]:
        return spans_of(self.sizes, self.dilations)

    def counts(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Windows along each dimension of an input of this shape. Raises ShapeError for none."""
        found = []
        for n, span, step, (before, after) in zip(
            shape, self.spans, self.steps, self.padding, strict=True
        ):
            if n + before + after < span:
                padded = tuple(n + sum(p) for n, p in zip(shape, self.padding, strict=True))
                raise ShapeError(
                    f"[{self.op}] a window over {self.spans} elements does not fit into the input: "
                    f"{tuple(shape)}, with padding {padded}"
                )
            found.append((n + before + after - span) // step + 1)
        return tuple(found)


def padding_of(
    op: str, value: Any, steps: Sequence[int], spans: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """(before, after) for each dimension. 'same' puts the odd one behind, as PyTorch does.

    Raises ValueError for negative widths, unknown words, and 'same' with steps above 1.
    """
    n = len(spans)
    if isinstance(value, str):
        if value not in ("same", "valid"):
            raise ValueError(f"[{op}] padding is 'same', 'valid' or of integers, not {value!r}")
        if value == "valid":
            return ((0, 0),) * n
        if any(step != 1 for step in steps):
            raise ValueError(f"[{op}] padding 'same' takes a stride of 1, not {tuple(steps)}")
        return tuple(((span - 1) // 2, span // 2) for span in spans)
    if isinstance(value, (tuple, list)) and any(isinstance(x, (tuple, list)) for x in value):
        if len(value) != n or not all(isinstance(x, (tuple, list)) and len(x) == 2 for x in value):
            raise ValueError(f"[{op}] padding takes {n} pairs (before, after), not {value!r}")
        pairs = [sizes_of(op, "padding", x, 2, 0) for x in value]
        return tuple((before, after) for before, after in pairs)
    return tuple((width, width) for width in sizes_of(op, "padding", value, n, 0))


def check_batch(op: str, t: Tensor, n: int) -> bool:
    """Whether `t` has a batch before channels and n dimensions. Raises ShapeError, DTypeError."""
    if t.ndim not in (n + 1, n + 2):
        form = "C, " + ", ".join(("D", "H", "W")[3 - n :] if n > 1 else "L")
        raise ShapeError(f"[{op}] takes ({form}) or (N, {form}), not an input of shape {t.shape}")
    if t.dtype.kind == "b":
        raise DTypeError(f"[{op}] is not defined for bool: cast with astype()")
    return t.ndim == n + 2
