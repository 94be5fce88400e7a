"""`make validate`: tests under Khronos's validation layer, with its synchronisation checks.

    python tools/validate.py [--graphs N] [PYTEST-ARGUMENTS...]     (else the short tests and more)

Linux, with Debian's vulkan-validationlayers. Before the tests a program that is wrong on purpose
shows that the layer looks. Exits with 1 if the layer says anything of the tests, or a test fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYER = "VK_LAYER_KHRONOS_validation"
SETTINGS = """\
khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.report_flags = error,warn
khronos_validation.log_filename = {log}
"""
GRAPHS = """\
import sys
from test_random_graphs import MODES, examine
for seed in range(int(sys.argv[1])):
    examine(50_000 + seed, [dict() if seed % 2 else MODES[seed // 2 % len(MODES)]])
print(sys.argv[1], "random graphs")
"""
#: what pytest runs: large bindings taken in parts are where buffers meet themselves
TESTS = (["-m", "short"], ["tests/test_windows.py"])


class Layer:
    """The environment with the layer on, and what it says: all processes write to one pipe."""

    def __init__(self, folder: Path) -> None:
        pipe, settings = folder / "messages", folder / "vk_layer_settings.txt"
        os.mkfifo(pipe)
        settings.write_text(SETTINGS.format(log=pipe), encoding="utf-8")
        self.env = {
            **os.environ,
            "VK_INSTANCE_LAYERS": LAYER,
            "VK_LAYER_SETTINGS_PATH": str(settings),
            "LP_NUM_THREADS": "1",
            "NODEVICE_SELECT": "1",
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(ROOT / "tests"), os.environ.get("PYTHONPATH")])
            ),
        }
        # Open for both, or the pipe would end with each process that writes.
        self._file = os.open(pipe, os.O_RDWR)
        self._text = b""
        self._end = b"\0end"
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while not self._text.endswith(self._end):
            self._text += os.read(self._file, 1 << 16)

    def said(self) -> str:
        """All that it said so far; what follows is kept apart."""
        os.write(self._file, self._end)
        self._reader.join()
        text = self._text.removesuffix(self._end).decode(errors="replace")
        self._text = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return text.strip()

    def run(self, *command: object, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(c) for c in command], env={**self.env, **more}, cwd=ROOT, text=True, check=False
        )


def sees_faults(layer: Layer, folder: Path) -> bool:
    """Whether it reports a hazard in a small program."""
    program = folder / "hazard"
    source = ROOT / "tests" / "vulkan_layer" / "hazard.c"
    compiler = os.environ.get("CC", "cc")
    built = layer.run(compiler, "-std=c11", "-Wall", source, "-o", program, "-lvulkan")
    if built.returncode or layer.run(program).returncode:
        return False
    said = layer.said()
    print(f"of a fault on purpose: {said.splitlines()[0] if said else 'nothing'}", flush=True)
    return "SYNC-HAZARD-WRITE-AFTER-WRITE" in said or "SYNC-HAZARD-WRITE_AFTER_WRITE" in said


def is_loaded(layer: Layer) -> bool:
    """Whether wgtensor's own process runs with it: the loader says which layers it puts in."""
    command = [sys.executable, "-c", "import wgtensor as wt; (wt.ones(3) + 1).numpy()"]
    done = subprocess.run(
        command,
        env={**layer.env, "VK_LOADER_DEBUG": "layer"},
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    lines = [x for x in done.stderr.splitlines() if LAYER in x]
    return done.returncode == 0 and any("Insert instance layer" in x for x in lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--graphs", type=int, default=200, help="random programs to run")
    options, tests = parser.parse_known_args()
    runs = [tests] if tests else TESTS
    with tempfile.TemporaryDirectory(prefix="wgt_validate_") as name:
        folder = Path(name)
        layer = Layer(folder)
        if not sees_faults(layer, folder):
            print(f"{LAYER} with synchronisation checks is not active")
            return 1
        if not is_loaded(layer):
            print(f"the loader does not put {LAYER} into wgtensor's process")
            return 1
        commands = [["-m", "pytest", "-q", *arguments] for arguments in runs]
        commands.append(["-c", GRAPHS, options.graphs])
        passed = [layer.run(sys.executable, *command).returncode == 0 for command in commands]
        said = layer.said()
    print(said or "the layer says nothing")
    return int(bool(said) or not all(passed))


if __name__ == "__main__":
    sys.exit(main())
