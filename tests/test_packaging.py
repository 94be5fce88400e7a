"""What a wheel and a source distribution hold, and the build's own scripts."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import struct
import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent


def installed_files() -> list[PurePosixPath]:
    files = importlib.metadata.files("wgtensor") or []
    names = [PurePosixPath(file) for file in files]
    if PurePosixPath("wgtensor/__init__.py") not in names:
        pytest.skip("an editable install: no wheel to look into")
    return names


def test_the_wheel_is_complete() -> None:
    names = {file.as_posix() for file in installed_files()}
    assert {"wgtensor/_generated.py", "wgtensor/_core.pyi", "wgtensor/py.typed"} <= names
    package = ROOT / "python"
    assert {path.relative_to(package).as_posix() for path in package.rglob("*.py")} <= names
    assert any(name.startswith("wgtensor/_core.") and not name.endswith(".pyi") for name in names)
    assert sum("wgpu_native" in name for name in names) == 1


def test_the_wheel_carries_the_licences() -> None:
    licences = [file for file in installed_files() if "licenses" in file.parts]
    names = {file.name for file in licences}
    assert {"LICENSE", "wgpu-native-MIT.txt", "wgpu-native-Apache-2.0.txt"} <= names


def test_wgpu_native_is_loaded_from_the_package() -> None:
    if sys.platform != "linux":
        pytest.skip("reads /proc")
    code = "import wgtensor._core; print(open('/proc/self/maps').read())"
    maps = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    loaded = {line.split()[-1] for line in maps.splitlines() if "wgpu_native" in line}
    spec = importlib.metadata.distribution("wgtensor").locate_file("wgtensor")
    assert {Path(path).parent for path in loaded} == {Path(str(spec)).resolve()}


def test_the_source_distribution_is_complete(tmp_path: Path) -> None:
    backend = pytest.importorskip("scikit_build_core.build")
    with contextlib.chdir(ROOT):
        name = backend.build_sdist(os.fspath(tmp_path))
    with tarfile.open(tmp_path / name) as archive:
        held = {member.name.split("/", 1)[1] for member in archive if "/" in member.name}
    needed = {"CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md", "tools/embed_shaders.py"}
    for folder in ("csrc", "shaders", "cmake", "licenses"):
        files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
        needed |= {path.relative_to(ROOT).as_posix() for path in files}
    assert needed - held == set()
    assert not any(name.startswith(("build/", ".venv/")) for name in held)


def image_with_exports(names: list[bytes]) -> bytes:
    """The least 64-bit PE image with an export table, its one section at another address."""
    address, raw = 0x1000, 0x200
    table = 40 + 4 * len(names)
    texts, rvas = b"", []
    for name in names:
        rvas.append(address + table + len(texts))
        texts += name + b"\0"
    directory = bytearray(40)
    struct.pack_into("<I", directory, 24, len(names))
    struct.pack_into("<I", directory, 32, address + 40)
    section = bytes(directory) + struct.pack(f"<{len(rvas)}I", *rvas) + texts
    optional = bytearray(240)
    struct.pack_into("<H", optional, 0, 0x20B)
    struct.pack_into("<I", optional, 112, address)
    header = bytearray(0x40)
    header[:2] = b"MZ"
    struct.pack_into("<I", header, 0x3C, 0x40)
    coff = b"PE\0\0" + struct.pack("<HH12xHH", 0x8664, 1, len(optional), 0)
    entry = struct.pack("<8s4I16x", b".rdata", len(section), address, len(section), raw)
    image = bytes(header) + coff + bytes(optional) + entry
    return image.ljust(raw, b"\0") + section


def test_an_import_library_starts_from_the_export_table(tmp_path: Path) -> None:
    dll, definition = tmp_path / "some.dll", tmp_path / "some.def"
    dll.write_bytes(image_with_exports([b"wgpuCreateInstance", b"wgpuQueueSubmit"]))
    script = ROOT / "tools" / "dll_to_def.py"
    subprocess.run([sys.executable, script, dll, definition], check=True)
    assert definition.read_text().split() == [
        *("LIBRARY", "some.dll", "EXPORTS", "wgpuCreateInstance", "wgpuQueueSubmit")
    ]
