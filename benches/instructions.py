"""Instructions of the dispatch path, counted by callgrind: for each tiny operation of the harness.

python benches/instructions.py [LABEL=]HARNESS... [--ops N] [--functions N] [--json FILE]

Counts what the calling thread executes while it records N operations, warm: not the library's own
thread, nor the driver's. Several harnesses are compared under their labels. Needs valgrind, with
its headers where the harness is built, and -g there for names of functions.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Record = dict[str, Any]
ROWS = ("tiny_raw", "tiny_runtime", "tiny_tensor", "tiny_scalar")


def run(harness: Path, row: str, ops: int, out: Path) -> int:
    """Runs one row under callgrind; gives the instructions of the calling thread."""
    command = [
        "valgrind",
        "--tool=callgrind",
        "--instr-atstart=no",
        "--separate-threads=yes",
        f"--callgrind-out-file={out}",
        str(harness),
        "--smoke",
        *("--rows", row, "--count-ops", str(ops), "--json", f"{out}.json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    profile = Path(f"{out}.1-01")  # the first dump, of the first thread
    if done.returncode or not profile.exists():
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    counted = re.search(r"^(?:totals|summary): (\d+)", profile.read_text(), re.MULTILINE)
    return int(counted[1]) if counted else 0


def functions(out: Path, count: int) -> list[str]:
    """The functions that execute most, themselves."""
    text = subprocess.run(
        ["callgrind_annotate", "--auto=no", f"{out}.1-01"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [li for li in text.splitlines() if re.match(r"\s*[\d,]+ \(", li)]
    return [re.sub(r"\s+\[.*\]$", "", li.strip()) for li in lines[1 : count + 1]]


def measure(harness: Path, options: argparse.Namespace) -> tuple[Record, dict[str, float]]:
    """What the harness says of its machine; and instructions of an operation, by row."""
    about: Record = {}
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for row in ROWS:
            out = Path(folder) / row
            results[row] = run(harness, row, options.ops, out) / options.ops
            print(f"{row:16} {results[row]:8.0f} instructions an operation", flush=True)
            for line in functions(out, options.functions) if options.functions else []:
                print("    " + line[:110])
        about = json.loads((Path(folder) / f"{ROWS[0]}.json").read_text())
    return {k: about[k] for k in ("adapter", "versions")}, results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("harness", nargs="+")
    parser.add_argument("--ops", type=int, default=2000)
    parser.add_argument("--functions", type=int, default=0)
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    record: Record = {"program": "instructions", "command": f"instructions.py --ops {options.ops}"}
    rows: list[Record] = []
    for harness in options.harness:
        label, _, path = harness.rpartition("=")
        print(label or path)
        about, results = measure(Path(path), options)
        record |= about
        for name, count in results.items():
            rows.append(
                {
                    "name": name,
                    "library": label or "core",
                    "value": count,
                    "unit": "instructions",
                    "operations": options.ops,
                }
            )
    if options.json:
        Path(options.json).write_text(json.dumps(record | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
