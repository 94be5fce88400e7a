"""A schedule that looks at a measure."""

from __future__ import annotations

import math
from typing import Any

from wgtensor._naming import Named
from wgtensor.optim._optimizer import Optimizer
from wgtensor.optim._schedules import _each


class ReduceLROnPlateau(Named):
    """Times factor where step(metric) has seen nothing better for more than `patience` epochs.

    Better: below best (1 - threshold), in mode 'max' above best (1 + threshold); with
    threshold_mode 'abs' by threshold itself. cooldown: epochs after a reduction that do not count.
    Changes of no more than eps are left out.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1:
            raise ValueError(f"[ReduceLROnPlateau] factor is below 1: {factor}")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"[ReduceLROnPlateau] mode is 'min' or 'max' and threshold_mode 'rel' or 'abs', "
                f"not {mode!r} and {threshold_mode!r}"
            )
        self.optimizer = optimizer
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps = cooldown, eps
        self.min_lrs = _each("ReduceLROnPlateau", optimizer, min_lr)
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = [g["lr"] for g in optimizer.param_groups]

    def is_better(self, a: float, best: float) -> bool:
        """Whether `a` counts as better."""
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "abs":
            return sign * a > sign * best + self.threshold
        return sign * a > sign * best * (1 + sign * self.threshold)

    def get_last_lr(self) -> list[float]:
        """The learning rates after the last step()."""
        return self._last_lr

    def step(self, metrics: Any) -> None:
        """Takes the measure of an epoch: a number, or a tensor of one, which is read."""
        current = float(metrics)
        self.last_epoch += 1
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [g["lr"] for g in self.optimizer.param_groups]

    def _reduce(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            rate = max(group["lr"] * self.factor, least)
            if group["lr"] - rate > self.eps:
                group["lr"] = rate

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from a state_dict()."""
        self.__dict__.update(state_dict)
