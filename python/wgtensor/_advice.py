"""What to install where no adapter is found: for the demo, `wgtensor info` and its exit status."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

_ICD_FOLDERS = (
    "/usr/share/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/etc/vulkan/icd.d",
    "~/.local/share/vulkan/icd.d",
)
_VENDORS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
NAMES = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}


@dataclass(frozen=True)
class _Manager:
    """The packages of one package manager."""

    systems: str
    install: str
    loader: str
    software: str
    amd: str
    intel: str
    nvidia: str

    def command(self, loader: bool, vendors: set[str]) -> str:
        """One line that installs what is missing; the software driver where there is no card."""
        drivers = [getattr(self, v) for v in sorted(vendors)] or [self.software]
        packages = ([] if loader else [self.loader]) + drivers
        return f"{self.install} {' '.join(dict.fromkeys(packages))}"


MANAGERS = {
    "apt-get": _Manager(
        "Debian, Ubuntu",
        "apt-get install",
        loader="libvulkan1",
        software="mesa-vulkan-drivers",
        amd="mesa-vulkan-drivers",
        intel="mesa-vulkan-drivers",
        nvidia="nvidia-driver",
    ),
    "dnf": _Manager(
        "Fedora, RHEL",
        "dnf install",
        loader="vulkan-loader",
        software="mesa-vulkan-drivers",
        amd="mesa-vulkan-drivers",
        intel="mesa-vulkan-drivers",
        nvidia="akmod-nvidia",
    ),
    "pacman": _Manager(
        "Arch",
        "pacman -S",
        loader="vulkan-icd-loader",
        software="vulkan-swrast",
        amd="vulkan-radeon",
        intel="vulkan-intel",
        nvidia="nvidia-utils",
    ),
}


def loader_found() -> bool:
    """Whether this system has a Vulkan loader."""
    try:
        ctypes.CDLL("libvulkan.so.1")
    except OSError:
        return False
    return True


def drivers_found() -> list[str]:
    """The Vulkan driver descriptions that the loader would read."""
    for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        if os.environ.get(variable):
            names = os.environ[variable].split(os.pathsep)
            return [name for name in names if Path(name).exists()]
    folders = [Path(folder).expanduser() for folder in _ICD_FOLDERS]
    return [str(file) for folder in folders for file in sorted(folder.glob("*.json"))]


def cards_found(root: Path = Path("/sys/bus/pci/devices")) -> set[str]:
    """Vendors of the graphics cards on the PCI bus: 'nvidia', 'amd', 'intel'."""
    vendors = set()
    for device in root.glob("*"):
        try:
            if (device / "class").read_text().startswith("0x03"):
                vendors.add(_VENDORS.get((device / "vendor").read_text().strip(), ""))
        except OSError:
            continue
    return vendors - {""}


def _linux() -> list[str]:
    loader, drivers, cards = loader_found(), drivers_found(), cards_found()
    lines = []
    if not loader:
        lines.append("There is no Vulkan loader (libvulkan.so.1) on this system.")
    elif not drivers:
        lines.append("There is a Vulkan loader, but it finds no driver (ICD).")
    else:
        lines.append(f"There is a Vulkan loader, but no device on its {len(drivers)} drivers:")
        lines += [f"    {driver}" for driver in drivers]
    lines += [
        f"{variable} is set and hides every other driver: {os.environ[variable]}"
        for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
        if os.environ.get(variable)
    ]
    nodes = sorted(Path("/dev/dri").glob("renderD*"))
    if nodes and not any(os.access(node, os.R_OK | os.W_OK) for node in nodes):
        lines.append(f"{nodes[0]} is not yours to open: add your user to the group 'render'.")
    card = ", ".join(NAMES[v] for v in sorted(cards))
    lines.append(f"Graphics cards: {card}. Install:" if card else "No graphics card seen. Install:")
    present = [name for name in MANAGERS if shutil.which(name)] or list(MANAGERS)
    for name in present:
        manager = MANAGERS[name]
        lines.append(f"    {manager.command(loader, cards)}    # {manager.systems}")
    if not cards:
        lines.append("These packages hold a software driver (llvmpipe) that runs on any CPU.")
    return lines


def missing_adapter() -> str:
    """Why there may be no adapter here, and what to install."""
    if sys.platform == "darwin":
        lines = ["wgtensor uses Metal: macOS on a Mac with a GPU that has Metal is needed."]
    elif sys.platform == "win32":
        lines = ["Install the current driver of your graphics card (for Vulkan or DirectX 12)."]
    else:
        lines = _linux()
    return "\n".join(["No GPU adapter was found.", *lines])
