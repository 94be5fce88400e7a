"""Two result files side by side: python benches/compare.py A.json B.json

Speed of B over that of A for each row that both hold; "=" where the samples overlap so far that the
difference may be noise (the medians lie within the other's middle half).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def load(path: Path) -> tuple[Record, dict[tuple[str, str], Record]]:
    data = json.loads(path.read_text())
    rows = {(r["name"], r["library"]): r for r in data["rows"] if "error" not in r}
    return data, rows


def middle_half(samples: list[float]) -> tuple[float, float]:
    if len(samples) < 4:
        return min(samples), max(samples)
    low, _, high = statistics.quantiles(samples, n=4)
    return low, high


def alike(a: Record, b: Record) -> bool:
    a_low, a_high = middle_half(a["seconds"])
    b_low, b_high = middle_half(b["seconds"])
    return (
        a_low <= statistics.median(b["seconds"]) <= a_high
        or b_low <= statistics.median(a["seconds"]) <= b_high
    )


def describe(label: str, path: Path, data: Record) -> None:
    adapter, versions = data["adapter"], data["versions"]
    print(f"{label}: {path}: {adapter['name']} ({adapter['backend']}, {adapter['driver']})")
    print("   " + ", ".join(f"{k} {v}" for k, v in versions.items()) + f"; {data['command']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("a", type=Path)
    parser.add_argument("b", type=Path)
    args = parser.parse_args()
    (data_a, a), (data_b, b) = load(args.a), load(args.b)
    describe("A", args.a, data_a)
    describe("B", args.b, data_b)
    if data_a["adapter"] != data_b["adapter"]:
        print("not the same adapter: the ratios say nothing about the code")
    print(f"\n{'row':28} {'library':14} {'A':>10} {'B':>10} {'':8} {'B over A':>9}")
    for key, ra in a.items():
        rb = b.get(key)
        if rb is None:
            continue
        ratio = statistics.median(ra["seconds"]) / statistics.median(rb["seconds"])
        mark = " =" if alike(ra, rb) else ""
        text = f"{key[0]:28} {key[1]:14} {ra['value']:10.4g} {rb['value']:10.4g} {ra['unit']:8}"
        print(f"{text} {ratio:8.2f}x{mark}")
    for label, only in (("A", a.keys() - b.keys()), ("B", b.keys() - a.keys())):
        if only:
            print(f"only in {label}: " + ", ".join(sorted(f"{n} ({lib})" for n, lib in only)))
    return 0 if a.keys() & b.keys() else 1


if __name__ == "__main__":
    sys.exit(main())
