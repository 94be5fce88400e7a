"""The Mandelbrot set in the terminal: a loop of elementwise operations, fused into few kernels.

python examples/mandelbrot.py [columns]
"""

import sys

import wgtensor as wt

SHADES = " .:-=+*#%@"


def mandelbrot(columns: int, rows: int, turns: int = 60) -> wt.Tensor:
    """How many turns each point stays within radius 2."""
    cx = (wt.arange(columns) * (3.2 / columns) - 2.3).reshape(1, columns)
    cy = (wt.arange(rows) * (2.4 / rows) - 1.2).reshape(rows, 1)
    x, y = wt.zeros((rows, columns)), wt.zeros((rows, columns))
    count = wt.zeros((rows, columns), dtype="int32")
    for _ in range(turns):
        x, y = x * x - y * y + cx, 2 * x * y + cy
        inside = x * x + y * y < 4
        count += inside
        x, y = wt.where(inside, x, 2.0), wt.where(inside, y, 2.0)  # what left stays outside
        wt.eval(x, y, count)
    return count


def main() -> None:
    columns = int(sys.argv[1]) if len(sys.argv) > 1 else 96
    count = mandelbrot(columns, columns * 3 // 8)
    shade = wt.minimum(count * len(SHADES) // 60, len(SHADES) - 1)
    for row in shade.tolist():
        print("".join(SHADES[n] for n in row))


if __name__ == "__main__":
    main()
