"""The same work in wgtensor and in its peers, timed in turns on one machine.

python benches/compare_peers.py [--quick | --smoke] [--rows A,B] [--peers A,B] [--json FILE]

NumPy always; PyTorch, ferrotensor and tinygrad where they are installed (torch.compile when named).
A sample is the wall time of a batch of iterations and the wait for the last, divided by their
number, after one iteration that does not count; the libraries take samples in turns, and medians
count. Results are checked against NumPy
in float64. "x NAME" is wgtensor's speed over that library's: above 1, wgtensor is faster. "of
limit" is the share of what the machine's measured bandwidth or float32 rate allows at best.
"""

from __future__ import annotations

import os

# Threads of NumPy's library that wait by turning would take cores from whoever is measured next.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

import argparse
import gc
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from peers import Peer, ceilings, load
from record import head, write
from rows import CPU_BATCH, Job, Row, WrongResultError, all_rows
from targets import share


def timed(job: Job, n: int) -> tuple[float, Any]:
    if job.fuse:
        job.fuse(False)
    begin = time.perf_counter()
    result = job.run(n)
    job.wait(result)
    seconds = time.perf_counter() - begin
    if job.fuse:
        job.fuse(True)
    return seconds, result


def cpu_time(job: Job) -> float:
    """Of this thread per operation, in microseconds, to record a batch for an idle device."""
    assert job.cpu is not None
    if job.fuse:
        job.fuse(False)
    begin = time.thread_time()
    result = job.cpu()
    seconds = time.thread_time() - begin
    job.wait(result)
    if job.fuse:
        job.fuse(True)
    return seconds / min(CPU_BATCH, job.operations) * 1e6


def measure(
    row: Row, peers: list[Peer], repeats: int, sample: float, budget: float
) -> dict[str, Any]:
    """Name of the library to its Job, or to the text of what went wrong."""
    jobs: dict[str, Any] = {}
    for peer in peers:
        if peer.name in row.leave_out:
            continue
        try:
            job = row.prepare(peer)
            _, result = timed(job, 1)
            job.check(result)
            del result
            if job.cpu:
                cpu_time(job)
            once = timed(job, 1)[0]
            if once < 0.2:
                once = min(once, timed(job, 1)[0])
            job.inner = max(1, min(1000, int(sample / max(once, 1e-9))))
            jobs[peer.name] = job
        except Exception as e:
            if isinstance(e, WrongResultError) and peer.name == "wgtensor":
                raise
            jobs[peer.name] = f"{type(e).__name__}: {e}".splitlines()[0]
    good = [j for j in jobs.values() if isinstance(j, Job)]
    for i in range(repeats):
        for job in good:
            if i >= 3 and sum(job.seconds) * job.inner * job.operations > budget:
                continue
            timed(job, 1)  # drivers take up to 1 ms to change from one library to another
            seconds, result = timed(job, job.inner)
            job.seconds.append(seconds / job.inner / job.operations)
            del result
            if job.cpu:
                job.cpu_us.append(cpu_time(job))
    return jobs


def record(row: Row, library: str, job: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"name": row.name, "library": library}
    if not isinstance(job, Job):
        return out | {"error": job}
    out |= {
        "value": row.value(statistics.median(job.seconds)),
        "unit": row.unit,
        "inner": job.inner,
    }
    out |= {k: v for k, v in (("bytes", row.bytes), ("flops", row.flops)) if v}
    out |= {"dtype": row.dtype} if row.dtype != "float32" else {}
    if job.cpu_us:
        out |= {"cpu_us": statistics.median(job.cpu_us), "cpu_us_samples": job.cpu_us}
    return out | {"seconds": job.seconds}


def line(records: list[dict[str, Any]], names: list[str], limits: dict[str, Any]) -> str:
    by_name = {r["library"]: r for r in records}
    ours = by_name["wgtensor"]
    if "error" in ours:
        return f"{records[0]['name']:24} failed: {ours['error']}"
    text = f"{ours['name']:24} {ours['value']:10.4g} {ours['unit']:8}"
    of_limit = share(ours, limits)
    text += f" {of_limit:8.2f}" if of_limit is not None else " " * 9
    for name in names[1:]:
        r = by_name.get(name)
        if r is None or "error" in r:
            text += f" {'-' if r is None else 'failed':>18}"
            continue
        ratio = statistics.median(r["seconds"]) / statistics.median(ours["seconds"])
        text += f" {r['value']:10.4g} {ratio:6.2f}x"
    if "cpu_us" in ours:
        text += "  CPU us: " + ", ".join(
            f"{n} {by_name[n]['cpu_us']:.2f}" for n in names if "cpu_us" in by_name.get(n, {})
        )
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, two repeats")
    parser.add_argument("--rows", default="", help="only rows whose names begin so: A,B")
    parser.add_argument("--peers", help="only these libraries and wgtensor: A,B")
    parser.add_argument("--json", type=Path, help="file for adapter, versions and every sample")
    args = parser.parse_args()
    os.environ.setdefault("NODEVICE_SELECT", "1")  # Mesa's complaint about the missing display
    peers, missing = load(args.peers.split(",") if args.peers else None)
    software = peers[0].software
    mode = "smoke" if args.smoke else "quick" if args.quick else "full"
    reduced = software or mode != "full"
    effort = {"full": (15, 0.02, 1.0), "quick": (7, 0.01, 0.5), "smoke": (2, 0.0, 0.0)}[mode]

    def pick(full: Any, small: Any, smoke: Any) -> Any:
        return smoke if args.smoke else small if reduced else full

    names = [p.name for p in peers]
    versions = {p.name: p.version() for p in peers}
    about = head("compare_peers", mode, versions) | {
        "devices": {p.name: p.device() for p in peers},
        "missing": missing,
        "ceilings": ceilings(peers, mode != "full"),
    }
    for name in names:
        print(f"{name:12} {about['versions'][name]:14} {about['devices'][name]}")
    for name, why in missing.items():
        print(f"{name:12} not here: {why}")
    limits = about["ceilings"]
    if limits:
        print(
            f"limits: {limits['GB/s']:.4g} GB/s, {limits['GFLOP/s']:.4g} GFLOP/s ({limits['how']})"
        )
    print(f"\n{'row':24} {'wgtensor':>10} {'':8} {'of limit':>8}", end="")
    print("".join(f" {'x ' + n:>18}" for n in names[1:]))

    rows: list[dict[str, Any]] = []
    status = 0
    for row in all_rows(pick, reduced):
        if args.rows and not row.name.startswith(tuple(args.rows.split(","))):
            continue
        try:
            jobs = measure(row, peers, *effort)
        except WrongResultError as e:
            print(f"compare_peers: {e}", file=sys.stderr)
            status = 1
            continue
        records = [record(row, name, job) for name, job in jobs.items()]
        rows += records
        write(args.json, about, rows)
        print(line(records, names, limits), flush=True)
        for r in records:
            if "error" in r:
                print(f"{'':24} {r['library']}: {r['error']}", flush=True)
                status = status or r["library"] == "wgtensor"
        del jobs
        gc.collect()
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
