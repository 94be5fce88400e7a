"""Writes benches/RESULTS.md from benches/results/*.json: python benches/results.py [--check]

The files come from `harness --json` and `compare_peers.py --json`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

Record = dict[str, Any]
HERE = Path(__file__).parent
INTRO = """# Benchmark results

Written by `python benches/results.py` from `benches/results/*.json`, which hold every sample.
Medians, warm, float32. A ratio is wgtensor's speed over the other's in the same run: above 1,
wgtensor is faster. Both sides wait for their results; TF32 is off in PyTorch. "Load" counts the
programs that wanted a core before the run: where it is not near 0, a software adapter's figures are
too low and unsteady.

| row | work |
|---|---|
| tiny_* | dependent operations on 64 elements that do not fuse (`max_fusion=1`), end to end, each |
| tiny_raw | the same as a loop on webgpu.h without wgtensor: the floor |
| sync | one operation and the wait for its end |
| item | one operation and one element read back |
| add_N | a + b; `_evals`: with a submission each, else many to one |
| chain6_N | relu((y * 2 + 1).abs().sqrt() * y - 1) |
| sum_, sum0_, sum1_ | all elements, over axis 0, over axis 1 |
| matmul_MxKxN | (M, K) @ (K, N); `matmul_N` is square, `BofN` batched |
| upload_, download_ | NumPy array to the device, and back into one |
"""
# What a hardware adapter should reach: text, how it is compared, our row, the other row, the bound.
# slower: our time over the other's, at most; faster: our speed over the other's, at least;
# limit: share of the machine's limit, at least; rate: in the row's unit, at least.
TARGETS = (
    (
        "tiny operation from Python, over the raw loop",
        "slower",
        "tiny_tensor",
        "core:tiny_raw",
        1.3,
    ),
    ("the same with a scalar", "slower", "tiny_scalar", "core:tiny_raw", 1.3),
    ("add, over PyTorch's", "faster", "add_256M", "torch:add_256M", 0.95),
    ("six operations in one kernel, of bandwidth", "limit", "chain6_64M", "", 0.9),
    ("softmax, over PyTorch's", "faster", "softmax_4096x4096", "torch:softmax_4096x4096", 1),
    ("sum over axis 0, over PyTorch's", "faster", "sum0_4096x4096", "torch:sum0_4096x4096", 1),
    ("sum over axis 1, over PyTorch's", "faster", "sum1_4096x4096", "torch:sum1_4096x4096", 1),
    ("matmul 4096", "rate", "matmul_4096", "", 30000),
    ("matmul 4096, over PyTorch's", "faster", "matmul_4096", "torch:matmul_4096", 0.95),
    ("upload", "rate", "upload_256MB", "", 12),
    ("download", "rate", "download_256MB", "", 10),
)


def median(r: Record) -> float:
    return statistics.median(r["seconds"])


def short(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def unit(r: Record) -> str:
    return "µs" if r["unit"] == "us" else r["unit"]


def state(data: Record) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in data["versions"].items())
    host = ", ".join(
        f"{v} {k}" if k == "threads" else f"load {v} at the start" if k == "load" else v
        for k, v in data["host"].items()
    )
    lines = [f"`{data['command']}` ({data['mode']}); {versions}; host: {host}."]
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


def share(r: Record, limits: Record) -> str:
    if not limits or "load" in r["name"] or not ("bytes" in r or "flops" in r):
        return ""
    floor = r.get("bytes", 0) / limits["GB/s"] + r.get("flops", 0) / limits["GFLOP/s"]
    return f"{floor * 1e-9 / median(r):.2f}"


def peers_table(data: Record) -> str:
    peers = [name for name in data["devices"] if name != "wgtensor"]
    out = "| row | wgtensor | | of limit |" + "".join(f" {p} | ratio |" for p in peers)
    out += " CPU µs |\n|---|---:|---|---:|" + "---:|---:|" * len(peers) + "---|\n"
    by_row: dict[str, dict[str, Record]] = {}
    for r in data["rows"]:
        by_row.setdefault(r["name"], {})[r["library"]] = r
    for name, records in by_row.items():
        ours = records["wgtensor"]
        if "error" in ours:
            out += f"| {name} | failed: {ours['error']} |\n"
            continue
        limit = share(ours, data.get("ceilings", {}))
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


def targets_table(files: list[Record]) -> str:
    """The targets that the rows of one adapter can speak of."""
    found: dict[str, Record] = {}
    limits: Record = {}
    for data in files:
        limits = limits or data.get("ceilings", {})
        for r in data["rows"]:
            if "error" not in r:
                found.setdefault(f"{r['library']}:{r['name']}", r)
    out = ""
    for text, how, ours, other, bound in TARGETS:
        a, b = found.get("wgtensor:" + ours), found.get(other)
        if a is None or (other and b is None):
            continue
        if how == "limit":
            value, unit = float(share(a, limits) or 0), ""
        elif how == "rate":
            value, unit = a["value"], " " + a["unit"]
        else:
            value, unit = median(a) / median(b), ""
            value = 1 / value if how == "faster" else value
        met = value <= bound if how == "slower" else value >= bound
        sign = "at most" if how == "slower" else "at least"
        out += (
            f"| {text} | {sign} {bound:g}{unit} | {value:.4g}{unit} | {'yes' if met else 'no'} |\n"
        )
    return "| target | | measured | met |\n|---|---|---:|---|\n" + out if out else ""


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
        targets = targets_table([data for _, data in group])
        if targets and kind != "cpu":
            out += f"\n{targets}"
        for path, data in sorted(group, key=lambda g: (g[1]["program"], g[0])):
            core = data["program"] == "harness"
            title = "The core, from C++" if core else "Against other libraries, from Python"
            link = f"[{path.name}](results/{path.name})"
            out += f"\n### {title}\n\n{state(data)}Samples: {link}.\n\n"
            out += core_table(data) if core else peers_table(data)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    args = parser.parse_args()
    paths = sorted((HERE / "results").glob("*.json"))
    text = render([(p, json.loads(p.read_text())) for p in paths])
    target = HERE / "RESULTS.md"
    if args.check:
        fresh = target.exists() and target.read_text() == text
        print("up to date" if fresh else "run python benches/results.py")
        return 0 if fresh else 1
    target.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
