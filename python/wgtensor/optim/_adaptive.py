"""Optimizers with a step size for each element."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from wgtensor._core import Tensor
from wgtensor._generated import maximum, sign
from wgtensor.optim._optimizer import Group, Optimizer, State, kept


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
        lr, decay, (b1, b2) = group["lr"], group["weight_decay"], group["betas"]
        if decay and self.decoupled:
            p = p * (1 - lr * decay)
        elif decay:
            grad = grad + p * decay
        m = state["exp_avg"] = kept(state, "exp_avg", p) * b1 + grad * (1 - b1)
        v = state["exp_avg_sq"] = kept(state, "exp_avg_sq", p) * b2 + (grad * grad) * (1 - b2)
        if group["amsgrad"]:
            v = state["max_exp_avg_sq"] = maximum(kept(state, "max_exp_avg_sq", p), v)
        step = state["step"]
        size = lr / (1 - b1**step)
        root = v.sqrt() * (1 / math.sqrt(1 - b2**step)) + group["eps"]
        new: Tensor = p - (m * size) / root
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
        alpha, momentum = group["alpha"], group["momentum"]
        if group["weight_decay"]:
            grad = grad + p * group["weight_decay"]
        v = state["square_avg"] = kept(state, "square_avg", p) * alpha + grad * grad * (1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"] = kept(state, "grad_avg", p) * alpha + grad * (1 - alpha)
            v = v - mean * mean
        move = grad / (v.sqrt() + group["eps"])
        if momentum:
            move = state["momentum_buffer"] = kept(state, "momentum_buffer", p) * momentum + move
        new: Tensor = p - move * group["lr"]
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
        if group["weight_decay"]:
            grad = grad + p * group["weight_decay"]
        rate = group["lr"] / (1 + (state["step"] - 1) * group["lr_decay"])
        total = kept(state, "sum", p, group["initial_accumulator_value"]) + grad * grad
        state["sum"] = total
        new: Tensor = p - grad * rate / (total.sqrt() + group["eps"])
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
        lr, (b1, b2) = group["lr"], group["betas"]
        m = kept(state, "exp_avg", p)
        state["exp_avg"] = m * b2 + grad * (1 - b2)
        if group["weight_decay"]:
            p = p * (1 - lr * group["weight_decay"])
        new: Tensor = p - sign(m * b1 + grad * (1 - b1)) * lr
        return new
