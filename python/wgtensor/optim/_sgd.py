"""Gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wgtensor._core import Tensor
from wgtensor.optim._optimizer import Group, Optimizer, State


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
        if group["weight_decay"]:
            grad = grad + p * group["weight_decay"]
        momentum = group["momentum"]
        if momentum:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = grad
            else:
                buffer = buffer * momentum + grad * (1 - group["dampening"])
            state["momentum_buffer"] = buffer
            grad = grad + buffer * momentum if group["nesterov"] else buffer
        new: Tensor = p - grad * group["lr"]
        return new
