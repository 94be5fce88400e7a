"""Modules of the losses: what they take besides the tensors is given to the constructor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtensor._core import Tensor
from wgtensor.nn import _classes as c
from wgtensor.nn import _losses as f
from wgtensor.nn._module import Module


class Loss(Module):
    """A loss; arguments that are tensors become buffers."""

    function: Callable[..., Tensor]
    defaults: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        if len(args) > len(self.defaults) or not set(kwargs) <= set(self.defaults):
            raise TypeError(f"[{type(self).__name__}] takes {', '.join(self.defaults)}")
        given = {**dict(zip(self.defaults, args, strict=False)), **kwargs}
        for name, default in self.defaults.items():
            value = given.get(name, default)
            if name in ("weight", "pos_weight"):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *inputs: Any) -> Tensor:
        arguments = {name: getattr(self, name) for name in self.defaults}
        return type(self).function(*inputs, **arguments)


def _loss(name: str, function: Callable[..., Tensor], **defaults: Any) -> type[Loss]:
    doc = (function.__doc__ or "").split("\n\n")[0].strip()
    body = {"function": staticmethod(function), "defaults": defaults, "__doc__": doc}
    return type(name, (Loss,), {**body, "__module__": __name__})


MSELoss = _loss("MSELoss", f.mse_loss, reduction="mean")
L1Loss = _loss("L1Loss", f.l1_loss, reduction="mean")
SmoothL1Loss = _loss("SmoothL1Loss", f.smooth_l1_loss, reduction="mean", beta=1.0)
HuberLoss = _loss("HuberLoss", f.huber_loss, reduction="mean", delta=1.0)
BCELoss = _loss("BCELoss", f.binary_cross_entropy, weight=None, reduction="mean")
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss",
    f.binary_cross_entropy_with_logits,
    weight=None,
    reduction="mean",
    pos_weight=None,
)
KLDivLoss = _loss("KLDivLoss", f.kl_div, reduction="mean", log_target=False)
PoissonNLLLoss = _loss(
    "PoissonNLLLoss", f.poisson_nll_loss, log_input=True, full=False, eps=1e-8, reduction="mean"
)
GaussianNLLLoss = _loss(
    "GaussianNLLLoss", f.gaussian_nll_loss, full=False, eps=1e-6, reduction="mean"
)
CosineEmbeddingLoss = _loss(
    "CosineEmbeddingLoss", f.cosine_embedding_loss, margin=0.0, reduction="mean"
)
TripletMarginLoss = _loss(
    "TripletMarginLoss",
    f.triplet_margin_loss,
    margin=1.0,
    p=2.0,
    eps=1e-6,
    swap=False,
    reduction="mean",
)
HingeEmbeddingLoss = _loss(
    "HingeEmbeddingLoss", f.hinge_embedding_loss, margin=1.0, reduction="mean"
)
MarginRankingLoss = _loss("MarginRankingLoss", f.margin_ranking_loss, margin=0.0, reduction="mean")
SoftMarginLoss = _loss("SoftMarginLoss", f.soft_margin_loss, reduction="mean")
MultiLabelSoftMarginLoss = _loss(
    "MultiLabelSoftMarginLoss", f.multilabel_soft_margin_loss, weight=None, reduction="mean"
)
MultiMarginLoss = _loss(
    "MultiMarginLoss", c.multi_margin_loss, p=1, margin=1.0, weight=None, reduction="mean"
)
NLLLoss = _loss("NLLLoss", c.nll_loss, weight=None, ignore_index=-100, reduction="mean")
CrossEntropyLoss = _loss(
    "CrossEntropyLoss",
    c.cross_entropy,
    weight=None,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
)
