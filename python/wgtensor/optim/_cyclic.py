"""Learning rates that go up and down again and again."""

from __future__ import annotations

import math
from collections.abc import Callable

from wgtensor.optim._cycles import has_momentum, set_momentum
from wgtensor.optim._optimizer import Optimizer
from wgtensor.optim._schedules import LRScheduler, _each

#: the share of the way to max_lr that a cycle, counted from 1, or a step goes, and which of the two
_MODES: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "triangular": ("cycle", lambda gamma, cycle: 1.0),
    "triangular2": ("cycle", lambda gamma, cycle: 1 / 2 ** (cycle - 1)),
    "exp_range": ("iterations", lambda gamma, step: gamma**step),
}


class CyclicLR(LRScheduler):
    """From base_lr up to max_lr in step_size_up steps, down in step_size_down, and again.

    Smith, "Cyclical Learning Rates for Training Neural Networks" (2017). mode: "triangular", with
    "triangular2" half as high each time, with "exp_range" gamma^step as high; or scale_fn, of the
    cycle or, with scale_mode "iterations", of the step. cycle_momentum: momentum, or the first of
    betas, goes the other way, between max_momentum and base_momentum. Call step() after each batch.
    Raises ValueError.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        name = "CyclicLR"
        down = step_size_up if step_size_down is None else step_size_down
        if step_size_up <= 0 or down < 0:
            raise ValueError(f"[{name}] steps up and down: {step_size_up}, {down}")
        if mode not in _MODES and scale_fn is None:
            raise ValueError(f"[{name}] mode is one of {sorted(_MODES)}, not {mode!r}")
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(f"[{name}] scale_mode is 'cycle' or 'iterations', not {scale_mode!r}")
        self.total_size, self.step_ratio = step_size_up + down, step_size_up / (step_size_up + down)
        self.mode, self.gamma, self.scale_fn = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _MODES[mode][0]
        self.cycle_momentum = cycle_momentum
        low, high = (_each(name, optimizer, v) for v in (base_lr, max_lr))
        self.max_lrs = high
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, low, strict=True):
                group["lr"] = group["initial_lr"] = rate
        if cycle_momentum:
            bounds = (_each(name, optimizer, v) for v in (base_momentum, max_momentum))
            for group, base, top in zip(optimizer.param_groups, *bounds, strict=True):
                if not has_momentum(group):
                    raise ValueError(f"[{name}] cycle_momentum needs an optimizer with momentum")
                group["base_momentum"], group["max_momentum"] = base, top
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        """How far from the lower to the upper rate."""
        cycle = math.floor(1 + epoch / self.total_size)
        x = 1 + epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        at = cycle if self.scale_mode == "cycle" else epoch
        if self.scale_fn is not None:
            return share * self.scale_fn(at)
        return share * _MODES[self.mode][1](self.gamma, at)

    def _next(self) -> list[float]:
        if self.cycle_momentum:
            height = self._height(self.last_epoch)
            for group in self.optimizer.param_groups:
                low, high = group["base_momentum"], group["max_momentum"]
                set_momentum(group, high - (high - low) * height)
        return self._at(self.last_epoch)

    def _at(self, epoch: int) -> list[float]:
        height = self._height(epoch)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in pairs]
