"""Includes in csrc/ go one way: the table of docs/architecture.md, checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)

# What each layer may include, itself aside. The graph executes what kernels describe, so it handles
# runtime's buffers and stream, and Python holds runtime's devices: neither sees WebGPU itself.
ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "runtime": {"base"},
    "kernels": {"base", "runtime"},
    "graph": {"base", "runtime", "kernels"},
    "tensor": {"base", "graph"},
    "bindings": {"base", "tensor", "runtime"},
}


def layer_errors(csrc: Path) -> list[str]:
    """Every include that the layers forbid, as `file: reason`."""
    errors = []
    native_users = []
    for path in sorted(p for p in csrc.rglob("*") if p.suffix in {".h", ".cpp", ".def", ".inc"}):
        name = path.relative_to(csrc).as_posix()
        layer = name.split("/")[0]
        if layer not in ALLOWED:
            errors.append(f"{name}: {layer}/ is not a layer")
            continue
        for include in INCLUDE.findall(path.read_text(encoding="utf-8")):
            top, base = include.split("/")[0], include.rsplit("/", 1)[-1]
            if base in {"webgpu.h", "wgpu.h"}:
                if layer != "runtime":
                    errors.append(f"{name}: {include} belongs to runtime")
                elif base == "wgpu.h":
                    native_users.append(name)
            elif top == "pybind11" or include == "Python.h":
                if layer != "bindings":
                    errors.append(f"{name}: {include} belongs to bindings")
            elif top in ALLOWED and top != layer and top not in ALLOWED[layer]:
                errors.append(f"{name}: {layer} must not include {include}")
            elif include.startswith("."):
                errors.append(f"{name}: {include}: include from csrc/, so that layers show")
    if len(native_users) > 1:
        errors.append(f"wgpu.h is for one file of runtime, not for {', '.join(native_users)}")
    return errors


def test_arrows_point_one_way() -> None:
    assert (ROOT / "csrc" / "base").is_dir()
    assert layer_errors(ROOT / "csrc") == []


def test_native_extensions_have_one_home() -> None:
    users = [
        path
        for path in (ROOT / "csrc").rglob("*.cpp")
        if any(i.rsplit("/", 1)[-1] == "wgpu.h" for i in INCLUDE.findall(path.read_text()))
    ]
    assert len(users) == 1


@pytest.mark.parametrize(
    ("file", "include", "expected"),
    [
        ("base/a.h", '"runtime/device.h"', "base must not include runtime/device.h"),
        ("runtime/a.h", '"graph/node.h"', "runtime must not include graph/node.h"),
        ("kernels/a.cpp", '"tensor/tensor.h"', "kernels must not include tensor/tensor.h"),
        ("graph/a.cpp", '"tensor/tape.h"', "graph must not include tensor/tape.h"),
        ("tensor/a.cpp", '"bindings/convert.h"', "tensor must not include bindings/convert.h"),
        ("tensor/a.cpp", "<pybind11/pybind11.h>", "belongs to bindings"),
        ("graph/a.cpp", "<webgpu.h>", "belongs to runtime"),
        ("kernels/a.cpp", "<webgpu/wgpu.h>", "belongs to runtime"),
        ("tensor/a.cpp", '"../bindings/convert.h"', "include from csrc/"),
        ("extra/a.cpp", "<vector>", "not a layer"),
    ],
)
def test_a_wrong_arrow_is_found(tmp_path: Path, file: str, include: str, expected: str) -> None:
    target = tmp_path / file
    target.parent.mkdir()
    target.write_text(f"// A comment.\n#  include {include}\n#include <string>\n")
    errors = layer_errors(tmp_path)
    assert len(errors) == 1
    assert errors[0].startswith(file)
    assert expected in errors[0]


def test_a_second_user_of_the_native_header_is_found(tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    for name in ("native.cpp", "queue.cpp"):
        (tmp_path / "runtime" / name).write_text('#include "wgpu.h"\n#include "base/errors.h"\n')
    assert layer_errors(tmp_path) == [
        "wgpu.h is for one file of runtime, not for runtime/native.cpp, runtime/queue.cpp"
    ]
