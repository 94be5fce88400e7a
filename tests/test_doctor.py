"""`wgtensor doctor` finds what is broken: in systems made of folders, and in this one."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from test_cli import NO_ADAPTER, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at Linux")

if sys.platform == "linux":
    from wgtensor import _doctor
    from wgtensor._doctor import NOTE, OK, PROBLEM, Finding, System

NVIDIA, AMD = "0x10de", "0x1002"


class Machine:
    """A system in a folder, with everything in its place; tests break it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.env = {"HOME": "/home/me", "PATH": "/nowhere"}
        self.driver("lvp_icd.json")

    def write(self, name: str, text: str = "") -> Path:
        path = self.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def card(self, vendor: str) -> None:
        self.write(f"/sys/bus/pci/devices/{vendor}/class", "0x030000\n")
        self.write(f"/sys/bus/pci/devices/{vendor}/vendor", vendor + "\n")

    def driver(self, name: str, library: str = "libm.so.6", where: str = "/usr/share") -> Path:
        return self.write(
            f"{where}/vulkan/icd.d/{name}", json.dumps({"ICD": {"library_path": library}})
        )

    @property
    def system(self) -> System:
        return System(self.root, self.env)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def problems(found: object) -> list[Finding]:
    return [f for f in found if f.state == PROBLEM]  # type: ignore[attr-defined]


def only(found: object) -> Finding:
    """The one problem; it says what helps."""
    (problem,) = problems(found)
    assert problem.fix
    return problem


def test_a_whole_system_has_no_problem(machine: Machine) -> None:
    machine.card(NVIDIA)
    machine.driver("nvidia_icd.json")
    machine.write("/dev/nvidiactl")
    machine.write("/dev/dri/renderD128")
    found = _doctor.examine(machine.system)
    assert [f for f in problems(found) if "libvulkan" not in f.text] == []
    assert sum(f.state == OK for f in found) >= 3


def test_no_loader(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        _doctor, "loading_error", lambda library: f"{library}: cannot open shared object file"
    )
    f = only(_doctor.check_loader(machine.system))
    assert "libvulkan.so.1: cannot open" in f.text
    assert "libvulkan1" in str(f.fix)  # of every package manager, as none is here
    assert "vulkan-icd-loader" in str(f.fix)
    machine.write("/.dockerenv")
    assert "image" in str(only(_doctor.check_loader(machine.system)).fix)


def test_the_package_manager_that_is_here(machine: Machine, tmp_path: Path) -> None:
    machine.write("/bin/dnf").chmod(0o755)
    machine.env["PATH"] = str(tmp_path / "bin")
    line = _doctor.install(machine.system, False, {"amd"})
    assert line == "`dnf install vulkan-loader mesa-vulkan-drivers` (Fedora, RHEL)"


def test_no_driver(machine: Machine) -> None:
    (machine.root / "usr/share/vulkan/icd.d/lvp_icd.json").unlink()
    f = only(_doctor.check_drivers(machine.system))
    assert "no driver describes itself" in f.text
    assert "/usr/local/share/vulkan/icd.d" in f.text
    assert "/home/me/.local/share/vulkan/icd.d" in f.text
    assert "mesa-vulkan-drivers" in str(f.fix)


def test_drivers_of_every_folder_are_seen(machine: Machine) -> None:
    for where in ("/etc", "/usr/local/share", "/home/me/.local/share", "/home/me/.config"):
        machine.driver("x.json", where=where)
    found = list(_doctor.check_drivers(machine.system))
    assert [f.state for f in found] == [OK] * 5


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"ICD": {"library_path": "/nowhere/libvulkan_x.so"}}', "does not exist"),
        ('{"ICD": {"library_path": "libvulkan_of_nobody.so"}}', "cannot open shared object"),
        ('{"ICD": {"library_path": "./broken.so"}}', "does not load"),
        ('{"ICD": {}}', "no description"),
        ("not JSON", "no description"),
        ("[]", "no description"),
    ],
)
def test_a_broken_driver(machine: Machine, text: str, word: str) -> None:
    machine.write("/usr/share/vulkan/icd.d/broken.so", "no library")
    machine.write("/usr/share/vulkan/icd.d/lvp_icd.json", text)
    f = only(_doctor.check_drivers(machine.system))
    assert word in f.text
    assert "lvp_icd.json" in f.text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_driver_that_may_not_be_read(machine: Machine) -> None:
    machine.driver("secret.json").chmod(0)
    assert "chmod a+r" in str(only(_doctor.check_drivers(machine.system)).fix)


def test_variables_that_hide_drivers(machine: Machine, tmp_path: Path) -> None:
    machine.env["VK_DRIVER_FILES"] = f"/gone.json{os.pathsep}{tmp_path}"
    f = only(_doctor.check_environment(machine.system))
    assert "/gone.json does not exist" in f.text
    assert "unset VK_DRIVER_FILES" in str(f.fix)
    machine.env["VK_DRIVER_FILES"] = str(machine.driver("only.json"))
    machine.env["VK_LOADER_DRIVERS_DISABLE"] = "nvidia*"
    states = [f.state for f in _doctor.check_environment(machine.system)]
    assert states == [NOTE, NOTE]
    assert [f.name for f in _doctor.icd_files(machine.system)] == ["only.json"]


