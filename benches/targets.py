"""What the rows should reach, and where a row stands: its ratio and its share of the roofline.

The bounds in time are for a card of 4.8 TB/s; a slower one cannot meet all of them, and its share
of the roofline says how near it comes.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """slower: our time over the other's, at most; faster: our speed over the other's, at least;
    limit: share of the roofline, at least; rate: in the row's unit, at least; ms: at most.
    """

    row: str  # library:name
    how: str
    bound: float
    other: str = ""  # library:name

    @property
    def text(self) -> str:
        name = self.row.removeprefix("wgtensor:")
        return f"{name} / {self.other}" if self.other else name


def ours(name: str) -> str:
    return "wgtensor:" + name


GRID = ("512", "1024", "2048", "4096x64x4096", "64x4096x4096", "4096x4096x64", "8192")
GRID += ("64of256", "4096_transposed")
SMALL, LARGE = "mlp 784-512-10, batch 128", "mlp 1024-4096-1024, batch 1024"

EVERYWHERE = (
    Target(ours("import after it"), "ms", 50),
    Target(ours("first result"), "ms", 1000),
)
#: of hardware adapters
HARDWARE = (
    *(Target(ours(f"tiny_{k}"), "slower", 1.15, "core:tiny_raw") for k in ("tensor", "scalar")),
    Target(ours("add_256M"), "faster", 0.97, "torch:add_256M"),
    Target(ours("chain6_64M"), "ms", 0.15),
    Target(ours("softmax_4096x4096"), "ms", 0.06),
    Target(ours("layer_norm_4096x4096"), "ms", 0.053),
    Target(ours("rms_norm_4096x4096"), "ms", 0.053),
    Target(ours("sum0_4096x4096"), "ms", 0.03),
    Target(ours("sum1_4096x4096"), "ms", 0.03),
    *(Target(ours(f"sum{a}_{s}"), "limit", 0.9) for s in ("64x1M", "1Mx64") for a in (0, 1)),
    Target(ours("matmul_4096"), "faster", 0.95, "torch:matmul_4096"),
    Target(ours("matmul_4096"), "rate", 49000),
    *(Target(ours(f"matmul_{s}"), "faster", 0.88, f"torch:matmul_{s}") for s in GRID),
    Target(ours("matmul16_4096_half_sums"), "rate", 60000),
    *(
        Target(ours(f"{kind}_{shape}"), "limit", 0.85)
        for shape in ("4096x4096", "8192x28672")
        for kind in ("matvec", "matvec16")
    ),
    Target(ours(SMALL), "ms", 0.5),
    Target(f"wgtensor.jit:{SMALL}", "ms", 0.35),
    Target(ours(LARGE), "ms", 1.8),
    Target(f"wgtensor.jit:{LARGE}", "ms", 1.3),
    Target(ours("character GPT"), "faster", 1, "torch:character GPT"),
    Target(ours("upload_256MB"), "rate", 12),
    Target(ours("download_256MB"), "rate", 10),
)
#: of software adapters
SOFTWARE = (
    Target(ours("chain2_16M"), "slower", 1, "numpy:chain2_16M"),
    Target(ours("add_16M"), "slower", 5, "numpy:add_16M"),
    Target(ours("sum_4096x4096"), "slower", 4, "numpy:sum_4096x4096"),
    Target(ours("matmul_512"), "rate", 15),
)


def median(r: Record) -> float:
    return statistics.median(r["seconds"])


def share(r: Record, limits: Record) -> float | None:
    """The shortest time that the machine allows over the time taken."""
    if "error" in r or not limits or "load" in r["name"] or not ("bytes" in r or "flops" in r):
        return None
    rate = limits["GFLOP/s"]
    if r.get("dtype") == "float16":
        rate = limits.get("float16 GFLOP/s", rate)
    floor = r.get("bytes", 0) / limits["GB/s"] + r.get("flops", 0) / rate
    return floor * 1e-9 / median(r)


@dataclass(frozen=True)
class Verdict:
    target: Target
    value: float
    unit: str
    met: bool
    share: float | None

    @property
    def bound(self) -> str:
        sign = "at most" if self.target.how in ("slower", "ms") else "at least"
        return f"{sign} {self.target.bound:g}{self.unit}"


def verdicts(files: Iterable[Record], software: bool) -> Iterator[Verdict]:
    """Of the targets that these results of one adapter can speak of."""
    found: dict[str, Record] = {}
    limits: Record = {}
    for data in files:
        limits = limits or data.get("ceilings", {})
        for r in data["rows"]:
            if "error" not in r:
                found.setdefault(f"{r['library']}:{r['name']}", r)
    for t in (*(SOFTWARE if software else HARDWARE), *EVERYWHERE):
        a, b = found.get(t.row), found.get(t.other)
        if a is None or (t.other and b is None):
            continue
        of_limit = share(a, limits)
        unit = {"rate": " " + a["unit"], "ms": " ms"}.get(t.how, "")
        if t.how == "limit":
            if of_limit is None:
                continue
            value = of_limit
        elif t.how == "rate":
            value = float(a["value"])
        elif t.how == "ms":
            value = median(a) * 1e3
        else:
            assert b is not None
            value = median(a) / median(b)
            value = 1 / value if t.how == "faster" else value
        met = value <= t.bound if t.how in ("slower", "ms") else value >= t.bound
        yield Verdict(t, value, unit, met, of_limit)
