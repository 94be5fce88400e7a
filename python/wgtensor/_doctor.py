"""Why there is no adapter, or only a software one: what `wgtensor doctor` looks at on Linux.

Each check looks at one link of the chain from this process to a GPU (the Vulkan loader, the
description files of drivers, their libraries, the device nodes) and says what is wrong and what
helps.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wgtensor import _advice

OK, NOTE, PROBLEM = "ok", "note", "problem"

_HIDING = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
_FILTERS = ("VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE")
_SOFTWARE = ("lvp", "swiftshader", "llvmpipe")
_SECONDS = 60


@dataclass(frozen=True)
class Finding:
    """What a check saw; `fix` says what helps."""

    state: str
    text: str
    fix: str | None = None


@dataclass(frozen=True)
class System:
    """Where to look: a root folder and an environment, so that tests bring their own."""

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def path(self, name: str) -> Path:
        return self.root / name.lstrip("/")

    def text(self, name: str) -> str:
        try:
            return self.path(name).read_text(errors="replace")
        except OSError:
            return ""

    @property
    def container(self) -> str | None:
        """The kind of container that this is, if it is one."""
        if self.path("/run/.containerenv").exists():
            return "podman"
        if self.path("/.dockerenv").exists():
            return "docker"
        groups = self.text("/proc/1/cgroup")
        for name in ("docker", "kubepods", "containerd", "lxc", "podman"):
            if name in groups:
                return name
        return self.environ.get("container") or None

    @property
    def wsl(self) -> bool:
        return "microsoft" in self.text("/proc/version").lower()

    @property
    def cards(self) -> set[str]:
        return _advice.cards_found(self.path("/sys/bus/pci/devices"))

    def icd_folders(self) -> list[Path]:
        """Where the Vulkan loader looks for descriptions of drivers, in its order."""
        home = self.environ.get("HOME", "")
        folders = [self.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"]
        folders += (self.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
        folders += ["/etc", self.environ.get("XDG_DATA_HOME") or f"{home}/.local/share"]
        data = self.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
        folders += data.split(os.pathsep)
        found = [self.path(f"{folder}/vulkan/icd.d") for folder in folders if folder]
        return list(dict.fromkeys(found))


def install(system: System, loader: bool, cards: set[str]) -> str:
    """The line that installs drivers by the package manager that is here."""
    names = [n for n in _advice.MANAGERS if shutil.which(n, path=system.environ.get("PATH"))]
    managers = [_advice.MANAGERS[name] for name in names or _advice.MANAGERS]
    return " or ".join(f"`{m.command(loader, cards)}` ({m.systems})" for m in managers)


def loading_error(library: str) -> str | None:
    """Why a library cannot be loaded, tried in a process of its own; None where it can."""
    script = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    try:
        done = subprocess.run(
            [sys.executable, "-c", script, library],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"loading it takes more than {_SECONDS} s"
    if done.returncode < 0:
        return f"loading it crashes with signal {-done.returncode}"
    if done.returncode:
        return done.stderr.strip().rpartition("\n")[2].removeprefix("OSError: ")
    return None


# ---- the links of the chain --------------------------------------------------------------------


def check_loader(system: System) -> Iterator[Finding]:
    error = loading_error("libvulkan.so.1")
    if error is None:
        yield Finding(OK, "the Vulkan loader is there (libvulkan.so.1)")
        return
    where = " in the container's image" if system.container else ""
    yield Finding(
        PROBLEM,
        f"there is no Vulkan loader: {error}",
        f"install it{where}, with a driver: {install(system, False, system.cards)}",
    )


def check_environment(system: System) -> Iterator[Finding]:
    for name in _HIDING:
        value = system.environ.get(name)
        if not value:
            continue
        missing = [file for file in value.split(os.pathsep) if file and not Path(file).exists()]
        if missing:
            yield Finding(
                PROBLEM,
                f"{name} hides all drivers but those it names, and {', '.join(missing)} "
                "does not exist",
                f"unset {name}, or correct it",
            )
        else:
            yield Finding(NOTE, f"{name} hides all drivers but {value}")
    for name in _FILTERS:
        if value := system.environ.get(name):
            yield Finding(NOTE, f"{name}={value} leaves drivers out", f"unset {name} to try all")


def icd_files(system: System) -> list[Path]:
    """The descriptions that the loader would read."""
    for name in _HIDING:
        if value := system.environ.get(name):
            return [Path(file) for file in value.split(os.pathsep) if Path(file).exists()]
    return [f for folder in system.icd_folders() for f in sorted(folder.glob("*.json"))]


def check_drivers(system: System) -> Iterator[Finding]:
    files = icd_files(system)
    hidden = any(system.environ.get(name) for name in _HIDING)  # check_environment() has told
    if not files and not hidden:
        folders = ", ".join(map(str, system.icd_folders()))
        yield Finding(
            PROBLEM,
            f"no driver describes itself to the Vulkan loader (no *.json in {folders})",
            f"install a driver: {install(system, True, system.cards)}",
        )
    for file in files:
        yield _check_driver(file)


def _check_driver(file: Path) -> Finding:
    try:
        library = json.loads(file.read_text())["ICD"]["library_path"]
    except PermissionError:
        return Finding(PROBLEM, f"{file} is not yours to read", f"chmod a+r {file}")
    except OSError as error:
        return Finding(PROBLEM, f"{file} cannot be read: {error.strerror}", "reinstall the driver")
    except (ValueError, KeyError, TypeError):
        return Finding(
            PROBLEM, f"{file} is no description of a Vulkan driver", "reinstall the driver"
        )
    path = str(file.parent / library) if "/" in library else library
    fault = loading_error(path)
    if fault is None:
        return Finding(OK, f"{file.name} names {path}, which loads")
    if "/" in library and not Path(path).exists():
        return Finding(
            PROBLEM, f"{file} names {path}, which does not exist", "reinstall the driver"
        )
    return Finding(
        PROBLEM,
        f"{file} names {path}, which does not load: {fault}",
        "install the library that is missing, or reinstall the driver",
    )


def check_cards(system: System) -> Iterator[Finding]:
    cards = system.cards
    names = ", ".join(sorted(_advice.NAMES[c] for c in cards))
    yield Finding(NOTE, f"graphics cards on the PCI bus: {names or 'none seen'}")
    files = [f.name for f in icd_files(system)]
    hardware = [f for f in files if not f.startswith(_SOFTWARE)]
    if cards and files and not hardware:
        yield Finding(
            PROBLEM,
            f"there is a {names} card, and only software drivers: {', '.join(files)}",
            f"install the card's driver: {install(system, True, cards)}",
        )
    if "nvidia" in cards or system.path("/dev/nvidiactl").exists():
        yield from _check_nvidia(system, files)


def _check_nvidia(system: System, files: list[str]) -> Iterator[Finding]:
    if not system.path("/dev/nvidiactl").exists():
        fix = (
            "start the container with the GPU: `docker run --gpus all "
            "-e NVIDIA_DRIVER_CAPABILITIES=all` (NVIDIA Container Toolkit)"
            if system.container
            else "install NVIDIA's driver and restart, or `modprobe nvidia`"
        )
        yield Finding(
            PROBLEM, "an NVIDIA card, but no /dev/nvidiactl: its driver is not there", fix
        )
    elif not any("nvidia" in f for f in files):
        fix = (
            "start the container with `-e NVIDIA_DRIVER_CAPABILITIES=all`: without 'graphics' it "
            "gets CUDA but no Vulkan"
            if system.container
            else f"install the driver's Vulkan part: {install(system, True, {'nvidia'})}"
        )
        yield Finding(PROBLEM, "NVIDIA's kernel driver is there, its Vulkan driver is not", fix)


def check_nodes(system: System) -> Iterator[Finding]:
    nodes = sorted(system.path("/dev/dri").glob("renderD*"))
    mesa = system.cards - {"nvidia"}
    if not nodes and mesa:
        names = ", ".join(sorted(_advice.NAMES[c] for c in mesa))
        fix = (
            "start the container with the nodes: `docker run --device /dev/dri`"
            if system.container
            else "the kernel's driver of the card is missing or failed: see `dmesg`"
        )
        yield Finding(PROBLEM, f"a card of {names}, but no /dev/dri/renderD*", fix)
    for node in nodes:
        if os.access(node, os.R_OK | os.W_OK):
            yield Finding(OK, f"{node} may be opened")
            continue
        group = _group(node)
        fix = (
            f"`docker run --device /dev/dri --group-add {node.stat().st_gid}`"
            if system.container
            else f"`sudo usermod -aG {group} $USER`, then log in anew"
        )
        yield Finding(PROBLEM, f"{node} is not yours to open: it belongs to '{group}'", fix)


def _group(path: Path) -> str:
    import grp  # not on Windows

    gid = path.stat().st_gid
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def check_surroundings(system: System) -> Iterator[Finding]:
    if system.wsl:
        if system.path("/dev/dxg").exists():
            yield Finding(
                NOTE,
                "this is WSL: cards show through Mesa's driver 'dzn' only, NVIDIA's own Vulkan "
                "driver is not made for it",
                "install Mesa 23 or later; or run on Windows itself, where DirectX 12 serves",
            )
        else:
            yield Finding(
                PROBLEM,
                "this is WSL without /dev/dxg: no card shows in it",
                "`wsl --update` on Windows, and a current driver of the card there (WSL 2)",
            )
    if kind := system.container:
        yield Finding(NOTE, f"this is a container ({kind}): it has the drivers of its own image")


# ---- what comes of it --------------------------------------------------------------------------

_LIST = """
import wgtensor as wt
for d in wt.devices():
    print(d, d.type, d.backend, d.name, sep="\\t")
