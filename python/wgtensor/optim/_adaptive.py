"""Optimizers with a step size for each element."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

from wgtensor import _jit
from wgtensor._core import Tensor
from wgtensor._generated import maximum, sign
from wgtensor.optim._optimizer import Group, Optimizer, State, keep, kept


class Adam(Optimizer):
    """p - lr m' / (sqrt(v') + eps), means m of g and v of g^2, corrected for their start.

    Kingma and Ba, "Adam" (2015). weight_decay is added to the gradient; amsgrad: with the largest v
    so far (Reddi et al. 2018).
    """

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

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> Tensor:
        number = functools.partial(self.number, p, state, group)
        if not self.decoupled:
            grad = self.decayed(p, grad, state, group)
        elif _jit.guard(lambda: bool(group["weight_decay"])):
            p = p * number(lambda g, step: 1 - g["lr"] * g["weight_decay"])
        m = kept(state, "exp_avg", p) * number(lambda g, step: g["betas"][0])
        m = keep(state, "exp_avg", m + grad * number(lambda g, step: 1 - g["betas"][0]))
        v = kept(state, "exp_avg_sq", p) * number(lambda g, step: g["betas"][1])
        v = keep(state, "exp_avg_sq", v + grad * grad * number(lambda g, step: 1 - g["betas"][1]))
        if _jit.guard(lambda: bool(group["amsgrad"])):
            v = keep(state, "max_exp_avg_sq", maximum(kept(state, "max_exp_avg_sq", p), v))
        size = number(lambda g, step: g["lr"] / (1 - g["betas"][0] ** step))
        root = v.sqrt() * number(lambda g, step: 1 / math.sqrt(1 - g["betas"][1] ** step))
        new: Tensor = p - (m * size) / (root + number(lambda g, step: g["eps"]))
        return new


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

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> Tensor:
        number = functools.partial(self.number, p, state, group)
        grad = self.decayed(p, grad, state, group)
        alpha, rest = number(lambda g, step: g["alpha"]), number(lambda g, step: 1 - g["alpha"])
        v = keep(state, "square_avg", kept(state, "square_avg", p) * alpha + grad * grad * rest)
        if _jit.guard(lambda: bool(group["centered"])):
            mean = keep(state, "grad_avg", kept(state, "grad_avg", p) * alpha + grad * rest)
            v = v - mean * mean
        move = grad / (v.sqrt() + number(lambda g, step: g["eps"]))
        if _jit.guard(lambda: bool(group["momentum"])):
            before = kept(state, "momentum_buffer", p) * number(lambda g, step: g["momentum"])
            move = keep(state, "momentum_buffer", before + move)
        new: Tensor = p - move * number(lambda g, step: g["lr"])
        return new


class Adagrad(Optimizer):
    """p - lr / (1 + (step - 1) lr_decay) g / (sqrt(sum of g^2) + eps) (Duchi et al. 2011)."""

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

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> Tensor:
        number = functools.partial(self.number, p, state, group)
        grad = self.decayed(p, grad, state, group)
        rate = number(lambda g, step: g["lr"] / (1 + (step - 1) * g["lr_decay"]))
        first = group["initial_accumulator_value"]
        total = keep(state, "sum", kept(state, "sum", p, first) + grad * grad)
        new: Tensor = p - grad * rate / (total.sqrt() + number(lambda g, step: g["eps"]))
        return new


class Lion(Optimizer):
    """p (1 - lr weight_decay) - lr sign(b1 m + (1 - b1) g), then m = b2 m + (1 - b2) g.

    Chen et al., "Symbolic discovery of optimization algorithms" (2023).
    """

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

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> Tensor:
        number = functools.partial(self.number, p, state, group)
        m = kept(state, "exp_avg", p).detach()
        later = m * number(lambda g, step: g["betas"][1])
        keep(state, "exp_avg", later + grad * number(lambda g, step: 1 - g["betas"][1]))
        if _jit.guard(lambda: bool(group["weight_decay"])):
            p = p * number(lambda g, step: 1 - g["lr"] * g["weight_decay"])
        way = m * number(lambda g, step: g["betas"][0])
        way = way + grad * number(lambda g, step: 1 - g["betas"][0])
        new: Tensor = p - sign(way) * number(lambda g, step: g["lr"])
        return new
