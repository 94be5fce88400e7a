"""All rows in one run: what each should reach, what it reached, and its share of the roofline.

python benches/performance.py [--harness FILE] [--smoke | --quick] [--parts A,B] [--peers A,B]
    [--out FOLDER]

Runs compare_peers.py, host_cost.py, training.py, sorting.py, and the C++ harness where it is built
(`make bench` builds it). Each writes its JSON into FOLDER, from where `results.py` makes the page;
targets.json holds the table that ends the output.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from targets import Record, verdicts

HERE = Path(__file__).parent
PARTS = ("harness", "compare_peers", "host_cost", "training", "sorting")


def command(part: str, options: argparse.Namespace) -> list[str]:
    """How a part is run; nothing where it cannot be."""
    flags = ["--smoke"] if options.smoke else []
    if part in ("harness", "compare_peers") and options.quick:
        flags = ["--quick"]
    if part == "harness":
        return [options.harness, *flags] if Path(options.harness).exists() else []
    if part == "compare_peers" and options.peers:
        flags += ["--peers", options.peers]
    return [sys.executable, str(HERE / f"{part}.py"), *flags]


def run(part: str, options: argparse.Namespace) -> tuple[Record | None, bool]:
    """What the part wrote, if anything, and whether it went well."""
    words = command(part, options)
    if not words:
        print(f"== {part}: {options.harness} is not there", flush=True)
        return None, True
    path = options.out / f"{part}.json"
    path.unlink(missing_ok=True)
    print(f"== {part}", flush=True)
    try:
        status = subprocess.run([*words, "--json", str(path)], timeout=options.limit).returncode
    except subprocess.TimeoutExpired:
        print(f"{part}: stopped after {options.limit} s", flush=True)
        status = 1
    return (json.loads(path.read_text()) if path.exists() else None), status == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--harness", default="build/dev/benches/harness")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does all of it run")
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--peers", default="", help="of compare_peers: only these libraries")
    parser.add_argument("--limit", type=int, default=900, help="seconds for each part")
    parser.add_argument("--out", type=Path, default=Path("build/performance"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    files: list[Record] = []
    status = 0
    for part in options.parts.split(","):
        if part not in PARTS:
            parser.error(f"--parts: {part} is none of {', '.join(PARTS)}")
        data, good = run(part, options)
        files += [data] if data else []
        status = status if good else 1
    if not files:
        return 1
    adapter = files[0]["adapter"]
    table = list(verdicts(files, adapter["type"] == "cpu"))
    print(f"\n{adapter['name']} ({adapter['backend']}, {adapter['driver']})")
    print(f"{'target':64} {'':20} {'measured':>16} {'of limit':>8}  met")
    for v in table:
        share = "" if v.share is None else f"{v.share:.2f}"
        value = f"{v.value:.4g}{v.unit}"
        print(f"{v.target.text:64} {v.bound:20} {value:>16} {share:>8}  {'yes' if v.met else 'no'}")
    rows = [
        {"target": v.target.text, "how": v.target.how, "bound": v.target.bound}
        | {"measured": v.value, "unit": v.unit.strip(), "of limit": v.share, "met": v.met}
        for v in table
    ]
    record = {"adapter": adapter, "targets": rows}
    (options.out / "targets.json").write_text(json.dumps(record, indent=1) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