wt.ones(3).numpy() if wt.devices() else None
"""


def adapters(environ: Mapping[str, str] | None = None) -> tuple[list[list[str]], str | None]:
    """Adapters as (name, type, backend, full name), and what went wrong: asked in a process of its
    own, as a broken driver may crash."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _LIST],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            env=None if environ is None else dict(environ),
        )
    except subprocess.TimeoutExpired:
        return [], f"asking for adapters takes more than {_SECONDS} s"
    rows = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 3]
    if done.returncode < 0:
        return rows, f"a driver crashes with signal {-done.returncode}"
    if done.returncode:
        return rows, done.stderr.strip().rpartition("\n")[2]
    return rows, None


def check_adapters(environ: Mapping[str, str] | None = None) -> Iterator[Finding]:
    found, error = adapters(environ)
    for name, kind, backend, full in found:
        yield Finding(OK, f"{name}: {full} ({backend}, {kind})")
    if error is not None:
        yield Finding(PROBLEM, error, "see the checks below")
    if not found:
        yield Finding(PROBLEM, "no adapter is found", "see the checks below")
    elif all(kind == "cpu" for _, kind, _, _ in found):
        yield Finding(NOTE, "only software adapters: everything runs on the CPU")


CHECKS = (
    check_loader,
    check_environment,
    check_drivers,
    check_cards,
    check_nodes,
    check_surroundings,
)


def examine(system: System) -> list[Finding]:
    """What all checks of the system say."""
    return [finding for check in CHECKS for finding in check(system)]


def report(found: list[Finding]) -> str:
    """The findings as lines, with what helps below each."""
    marks = {OK: "  ok  ", NOTE: "  --  ", PROBLEM: "  !!  "}
    lines = []
    for f in found:
        lines.append(marks[f.state] + f.text)
        if f.fix and f.state != OK:
            lines.append(" " * 10 + f.fix)
    return "\n".join(lines)


def doctor() -> int:
    """Prints what is found and what helps; 2 where no adapter can be used."""
    outcome = list(check_adapters())
    print("adapters\n" + report(outcome))
    usable = any(f.state == OK for f in outcome) and all(f.state != PROBLEM for f in outcome)
    if sys.platform == "linux":
        print("\nthis system\n" + report(examine(System())))
    elif not usable:
        print("\n" + _advice.missing_adapter())
    return 0 if usable else 2
