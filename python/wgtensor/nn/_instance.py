"""Normalization of each channel of each sample."""

from __future__ import annotations

from typing import Any

from wgtensor._arrays import ArrayLike, DeviceLike, as_tensor
from wgtensor._core import ShapeError, Tensor
from wgtensor._naming import public
from wgtensor.nn._normalization import _Scaling, group_norm


@public
def instance_norm(
    input: ArrayLike,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """group_norm of (N, C, ..) with a group for each channel (Ulyanov et al. 2016)."""
    x = as_tensor("instance_norm", input)
    if x.ndim < 3:
        raise ShapeError(f"[instance_norm] takes (N, C, L, ..), not {x.shape}")
    return group_norm(x, x.shape[1], weight, bias, eps)


class _InstanceNorm(_Scaling):
    dimensions: int  # behind the channels

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        affine: bool = False,
        device: DeviceLike = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.affine = num_features, eps, affine
        self._parameters_of((num_features,), affine, True, device, dtype)

    def forward(self, input: ArrayLike) -> Tensor:
        name, n = type(self).__name__, self.dimensions
        x = as_tensor(name, input)
        if x.ndim not in (n + 1, n + 2) or x.shape[-n - 1] != self.num_features:
            raise ShapeError(
                f"[{name}] takes {self.num_features} channels before {n} dimension(s), not "
                f"{x.shape}"
            )
        if x.ndim == n + 2:
            return instance_norm(x, self.weight, self.bias, self.eps)
        return instance_norm(x.expand_dims(0), self.weight, self.bias, self.eps).squeeze(0)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum=0.1, affine={self.affine}, "
            "track_running_stats=False"
        )


class InstanceNorm1d(_InstanceNorm):
    """instance_norm of (N, C, L) or (C, L), by the statistics of what it is given, in any mode."""

    dimensions = 1


class InstanceNorm2d(_InstanceNorm):
    """instance_norm of (N, C, H, W) or (C, H, W), by the statistics of what it is given."""

    dimensions = 2
