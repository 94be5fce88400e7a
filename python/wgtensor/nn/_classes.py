"""Losses of classes: cross entropy and what belongs to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtensor import _core
from wgtensor import _generated as g
from wgtensor._arrays import ArrayLike, as_tensor, as_tensor_of, host_data
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._indexing import take, take_along_axis
from wgtensor._naming import public
from wgtensor.autograd import Function
from wgtensor.nn._losses import reduced


def _scores(op: str, input: ArrayLike) -> tuple[Tensor, int]:
    """(C,), (N, C) or (N, C, ..), and the axis of the classes."""
    x = as_tensor(op, input)
    if x.ndim == 0:
        raise ShapeError(f"[{op}] takes (C,), (N, C) or (N, C, ..), not a single number")
    if x.dtype.kind != "f":
        raise DTypeError(f"[{op}] takes floats, not {x.dtype}")
    return x, min(x.ndim - 1, 1)


class _Pick(Function):
    """x at one place of an axis: its gradient is made of comparisons, which fuse, where a lookup's
    scatters."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, axis: int) -> Tensor:
        ctx.save_for_backward(index)
        ctx.shape, ctx.axis = x.shape, axis
        return take_along_axis(x, index.expand_dims(axis), axis).squeeze(axis)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (index,) = ctx.saved_tensors
        hits = _core.class_hits(index, ctx.shape[ctx.axis], ctx.axis)
        return g.where(hits, grad.expand_dims(ctx.axis), 0), None, None


def _target(
    op: str, x: Tensor, axis: int, target: ArrayLike, ignore_index: int | None = None
) -> Tensor:
    """A target as a tensor. Classes that are host data are checked here, a tensor's in kernels."""
    a = host_data(op, target)
    if a is None:
        return as_tensor(op, target, x.device)
    if a.dtype.kind in "iu":
        wrong = a[((a < 0) | (a >= x.shape[axis])) & (a != ignore_index)]
        if wrong.size:
            raise IndexError(f"[{op}] class {wrong[0]} is not one of {x.shape[axis]}")
        if ignore_index is None or abs(ignore_index) < 1 << 31:
            target = a = a.astype(np.int32)  # which every adapter has
    return as_tensor_of(op, target, a, x.device)


def _along(values: Tensor, ndim: int, axis: int) -> Tensor:
    """A vector as it broadcasts along an axis of `ndim`."""
    return values.reshape((-1,) + (1,) * (ndim - 1 - axis))


def _class_weights(op: str, x: Tensor, axis: int, weight: ArrayLike) -> Tensor:
    w = as_tensor(op, weight, x.device)
    if w.shape != (x.shape[axis],):
        raise ShapeError(f"[{op}] weight has the shape {(x.shape[axis],)}, not {w.shape}")
    return w._astype(x.dtype)


class _Picked:
    """What a target of class indices takes of scores."""

    def __init__(
        self, op: str, x: Tensor, axis: int, target: Tensor, weight: Any, ignore_index: int
    ) -> None:
        if target.dtype.kind not in "iu":
            raise DTypeError(f"[{op}] classes are integers, not {target.dtype}")
        if target.shape != x.shape[:axis] + x.shape[axis + 1 :]:
            raise ShapeError(
                f"[{op}] a target of shape {target.shape} does not match the scores, whose shape "
                f"is {x.shape} with the classes along axis {axis}"
            )
        size = x.shape[axis]
        self.counted, self.index = _core.classes_of(target, size, axis, ignore_index, op)
        self.x, self.axis = x, axis
        self.each = None if weight is None else _class_weights(op, x, axis, weight)
        self.weights = None if self.each is None else take(self.each, self.index, mode="clip")

    @property
    def scores(self) -> Tensor:
        """Those of the targets' classes."""
        picked: Tensor = _Pick.apply(self.x, self.index, self.axis)
        return picked

    def hits(self) -> Tensor:
        """True at the target's class."""
        return _core.class_hits(self.index, self.x.shape[self.axis], self.axis)

    def distribution(self, smoothing: float) -> Tensor:
        """Of each target over the classes, times their weights."""
        share = smoothing / self.x.shape[self.axis]
        hits = self.hits()
        t = g.where(hits, 1 - smoothing + share, share) if smoothing else hits
        t = t._astype(self.x.dtype)
        return t if self.each is None else t * _along(self.each, self.x.ndim, self.axis)

    def shares(self) -> Tensor:
        """What each target counts in a mean."""
        weights = 1 if self.weights is None else self.weights
        return g.where(self.counted, weights, 0)._astype(self.x.dtype)

    def reduced(self, op: str, loss: Tensor, reduction: str) -> Tensor:
        loss = g.where(self.counted, loss, 0)
        if reduction == "mean":
            return _core.weighted_mean(loss, self.shares())
        return reduced(op, loss, reduction)


def _widened(x: Tensor) -> Tensor:
    """In the dtype that its sums are taken in."""
    return x._astype(_core.unpacked(x.dtype))


@public
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
    op = "nll_loss"
    x, axis = _scores(op, input)
    y = _target(op, x, axis, target, ignore_index)
    picked = _Picked(op, _widened(x), axis, y, weight, ignore_index)
    loss = -picked.scores if picked.weights is None else -picked.scores * picked.weights
    return picked.reduced(op, loss, reduction)._astype(x.dtype)


@public
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
    all. One kernel reads the scores for the losses, one for their gradient; 16-bit floats are
    summed in float32. Raises ShapeError, DTypeError, ValueError, and IndexError for a class that
    there is not: at once where the target is host data, else with the next read.
    """
    op = "cross_entropy"
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"[{op}] label_smoothing lies in [0, 1], not {label_smoothing}")
    given, axis = _scores(op, input)
    x, y = _widened(given), _target(op, given, axis, target, ignore_index)
    if y.dtype.kind == "f":
        loss = _of_probabilities(op, x, axis, y, weight, reduction, label_smoothing)
    else:
        picked = _Picked(op, x, axis, y, weight, ignore_index)
        t = picked.distribution(label_smoothing)
        fixed = picked.each is None or not picked.each.requires_grad
        if reduction == "mean" and fixed:
            loss = _core.mean_cross_entropy(x, t, axis, picked.counted, picked.shares())
        else:
            loss = picked.reduced(op, _core.cross_entropy(x, t, axis), reduction)
    return loss._astype(given.dtype)


def _of_probabilities(
    op: str, x: Tensor, axis: int, y: Tensor, weight: Any, reduction: str, smoothing: float
) -> Tensor:
    if x.shape != y.shape:
        raise ShapeError(f"[{op}] probabilities of shape {y.shape} for scores of shape {x.shape}")
    y = y._astype(x.dtype)
    if smoothing > 0:
        y = y * (1 - smoothing) + smoothing / x.shape[axis]
    if weight is not None:
        y = y * _along(_class_weights(op, x, axis, weight), x.ndim, axis)
    return reduced(op, _core.cross_entropy(x, y, axis), reduction)


@public
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
    x, axis = _scores(op, input)
    picked = _Picked(op, x, axis, _target(op, x, axis, target), weight, -1)
    gap = g.relu(margin - picked.scores.expand_dims(axis) + x)
    each = g.where(picked.hits(), 0, gap if p == 1 else gap * gap).sum(axis=axis) / x.shape[axis]
    return reduced(op, each if picked.weights is None else each * picked.weights, reduction)
