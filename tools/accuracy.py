"""Measure the error of every elementwise function with float results.

python tools/accuracy.py                  prints a table; exit 1 where a row is out of its bound
python tools/accuracy.py exp log --points 1000000
python tools/accuracy.py --write          keeps the results in docs/accuracy/ and writes the page
python tools/accuracy.py --page           writes the page docs/accuracy.md alone
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import wgtensor as wt
from wgtensor import _core

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import ulps  # noqa: E402
import ulps64  # noqa: E402

RESULTS = ROOT / "docs" / "accuracy"
PAGE = ROOT / "docs" / "accuracy.md"
POINTS = 1 << 17
INTRO = """<!-- Written by tools/accuracy.py: do not edit. -->

# Accuracy

The largest error of every elementwise function in float32 and, where the adapter has it, float64,
measured by `python tools/accuracy.py` on this adapter; `--write` keeps the results and writes this
page. An *ulp* (unit in the last place) is the spacing of the dtype at the true result. That is
computed in float64 for float32; for float64 in 80 bits by NumPy, or with 30 digits by mpmath for
what NumPy lacks. Points are log-spaced over all magnitudes of both signs, dense near 0, 1 and
wherever formulas change, overflow or underflow; functions of two operands are measured at pairs of
such. Operands with defaults have them. *Specials* counts results that differ from NumPy's in being
NaN or infinite, or in the sign of a zero.

Bounds: 4 ulp; `pow` 16; `divide`, `sqrt`, sums and products are rounded correctly; functions whose
results are numbers of the dtype, as `floor`, are exact. `logaddexp`, `logaddexp2`, `lerp` and, for
negative operands, `lgamma` are sums that cross zero: there the unit is that of the larger term,
and a term may be a flushed denormal.
Denormal operands and results may be flushed to zero, as WebGPU allows: then the error is that from
the result for a zero operand, or none.
"""


def number(value: float) -> str:
    return f"{value:.9g}"


def row_text(r: dict[str, Any]) -> tuple[str, ...]:
    special = f"{r['specials']} at {', '.join(map(number, r['special_at']))}"
    return (
        r["name"],
        f"{r['ulp']:.3g}" if r["ulp"] < 1000 else f"{r['ulp']:.1e}",
        ", ".join(map(number, r["at"])) if r["ulp"] else "",
        f"{r['bound']:g}",
        special if r["specials"] else "0",
        "yes" if r["ok"] else "**no**",
    )


HEAD = ("function", "max ulp", "at", "bound", "specials", "ok")


DTYPES = {"float32": (ulps.FLOAT_ROWS, ulps.measure), "float64": (ulps64.ROWS64, ulps64.measure)}


def table(rows: list[dict[str, Any]]) -> str:
    head = [HEAD, ("---", "---:", "---", "---:", "---", "---")]
    return "".join("| " + " | ".join(r) + " |\n" for r in [*head, *map(row_text, rows)])


def page() -> str:
    """The page of all results that are kept."""
    text = INTRO
    for path in sorted(RESULTS.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        text += (
            f"\n## {data['adapter']}\n\n{data['driver']}; {data['backend']}; {data['versions']}; "
            f"`{data['command']}`: {data['points']} points or more for each function.\n"
        )
        for dtype, rows in data["rows"].items():
            text += f"\n### {dtype}\n\n" + table(rows)
    return text


def write(rows: dict[str, list[dict[str, Any]]], points: int) -> None:
    device = wt.default_device()
    data = {
        "adapter": device.name,
        "driver": device.driver,
        "backend": device.backend,
        "versions": f"wgtensor {wt.__version__}, wgpu-native {_core.wgpu_version()}, "
        f"{platform.system()} {platform.machine()}",
        "command": "python tools/accuracy.py --write",
        "points": points,
        "rows": rows,
    }
    RESULTS.mkdir(exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "_", device.name.lower()).strip("_")
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}")


def measure_rows(dtype: str, names: list[str], points: int) -> list[dict[str, Any]]:
    """Prints as it goes; no rows where something is missing for the dtype."""
    if missing := ulps64.why_not(dtype):
        print(missing)
        return []
    print("{:16} {:>9}  {:32} {:>5} {:>9}  {}".format(dtype, *HEAD[1:]))
    table_rows, measure = DTYPES[dtype]
    rows = []
    for row in table_rows:
        if names and row.name not in names:
            continue
        result = measure(row, points)
        rows.append({**asdict(result), "ok": result.ok})
        print("{:16} {:>9}  {:32} {:>5} {:>9}  {}".format(*row_text(rows[-1])), flush=True)
    return rows


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("functions", nargs="*", help="names of functions; all without")
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="as float32,float64")
    parser.add_argument("--write", action="store_true", help="keep the results, write the page")
    parser.add_argument("--page", action="store_true", help="write the page of what is kept")
    args = parser.parse_args(arguments)
    if args.write and (args.functions or args.dtypes != ",".join(DTYPES)):
        parser.error("--write keeps the results of all functions and dtypes")
    fine = True
    if not args.page:
        print(f"{wt.default_device()!r}\n{wt.default_device().driver}")
        rows = {d: measure_rows(d, args.functions, args.points) for d in args.dtypes.split(",")}
        rows = {dtype: made for dtype, made in rows.items() if made}
        if args.write:
            write(rows, args.points)
        fine = all(r["ok"] for made in rows.values() for r in made)
    if args.write or args.page:
        PAGE.write_text(page(), encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
