"""Writes RESULTS.md and docs/benchmarks.svg: python benches/results.py [--check]

They are made of benches/results/*.json, which `performance.py --out` or its parts' --json write.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from plot import svg
from targets import Record, median, share, verdicts

HERE = Path(__file__).parent
INTRO = """# Benchmark results

Written by `python benches/results.py` from `benches/results/*.json`, which hold every sample.
Medians, warm, float32 unless said. A ratio is wgtensor's speed over the other's in the same run:
above 1, wgtensor is faster. Both sides wait for their results; TF32 is off in PyTorch. "Load"
counts the programs that wanted a core before the run: where it is not near 0, a software adapter's
figures are too low and unsteady. "Of limit" is the share of what bandwidth or arithmetic rate,
measured in the run, allow at best. Targets are `benches/targets.py`. Instructions `before` are of
commit 1cee336, whose calling thread still encoded commands and planned without memory of its own.

| row | work |
|---|---|
| tiny_* | dependent operations on 64 elements that do not fuse (`max_fusion=1`), end to end, each |
| tiny_raw | the same as a loop on webgpu.h without wgtensor: the floor |
| sync | one operation and the wait for its end |
| item | one operation and one element read back |
| add_N | a + b; `_evals`: with a submission each, else many to one |
| chain2_N | y * 2 + 1 |
| chain6_N | relu((y * 2 + 1).abs().sqrt() * y - 1) |
| sum_, sum0_, sum1_ | all elements, over axis 0, over axis 1 |
| softmax_, layer_norm_, rms_norm_, cumsum1_ | of rows |
| take_N | N rows of a table, in no order |
| scatter_add_N_into_B | N numbers added up in B places that are data, bit-identical each time |
| matmul_MxKxN | (M, K) @ (K, N); `matmul_N` is square, `BofN` batched, `matmul16_` of float16 |
| _half_sums | the same with this setting |
| matvec_MxN, matvec16_MxN | a matrix of float32 or of float16 times a vector |
| upload_, download_ | NumPy array to the device, and back into one |
"""


def short(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def unit(r: Record) -> str:
    return {"us": "µs"}.get(r["unit"], r["unit"])


def state(data: Record) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in data["versions"].items())
    host = ", ".join(
        f"{v} {k}" if k == "threads" else f"load {v} at the start" if k == "load" else v
        for k, v in data.get("host", {}).items()
    )
    mode = f" ({data['mode']})" if "mode" in data else ""
    lines = [f"`{data['command']}`{mode}; {versions}{'; host: ' + host if host else ''}."]
    others = {k: v for k, v in data.get("devices", {}).items() if k != "wgtensor"}
    if others:
        lines.append("Peers: " + "; ".join(f"{k}: {v}" for k, v in others.items()) + ".")
    if limits := data.get("ceilings"):
        rates = f"{short(limits['GB/s'])} GB/s and {short(limits['GFLOP/s'])} GFLOP/s"
        lines.append(f"Limits: {rates}, measured in the run ({limits['how']}).")
    return "\n".join(lines) + "\n"


def core_table(data: Record) -> str:
    out = "| row | median | | time | CPU µs |\n|---|---:|---|---:|---:|\n"
    for r in data["rows"]:
        cpu = f"{r['cpu_us']:.2f}" if "cpu_us" in r else ""
        time = median(r)
        text = f"{time * 1e6:.1f} µs" if time < 1e-3 else f"{time * 1e3:.2f} ms"
        out += f"| {r['name']} | {short(r['value'])} | {unit(r)} | {text} | {cpu} |\n"
    return out


def by_name(data: Record) -> dict[str, dict[str, Record]]:
    """What each library measured of a row."""
    rows: dict[str, dict[str, Record]] = {}
    for r in data["rows"]:
        rows.setdefault(r["name"], {})[r["library"]] = r
    return rows


def peers_table(data: Record) -> str:
    peers = [name for name in data["devices"] if name != "wgtensor"]
    out = "| row | wgtensor | | of limit |" + "".join(f" {p} | ratio |" for p in peers)
    out += " CPU µs |\n|---|---:|---|---:|" + "---:|---:|" * len(peers) + "---|\n"
    for name, records in by_name(data).items():
        ours = records["wgtensor"]
        if "error" in ours:
            out += f"| {name} | failed: {ours['error']} |\n"
            continue
        of_limit = share(ours, data.get("ceilings", {}))
        limit = "" if of_limit is None else f"{of_limit:.2f}"
        out += f"| {name} | {short(ours['value'])} | {unit(ours)} | {limit} |"
        for p in peers:
            r = records.get(p)
            if r is None or "error" in r:
                out += f" {'' if r is None else 'failed'} | |"
            else:
                out += f" {short(r['value'])} | {median(r) / median(ours):.2f} |"
        cpu = [f"{k} {r['cpu_us']:.2f}" for k, r in records.items() if "cpu_us" in r]
        out += f" {', '.join(cpu)} |\n"
    return out


def libraries_table(data: Record) -> str:
    """One column for each library, or what else a program compares: no ratios."""
    names = list(dict.fromkeys(r["library"] for r in data["rows"]))
    out = "| row | |" + "".join(f" {n} |" for n in names)
    out += "\n|---|---|" + "---:|" * len(names) + "\n"
    for name, records in by_name(data).items():
        out += f"| {name} | {unit(next(iter(records.values())))} |"
        out += "".join(f" {short(records[n]['value']) if n in records else ''} |" for n in names)
        out += "\n"
    return out


def targets_table(files: list[Record], software: bool) -> str:
    out = ""
    for v in verdicts(files, software):
        of_limit = "" if v.share is None else f"{v.share:.2f}"
        met = "yes" if v.met else "no"
        out += f"| {v.target.text} | {v.bound} | {v.value:.4g}{v.unit} | {of_limit} | {met} |\n"
    head = "| target | | measured | of limit | met |\n|---|---|---:|---:|---|\n"
    return head + out if out else ""


TABLES: dict[str, tuple[str, Callable[[Record], str]]] = {
    "compare_peers": ("Against other libraries, from Python", peers_table),
    "training": ("Training steps", libraries_table),
    "host_cost": ("Processor time of the calling thread, from Python", libraries_table),
    "sorting": ("Sorting, scans and sets", libraries_table),
    "harness": ("The core, from C++", core_table),
    "instructions": ("Instructions of the calling thread, by callgrind", libraries_table),
}


def render(files: list[tuple[Path, Record]]) -> str:
    by_adapter: dict[tuple[str, ...], list[tuple[Path, Record]]] = {}
    for path, data in files:
        by_adapter.setdefault(tuple(data["adapter"].values()), []).append((path, data))
    out = INTRO
    # Hardware before software.
    for key, group in sorted(by_adapter.items(), key=lambda g: (g[0][2] == "cpu", g[0])):
        name, backend, kind, driver = key
        note = ", a software adapter" if kind == "cpu" else ""
        out += f"\n## {name} ({backend}{note})\n\nDriver: {driver}.\n"
        targets = targets_table([data for _, data in group], kind == "cpu")
        if targets:
            out += f"\n{targets}"
        for path, data in sorted(group, key=lambda g: (list(TABLES).index(g[1]["program"]), g[0])):
            title, table = TABLES[data["program"]]
            link = f"[{path.name}](results/{path.name})"
            out += f"\n### {title}\n\n{state(data)}Samples: {link}.\n\n{table(data)}"
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    args = parser.parse_args()
    files = [(p, json.loads(p.read_text())) for p in sorted((HERE / "results").glob("*.json"))]
    pages = {HERE / "RESULTS.md": render(files)}
    for _, data in files:
        if data["program"] == "compare_peers" and data["adapter"]["type"] != "cpu":
            pages[HERE.parent / "docs" / "benchmarks.svg"] = svg(data, "torch")
    stale = [p for p, text in pages.items() if not p.exists() or p.read_text() != text]
    if args.check:
        print(f"run python benches/results.py for {stale}" if stale else "up to date")
        return 1 if stale else 0
    for path in stale:
        path.write_text(pages[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
