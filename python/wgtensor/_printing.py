"""repr and str: NumPy's text of the whole tensor, reading only the elements that are shown."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor._core import Tensor, WgtensorError


def _shown(t: Tensor) -> tuple[np.ndarray[Any, Any], int]:
    """An array that prints as all of `t` would, and the threshold to print it with.

    A long tensor becomes the edges that NumPy shows of each axis around one element that it leaves
    out: the format depends on what is shown, so NumPy's summary of that array is the same text.
    """
    options = np.get_printoptions()
    edge, threshold = int(options["edgeitems"]), int(options["threshold"])
    long = [n > 2 * edge for n in t.shape]
    if t.size <= threshold or edge < 1 or not any(long):
        return t.numpy(), threshold
    _core.eval([t])  # once, and not for each corner
    small = np.zeros(
        [2 * edge + 1 if cut else n for cut, n in zip(long, t.shape, strict=True)], t.dtype.numpy
    )
    ends = (slice(None, edge), slice(-edge, None))
    for corner in itertools.product(*(ends if cut else (slice(None),) for cut in long)):
        small[corner] = t[corner].numpy()
    return small, 0


def text(t: Tensor) -> str:
    """As str(numpy_array). A tensor that cannot be read says why."""
    try:
        array, threshold = _shown(t)
    except WgtensorError as error:
        return f"<{type(error).__name__}: {error}>"
    return np.array2string(array, threshold=threshold) if array.ndim else str(array)


def representation(t: Tensor) -> str:
    """As repr(numpy_array), with dtype and device. A tensor that cannot be read says why."""
    prefix = "tensor("
    try:
        array, threshold = _shown(t)
        body = np.array2string(
            array, separator=", ", prefix=prefix, suffix=")", threshold=threshold
        )
    except WgtensorError as error:
        body, threshold = f"<{type(error).__name__}: {error}>", 0
    extras = [f"dtype={t.dtype}", f"device='{t.device}'"]
    if t.size > threshold or (t.size == 0 and t.shape != (0,)):
        extras.insert(0, f"shape={t.shape}")
    first, tail = f"{prefix}{body},", ", ".join(extras) + ")"
    last_line = len(first) - (first.rfind("\n") + 1)
    fits = last_line + len(tail) + 1 <= int(np.get_printoptions()["linewidth"])
    return first + (" " if fits else "\n" + " " * len(prefix)) + tail


def formatted(t: Tensor, spec: str) -> str:
    """format(): a 0-d tensor as its number; others take no format."""
    if t.ndim == 0:
        return format(t.numpy()[()], spec)
    if spec:
        raise TypeError(f"[format] only 0-d tensors take a format, here {spec!r}: shape {t.shape}")
    return text(t)
