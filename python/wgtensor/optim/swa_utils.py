"""Averages of a model's parameters over training: stochastic weight averaging, moving averages."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from wgtensor._core import Tensor
from wgtensor.autograd import no_grad
from wgtensor.nn._module import Module
from wgtensor.nn._normalization import _BatchNorm
from wgtensor.nn._state import set_value

__all__ = ["AveragedModel", "get_ema_avg_fn", "get_swa_avg_fn", "update_bn"]
__dir__ = __all__.copy  # what there is, and not what it is made with

#: (the average, the parameter, how many were averaged) -> the next average
Average = Callable[[Tensor, Tensor, int], Tensor]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """decay average + (1 - decay) parameter. Raises ValueError."""
    if not 0 <= decay <= 1:
        raise ValueError(f"[get_ema_avg_fn] decay lies in [0, 1], not {decay}")
    return lambda average, p, count: average + (p - average) * (1 - decay)


def get_swa_avg_fn() -> Average:
    """The mean of all (Izmailov et al. 2018)."""
    return lambda average, p, count: average + (p - average) / (count + 1)


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's, taken by update_parameters().

    avg_fn: get_swa_avg_fn() by default. use_buffers: buffers are averaged too, else copied.
    """

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device=device)
        self.n_averaged = 0
        self.avg_fn = get_swa_avg_fn() if avg_fn is None else avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes the model's parameters, as they are now, into the averages."""
        pairs = [*zip(self.module.parameters(), model.parameters(), strict=True)]
        buffers: Iterable[tuple[Tensor, Tensor]]
        buffers = zip(self.module.buffers(), model.buffers(), strict=True)
        with no_grad():
            if not self.use_buffers:
                for mine, its in buffers:
                    set_value(mine, its.detach().to(mine.device))
            else:
                pairs += [b for b in buffers if b[0].dtype.kind == "f"]  # type: ignore[misc]
            for mine, its in pairs:
                value = its.detach().to(mine.device)
                if self.n_averaged:
                    value = self.avg_fn(mine.detach(), value, self.n_averaged)
                set_value(mine, value._astype(mine.dtype))
        self.n_averaged += 1

    def state_dict(self, prefix: str = "") -> dict[str, Any]:
        """That of the averages, and how many there are."""
        state: dict[str, Any] = super().state_dict(prefix)
        state[f"{prefix}n_averaged"] = self.n_averaged
        return state

    def load_state_dict(self, state_dict: Any, strict: bool = True) -> Any:
        """Takes over a state_dict()."""
        state = dict(state_dict)
        count = state.pop("n_averaged", None)
        result = super().load_state_dict(state, strict)
        if count is not None:
            self.n_averaged = int(count)
        return result


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the statistics of batch norms anew, over what a loader gives: inputs, or sequences
    that begin with them."""
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    momenta = [m.momentum for m in norms]
    training = model.training
    model.train()
    for m in norms:
        m.reset_running_stats()
    try:
        with no_grad():
            for i, batch in enumerate(loader):
                for m in norms:
                    m.momentum = 1 / (i + 1)  # all batches alike
                x = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(x if device is None else x.to(device))
    finally:
        for m, momentum in zip(norms, momenta, strict=True):
            m.momentum = momentum
        model.train(training)
