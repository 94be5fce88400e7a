"""A small network learns a curve from noisy points.

python examples/regression.py [steps]
"""

import math
import sys

import wgtensor as wt
from wgtensor import nn, optim

POINTS, NOISE = 256, 0.1


def curve(x: wt.Tensor) -> wt.Tensor:
    return wt.sin(2 * x) * wt.exp(-0.1 * x * x)


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    wt.random.manual_seed(0)
    x = wt.random.uniform((POINTS, 1), -math.pi, math.pi)
    y = curve(x) + wt.random.normal((POINTS, 1), 0.0, NOISE)
    wt.eval(x, y)
    model = nn.Sequential(
        nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
    )
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, steps)
    print(f"on {x.device.name}: {sum(p.size for p in model.parameters()):,} parameters")
    for step in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % max(steps // 8, 1) == 0 or step == steps - 1:
            print(f"step {step:5}  loss {loss.item():.5f}  rate {schedule.get_last_lr()[0]:.5f}")
    with wt.no_grad():
        grid = wt.linspace(-math.pi, math.pi, 200).reshape(-1, 1)
        error = (model(grid) - curve(grid)).abs().mean().item()
    print(f"mean distance to the curve {error:.4f}, of points to it {NOISE * 0.8:.4f}")
    for row in model(grid[::10]).detach().numpy()[:, 0]:
        print(" " * round(30 + 25 * row) + "*")


if __name__ == "__main__":
    main()
