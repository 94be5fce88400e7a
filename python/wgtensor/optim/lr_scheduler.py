"""Learning rate schedules, with PyTorch's names and semantics: call step() after each epoch."""

from __future__ import annotations

from wgtensor.optim._cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, OneCycleLR
from wgtensor.optim._cyclic import CyclicLR
from wgtensor.optim._plateau import ReduceLROnPlateau
from wgtensor.optim._schedules import (
    ChainedScheduler,
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LinearWarmup,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    SequentialLR,
    StepLR,
)

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "LinearWarmup",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
__dir__ = __all__.copy  # what there is, and not what it is made with
