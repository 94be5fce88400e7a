"""Schedules: each changes the learning rate by a factor from one epoch to the next."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from wgtensor._naming import Named
from wgtensor.optim._optimizer import Optimizer


class LRScheduler(Named):
    """The base of schedules. step() goes to the next epoch and sets every group's learning rate.

    Subclasses define _next(), the rates of last_epoch by those before it, so that schedules on one
    optimizer act together; and _at(), the rates of an epoch by the initial ones, where it can be
    said.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"[{type(self).__name__}] {type(optimizer).__name__} is no Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"[{type(self).__name__}] group {i} has no 'initial_lr' to go on from epoch "
                    f"{last_epoch}"
                )
        self.base_lrs = [g["initial_lr"] for g in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._first = True
        self.step()
        self._first = False

    def _rates(self) -> list[float]:
        return [g["lr"] for g in self.optimizer.param_groups]

    def _next(self) -> list[float]:
        raise NotImplementedError(f"[{type(self).__name__}] has no _next()")

    def _at(self, epoch: int) -> list[float] | None:
        return None

    def get_last_lr(self) -> list[float]:
        """The learning rates that step() set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Goes to the next epoch, or to the one given."""
        if epoch is None:
            self.last_epoch += 1
            rates = self._next()
        else:
            self.last_epoch = epoch
            found = self._at(epoch)
            rates = self._next() if found is None else found
        self._set(rates)

    def _set(self, rates: Sequence[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = self._rates()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer" and not _is_function(v)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from a state_dict()."""
        self.__dict__.update(state_dict)


def _is_function(value: Any) -> bool:
    return callable(value) or (isinstance(value, list) and any(callable(v) for v in value))


class LambdaLR(LRScheduler):
    """The initial rate times lr_lambda(epoch); one function, or one for each group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.lr_lambdas = _each(type(self).__name__, optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[float]:
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * f(self.last_epoch) for base, f in pairs]


class MultiplicativeLR(LRScheduler):
    """The rate before times lr_lambda(epoch); one function, or one for each group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.lr_lambdas = _each(type(self).__name__, optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[float]:
        if self.last_epoch <= 0:
            return self._rates()
        pairs = zip(self._rates(), self.lr_lambdas, strict=True)
        return [rate * f(self.last_epoch) for rate, f in pairs]


def _each(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * n
    if len(value) != n:
        raise ValueError(f"[{name}] {len(value)} values for {n} groups")
    return list(value)


class StepLR(LRScheduler):
    """Times gamma at every step_size-th epoch."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[float]:
        now = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [rate * self.gamma for rate in self._rates()] if now else self._rates()

    def _at(self, epoch: int) -> list[float]:
        return [base * self.gamma ** (epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times gamma at each of the epochs in milestones."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[float]:
        times = self.milestones[self.last_epoch]
        return [rate * self.gamma**times for rate in self._rates()] if times else self._rates()

    def _at(self, epoch: int) -> list[float]:
        times = bisect_right(sorted(self.milestones.elements()), epoch)
        return [base * self.gamma**times for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Times factor until epoch total_iters."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"[ConstantLR] factor lies in [0, 1]: {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[float]:
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates()]
        if self.last_epoch == self.total_iters:
            return [rate * (1 / self.factor) for rate in self._rates()]
        return self._rates()

    def _at(self, epoch: int) -> list[float]:
        factor = self.factor if epoch < self.total_iters else 1.0
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Times a factor that goes evenly from start_factor to end_factor in total_iters epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(
                f"[LinearLR] factors lie in (0, 1] and [0, 1]: {start_factor}, {end_factor}"
            )
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[float]:
        epoch, rates = self.last_epoch, self._rates()
        if epoch == 0:
            return [rate * self.start_factor for rate in rates]
        if epoch > self.total_iters:
            return rates
        change = self.end_factor - self.start_factor
        factor = 1 + change / (self.total_iters * self.start_factor + (epoch - 1) * change)
        return [rate * factor for rate in rates]

    def _at(self, epoch: int) -> list[float]:
        change = self.end_factor - self.start_factor
        factor = self.start_factor + change * min(self.total_iters, epoch) / self.total_iters
        return [base * factor for base in self.base_lrs]


class LinearWarmup(LambdaLR):
    """The initial rate times a factor that rises evenly to 1 in warmup_steps epochs.

    Unlike LinearLR's, it may begin at 0: start_factor + (1 - start_factor) epoch / warmup_steps.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        warmup_steps: int,
        start_factor: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if warmup_steps < 1:
            raise ValueError(f"[LinearWarmup] warmup_steps is 1 or more: {warmup_steps}")
        self.warmup_steps, self.start_factor = warmup_steps, start_factor
        super().__init__(optimizer, self._factor, last_epoch)

    def _factor(self, epoch: int) -> float:
        share = min(epoch / self.warmup_steps, 1.0)
        return self.start_factor + (1 - self.start_factor) * share


class ExponentialLR(LRScheduler):
    """Times gamma at every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[float]:
        if self.last_epoch == 0:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _at(self, epoch: int) -> list[float]:
        return [base * self.gamma**epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Times (1 - epoch / total_iters)^power, until it is 0."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[float]:
        epoch, n = self.last_epoch, self.total_iters
        if epoch == 0 or epoch > n:
            return self._rates()
        factor = ((1 - epoch / n) / (1 - (epoch - 1) / n)) ** self.power
        return [rate * factor for rate in self._rates()]

    def _at(self, epoch: int) -> list[float]:
        factor = (1 - min(self.total_iters, epoch) / self.total_iters) ** self.power
        return [base * factor for base in self.base_lrs]


class SequentialLR(LRScheduler):
    """One schedule after the other: the next one begins, at its epoch 0, at each milestone."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers or len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"[SequentialLR] {len(schedulers)} schedules need one milestone between each two, "
                f"not {len(milestones)}"
            )
        if any(s.optimizer is not optimizer for s in schedulers):
            raise ValueError("[SequentialLR] the schedules are of another optimizer")
        self.optimizer = optimizer
        self._schedulers, self._milestones = list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        # All have taken their first step: as if the first one alone had.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for s in schedulers:
            s.last_epoch -= 1
        first = schedulers[0]
        first._first = True
        first.step()
        first._first = False
        self._last_lr = first.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Goes to the next epoch."""
        if epoch is not None:
            raise ValueError("[SequentialLR] goes one epoch at a time")
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        begins = i > 0 and self._milestones[i - 1] == self.last_epoch
        self._schedulers[i].step(0 if begins else None)
        self._last_lr = self._schedulers[i].get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; the schedules' own states under "_schedulers"."""
        return _with_schedules(super().state_dict(), self._schedulers)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from a state_dict()."""
        _load_schedules(self, state_dict)


class ChainedScheduler(LRScheduler):
    """Several schedules that all take each step."""

    def __init__(self, schedulers: Sequence[LRScheduler]) -> None:
        if not schedulers:
            raise ValueError("[ChainedScheduler] no schedules")
        self._schedulers = list(schedulers)
        self.optimizer = schedulers[0].optimizer
        self.last_epoch = schedulers[0].last_epoch
        self._last_lr = self._rates()

    def step(self, epoch: int | None = None) -> None:
        """One step of each schedule."""
        for s in self._schedulers:
            s.step(epoch)
        self.last_epoch = self._schedulers[0].last_epoch
        self._last_lr = self._rates()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; the schedules' own states under "_schedulers"."""
        return _with_schedules(super().state_dict(), self._schedulers)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from a state_dict()."""
        _load_schedules(self, state_dict)


def _with_schedules(state: dict[str, Any], schedulers: list[LRScheduler]) -> dict[str, Any]:
    return {**state, "_schedulers": [s.state_dict() for s in schedulers]}


def _load_schedules(own: Any, state: dict[str, Any]) -> None:
    for s, inner in zip(own._schedulers, state["_schedulers"], strict=True):
        s.load_state_dict(inner)
    own.__dict__.update({k: v for k, v in state.items() if k != "_schedulers"})
