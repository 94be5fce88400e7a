"""Heat spreads over a plate: slices of the field are views, and a step is a few kernels.

python examples/heat.py [side]
"""

import sys

import wgtensor as wt

SHADES = " .:-=+*#%@"


def step(t: wt.Tensor, rate: float = 0.2) -> wt.Tensor:
    """One step inside the plate; its edges keep their temperature."""
    middle = t[1:-1, 1:-1]
    around = t[:-2, 1:-1] + t[2:, 1:-1] + t[1:-1, :-2] + t[1:-1, 2:]
    new = t.copy()
    new[1:-1, 1:-1] = middle + rate * (around - 4 * middle)
    return new


def main() -> None:
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 48
    t = wt.zeros((side, side))
    t[0] = 100.0
    t[:, 0] = 50.0
    for _ in range(side * 8):
        t = step(t)
        t.eval()
    print(f"on {t.device.name}: {t.mean().item():.2f} degrees on average")
    for row in (t[::2] * (len(SHADES) / 101)).astype("int32").tolist():
        print("".join(SHADES[n] for n in row))


if __name__ == "__main__":
    main()
