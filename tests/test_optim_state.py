"""States that an optimizer refuses: then nothing has changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import wgtensor as wt
from helpers import same_bits
from wgtensor import nn, optim


def sgd_state() -> dict[str, Any]:
    return optim.SGD([nn.Parameter(wt.ones(2)), nn.Parameter(wt.ones((2, 2)))]).state_dict()


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
        (ValueError, "exp_avg of parameter 1", lambda s: changed(s, "state", 1, "exp_avg", to=0.5)),
        (ValueError, r"\(3,\) in the", lambda s: changed(s, "state", 0, "exp_avg", to=wt.ones(3))),
        (TypeError, "is a count", lambda s: changed(s, "state", 0, "step", to="a")),
        (TypeError, "is a count", lambda s: changed(s, "state", 0, "step", to=1.5)),
        (TypeError, "lr is a number", lambda s: changed(s, "param_groups", 0, "lr", to="a")),
        (ValueError, "not negative", lambda s: changed(s, "param_groups", 0, "eps", to=-1.0)),
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
