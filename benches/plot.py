"""The picture of the documentation: speed over PyTorch's of each row, from one results file."""

from __future__ import annotations

import math
from html import escape

from targets import Record, median

WIDTH, LEFT, RIGHT, LINE, TOP = 760, 190, 70, 18, 58
LEAST, MOST = 0.1, 10.0  # of the axis; bars end there
FASTER, SLOWER, INK = "#2a7f62", "#c46a2b", "#777"


def ratios(data: Record, peer: str) -> list[tuple[str, float]]:
    """Rows that both have, and our speed over the peer's."""
    by_row: dict[str, dict[str, Record]] = {}
    for r in data["rows"]:
        if "error" not in r:
            by_row.setdefault(r["name"], {})[r["library"]] = r
    return [
        (name, median(found[peer]) / median(found["wgtensor"]))
        for name, found in by_row.items()
        if peer in found and "wgtensor" in found
    ]


def place(ratio: float) -> float:
    """Horizontal, on a logarithmic axis."""
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def text(x: float, y: float, words: str, anchor: str = "start", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(words)}</text>"
    )


def svg(data: Record, peer: str) -> str:
    """A bar for each row: to the right of the line, wgtensor is faster."""
    rows = ratios(data, peer)
    height = TOP + LINE * len(rows) + 12
    adapter, versions = data["adapter"], data["versions"]
    size = f'viewBox="0 0 {WIDTH} {height}"'
    font = f'font-family="sans-serif" fill="{INK}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>',
        text(8, 18, f"wgtensor {versions['wgtensor']} over {peer} {versions[peer]}", size=14),
        text(8, 36, f"{adapter['name']}; speed of the one over that of the other, one run"),
    ]
    for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10):
        x = place(tick)
        weight = 1.5 if tick == 1 else 0.4
        parts.append(text(x, TOP - 6, f"{tick:g}", "middle", 11))
        parts.append(
            f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{height - 10}" '
            f'stroke="{INK}" stroke-width="{weight}"/>'
        )
    for i, (name, ratio) in enumerate(rows):
        y = TOP + LINE * i
        begin, end = sorted((place(1), place(ratio)))
        parts.append(text(LEFT - 8, y + 13, name, "end"))
        parts.append(
            f'<rect x="{begin:.1f}" y="{y + 3}" width="{max(end - begin, 1):.1f}" height="12" '
            f'fill="{FASTER if ratio >= 1 else SLOWER}"/>'
        )
        parts.append(text(WIDTH - 8, y + 13, f"{ratio:.2f}", "end"))
    return "\n".join([*parts, "</svg>"]) + "\n"
