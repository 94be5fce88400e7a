"""Losses, with PyTorch's names, arguments and formulas."""

from __future__ import annotations

import math

from wgtensor import _generated as g
from wgtensor._arrays import ArrayLike, as_tensor
from wgtensor._core import DTypeError, ShapeError, Tensor
from wgtensor._manipulation import as_tensors
from wgtensor._naming import public


def reduced(op: str, loss: Tensor, reduction: str) -> Tensor:
    """The mean, the sum, or for 'none' the loss of each element. Raises ValueError."""
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(f"[{op}] reduction is 'mean', 'sum' or 'none', not {reduction!r}")


def pair(op: str, input: ArrayLike, target: ArrayLike) -> tuple[Tensor, Tensor]:
    """Operands of one shape, the input a float. Raises ShapeError, DTypeError."""
    x, y = as_tensors(op, (input, target))
    if x.shape != y.shape:
        raise ShapeError(f"[{op}] an input of shape {x.shape} and a target of {y.shape} differ")
    if x.dtype.kind != "f":
        raise DTypeError(f"[{op}] takes floats, not {x.dtype}")
    return x, y if y.dtype.kind == "f" else y._astype(x.dtype)


@public
def mse_loss(input: ArrayLike, target: ArrayLike, reduction: str = "mean") -> Tensor:
    """(x - y)^2."""
    x, y = pair("mse_loss", input, target)
    return reduced("mse_loss", g.square(x - y), reduction)


@public
def l1_loss(input: ArrayLike, target: ArrayLike, reduction: str = "mean") -> Tensor:
    """|x - y|."""
    x, y = pair("l1_loss", input, target)
    return reduced("l1_loss", g.abs(x - y), reduction)


