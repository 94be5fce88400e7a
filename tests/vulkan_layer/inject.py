"""Make the Vulkan driver fail on request (Linux; Debian's libvulkan-dev has the headers).

    with Injector() as injector:
        child = subprocess.Popen([...], env=injector.env())
        injector.lose_device(after=20)           # the 21st submit or wait from now
        injector.fail_allocation(after=0, times=3, min_bytes=1 << 20)

`python inject.py COMMAND...` runs a command with nothing armed. A child can arm failures itself, by
`Injector(os.environ["WGT_INJECT_FILE"])`.
"""

from __future__ import annotations

import atexit
import functools
import json
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

HERE = Path(__file__).resolve().parent
LAYER = "VK_LAYER_WGTENSOR_inject"
# The fields of `struct control` in inject.c.
FIELDS = (
    "lost_after",
    "oom_after",
    "oom_times",
    "losses",
    "ooms",
    "calls",
    "allocations",
    "hung",
)
MIN_BYTES_OFFSET = 4 * len(FIELDS)
SIZE = MIN_BYTES_OFFSET + 8


@functools.cache
def layer_folder() -> Path:
    """A folder with the layer and its manifest, built once in a process."""
    folder = Path(tempfile.mkdtemp(prefix="wgt_vulkan_layer_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = folder / "libVkLayer_wgtensor_inject.so"
    command = [
        os.environ.get("CC", "cc"),
        "-std=c11",
        "-O1",
        "-shared",
        "-fPIC",
        "-Wall",
        "-Wextra",
    ]
    command += ["-fvisibility=hidden", "-D_GNU_SOURCE", "-pthread"]
    subprocess.run([*command, HERE / "inject.c", "-o", library], check=True)
    manifest = {
        "file_format_version": "1.1.2",
        "layer": {
            "name": LAYER,
            "type": "GLOBAL",
            "library_path": str(library),
            "api_version": "1.3.239",
            "implementation_version": "1",
            "description": "Fails calls on request",
        },
    }
    (folder / "inject.json").write_text(json.dumps(manifest))
    return folder


class Injector:
    """The control file, mapped; it starts with nothing armed."""

    def __init__(self, path: str | Path | None = None) -> None:
        self._own = path is None
        if path is None:
            handle, name = tempfile.mkstemp(prefix="wgt_inject_")
            os.write(handle, b"\0" * SIZE)
            os.close(handle)
            path = name
        self.path = Path(path)
        with self.path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)
        if self._own:
            self.reset()

    def env(self) -> dict[str, str]:
        """The environment of a process whose driver fails on request."""
        path = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
        return {
            **os.environ,
            "PYTHONPATH": path,
            "VK_LAYER_PATH": str(layer_folder()),
            "VK_INSTANCE_LAYERS": LAYER,
            "WGT_INJECT_FILE": str(self.path),
        }

    def lose_device(self, *, after: int = 0) -> None:
        """Lose the device at a submit, wait or poll, `after` such calls from now."""
        self._set("lost_after", after)

    def fail_allocation(self, *, after: int = 0, times: int = 1, min_bytes: int = 0) -> None:
        """Fail `times` allocations in a row, `after` calls from now; less than `min_bytes` pass."""
        struct.pack_into("=q", self._map, MIN_BYTES_OFFSET, min_bytes)
        self._set("oom_times", times)
        self._set("oom_after", after)

    def hang(self, on: bool = True) -> None:
        """From now on nothing that is submitted ever ends; or it does again."""
        self._set("hung", int(on))

    def disarm(self) -> None:
        """Nothing fails any more, but a device that is lost stays lost."""
        self._set("lost_after", -1)
        self._set("oom_after", -1)
        self._set("oom_times", 0)
        self.hang(False)

    def reset(self) -> None:
        """Disarm and set every count to zero."""
        self.disarm()
        for name in ("losses", "ooms", "calls", "allocations"):
            self._set(name, 0)

    @property
    def losses(self) -> int:
        return self._get("losses")

    @property
    def ooms(self) -> int:
        return self._get("ooms")

    @property
    def calls(self) -> int:
        """Submits, waits and polls seen: 0 when the layer is not in use."""
        return self._get("calls")

    @property
    def allocations(self) -> int:
        return self._get("allocations")

    def close(self) -> None:
        self._map.close()
        if self._own:
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _get(self, name: str) -> int:
        return int(struct.unpack_from("=i", self._map, 4 * FIELDS.index(name))[0])

    def _set(self, name: str, value: int) -> None:
        struct.pack_into("=i", self._map, 4 * FIELDS.index(name), value)


def main() -> int:
    with Injector() as injector:
        return subprocess.run(sys.argv[1:], env=injector.env(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
