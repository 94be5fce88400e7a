"""Schedules along cosines."""

from __future__ import annotations

import math
from typing import Any

from wgtensor.optim._optimizer import Optimizer
from wgtensor.optim._schedules import LRScheduler, _each


def has_momentum(group: dict[str, Any]) -> bool:
    """Whether the group's optimizer has a momentum, or betas, of which the first is one."""
    return "momentum" in group or "betas" in group


def set_momentum(group: dict[str, Any], value: float) -> None:
    """Sets it."""
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CosineAnnealingLR(LRScheduler):
    """eta_min + (lr - eta_min) (1 + cos(pi epoch / T_max)) / 2 (Loshchilov and Hutter 2017)."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: int,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[float]:
        epoch, rates, low = self.last_epoch, self._rates(), self.eta_min
        if epoch == 0:
            return rates
        if self._first:
            return self._at(epoch)
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            pairs = zip(rates, self.base_lrs, strict=True)
            return [rate + (base - low) * rise for rate, base in pairs]
        now, before = (1 + math.cos(math.pi * e / self.T_max) for e in (epoch, epoch - 1))
        return [now / before * (rate - low) + low for rate in rates]

    def _at(self, epoch: int) -> list[float]:
        share = (1 + math.cos(math.pi * epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to eta_min in T_0 epochs, then again, each T_mult times as long."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803
        T_mult: int = 1,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 < 1 or T_mult < 1:
            raise ValueError(f"[CosineAnnealingWarmRestarts] T_0={T_0}, T_mult={T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[float]:
        return self._at(self.last_epoch)

    def _at(self, epoch: int) -> list[float]:
        length = self.T_0
        while epoch >= length and self.T_mult > 1:
            epoch, length = epoch - length, length * self.T_mult
        share = (1 + math.cos(math.pi * (epoch % length) / length)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class OneCycleLR(LRScheduler):
    """Up from max_lr / div_factor to max_lr, then down to that start over final_div_factor.

    Smith and Topin, "Super-convergence" (2018). pct_start: the share of total_steps (or epochs
    times steps_per_epoch) in which it rises. cycle_momentum: momentum, or the first of betas, goes
    the other way, between max_momentum and base_momentum. three_phase: down as long as up, then to
    the end.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        name = "OneCycleLR"
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError(f"[{name}] needs total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if total_steps < 1 or not 0 <= pct_start <= 1 or anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"[{name}] total_steps={total_steps}, pct_start={pct_start}, "
                f"anneal_strategy={anneal_strategy!r}"
            )
        self.total_steps, self.anneal_strategy = total_steps, anneal_strategy
        self.cycle_momentum = cycle_momentum
        up = float(pct_start * total_steps) - 1
        self._phases: list[tuple[float, str, str]] = [(up, "initial_lr", "max_lr")]
        if three_phase:
            down = float(2 * pct_start * total_steps) - 2
            self._phases.append((down, "max_lr", "initial_lr"))
            self._phases.append((total_steps - 1, "initial_lr", "min_lr"))
        else:
            self._phases.append((total_steps - 1, "max_lr", "min_lr"))
        if last_epoch == -1:
            self._prepare(optimizer, max_lr, div_factor, final_div_factor)
            if cycle_momentum:
                self._prepare_momentum(optimizer, base_momentum, max_momentum)
        super().__init__(optimizer, last_epoch)

    def _prepare(self, optimizer: Optimizer, max_lr: Any, div: float, final_div: float) -> None:
        for group, top in zip(
            optimizer.param_groups, _each("OneCycleLR", optimizer, max_lr), strict=True
        ):
            group["initial_lr"] = top / div
            group["max_lr"] = top
            group["min_lr"] = group["initial_lr"] / final_div

    def _prepare_momentum(self, optimizer: Optimizer, base: Any, top: Any) -> None:
        pairs = zip(
            optimizer.param_groups,
            _each("OneCycleLR", optimizer, base),
            _each("OneCycleLR", optimizer, top),
            strict=True,
        )
        for group, low, high in pairs:
            if not has_momentum(group):
                raise ValueError("[OneCycleLR] cycle_momentum needs an optimizer with momentum")
            group["base_momentum"], group["max_momentum"] = low, high
            set_momentum(group, high)

    def _between(self, start: float, end: float, share: float) -> float:
        if self.anneal_strategy == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2 * (math.cos(math.pi * share) + 1)

    def _phase(self, step: int) -> tuple[float, str, str]:
        """How much of its phase has passed at a step, and the phase's ends."""
        if step > self.total_steps:
            raise ValueError(f"[OneCycleLR] step {step} of a cycle of {self.total_steps}")
        begin = 0.0
        for end, first, last in self._phases[:-1]:
            if step <= end:
                return (step - begin) / (end - begin), first, last
            begin = end
        end, first, last = self._phases[-1]
        return (step - begin) / (end - begin), first, last

    def _next(self) -> list[float]:
        share, first, last = self._phase(self.last_epoch)
        rates = []
        other = {"initial_lr": "max_momentum", "max_lr": "base_momentum", "min_lr": "max_momentum"}
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[first], group[last], share))
            if self.cycle_momentum:
                low, high = group[other[first]], group[other[last]]
                set_momentum(group, self._between(low, high, share))
        return rates