@public
def smooth_l1_loss(
    input: ArrayLike, target: ArrayLike, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """With d = |x - y|: d^2 / (2 beta) below beta, else d - beta / 2. Raises ValueError."""
    if beta < 0:
        raise ValueError(f"[smooth_l1_loss] beta is not negative: {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction)
    x, y = pair("smooth_l1_loss", input, target)
    d = g.abs(x - y)
    loss = g.where(d < beta, d * d * (0.5 / beta), d - 0.5 * beta)
    return reduced("smooth_l1_loss", loss, reduction)


@public
def huber_loss(
    input: ArrayLike, target: ArrayLike, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """With d = |x - y|: d^2 / 2 up to delta, else delta (d - delta / 2) (Huber 1964)."""
    if delta <= 0:
        raise ValueError(f"[huber_loss] delta is above zero: {delta}")
    x, y = pair("huber_loss", input, target)
    d = g.abs(x - y)
    loss = g.where(d <= delta, d * d * 0.5, (d - 0.5 * delta) * delta)
    return reduced("huber_loss", loss, reduction)


@public
def binary_cross_entropy(
    input: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None, reduction: str = "mean"
) -> Tensor:
    """-(y log(x) + (1 - y) log(1 - x)) of probabilities x, logarithms at least -100."""
    x, y = pair("binary_cross_entropy", input, target)
    # Slope 0 where a logarithm is cut: no product of 0 and infinity.
    right = g.where(x > 0, g.maximum(g.log(g.where(x > 0, x, 1.0)), -100.0), -100.0)
    wrong = g.where(x < 1, g.maximum(g.log1p(-g.where(x < 1, x, 0.0)), -100.0), -100.0)
    loss = -(y * right + (1 - y) * wrong)
    loss = loss if weight is None else loss * weight
    return reduced("binary_cross_entropy", loss, reduction)


@public
def binary_cross_entropy_with_logits(
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    reduction: str = "mean",
    pos_weight: ArrayLike | None = None,
) -> Tensor:
    """binary_cross_entropy of sigmoid(x) without overflow; `pos_weight` multiplies y's share."""
    op = "binary_cross_entropy_with_logits"
    x, y = pair(op, input, target)
    right = y * g.logsigmoid(x)
    if pos_weight is not None:
        right = right * as_tensor(op, pos_weight, x.device)
    loss = -(right + (1 - y) * g.logsigmoid(-x))
    loss = loss if weight is None else loss * weight
    return reduced(op, loss, reduction)


@public
def kl_div(
    input: ArrayLike, target: ArrayLike, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """y (log(y) - x) of log-probabilities x and probabilities y, or their logarithms.

    reduction: also 'batchmean', the sum over the first dimension's size, which is the divergence's.
    """
    x, y = pair("kl_div", input, target)
    loss = g.exp(y) * (y - x) if log_target else g.xlogy(y, y) - y * x
    if reduction == "batchmean":
        return loss.sum() / (x.shape[0] if x.ndim else 1)
    return reduced("kl_div", loss, reduction)


@public
def poisson_nll_loss(
    input: ArrayLike,
    target: ArrayLike,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """exp(x) - y x, or x - y log(x + eps); `full` adds Stirling's approximation of log(y!)."""
    x, y = pair("poisson_nll_loss", input, target)
    loss = g.exp(x) - y * x if log_input else x - y * g.log(x + eps)
    if full:
        stirling = g.xlogy(y, y) - y + 0.5 * g.log(g.maximum(y, 1.0) * (2 * math.pi))
        loss = loss + g.where(y > 1, stirling, 0)
    return reduced("poisson_nll_loss", loss, reduction)


@public
def gaussian_nll_loss(
    input: ArrayLike,
    target: ArrayLike,
    var: ArrayLike,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log(v) + (x - y)^2 / v) / 2 with v = max(var, eps); `full` adds log(2 pi) / 2."""
    x, y = pair("gaussian_nll_loss", input, target)
    v = as_tensor("gaussian_nll_loss", var)
    if v.shape == x.shape[:-1] != x.shape:
        v = v.expand_dims(-1)
    bounded = v + (g.maximum(v, eps) - v).detach()
    loss = 0.5 * (g.log(bounded) + g.square(x - y) / bounded)
    return reduced(
        "gaussian_nll_loss", loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction
    )


# ---- of vectors ---------------------------------------------------------------------------------


@public
def cosine_similarity(x1: ArrayLike, x2: ArrayLike, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along `dim`."""
    a, b = as_tensors("cosine_similarity", (x1, x2))
    sizes = [g.maximum((t * t).sum(axis=dim), eps * eps).sqrt() for t in (a, b)]
    return (a * b).sum(axis=dim) / (sizes[0] * sizes[1])


@public
def pairwise_distance(
    x1: ArrayLike, x2: ArrayLike, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
    a, b = as_tensors("pairwise_distance", (x1, x2))
    d = a - b + eps
    if p == 2:
        return (d * d).sum(axis=-1, keepdims=keepdim).sqrt()
    if p == math.inf:
        return g.abs(d).max(axis=-1, keepdims=keepdim)
    return (g.abs(d) ** p).sum(axis=-1, keepdims=keepdim) ** (1 / p)


@public
def cosine_embedding_loss(
    input1: ArrayLike,
    input2: ArrayLike,
    target: ArrayLike,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1; of (N, D) or (D,)."""
    op = "cosine_embedding_loss"
    a, b, y = as_tensors(op, (input1, input2, target))
    if a.shape != b.shape or a.shape[:-1] != y.shape:
        raise ShapeError(f"[{op}] inputs {a.shape} and {b.shape} do not match a target {y.shape}")
    norms = ((a * a).sum(axis=-1) + 1e-12) * ((b * b).sum(axis=-1) + 1e-12)
    cos = (a * b).sum(axis=-1) * norms.rsqrt()
    loss = g.where(y == 1, 1 - cos, g.where(y == -1, g.relu(cos - margin), 0))
    return reduced(op, loss, reduction)


@public
def triplet_margin_loss(
    anchor: ArrayLike,
    positive: ArrayLike,
    negative: ArrayLike,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) by pairwise_distance.

    swap: the smaller of d(anchor, negative) and d(positive, negative) (Balntas et al. 2016).
    """
    a, b, c = as_tensors("triplet_margin_loss", (anchor, positive, negative))
    near, far = pairwise_distance(a, b, p, eps), pairwise_distance(a, c, p, eps)
    if swap:
        far = g.minimum(far, pairwise_distance(b, c, p, eps))
    return reduced("triplet_margin_loss", g.relu(near - far + margin), reduction)


@public
def hinge_embedding_loss(
    input: ArrayLike, target: ArrayLike, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1."""
    x, y = pair("hinge_embedding_loss", input, target)
    loss = g.where(y == 1, x, 0) + g.where(y == -1, g.relu(margin - x), 0)
    return reduced("hinge_embedding_loss", loss, reduction)


@public
def margin_ranking_loss(
    input1: ArrayLike,
    input2: ArrayLike,
    target: ArrayLike,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -y (x1 - x2) + margin)."""
    a, y = pair("margin_ranking_loss", input1, target)
    b = pair("margin_ranking_loss", input2, target)[0]
    return reduced("margin_ranking_loss", g.relu(margin - y * (a - b)), reduction)


@public
def soft_margin_loss(input: ArrayLike, target: ArrayLike, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-y x)) for targets 1 and -1."""
    x, y = pair("soft_margin_loss", input, target)
    return reduced("soft_margin_loss", -g.logsigmoid(y * x), reduction)


@public
def multilabel_soft_margin_loss(
    input: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None, reduction: str = "mean"
) -> Tensor:
    """The mean over classes (the last dimension) of binary_cross_entropy_with_logits."""
    op = "multilabel_soft_margin_loss"
    x, y = pair(op, input, target)
    each = binary_cross_entropy_with_logits(x, y, weight, "none")
    return reduced(op, each.mean(axis=-1), reduction)
