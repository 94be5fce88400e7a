"""`wgtensor info`, and what is said where no adapter is found."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import wgtensor as wt
from wgtensor import _advice, cli

NO_ADAPTER = {
    "VK_DRIVER_FILES": "/missing.json",
    "VK_ICD_FILENAMES": "/missing.json",
    "__EGL_VENDOR_LIBRARY_FILENAMES": "/missing.json",
}
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="hides Linux's drivers")


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "wgtensor", *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_info_lists_every_adapter(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info"]) == 0
    text = capsys.readouterr().out
    for word in (f"wgtensor {wt.__version__}", "wgpu-native", "Python 3.", "NumPy"):
        assert word in text
    for device in wt.devices():
        assert f"{device}  {device.name}" in text
        assert device.driver in text
        for feature in device.features:
            assert feature in text
    assert text.count("\n* ") == 1
    assert f"\n* {wt.default_device()}" in text
    assert "128 MiB" in text or "GiB" in text
    assert ("software adapter" in text) == (wt.default_device().type == "cpu")


def test_the_module_is_the_command() -> None:
    done = run("info")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "* gpu:" in done.stdout
    assert run("--version").stdout.startswith(f"wgtensor {wt.__version__}, wgpu-native")


def test_who_reads_may_stop() -> None:
    command = [sys.executable, "-m", "wgtensor", "info"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        assert p.stdout
        assert p.stderr
        p.stdout.close()
        errors = p.stderr.read()
    assert p.returncode == 1
    assert "Error" not in errors


def test_without_a_command_it_says_which_there_are() -> None:
    done = run()
    assert done.returncode == 2
    assert "info" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "env"),
    [(("--device", "voodoo"), {}), ((), {"WGTENSOR_AUTOTUNE": "voodoo"})],
)
def test_tuning_says_what_it_cannot(arguments: tuple[str, ...], env: dict[str, str]) -> None:
    done = run("autotune", *arguments, **env)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("wgtensor autotune: ")
    assert "'voodoo'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_selector_that_names_nothing_is_told() -> None:
    done = run("info", WGTENSOR_DEVICE="voodoo")
    assert done.returncode == 2
    assert "WGTENSOR_DEVICE asks for 'voodoo'" in done.stdout
    assert "\n* " not in done.stdout
    assert "gpu:0" in done.stdout


@linux_only
def test_without_an_adapter() -> None:
    done = run("info", **NO_ADAPTER)
    assert done.returncode == 2, done.stderr
    assert done.stderr == ""
    assert "wgpu-native" in done.stdout
    assert "No GPU adapter was found" in done.stdout
    assert "VK_DRIVER_FILES is set" in done.stdout
    assert "install" in done.stdout.lower()


# ---- the advice --------------------------------------------------------------------------------


def advice(
    monkeypatch: pytest.MonkeyPatch,
    *,
    loader: bool,
    drivers: Iterable[str] = (),
    cards: Iterable[str] = (),
    managers: Iterable[str] = ("apt-get",),
) -> str:
    found = set(managers)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(_advice, "loader_found", lambda: loader)
    monkeypatch.setattr(_advice, "drivers_found", lambda: list(drivers))
    monkeypatch.setattr(_advice, "cards_found", lambda: set(cards))
    monkeypatch.setattr(_advice.shutil, "which", lambda name: name if name in found else None)
    return _advice.missing_adapter()


def test_no_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    text = advice(monkeypatch, loader=False)
    assert "no Vulkan loader" in text
    assert "apt-get install libvulkan1 mesa-vulkan-drivers" in text
    assert "dnf" not in text


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    text = advice(monkeypatch, loader=True)
    assert "finds no driver" in text
    assert "apt-get install mesa-vulkan-drivers" in text
    assert "libvulkan1" not in text


def test_drivers_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    text = advice(monkeypatch, loader=True, drivers=["/x/radeon.json"])
    assert "/x/radeon.json" in text


@pytest.mark.parametrize(
    ("manager", "card", "package"),
    [
        ("apt-get", "nvidia", "nvidia-driver"),
        ("dnf", "intel", "mesa-vulkan-drivers"),
        ("dnf", "nvidia", "akmod-nvidia"),
        ("pacman", "amd", "vulkan-radeon"),
        ("pacman", "intel", "vulkan-intel"),
        ("pacman", "nvidia", "nvidia-utils"),
    ],
)
def test_the_package_follows_manager_and_card(
    monkeypatch: pytest.MonkeyPatch, manager: str, card: str, package: str
) -> None:
    text = advice(monkeypatch, loader=True, cards=[card], managers=[manager])
    assert package in text
    assert "software" not in text


def test_an_unknown_system_gets_every_name(monkeypatch: pytest.MonkeyPatch) -> None:
    text = advice(monkeypatch, loader=False, managers=[])
    for word in ("apt-get", "dnf", "pacman", "vulkan-icd-loader", "vulkan-loader", "vulkan-swrast"):
        assert word in text


@pytest.mark.parametrize(("platform", "word"), [("darwin", "Metal"), ("win32", "DirectX 12")])
def test_other_systems(monkeypatch: pytest.MonkeyPatch, platform: str, word: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert word in _advice.missing_adapter()


def test_cards_are_read_from_the_bus(tmp_path: Path) -> None:
    for i, (kind, vendor) in enumerate(
        [("0x030000", "0x10de"), ("0x030200", "0x1002"), ("0x020000", "0x8086"), ("0x03", "0x1af4")]
    ):
        (tmp_path / str(i)).mkdir()
        (tmp_path / str(i) / "class").write_text(kind + "\n")
        (tmp_path / str(i) / "vendor").write_text(vendor + "\n")
    (tmp_path / "empty").mkdir()
    assert _advice.cards_found(tmp_path) == {"nvidia", "amd"}
    assert _advice.cards_found(tmp_path / "missing") == set()


def test_drivers_named_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    driver = tmp_path / "icd.json"
    driver.write_text("{}")
    monkeypatch.setenv("VK_DRIVER_FILES", f"{driver}{os.pathsep}/missing.json")
    assert _advice.drivers_found() == [str(driver)]
