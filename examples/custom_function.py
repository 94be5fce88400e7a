"""Weights of three values learn by a gradient of one's own: that of the numbers behind them.

python examples/custom_function.py [steps]
"""

import sys
from typing import Any

import wgtensor as wt
from wgtensor import nn, optim


class Ternary(wt.autograd.Function):
    """-1, 0 or 1; backward lets the gradient through where the number is within [-1.5, 1.5]
    (the straight-through estimator of Bengio et al. 2013)."""

    @staticmethod
    def forward(ctx: Any, x: wt.Tensor) -> wt.Tensor:
        ctx.save_for_backward(x)
        return wt.clip(wt.rint(x), -1, 1)

    @staticmethod
    def backward(ctx: Any, grad: wt.Tensor) -> wt.Tensor:
        (x,) = ctx.saved_tensors
        return wt.where(wt.abs(x) <= 1.5, grad, 0)


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    wt.random.manual_seed(0)
    truth = wt.random.randint(-1, 2, (8, 16)).astype("float32")
    x = wt.random.normal((512, 16))
    y = x @ truth.T + wt.random.normal((512, 8), 0.0, 0.1)
    wt.eval(truth, x, y)
    hidden = nn.Parameter(wt.random.normal((8, 16), 0.0, 0.1))
    optimizer = optim.Adam([hidden], lr=2e-2)
    print(f"on {x.device.name}: {hidden.size} weights")
    for step in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(x @ Ternary.apply(hidden).T, y)
        loss.backward()
        optimizer.step()
        if step % max(steps // 8, 1) == 0 or step == steps - 1:
            right = (Ternary.apply(hidden.detach()) == truth).mean().item()
            print(f"step {step:4}  loss {loss.item():8.4f}  weights found {right:.3f}")


if __name__ == "__main__":
    main()
