"""States that an optimizer refuses: then nothing has changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import same_bits
from wgtensor import nn, optim


def sgd_state() -> dict[str, Any]:
    return optim.SGD([nn.Parameter(wt.ones(2)), nn.Parameter(wt.ones((2, 2)))]).state_dict()


WORDS = np.array(["a", "b"])


def without(state: dict[str, Any], key: str) -> dict[str, Any]:
    out = copy.deepcopy(state)
    del out["state"][1][key]
    return out


def changed(state: dict[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    """A copy with something else at a place."""
    out = copy.deepcopy(state)
    at = out
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = to
    return out


@pytest.mark.parametrize(
    ("error", "match", "spoil"),
    [
        (TypeError, "what state_dict", lambda s: [s]),
        (ValueError, "no state and no param_groups", lambda s: {}),
        (TypeError, "dict of dicts", lambda s: changed(s, "state", to=[1])),
        (TypeError, "dict of dicts", lambda s: changed(s, "state", 0, to=3)),
        (TypeError, "list of params", lambda s: changed(s, "param_groups", to=[{"lr": 1}])),
        (TypeError, "list of params", lambda s: changed(s, "param_groups", to=5)),
        (ValueError, "which no group has", lambda s: changed(s, "state", 7, to={})),
        (ValueError, "appears twice", lambda s: changed(s, "param_groups", 0, "params", 1, to=0)),
        (TypeError, "exp_avg of parameter 1", lambda s: changed(s, "state", 1, "exp_avg", to=0.5)),
        (ValueError, r"\(3,\) in the", lambda s: changed(s, "state", 0, "exp_avg", to=wt.ones(3))),
        (TypeError, "is a count", lambda s: changed(s, "state", 0, "step", to="a")),
        (TypeError, "is a count", lambda s: changed(s, "state", 0, "step", to=1.5)),
        (TypeError, "lr is a number", lambda s: changed(s, "param_groups", 0, "lr", to="a")),
        (ValueError, "not negative", lambda s: changed(s, "param_groups", 0, "eps", to=-1.0)),
        (TypeError, "is a tensor, not list", lambda s: changed(s, "state", 0, "exp_avg", to=[])),
        (TypeError, "tensor of numbers", lambda s: changed(s, "state", 0, "exp_avg", to=WORDS)),
        (ValueError, "has no exp_avg_sq", lambda s: without(s, "exp_avg_sq")),
        (ValueError, "has no step", lambda s: without(s, "step")),
        (ValueError, "optimizer: it has foo", lambda s: changed(s, "state", 0, "foo", to=1)),
        (TypeError, "is a count", lambda s: changed(s, "state", 0, "step", to=float("inf"))),
        (TypeError, "is a count", lambda s: changed(s, "state", 0, "step", to=10**400)),
        (TypeError, "numbers of", lambda s: changed(s, "param_groups", 0, "params", to=[[0], [1]])),
        (TypeError, "True or False", lambda s: changed(s, "param_groups", 0, "amsgrad", to="a")),
        (ValueError, "another kind.*betas", lambda s: sgd_state()),
    ],
)  # fmt: skip
def test_a_state_that_does_not_fit_changes_nothing(
    error: type[Exception], match: str, spoil: Callable[[dict[str, Any]], Any]
) -> None:
    params = [nn.Parameter(wt.ones(2)), nn.Parameter(wt.ones((2, 2)))]
    made = optim.Adam(params, lr=0.5)
    for p in params:
        p.grad = wt.ones_like(p)
    made.step()
    state = made.state_dict()
    with pytest.raises(error, match=rf"^\[Adam\] .*{match}"):
        made.load_state_dict(spoil(state))
    after = made.state_dict()
    assert after["param_groups"] == state["param_groups"]
    for i in (0, 1):
        assert after["state"][i]["step"] == 1
        same_bits(after["state"][i]["exp_avg"], state["state"][i]["exp_avg"].numpy())


def test_states_of_relatives() -> None:
    """Lion has not what Adam keeps; SGD takes PyTorch's states, which count nothing."""
    p = nn.Parameter(wt.ones(2))
    adam = optim.Adam([p])
    p.grad = wt.ones(2)
    adam.step()
    with pytest.raises(ValueError, match=r"^\[Lion\] .*another optimizer: it has exp_avg_sq"):
        optim.Lion([p]).load_state_dict(adam.state_dict())
    optim.AdamW([p]).load_state_dict(adam.state_dict())
    younger = adam.state_dict()  # flags of this optimizer's own stay where a file has none
    del younger["param_groups"][0]["amsgrad"]
    adam.load_state_dict(younger)
    assert adam.param_groups[0]["amsgrad"] is False
    sgd = optim.SGD([p], lr=1.0, momentum=0.5)
    state = sgd.state_dict() | {"state": {0: {"momentum_buffer": np.full(2, 8.0)}}}
    sgd.load_state_dict(state)
    before = p.detach().numpy()
    sgd.step()
    same_bits(p.detach(), before - 5)  # 0.5 * 8 + 1
    del state["param_groups"][0]["nesterov"]
    sgd.load_state_dict(state | {"state": {0: {}}})
    assert sgd.state_dict()["state"] == {}
