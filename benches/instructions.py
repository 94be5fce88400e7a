"""Instructions of the dispatch path, counted by callgrind: for each tiny operation of the harness.

python benches/instructions.py HARNESS [--ops N] [--functions N] [--json FILE]

Counts what the calling thread executes while it records N operations, warm: not the library's own
thread, nor the driver's. Needs valgrind, with its headers where the harness is built, and -g there
for names of functions.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

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
        *("--rows", row, "--count-ops", str(ops)),
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("harness", type=Path)
    parser.add_argument("--ops", type=int, default=2000)
    parser.add_argument("--functions", type=int, default=0)
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for row in ROWS:
            out = Path(folder) / row
            results[row] = run(options.harness, row, options.ops, out) / options.ops
            print(f"{row:16} {results[row]:8.0f} instructions an operation", flush=True)
            for line in functions(out, options.functions):
                print("    " + line[:110])
    if options.json:
        text = json.dumps({"ops": options.ops, "instructions": results}, indent=1)
        Path(options.json).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
