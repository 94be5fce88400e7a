"""Run a script with a counter between wgtensor and wgpu-native (Linux only).

    result = run_counted('''
        a = wt.ones(8)
        a.eval()
        counts.reset()
        (a * 2 + 1).eval()
        result["dispatches"] = counts.dispatches
    ''')
    assert result["dispatches"] == 1

The script sees `wt`, `np`, `counts` (dispatches, labels, submits, pipelines, checked and trusted
shaders, reset()) and `result`, a dict that comes back as JSON.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


@functools.cache
def library() -> Path:
    """The preload library, built once in a process."""
    folder = Path(tempfile.mkdtemp(prefix="wgt_preload_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = folder / "dispatch_counter.so"
    command = [
        os.environ.get("CC", "cc"),
        "-std=c11",
        "-O1",
        "-shared",
        "-fPIC",
        "-Wall",
        "-Wextra",
    ]
    subprocess.run([*command, HERE / "dispatch_counter.c", "-o", target, "-ldl"], check=True)
    return target


def run_counted(
    script: str, *, env: dict[str, str] | None = None, timeout: float = 300
) -> dict[str, Any]:
    """Run the script in a child with the counter loaded; what it put into `result`."""
    child_env = {**os.environ, **(env or {})}
    child_env["LD_PRELOAD"] = " ".join(
        filter(None, [str(library()), child_env.get("LD_PRELOAD", "")])
    )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        done = subprocess.run(
            [sys.executable, str(HERE / "child.py"), str(out)],
            input=textwrap.dedent(script),
            env=child_env,
            text=True,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(
                f"the counted script ended with {done.returncode}\n{done.stdout}{done.stderr}"
            )
        result: dict[str, Any] = json.loads(out.read_text())
    return result