def test_a_card_with_a_software_driver_only(machine: Machine) -> None:
    machine.card(AMD)
    f = only(_doctor.check_cards(machine.system))
    assert "AMD card, and only software drivers: lvp_icd.json" in f.text
    assert "mesa-vulkan-drivers" in str(f.fix)
    machine.driver("radeon_icd.x86_64.json")
    assert not problems(_doctor.check_cards(machine.system))


@pytest.mark.parametrize("container", [False, True])
def test_nvidia_without_its_driver(machine: Machine, container: bool) -> None:
    machine.card(NVIDIA)
    machine.driver("nvidia_icd.json")
    if container:
        machine.write("/.dockerenv")
    f = only(_doctor.check_cards(machine.system))
    assert "no /dev/nvidiactl" in f.text
    assert ("--gpus all" if container else "modprobe nvidia") in str(f.fix)


@pytest.mark.parametrize("container", [False, True])
def test_nvidia_without_vulkan(machine: Machine, container: bool) -> None:
    machine.card(NVIDIA)
    machine.driver("intel_icd.json")
    machine.write("/dev/nvidiactl")
    if container:
        machine.write("/proc/1/cgroup", "0::/kubepods/x\n")
    f = only(_doctor.check_cards(machine.system))
    assert "its Vulkan driver is not" in f.text
    assert ("NVIDIA_DRIVER_CAPABILITIES=all" if container else "nvidia-driver") in str(f.fix)


@pytest.mark.parametrize("container", [False, True])
def test_no_nodes(machine: Machine, container: bool) -> None:
    machine.card(AMD)
    if container:
        machine.write("/run/.containerenv")
    f = only(_doctor.check_nodes(machine.system))
    assert "AMD, but no /dev/dri/renderD" in f.text
    assert ("--device /dev/dri" if container else "dmesg") in str(f.fix)


@pytest.mark.parametrize("container", [False, True])
def test_nodes_of_somebody_else(
    machine: Machine, container: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.card(AMD)
    node = machine.write("/dev/dri/renderD128")
    assert [f.state for f in _doctor.check_nodes(machine.system)] == [OK]
    access: Callable[..., bool] = lambda path, mode: False  # noqa: E731 - root may open all
    monkeypatch.setattr(_doctor.os, "access", access)
    if container:
        machine.env["container"] = "podman"
    f = only(_doctor.check_nodes(machine.system))
    assert str(node) in f.text
    wanted = f"--group-add {node.stat().st_gid}" if container else "usermod -aG"
    assert wanted in str(f.fix)


def test_wsl(machine: Machine) -> None:
    machine.write("/proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2\n")
    f = only(_doctor.check_surroundings(machine.system))
    assert "/dev/dxg" in f.text
    assert "wsl --update" in str(f.fix)
    machine.write("/dev/dxg")
    (note,) = _doctor.check_surroundings(machine.system)
    assert (note.state, "dzn" in note.text) == (NOTE, True)


def test_a_library_that_crashes_while_it_loads(tmp_path: Path) -> None:
    source = tmp_path / "crash.c"
    source.write_text("__attribute__((constructor)) static void f(void) { __builtin_trap(); }\n")
    library = tmp_path / "libcrash.so"
    if os.system(f"{os.environ.get('CC', 'cc')} -shared -fPIC {source} -o {library}"):
        pytest.skip("no compiler")
    assert "crashes with signal" in str(_doctor.loading_error(str(library)))


def test_a_driver_that_crashes_does_not_take_the_doctor_along(
    tmp_path: Path, machine: Machine
) -> None:
    source = tmp_path / "crash.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "void* vk_icdGetInstanceProcAddr(void* i, const char* n) { abort(); }\n"
        "int vk_icdNegotiateLoaderICDInterfaceVersion(unsigned* v) { abort(); }\n"
    )
    library = tmp_path / "libcrash.so"
    if os.system(f"{os.environ.get('CC', 'cc')} -shared -fPIC {source} -o {library}"):
        pytest.skip("no compiler")
    icd = machine.write(
        "/icd.json",
        json.dumps(
            {
                "file_format_version": "1.0.0",
                "ICD": {"library_path": str(library), "api_version": "1.3.0"},
            }
        ),
    )
    env = {"VK_DRIVER_FILES": str(icd), "VK_ICD_FILENAMES": str(icd)}
    done = run("doctor", **env)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "crashes with signal" in done.stdout


# ---- the command -------------------------------------------------------------------------------


def test_the_command_here() -> None:
    done = run("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert "adapters\n  ok  gpu:0: " in done.stdout
    assert "this system\n" in done.stdout


def test_a_missing_file_that_hides_all_others_is_one_finding(machine: Machine) -> None:
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        system = dataclasses.replace(machine.system, environ={name: "/missing.json"})
        found = [f for f in _doctor.examine(system) if f.state == PROBLEM and "driver" in f.text]
        assert [name in f.text for f in found] == [True], found


def test_the_command_without_a_driver() -> None:
    done = run("doctor", **NO_ADAPTER, LIBGL_DRIVERS_PATH="/missing")
    assert done.returncode == 2, done.stdout
    assert "no adapter is found" in done.stdout
    assert "VK_DRIVER_FILES hides all drivers but those it names" in done.stdout
    assert "unset VK_DRIVER_FILES" in done.stdout
    assert "describes itself" not in done.stdout
