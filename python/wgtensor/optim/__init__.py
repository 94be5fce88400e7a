"""Optimizers and learning rate schedules, with PyTorch's names and formulas."""

from __future__ import annotations

from wgtensor.optim import lr_scheduler, swa_utils
from wgtensor.optim._adaptive import Adagrad, Adam, AdamW, Lion, RMSprop
from wgtensor.optim._optimizer import Optimizer
from wgtensor.optim._sgd import SGD

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Lion",
    "Optimizer",
    "RMSprop",
    "lr_scheduler",
    "swa_utils",
]
__dir__ = __all__.copy  # what there is, and not what it is made with
