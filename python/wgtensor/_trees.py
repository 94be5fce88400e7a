"""Nested dicts and lists of tensors and plain values as tensors with names and a text: how files
keep the state of an optimizer beside a model's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from wgtensor._core import Tensor

_PLAIN = (bool, int, float, str, type(None))


def pack(tree: Mapping[Any, Any]) -> tuple[dict[str, Any], str | None]:
    """Tensors and arrays by name, and the text that unpack() takes; none for a dict of names and
    tensors, which needs no other. Raises TypeError, ValueError for what holds itself."""
    tensors: dict[str, Any] = {}
    if all(isinstance(k, str) and isinstance(v, (Tensor, np.ndarray)) for k, v in tree.items()):
        return dict(tree), None
    try:
        return tensors, json.dumps(_packed(tree, "", tensors))
    except RecursionError:
        raise ValueError("[save] dicts and lists hold themselves, or are nested too deep") from None


def _packed(node: Any, path: str, tensors: dict[str, Any]) -> Any:
    if isinstance(node, (Tensor, np.ndarray)):
        name = path or "tensor"
        while name in tensors:  # of keys that are not told apart by their text
            name += "'"
        tensors[name] = node
        return {"tensor": name}
    if isinstance(node, np.generic):
        node = node.item()
    if type(node) in _PLAIN:
        return {"value": node}

    def inner(key: Any, value: Any) -> Any:
        return _packed(value, f"{path}.{key}" if path else str(key), tensors)

    if isinstance(node, Mapping):
        for key in node:
            if type(key) not in (str, int):
                raise TypeError(f"[save] keys are texts and integers, not {key!r} at {path!r}")
        return {"dict": [[k, inner(k, v)] for k, v in node.items()]}
    if type(node) in (list, tuple):
        kind = "list" if type(node) is list else "tuple"
        return {kind: [inner(i, v) for i, v in enumerate(node)]}
    raise TypeError(f"[save] {path!r} is a {type(node).__name__}: no tensor and no plain value")


def unpack(text: str, tensors: Mapping[str, Any]) -> Any:
    """The inverse of pack(). Raises ValueError for what pack() does not write."""
    try:
        return _unpacked(json.loads(text), tensors)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"its structure is damaged: {error!r}") from None


def _unpacked(node: Any, tensors: Mapping[str, Any]) -> Any:
    ((kind, value),) = node.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "value":
        return value
    if kind == "dict":
        return {k: _unpacked(v, tensors) for k, v in value}
    items = [_unpacked(v, tensors) for v in value]
    return {"list": list, "tuple": tuple}[kind](items)
