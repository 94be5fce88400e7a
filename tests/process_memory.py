"""What this process holds, as the system and as the C library see it; 0 where they do not tell."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path


def resident() -> int:
    """Bytes of memory that the process occupies."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


class _Arenas(ctypes.Structure):
    """struct mallinfo2 of glibc 2.33: sums over all arenas."""

    _fields_ = [(name, ctypes.c_size_t) for name in (*"abcd", "mapped", *"fg", "used", *"ij")]


def allocated() -> int:
    """Bytes that the process has allocated and not freed: what leaks shows here, holes do not."""
    if not sys.platform.startswith("linux"):
        return 0
    mallinfo2 = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo2 is None:
        return 0
    mallinfo2.restype = _Arenas
    info = mallinfo2()
    return int(info.used + info.mapped)
