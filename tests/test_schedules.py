"""Schedules: closed forms epoch by epoch, combinations, state."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import wgtensor as wt
from wgtensor import nn, optim
from wgtensor.optim import lr_scheduler as s

BASE = 0.4


def optimizer(groups: int = 1, cls: Any = optim.SGD, **options: Any) -> optim.Optimizer:
    params = [{"params": [nn.Parameter(wt.ones(1))], "lr": BASE / 2**i} for i in range(groups)]
    made: optim.Optimizer = cls(params, **{"lr": BASE, **options})
    return made


def rates(make: Callable[[optim.Optimizer], Any], epochs: int, **options: Any) -> list[float]:
    o = optimizer(**options)
    schedule = make(o)
    found = []
    for _ in range(epochs):
        assert schedule.get_last_lr() == [g["lr"] for g in o.param_groups]
        found.append(o.param_groups[0]["lr"])
        schedule.step()
    return found


def cosine(t: float, period: float, low: float = 0.0) -> float:
    return low + (BASE - low) * (1 + math.cos(math.pi * t / period)) / 2


def restarts(t: int, period: int, factor: int) -> float:
    while t >= period:
        t, period = t - period, period * factor
    return cosine(t, period)


FORMS: dict[str, tuple[Callable[[optim.Optimizer], Any], Callable[[int], float]]] = {
    "lambda": (lambda o: s.LambdaLR(o, lambda e: 0.9**e), lambda e: BASE * 0.9**e),
    "multiplicative": (lambda o: s.MultiplicativeLR(o, lambda e: 0.9), lambda e: BASE * 0.9**e),
    "step": (lambda o: s.StepLR(o, 3, 0.5), lambda e: BASE * 0.5 ** (e // 3)),
    "multi step": (
        lambda o: s.MultiStepLR(o, [2, 5, 5], 0.5),
        lambda e: BASE * 0.5 ** ((e >= 2) + 2 * (e >= 5)),
    ),
    "constant": (lambda o: s.ConstantLR(o, 0.25, 4), lambda e: BASE * (0.25 if e < 4 else 1)),
    "linear": (
        lambda o: s.LinearLR(o, 0.25, 0.75, 4),
        lambda e: BASE * (0.25 + 0.5 * min(e, 4) / 4),
    ),
    "warm-up": (lambda o: s.LinearWarmup(o, 4), lambda e: BASE * min(e / 4, 1)),
    "exponential": (lambda o: s.ExponentialLR(o, 0.8), lambda e: BASE * 0.8**e),
    "polynomial": (
        lambda o: s.PolynomialLR(o, 6, 2.0),
        lambda e: BASE * (1 - min(e, 6) / 6) ** 2,
    ),
    "cyclic": (
        lambda o: s.CyclicLR(o, 0.1, 0.5, 4, 2, cycle_momentum=False),
        lambda e: 0.1 + 0.4 * (e % 6 / 4 if e % 6 <= 4 else 1 - (e % 6 - 4) / 2),
    ),
    "cyclic, half as high": (
        lambda o: s.CyclicLR(o, 0.1, 0.5, 2, mode="triangular2", cycle_momentum=False),
        lambda e: 0.1 + 0.4 / 2 ** (e // 4) * (1 - abs(e % 4 / 2 - 1)),
    ),
    "cyclic, decaying": (
        lambda o: s.CyclicLR(o, 0.1, 0.5, 2, mode="exp_range", gamma=0.9, cycle_momentum=False),
        lambda e: 0.1 + 0.4 * 0.9**e * (1 - abs(e % 4 / 2 - 1)),
    ),
    "cyclic by a function": (
        lambda o: s.CyclicLR(o, 0.1, 0.5, 2, scale_fn=lambda c: 1 / c, cycle_momentum=False),
        lambda e: 0.1 + 0.4 / (e // 4 + 1) * (1 - abs(e % 4 / 2 - 1)),
    ),
    "cosine": (lambda o: s.CosineAnnealingLR(o, 5, 0.1), lambda e: cosine(e, 5, 0.1)),
    "restarts": (lambda o: s.CosineAnnealingWarmRestarts(o, 3), lambda e: cosine(e % 3, 3)),
    "longer restarts": (
        lambda o: s.CosineAnnealingWarmRestarts(o, 2, 2),
        lambda e: restarts(e, 2, 2),
    ),
    "sequence": (
        lambda o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 9), s.ExponentialLR(o, 0.5)], [3]),
        lambda e: BASE * (0.1 if e < 3 else 0.5 ** (e - 3)),
    ),
    "sequence of three": (
        lambda o: s.SequentialLR(
            o, [s.LinearLR(o, 0.5, 1.0, 2), s.StepLR(o, 2, 0.5), s.CosineAnnealingLR(o, 4)], [2, 6]
        ),
        lambda e: (
            BASE * (0.5 + 0.25 * e) if e < 2 else BASE * 0.5 ** ((e - 2) // 2) if e < 6 else cosine(e - 6, 4)  # noqa: E501
        ),
    ),
    "chain": (
        lambda o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)]),
        lambda e: BASE * 0.9**e * (0.1 if e < 3 else 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_forms(name: str) -> None:
    make, form = FORMS[name]
    found = rates(make, 101)
    assert found == pytest.approx([form(e) for e in range(101)], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", [n for n in FORMS if "chain" not in n and "seq" not in n])
def test_state_goes_round(name: str) -> None:
    make, form = FORMS[name]
    o = optimizer()
    schedule = make(o)
    for _ in range(3):
        schedule.step()
    state, groups = schedule.state_dict(), o.state_dict()
    other = optimizer()
    again = make(other)
    other.load_state_dict(groups)
    again.load_state_dict(state)
    assert again.get_last_lr() == schedule.get_last_lr()
    again.step()
    assert other.param_groups[0]["lr"] == pytest.approx(form(4), rel=1e-12, abs=1e-15)


def test_groups_of_their_own() -> None:
    o = optimizer(2)
    schedule = s.LambdaLR(o, [lambda e: 1 / (e + 1), lambda e: 1.0])
    schedule.step()
    assert schedule.get_last_lr() == [BASE / 2, BASE / 2]
    with pytest.raises(ValueError, match="2 groups"):
        s.LambdaLR(optimizer(2), [lambda e: 1.0] * 3)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("three", [False, True])
@pytest.mark.parametrize("cls", [optim.SGD, optim.Adam])
def test_one_cycle(strategy: str, three: bool, cls: Any) -> None:
    options = {"momentum": 0.9} if cls is optim.SGD else {}
    o = optimizer(1, cls, **options)
    total, share = 20, 0.4
    schedule = s.OneCycleLR(
        o, 1.0, total, pct_start=share, anneal_strategy=strategy, three_phase=three,
        div_factor=10, final_div_factor=100,
    )  # fmt: skip
    ends = [0, share * total - 1, *([2 * share * total - 2] if three else []), total - 1]
    levels = [0.1, 1.0, *([0.1] if three else []), 0.001]
    moments = [0.95, 0.85, *([0.95] if three else []), 0.95]

    def between(values: list[float], t: int) -> float:
        i = next(i for i in range(1, len(ends)) if t <= ends[i])
        x = (t - ends[i - 1]) / (ends[i] - ends[i - 1])
        share = (1 - math.cos(math.pi * x)) / 2 if strategy == "cos" else x
        return values[i - 1] + (values[i] - values[i - 1]) * share

    for t in range(total):
        group = o.param_groups[0]
        assert group["lr"] == pytest.approx(between(levels, t))
        momentum = group["betas"][0] if cls is optim.Adam else group["momentum"]
        assert momentum == pytest.approx(between(moments, t))
        if t < total - 1:
            schedule.step()
    schedule.step()
    with pytest.raises(ValueError, match="cycle of 20"):
        schedule.step()
    by_epochs = s.OneCycleLR(optimizer(1, cls, **options), 1.0, epochs=4, steps_per_epoch=5)
    assert by_epochs.total_steps == 20
    with pytest.raises(ValueError, match="momentum"):
        s.OneCycleLR(optimizer(1, optim.Adagrad), 1.0, 10)
    with pytest.raises(ValueError, match="total_steps"):
        s.OneCycleLR(optimizer(), 1.0)


def test_plateau() -> None:
    o = optimizer()
    schedule = s.ReduceLROnPlateau(o, patience=1, factor=0.5, cooldown=1, min_lr=0.1)
    seen = []
    for loss in [1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6]:
        schedule.step(wt.asarray(loss))
        seen.append(schedule.get_last_lr()[0])
    assert seen == pytest.approx([0.4] * 3 + [0.2] * 3 + [0.1] * 7)
    best = s.ReduceLROnPlateau(optimizer(), "max", threshold=0.1, threshold_mode="abs")
    assert best.is_better(1.2, 1.0)
    assert not best.is_better(1.05, 1.0)
    relative = s.ReduceLROnPlateau(optimizer(), "max", threshold=0.1)
    assert relative.is_better(2.3, 2.0)
    assert not relative.is_better(2.1, 2.0)
    relative.load_state_dict(schedule.state_dict())
    assert relative.best == pytest.approx(0.5)
    with pytest.raises(ValueError, match="factor"):
        s.ReduceLROnPlateau(o, factor=1.0)
    with pytest.raises(ValueError, match="mode"):
        s.ReduceLROnPlateau(o, "least")


def test_going_on() -> None:
    o = optimizer()
    with pytest.raises(KeyError, match="initial_lr"):
        s.StepLR(o, 3, last_epoch=2)
    o.param_groups[0]["initial_lr"] = BASE
    schedule = s.StepLR(o, 3, 0.5, last_epoch=2)
    assert schedule.get_last_lr() == [BASE / 2]
    schedule.step(7)
    assert schedule.get_last_lr() == [BASE / 4]


@pytest.mark.parametrize(
    ("error", "make"),
    [
        (ValueError, lambda o: s.LinearLR(o, 0.0)),
        (ValueError, lambda o: s.ConstantLR(o, 2.0)),
        (ValueError, lambda o: s.LinearWarmup(o, 0)),
        (ValueError, lambda o: s.SequentialLR(o, [s.StepLR(o, 1)], [3])),
        (ValueError, lambda o: s.ChainedScheduler([])),
        (ValueError, lambda o: s.CosineAnnealingWarmRestarts(o, 0)),
        (TypeError, lambda o: s.StepLR(3, 1)),  # type: ignore[arg-type]
    ],
)
def test_errors(error: type[Exception], make: Callable[[optim.Optimizer], Any]) -> None:
    with pytest.raises(error, match=r"^\["):
        make(optimizer())


def test_cycles_of_momentum_go_the_other_way() -> None:
    for cls, read in (
        (optim.SGD, lambda g: g["momentum"]),
        (optim.Adam, lambda g: g["betas"][0]),
    ):
        o = optimizer(cls=cls)
        schedule = s.CyclicLR(o, 0.1, 0.5, 2, base_momentum=0.8, max_momentum=0.9)
        found = []
        for _ in range(5):
            found.append(read(o.param_groups[0]))
            schedule.step()
        assert found == pytest.approx([0.9, 0.85, 0.8, 0.85, 0.9])
        again = s.CyclicLR(optimizer(cls=cls), 0.1, 0.5, 2)
        again.load_state_dict(schedule.state_dict())
        assert again.last_epoch == 5
    with pytest.raises(ValueError, match=r"^\[CyclicLR\] mode"):
        s.CyclicLR(optimizer(), 0.1, 0.5, mode="square")
    with pytest.raises(ValueError, match=r"^\[CyclicLR\] steps"):
        s.CyclicLR(optimizer(), 0.1, 0.5, 0)
    with pytest.raises(ValueError, match="needs an optimizer with momentum"):
        s.CyclicLR(optimizer(cls=optim.Adagrad), 0.1, 0.5)
