"""Side by side with PyTorch, where it is installed: values, gradients, trajectories, schedules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import device_has
from wgtensor import nn, optim
from wgtensor.nn import functional as F

torch = pytest.importorskip("torch")
from beside_torch import Array, close, compare, normal, port, unit  # noqa: E402

tf = torch.nn.functional


def signs(rng: np.random.Generator, *shape: int) -> Array:
    return np.where(rng.random(shape) < 0.5, np.float32(1), np.float32(-1))


def classes(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(0, 5, shape).astype(np.int32)


LOSSES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("mse_loss", [normal, normal], {}),
    ("l1_loss", [normal, normal], {}),
    ("smooth_l1_loss", [normal, normal], {"beta": 0.6}),
    ("huber_loss", [normal, normal], {"delta": 0.6}),
    ("binary_cross_entropy", [unit, unit], {}),
    ("binary_cross_entropy_with_logits", [normal, unit], {}),
    ("kl_div", [normal, unit], {}),
    ("kl_div", [normal, normal], {"log_target": True}),
    ("poisson_nll_loss", [normal, unit], {}),
    ("soft_margin_loss", [normal, signs], {}),
    ("hinge_embedding_loss", [normal, signs], {"margin": 0.7}),
    ("margin_ranking_loss", [normal, normal, signs], {"margin": 0.3}),
    ("triplet_margin_loss", [normal, normal, normal], {"swap": True}),
    ("triplet_margin_loss", [normal, normal, normal], {"p": 1.0}),
    ("multilabel_soft_margin_loss", [normal, unit], {}),
]


@pytest.mark.filterwarnings("ignore:reduction")  # PyTorch's, of kl_div's mean
@pytest.mark.parametrize("case", range(len(LOSSES)))
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(case: int, reduction: str, rng: np.random.Generator) -> None:
    name, makers, options = LOSSES[case]
    arrays = [m(rng, 7, 5) for m in makers]
    options = {**options, "reduction": reduction}
    compare(
        lambda *x: getattr(F, name)(*x, **options),
        lambda *x: getattr(tf, name)(*x, **options),
        arrays,
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(7, 5), (4, 5, 3)])
def test_cross_entropy(reduction: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x, y = normal(rng, *shape), classes(rng, shape[0], *shape[2:])
    w = unit(rng, 5)
    for options in (
        {},
        {"label_smoothing": 0.2},
        {"ignore_index": 2},
        {"ignore_index": 2, "label_smoothing": 0.1},
    ):
        for weight in (None, w):
            ours = None if weight is None else wt.asarray(weight)
            theirs = None if weight is None else torch.tensor(weight)
            compare(
                lambda a, b, ours=ours, o=options: F.cross_entropy(
                    a, b, ours, reduction=reduction, **o
                ),
                lambda a, b, theirs=theirs, o=options: tf.cross_entropy(
                    a, b, theirs, reduction=reduction, **o
                ),
                [x, y],
            )
    p = unit(rng, *shape)
    compare(
        lambda a, b: F.cross_entropy(a, b, reduction=reduction, label_smoothing=0.1),
        lambda a, b: tf.cross_entropy(a, b, reduction=reduction, label_smoothing=0.1),
        [x, p],
    )


def test_functions(rng: np.random.Generator) -> None:
    x, w, b = normal(rng, 3, 4, 6), normal(rng, 6), normal(rng, 6)
    compare(lambda *a: F.layer_norm(a[0], 6, *a[1:]), lambda *a: tf.layer_norm(a[0], (6,), *a[1:]),
            [x, w, b])  # fmt: skip
    compare(lambda a, s, t: F.group_norm(a, 2, s, t), lambda a, s, t: tf.group_norm(a, 2, s, t),
            [x, normal(rng, 4), normal(rng, 4)])  # fmt: skip
    if hasattr(tf, "rms_norm"):
        compare(lambda a, s: F.rms_norm(a, 6, s), lambda a, s: tf.rms_norm(a, (6,), s), [x, w])
    q, k, v = (normal(rng, 2, 3, 5, 4) for _ in range(3))
    compare(F.scaled_dot_product_attention, tf.scaled_dot_product_attention, [q, k, v])
    compare(
        lambda *a: F.scaled_dot_product_attention(*a, is_causal=True),
        lambda *a: tf.scaled_dot_product_attention(*a, is_causal=True),
        [q, k, v],
    )
    for name in ("glu", "normalize", "softmin", "softplus"):
        options = {} if name in ("glu", "softplus", "normalize") else {"dim": -1}
        compare(
            lambda a, n=name, o=options: getattr(F, n)(a, **o),
            lambda a, n=name, o=options: getattr(tf, n)(a, **o),
            [x],
        )


def test_kinks() -> None:
    """Slopes where operands are equal, or a value is at a bound."""
    x = np.array([0, 1, 0.5, -1, 2, 1], np.float32)
    y = np.array([0, 1, 1, -1, 1, 2], np.float32)
    for name in ("maximum", "minimum", "fmax", "fmin"):
        compare(getattr(wt, name), getattr(torch, name), [x * 3, y * 3])
    for bounds in ((0, 1), (0.0, None), (None, 1.0)):
        compare(lambda a, b=bounds: wt.clip(a, *b), lambda a, b=bounds: torch.clamp(a, *b), [x * 1])
    zeros = np.zeros(6, np.float32) + 0.0
    compare(wt.clip, torch.clamp, [x, zeros, y * 0 + 1.5])
    rows = np.array([[1, 2, 2, 0], [3, 3, 3, 1]], np.float32)
    compare(lambda a: a.max(axis=1), lambda a: a.amax(1), [rows])
    compare(lambda a: a.max(), lambda a: a.max(), [rows])
    for args in ((2,), (3, 1, 1)):
        compare(lambda a, o=args: F.max_pool1d(a, *o), lambda a, o=args: tf.max_pool1d(a, *o),
                [rows])  # fmt: skip


def test_multihead_attention(rng: np.random.Generator) -> None:
    for options in ({}, {"kdim": 6, "vdim": 10}, {"bias": False, "batch_first": True}):
        theirs = torch.nn.MultiheadAttention(8, 2, **options)
        ours = nn.MultiheadAttention(8, 2, **options)
        port(ours, theirs)
        q = normal(rng, 3, 5, 8)
        k, v = normal(rng, 3, 5, options.get("kdim", 8)), normal(rng, 3, 5, options.get("vdim", 8))
        for which in (0, 1):
            compare(
                lambda *x, m=ours, i=which: m(*x)[i],
                lambda *x, m=theirs, i=which: m(*x)[i],
                [q, k, v],
            )
        block = ~np.tri(3 if not options.get("batch_first") else 5, dtype=bool)
        compare(
            lambda *x, m=ours, b=block: m(*x, attn_mask=b)[0],
            lambda *x, m=theirs, b=block: m(*x, attn_mask=torch.tensor(b))[0],
            [q, k[: q.shape[0]], v[: q.shape[0]]],
        )


OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.05, "momentum": 0.8, "nesterov": True}),
    ("SGD", {"lr": 0.05, "momentum": 0.8, "dampening": 0.2, "maximize": True}),
    ("Adam", {"lr": 0.02, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.02, "amsgrad": True}),
    ("AdamW", {"lr": 0.02, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.5, "eps": 0.1}),
    ("RMSprop", {"lr": 0.01, "centered": True, "eps": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5}),
]


@pytest.mark.parametrize("case", range(len(OPTIMIZERS)))
def test_optimizers(case: int, rng: np.random.Generator) -> None:
    name, options = OPTIMIZERS[case]
    theirs = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    ours = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    port(ours, theirs)
    x, y = normal(rng, 20, 4), normal(rng, 20, 3)
    if device_has("float64"):  # Adam divides by what may be small: float32 drifts in 100 steps
        theirs.double()
        ours.to("float64")
        x, y = x.astype(np.float64), y.astype(np.float64)
    sign = -1 if options.get("maximize") else 1
    a = getattr(optim, name)(ours.parameters(), **options)
    b = getattr(torch.optim, name)(theirs.parameters(), **options)
    for _ in range(100):
        for o in (a, b):
            o.zero_grad()
        (F.mse_loss(ours(wt.asarray(x)), wt.asarray(y)) * sign).backward()
        (tf.mse_loss(theirs(torch.tensor(x)), torch.tensor(y)) * sign).backward()
        for m, u in ((ours, nn.utils), (theirs, torch.nn.utils)):
            u.clip_grad_norm_(m.parameters(), 1.0)
        for o in (a, b):
            o.step()
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        close(p, q, 1e-5)
    kept = a.state_dict()["state"]
    for i, state in b.state_dict()["state"].items():
        for key, value in state.items():
            if key != "step" and value is not None:
                close(kept[i][key], value, 1e-4)


STEPS = 100
SCHEDULES: list[tuple[str, dict[str, Any]]] = [
    ("StepLR", {"step_size": 7, "gamma": 0.8}),
    ("MultiStepLR", {"milestones": [2, 30, 30, 77]}),
    ("ExponentialLR", {"gamma": 0.97}),
    ("ConstantLR", {"total_iters": 40}),
    ("LinearLR", {"total_iters": 60, "start_factor": 0.1}),
    ("PolynomialLR", {"total_iters": 80, "power": 2.0}),
    ("CosineAnnealingLR", {"T_max": STEPS}),
    ("CosineAnnealingLR", {"T_max": 15, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 9, "T_mult": 2}),
    ("LambdaLR", {"lr_lambda": lambda e: 1 / (1 + e)}),
    ("MultiplicativeLR", {"lr_lambda": lambda e: 0.98}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": STEPS + 1}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": STEPS + 1, "three_phase": True}),
    ("OneCycleLR", {"max_lr": 1.0, "epochs": 10, "steps_per_epoch": 11, "cycle_momentum": False}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": STEPS + 1, "anneal_strategy": "linear"}),
]


def follow(make: Callable[[Any, Any], Any], losses: list[float] | None = None) -> None:
    """A schedule of both libraries over 100 steps of SGD: rates, momenta and the parameter.

    `make` gets a module of schedules and an optimizer; `losses` go to step().
    """
    made = []
    for p, o in (
        (nn.Parameter(wt.ones(3)), optim),
        (torch.nn.Parameter(torch.ones(3)), torch.optim),
    ):
        optimizer = o.SGD([p], lr=0.3, momentum=0.9)
        schedule = make(o.lr_scheduler, optimizer)
        found = []
        for i in range(STEPS):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()
            group = optimizer.param_groups[0]
            found.append((group["lr"], group["momentum"], *schedule.get_last_lr()))
            schedule.step() if losses is None else schedule.step(losses[i])
        made.append((found, p.detach().numpy()))
    (a, x), (b, y) = made
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*epoch parameter")  # PyTorch's own, of SequentialLR
@pytest.mark.parametrize("case", range(len(SCHEDULES)))
def test_schedules(case: int) -> None:
    name, options = SCHEDULES[case]
    follow(lambda s, optimizer: getattr(s, name)(optimizer, **options))


@pytest.mark.filterwarnings("ignore:.*epoch parameter")
def test_sequences() -> None:
    follow(
        lambda s, o: s.SequentialLR(
            o, [s.LinearLR(o, 0.1, total_iters=20), s.CosineAnnealingLR(o, 80)], [20]
        )
    )
    follow(lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 30), s.ExponentialLR(o, 0.98)]))


def test_warm_up_is_a_linear_rate_that_begins_at_a_share() -> None:
    """PyTorch's LinearLR begins above zero: a warm-up that has begun is the same line."""
    made = []
    for p, o in (
        (nn.Parameter(wt.ones(1)), optim),
        (torch.nn.Parameter(torch.ones(1)), torch.optim),
    ):
        optimizer = o.SGD([p], lr=0.4)
        s = o.lr_scheduler
        ours = o is optim
        schedule = s.LinearWarmup(optimizer, 50) if ours else s.LinearLR(optimizer, 0.02, 1.0, 49)
        found = []
        for _ in range(STEPS + ours):
            optimizer.step()
            found.append(optimizer.param_groups[0]["lr"])
            schedule.step()
        made.append(found)
    assert made[0][0] == 0
    np.testing.assert_allclose(made[0][1:], made[1], rtol=1e-12)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateau(mode: str, threshold_mode: str) -> None:
    losses = [math.cos(i / 5) / (1 + i / 20) for i in range(STEPS)]
    follow(
        lambda s, o: s.ReduceLROnPlateau(
            o, mode, factor=0.7, patience=4, cooldown=2, threshold=0.01,
            threshold_mode=threshold_mode, min_lr=1e-3,
        ),
        losses,
    )  # fmt: skip


def test_default_initial_values() -> None:
    """Alike in their bounds and deviations."""
    for name, args in (
        ("Linear", (50, 60)),
        ("Conv2d", (8, 16, 3)),
        ("Bilinear", (10, 11, 12)),
        ("MultiheadAttention", (32, 4)),
    ):
        ours, theirs = getattr(nn, name)(*args), getattr(torch.nn, name)(*args)
        pairs = zip(ours.named_parameters(), theirs.named_parameters(), strict=True)
        for (n, p), (m, q) in pairs:
            assert n == m
            x, y = p.detach().numpy(), q.detach().numpy()
            assert x.shape == y.shape
            if x.size > 500:
                assert abs(x).max() == pytest.approx(abs(y).max(), rel=0.05)
                assert x.std() == pytest.approx(y.std(), rel=0.1)
