"""The command `wgtensor`."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence

import numpy as np

import wgtensor as wt
from wgtensor import _advice, _core, _doctor

_BYTES = {"max_buffer", "max_binding", "max_workgroup_memory", "max_immediates"}
_LIMITS = {
    "max_buffer": "largest buffer",
    "max_binding": "largest binding",
    "max_storage_buffers": "storage buffers in a kernel",
    "max_workgroup_memory": "workgroup memory",
    "max_invocations": "invocations in a workgroup",
    "max_groups": "workgroups in a dimension",
    "max_immediates": "immediate data",
}


def _amount(name: str, value: int) -> str:
    if name not in _BYTES:
        return f"{value:,}"
    size, unit = float(value), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.4g} {unit}"


def _workgroup(limits: dict[str, int]) -> str:
    return " x ".join(str(limits[f"max_workgroup_{axis}"]) for axis in "xyz")


def _describe(device: wt.Device, is_default: bool) -> list[str]:
    limits = device.limits
    rows = {
        "backend": device.backend,
        "type": device.type,
        "vendor": device.vendor or "unknown",
        "driver": device.driver or "unknown",
        **{label: _amount(name, limits[name]) for name, label in _LIMITS.items()},
        "workgroup size": _workgroup(limits),
        "features": ", ".join(device.features) or "none",
    }
    head = f"{'*' if is_default else ' '} {device}  {device.name}"
    return [head, *(f"    {label:<29}{value}" for label, value in rows.items())]


def _versions() -> str:
    return (
        f"wgtensor {wt.__version__}, wgpu-native {_core.wgpu_version()}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{platform.system()} {platform.machine()}"
    )


def info() -> int:
    """Prints versions and adapters; 2 where there is none, or none that WGTENSOR_DEVICE names."""
    print(_versions())
    found = wt.devices()
    if not found:
        print("\n" + _advice.missing_adapter())
        return 2
    error = None
    default = None
    try:
        default = wt.default_device()
    except wt.DeviceNotFoundError as e:
        error = str(e)
    print(f"\n{len(found)} adapter{'s' * (len(found) > 1)}, best first; * is the default")
    for device in found:
        print("\n" + "\n".join(_describe(device, device == default)))
    if default is not None and default.type == "cpu":
        print(
            "\nThe default is a software adapter: everything runs on the CPU. If this machine has "
            "a GPU, its Vulkan, Metal or DirectX 12 driver is missing."
        )
    if error is not None:
        print(f"\n{error}")
    return 0 if error is None else 2


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; the exit status."""
    parser = argparse.ArgumentParser("wgtensor", description="Tensors for Python on any GPU.")
    parser.add_argument("--version", action="version", version=_versions())
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="versions, adapters, limits, features; what is missing")
    commands.add_parser("doctor", help="why an adapter is missing, and what helps")
    tune = commands.add_parser(
        "autotune", help="measures kernels for common shapes and stores which are the fastest"
    )
    tune.add_argument("--device", help="adapter selector, as of the setting `device`")
    tune.add_argument("--clear", action="store_true", help="deletes what is stored instead")
    arguments = parser.parse_args(argv)
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # who read has read enough: nothing is left to be written at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command == "doctor":
        return _doctor.doctor()
    if arguments.command == "autotune":
        from wgtensor import _tune_command

        try:
            if arguments.clear:
                return _tune_command.clear()
            return _tune_command.autotune(arguments.device)
        except (wt.WgtensorError, ValueError, OSError) as error:  # a selector, a setting, a folder
            print(f"wgtensor autotune: {error}", file=sys.stderr)
            return 2
    return info()
