"""Hooks of modules: arguments, results and gradients on their way."""

from __future__ import annotations

from typing import Any

import pytest

import wgtensor as wt
from wgtensor import nn


class Twice(nn.Module):
    def forward(self, x: wt.Tensor, y: wt.Tensor | None = None, scale: float = 2.0) -> Any:
        return x * scale if y is None else (x * scale, y * 3)


def test_forward_hooks() -> None:
    module, seen = Twice(), []
    first = module.register_forward_pre_hook(lambda m, args: seen.append("pre"))
    module.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"scale": kwargs["scale"] + 1}), with_kwargs=True
    )
    module.register_forward_hook(lambda m, args, result: result + 1)
    module.register_forward_hook(
        lambda m, args, kwargs, result: seen.append(kwargs), with_kwargs=True, prepend=True
    )
    assert module(wt.ones(1), scale=4.0).item() == 6
    assert seen == ["pre", {"scale": 5.0}]
    first.remove()
    first.remove()
    module(wt.ones(1), scale=4.0)
    assert seen[2:] == [{"scale": 5.0}]
    with module.register_forward_hook(lambda m, args, result: result * 0):
        assert module(wt.ones(1), scale=4.0).item() == 0
    assert module(wt.ones(1), scale=4.0).item() == 6
    with pytest.raises(TypeError, match="function"):
        module.register_forward_hook(3)  # type: ignore[arg-type]


def test_backward_hooks() -> None:
    module, seen = Twice(), []

    def look(m: nn.Module, of_inputs: Any, of_outputs: Any) -> None:
        assert m is module
        seen.append([None if g is None else g.tolist() for g in (*of_inputs, *of_outputs)])

    handle = module.register_full_backward_hook(look)
    x, y = wt.ones(2).requires_grad_(), wt.ones(2)
    a, b = module(x, y)
    (a * wt.asarray([1.0, 5.0])).sum().backward()
    assert not b.requires_grad
    assert seen == [[[2, 10], None, [1, 5], None]]
    assert x.grad is not None
    assert x.grad.tolist() == [2, 10]
    seen.clear()
    module(wt.ones(2)).sum()
    with wt.no_grad():
        module(x)
    assert seen == []
    handle.remove()
    module(x).sum().backward()
    assert seen == []


def test_backward_hooks_that_replace() -> None:
    module = Twice()
    module.register_full_backward_pre_hook(lambda m, of_outputs: (of_outputs[0] * 10,))
    module.register_full_backward_hook(lambda m, of_inputs, of_outputs: (of_inputs[0] + 1,))
    x = wt.ones(1).requires_grad_()
    module(x).backward()
    assert x.grad is not None
    assert x.grad.item() == 21


def test_a_hook_without_gradients_of_arguments() -> None:
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda m, i, o: seen.append((i, o[0].tolist())))
    layer(wt.ones((3, 2))).sum().backward()
    assert seen == [((None,), [[1.0]] * 3)]
    assert layer.weight.grad is not None
    assert layer.weight.grad.tolist() == [[3, 3]]
