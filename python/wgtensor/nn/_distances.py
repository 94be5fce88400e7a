"""Modules of distances between rows."""

from __future__ import annotations

from wgtensor._arrays import ArrayLike
from wgtensor._core import Tensor
from wgtensor.nn._losses import cosine_similarity, pairwise_distance
from wgtensor.nn._module import Module


class CosineSimilarity(Module):
    """cosine_similarity() along a dimension."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: ArrayLike, x2: ArrayLike) -> Tensor:
        return cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """pairwise_distance() along the last dimension."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: ArrayLike, x2: ArrayLike) -> Tensor:
        return pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
