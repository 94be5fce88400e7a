"""The JSON that these programs write: adapter, versions, and rows with every sample."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import wgtensor as wt

Record = dict[str, Any]
SCALES = {"us": 1e6, "ms": 1e3}


def host() -> dict[str, str]:
    """What else the figures depend on."""
    info = Path("/proc/cpuinfo")
    names = [x for x in info.read_text().splitlines() if "model name" in x] if info.exists() else []
    cpu = names[0].split(":")[1].strip() if names else platform.machine()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {"cpu": cpu, "threads": str(os.cpu_count()), "load": load}


def head(program: str, mode: str, versions: dict[str, str]) -> Record:
    """What is known before the first row."""
    device = wt.default_device()
    skip = False
    words = [program + ".py"]
    for word in sys.argv[1:]:
        if not skip and word != "--json":
            words.append(word)
        skip = word == "--json"
    return {
        "program": program,
        "command": " ".join(words),
        "mode": mode,
        "adapter": {k: getattr(device, k) for k in ("name", "backend", "type", "driver")},
        "host": host(),
        "versions": {"wgtensor": wt.__version__}
        | versions
        | {"wgpu-native": wt._core.wgpu_version(), "python": platform.python_version()},
    }


def timed_row(name: str, library: str, seconds: Sequence[float], unit: str, **more: Any) -> Record:
    """A row whose value is its median time."""
    value = statistics.median(seconds) * SCALES[unit]
    row = {"name": name, "library": library, "value": value, "unit": unit}
    return row | more | {"seconds": list(seconds)}


def write(path: str | Path | None, record: Record, rows: Sequence[Record]) -> None:
    """Row by row, so that a run that is cut short leaves what it has."""
    if path:
        Path(path).write_text(json.dumps(record | {"rows": list(rows)}, indent=1) + "\n")
