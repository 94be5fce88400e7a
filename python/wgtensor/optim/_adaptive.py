"""Optimizers with a step size for each element."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from wgtensor import _jit
from wgtensor.optim._optimizer import Group, Number, Optimizer, Rule, with_decay, with_shrinking

_ADAM: dict[str, Number] = {
    "beta1": lambda g, _: g["betas"][0],
    "rest1": lambda g, _: 1 - g["betas"][0],
    "beta2": lambda g, _: g["betas"][1],
    "rest2": lambda g, _: 1 - g["betas"][1],
    "rate": lambda g, step: g["lr"] / (1 - g["betas"][0] ** step),
    "root": lambda g, step: 1 / math.sqrt(1 - g["betas"][1] ** step),
    "eps": lambda g, _: g["eps"],
}
_RMSPROP: dict[str, Number] = {
    "alpha": lambda g, _: g["alpha"],
    "rest": lambda g, _: 1 - g["alpha"],
    "rate": lambda g, _: g["lr"],
    "eps": lambda g, _: g["eps"],
}
_ADAGRAD: dict[str, Number] = {
    "rate": lambda g, step: g["lr"] / (1 + (step - 1) * g["lr_decay"]),
    "eps": lambda g, _: g["eps"],
}
_LION: dict[str, Number] = {
    "beta1": lambda g, _: g["betas"][0],
    "rest1": lambda g, _: 1 - g["betas"][0],
    "beta2": lambda g, _: g["betas"][1],
    "rest2": lambda g, _: 1 - g["betas"][1],
    "rate": lambda g, _: g["lr"],
}


class Adam(Optimizer):
    """p - lr m' / (sqrt(v') + eps), means m of g and v of g^2, corrected for their start.

    Kingma and Ba, "Adam" (2015). weight_decay is added to the gradient; amsgrad: with the largest v
    so far (Reddi et al. 2018).
    """

    buffers = frozenset({"exp_avg", "exp_avg_sq", "max_exp_avg_sq"})
    decoupled = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
            },
        )

    def _rule(self, group: Group) -> Rule:
        decayed = with_shrinking if self.decoupled else with_decay
        state: dict[str, float] = {"exp_avg": 0, "exp_avg_sq": 0}
        if _jit.guard(lambda: bool(group["amsgrad"])):
            state["max_exp_avg_sq"] = 0
        return Rule("adam", decayed(group, _ADAM), state)


class AdamW(Adam):
    """Adam whose weight_decay multiplies p by 1 - lr weight_decay (Loshchilov and Hutter 2019)."""

    decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


class RMSprop(Optimizer):
    """p - lr g / (sqrt(v) + eps), v the mean of g^2 (Tieleman and Hinton 2012).

    centered: less the squared mean of g. momentum: of these steps.
    """

    buffers = frozenset({"square_avg", "grad_avg", "momentum_buffer"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "alpha": alpha,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "centered": centered,
                "maximize": maximize,
            },
        )

    def _rule(self, group: Group) -> Rule:
        numbers = {**with_decay(group, _RMSPROP)}
        state: dict[str, float] = {"square_avg": 0}
        if _jit.guard(lambda: bool(group["centered"])):
            numbers["centred"] = lambda g, _: 1.0
            state["grad_avg"] = 0
        if _jit.guard(lambda: bool(group["momentum"])):
            numbers["momentum"] = lambda g, _: g["momentum"]
            state["momentum_buffer"] = 0
        return Rule("rmsprop", numbers, state)


class Adagrad(Optimizer):
    """p - lr / (1 + (step - 1) lr_decay) g / (sqrt(sum of g^2) + eps) (Duchi et al. 2011)."""

    buffers = frozenset({"sum"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "maximize": maximize,
            },
        )

    def _rule(self, group: Group) -> Rule:
        first = group["initial_accumulator_value"]
        return Rule("adagrad", with_decay(group, _ADAGRAD), {"sum": first})


class Lion(Optimizer):
    """p (1 - lr weight_decay) - lr sign(b1 m + (1 - b1) g), then m = b2 m + (1 - b2) g.

    Chen et al., "Symbolic discovery of optimization algorithms" (2023).
    """

    buffers = frozenset({"exp_avg"})

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {"lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize},
        )

    def _rule(self, group: Group) -> Rule:
        return Rule("lion", with_shrinking(group, _LION), {"exp_avg": 0})
