"""Gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wgtensor import _jit
from wgtensor.optim._optimizer import Group, Number, Optimizer, Rule, with_decay


class SGD(Optimizer):
    """p - lr b, where b = momentum b + (1 - dampening) g, at first g; g includes weight_decay p.

    nesterov: p - lr (g + momentum b) (Sutskever et al. 2013, in PyTorch's form).
    """

    buffers = frozenset({"momentum_buffer"})
    counts = False  # PyTorch's states have no number of steps

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
            },
        )

    def _check(self, options: dict[str, Any]) -> None:
        super()._check(options)
        if options["nesterov"] and (options["momentum"] <= 0 or options["dampening"] != 0):
            raise ValueError("[SGD] nesterov takes a momentum above 0 and no dampening")

    def _rule(self, group: Group) -> Rule:
        numbers = with_decay(group, {"rate": lambda g, _: g["lr"]})
        if not _jit.guard(lambda: bool(group["momentum"])):
            return Rule("sgd", numbers, {})
        numbers = {**numbers, **_MOMENTUM}
        if _jit.guard(lambda: bool(group["nesterov"])):
            numbers["nesterov"] = numbers["momentum"]
        return Rule("sgd", numbers, {"momentum_buffer": 0})


_MOMENTUM: dict[str, Number] = {
    "momentum": lambda g, _: g["momentum"],
    # The first gradient is taken whole.
    "share": lambda g, step: 1 - g["dampening"] if step > 1 else 1.0,
}
