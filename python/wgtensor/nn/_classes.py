"""Losses of classes: cross entropy and what belongs to it."""

from __future__ import annotations

from typing import Any

from wgtensor import _generated as g
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._dtypes import uint32
from wgtensor._functions import arange
from wgtensor._indexing import take, take_along_axis
from wgtensor._manipulation import moveaxis
from wgtensor.autograd import Function
from wgtensor.nn._losses import reduced


def _scores(op: str, input: ArrayLike) -> Tensor:
    """(C,), (N, C) or (N, C, ..) with the classes as the last dimension."""
    x = as_tensor(op, input)
    if x.ndim == 0:
        raise ShapeError(f"[{op}] takes (C,), (N, C) or (N, C, ..), not a single number")
    if x.dtype.kind != "f":
        raise DTypeError(f"[{op}] takes floats, not {x.dtype}")
    return x if x.ndim < 3 else moveaxis(x, 1, -1)


class _Pick(Function):
    """x[.., index]: its gradient is made of comparisons, which fuse, where a lookup's scatters."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.classes = x.shape[-1]
        return take_along_axis(x, index.expand_dims(-1), -1).squeeze(-1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (index,) = ctx.saved_tensors
        return g.where(_hits(index, ctx.classes), grad.expand_dims(-1), 0), None


def _hits(index: Tensor, classes: int) -> Tensor:
    return index.expand_dims(-1) == arange(classes, dtype=uint32, device=index.device)


class _Mean(Function):
    """The mean of -log_softmax(x)[.., index] where `counted`: four kernels with its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, counted: Tensor) -> Tensor:
        share = 1 / counted.sum()._astype(x.dtype)
        ctx.save_for_backward(x, index, counted, share)
        picked = take_along_axis(x, index.expand_dims(-1), -1).squeeze(-1)
        return g.where(counted, x.logsumexp(axis=-1) - picked, 0).sum() * share

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, index, counted, share = ctx.saved_tensors
        # Not the product of the two numbers, which would be a kernel of its own.
        hits = _hits(index, x.shape[-1])._astype(x.dtype)
        slope = (x._softmax(-1) - hits) * share * grad
        return g.where(counted.expand_dims(-1), slope, 0), None, None


class _Picked:
    """What a target of class indices takes of scores [.., C]."""

    def __init__(self, op: str, x: Tensor, target: Tensor, weight: Any, ignore_index: int) -> None:
        if target.dtype.kind not in "iu":
            raise DTypeError(f"[{op}] classes are integers, not {target.dtype}")
        if target.shape != x.shape[:-1]:
            raise ShapeError(
                f"[{op}] a target of shape {target.shape} does not match the scores, whose shape "
                f"is {x.shape} with the classes last"
            )
        self.counted = target != ignore_index
        # Of negative ones no class is left: they count from no end.
        self.index = g.where(self.counted, target, 0)._astype(uint32)
        self.weights: Tensor | None = None
        if weight is not None:
            w = as_tensor(op, weight, x.device)
            if w.shape != x.shape[-1:]:
                raise ShapeError(f"[{op}] weight has the shape {x.shape[-1:]}, not {w.shape}")
            self.weights = take(w, self.index, axis=0)
        self.x = x

    @property
    def scores(self) -> Tensor:
        """Those of the targets' classes."""
        picked: Tensor = _Pick.apply(self.x, self.index)
        return picked

    def mean(self) -> Tensor:
        """The mean cross entropy, where classes have no weights."""
        mean: Tensor = _Mean.apply(self.x, self.index, self.counted)
        return mean

    def hits(self, x: Tensor) -> Tensor:
        """True at the target's class."""
        return _hits(self.index, x.shape[-1])

    def weighted(self, loss: Tensor) -> Tensor:
        loss = loss if self.weights is None else loss * self.weights
        return g.where(self.counted, loss, 0)

    def total(self, dtype: Any) -> Tensor:
        """What a mean divides by."""
        if self.weights is None:
            return self.counted.sum()._astype(dtype)
        return g.where(self.counted, self.weights, 0).sum()

    def reduced(self, op: str, loss: Tensor, reduction: str) -> Tensor:
        if reduction != "mean":
            return reduced(op, loss, reduction)
        return loss.sum() / self.total(loss.dtype)


def nll_loss(
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """-weight[y] x[y] of log-probabilities (C,), (N, C) or (N, C, ..) and class indices.

    The mean is over the weights of the targets that are not ignore_index.
    """
    x = _scores("nll_loss", input)
    picked = _Picked("nll_loss", x, as_tensor("nll_loss", target, x.device), weight, ignore_index)
    return picked.reduced("nll_loss", picked.weighted(-picked.scores), reduction)


def cross_entropy(
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log_softmax(x)[y] of scores (C,), (N, C) or (N, C, ..) and classes y.

    target: class indices, without the dimension C, or probabilities of the input's shape.
    label_smoothing: the share of each target that goes to all classes alike (Szegedy et al. 2016).
    The mean is over the weights of the targets that are not ignore_index; of probabilities over
    all. Raises ShapeError, DTypeError, ValueError, and IndexError for a class that there is not,
    where the target is no host data with the next read.
    """
    op = "cross_entropy"
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"[{op}] label_smoothing lies in [0, 1], not {label_smoothing}")
    x = _scores(op, input)
    y = as_tensor(op, target, x.device)
    if y.dtype.kind == "f":
        return _of_probabilities(op, x, _scores(op, y), weight, reduction, label_smoothing)
    picked = _Picked(op, x, y, weight, ignore_index)
    if reduction == "mean" and weight is None and label_smoothing == 0:
        return picked.mean()
    total = x.logsumexp(axis=-1)
    loss = picked.weighted(total - picked.scores)
    if label_smoothing == 0:
        return picked.reduced(op, loss, reduction)
    even = _even(x, total, weight)
    spread = g.where(picked.counted, even, 0) * (label_smoothing / x.shape[-1])
    return picked.reduced(op, loss * (1 - label_smoothing) + spread, reduction)


def _even(x: Tensor, total: Tensor, weight: Any) -> Tensor:
    """The loss of all classes together."""
    if weight is None:
        return total * x.shape[-1] - x.sum(axis=-1)
    w = as_tensor("cross_entropy", weight, x.device)
    return total * w.sum() - (x * w).sum(axis=-1)


def _of_probabilities(
    op: str, x: Tensor, y: Tensor, weight: Any, reduction: str, smoothing: float
) -> Tensor:
    if x.shape != y.shape:
        raise ShapeError(f"[{op}] probabilities of shape {y.shape} for scores of shape {x.shape}")
    if smoothing > 0:
        y = y * (1 - smoothing) + smoothing / x.shape[-1]
    y = y if weight is None else y * as_tensor(op, weight, x.device)
    return reduced(op, -(x._softmax(-1, True) * y).sum(axis=-1), reduction)


def multi_margin_loss(
    input: ArrayLike,
    target: ArrayLike,
    p: int = 1,
    margin: float = 1.0,
    weight: ArrayLike | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes j but y of weight[y] max(0, margin - x[y] + x[j])^p; p is 1 or 2."""
    op = "multi_margin_loss"
    if p not in (1, 2):
        raise ValueError(f"[{op}] p is 1 or 2, not {p}")
    x = _scores(op, input)
    picked = _Picked(op, x, as_tensor(op, target, x.device), weight, -1)
    gap = g.relu(margin - picked.scores.expand_dims(-1) + x)
    each = g.where(picked.hits(x), 0, gap if p == 1 else gap * gap).sum(axis=-1) / x.shape[-1]
    return reduced(op, each if picked.weights is None else each * picked.weights, reduction)
