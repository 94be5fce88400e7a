"""Gradient descent."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from wgtensor import _jit
from wgtensor._core import Tensor
from wgtensor.optim._optimizer import Group, Optimizer, State, keep, kept


class SGD(Optimizer):
    """p - lr b, where b = momentum b + (1 - dampening) g, at first g; g includes weight_decay p.

    nesterov: p - lr (g + momentum b) (Sutskever et al. 2013, in PyTorch's form).
    """

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
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("[SGD] nesterov takes a momentum above 0 and no dampening")
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

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> Tensor:
        number = functools.partial(self.number, p, state, group)
        grad = self.decayed(p, grad, state, group)
        if _jit.guard(lambda: bool(group["momentum"])):
            # The first gradient is taken whole.
            share = number(lambda g, step: 1 - g["dampening"] if step > 1 else 1.0)
            momentum = number(lambda g, step: g["momentum"])
            buffer = kept(state, "momentum_buffer", p) * momentum + grad * share
            keep(state, "momentum_buffer", buffer)
            nesterov = _jit.guard(lambda: bool(group["nesterov"]))
            grad = grad + buffer * momentum if nesterov else buffer
        new: Tensor = p - grad * number(lambda g, step: g["lr"])
        return new
