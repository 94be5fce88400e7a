"""What measured choices are kept in: files that may be missing, broken, foreign or shared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import wgtensor as wt
from children import run_script
from helpers import setting
from wgtensor import _autotune, cli

# Times decide, not the machine: the kernel whose name comes last is the fastest.
MEASURE = """
    import json, sys, wgtensor as wt
    size = int(sys.argv[1])
    names = wt._core.matmul_kernels()
    wt._core.tuning_rules(budget=1e9, seconds={n: 0.9**i for i, n in enumerate(names)})
    a = wt.ones((size, size))
    assert (a @ a).numpy()[0, 0] == size
    info = wt.autotune_info()
    print(json.dumps({k: info[k] for k in ("mode", "file", "hash", "choices")}))
"""
NO_CHOICES = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"  # of "[]"


def run(folder: Path, mode: str, size: int = 40) -> dict[str, Any]:
    out = run_script(
        MEASURE, size, env={"WGTENSOR_AUTOTUNE": mode, "WGTENSOR_CACHE_FOLDER": str(folder)}
    )
    result: dict[str, Any] = json.loads(out)
    return result


def kernels(info: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {name: (c["kernel"], c["origin"]) for name, c in info["choices"].items()}


def test_round_trip(tmp_path: Path) -> None:
    empty = run(tmp_path, "stored")
    assert [origin for _, origin in kernels(empty).values()] == ["estimate"]
    assert empty["hash"] == NO_CHOICES
    first = run(tmp_path, "1")
    ((shape_class, (kernel, origin)),) = kernels(first).items()
    assert origin == "measured"
    assert kernel != kernels(empty)[shape_class][0]
    stored = json.loads(Path(first["file"]).read_text())["choices"][shape_class]
    assert stored == {"kernel": kernel, "ms": first["choices"][shape_class]["ms"]}
    assert min(stored["ms"], key=stored["ms"].get) == kernel
    for mode in ("stored", "1"):
        again = run(tmp_path, mode)
        assert kernels(again) == {shape_class: (kernel, "stored")}
        assert again["hash"] == first["hash"]
    off = run(tmp_path, "0")
    assert off["choices"] == {}
    assert off["file"] is None
    # A new class is added to what is there.
    other = run(tmp_path, "1", size=70)
    assert len(kernels(other)) == 2
    assert set(json.loads(Path(first["file"]).read_text())["choices"]) == set(kernels(other))
    assert other["hash"] != first["hash"]


def test_processes_at_once(tmp_path: Path) -> None:
    sizes = (20, 40, 80)
    children = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(MEASURE), str(size)],
            env={**os.environ, "WGTENSOR_AUTOTUNE": "1", "WGTENSOR_CACHE_FOLDER": str(tmp_path)},
            stdout=subprocess.PIPE,
        )
        for size in sizes
    ]
    for child in children:
        assert child.wait(timeout=120) == 0
        assert child.stdout is not None
        child.stdout.close()
    (file,) = tmp_path.glob("*.json")
    assert len(json.loads(file.read_text())["choices"]) == len(sizes)
    assert not list(tmp_path.glob("*.tmp"))


def good(key: str) -> dict[str, Any]:
    return {"format": 1, "key": key, "choices": {"matmul x": {"kernel": "k", "ms": {"k": 1.0}}}}


def test_only_good_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    assert _autotune.read(path, "a") == {}
    path.write_text(json.dumps(good("a")))
    assert _autotune.read(path, "a") == good("a")["choices"]
    assert _autotune.read(path, "b") == {}
    broken: list[str | bytes] = [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        b"\xff\xfe\x00",
        json.dumps({**good("a"), "format": 2}),
        json.dumps({**good("a"), "choices": [1]}),
        json.dumps({**good("a"), "choices": {"matmul x": "k", "y": {"kernel": 3}, "z": {}}}),
        json.dumps({**good("a"), "choices": {"x" * 500: {"kernel": "k"}}}),
        json.dumps(good("a")) + " " * (5 << 20),
    ]
    for content in broken:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        assert _autotune.read(path, "a") == {}, content[:60]
    path.unlink()
    path.mkdir()
    assert _autotune.read(path, "a") == {}


@pytest.mark.parametrize("content", ["broken", '{"format": 1}', ""])
def test_a_broken_file_is_replaced(content: str, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(content)
    _autotune.write(path, "a", good("a")["choices"], replace=False)
    assert json.loads(path.read_text()) == good("a")


def test_what_is_stored_stays_unless_it_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder" / "table.json"
    _autotune.write(path, "a", {"x": {"kernel": "one"}}, replace=False)
    _autotune.write(path, "a", {"x": {"kernel": "two"}, "y": {"kernel": "two"}}, replace=False)
    assert _autotune.read(path, "a") == {"x": {"kernel": "one"}, "y": {"kernel": "two"}}
    _autotune.write(path, "a", {"x": {"kernel": "two"}}, replace=True)
    assert _autotune.read(path, "a")["x"] == {"kernel": "two"}


def test_a_file_is_never_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.json"
    _autotune.write(path, "a", good("a")["choices"], replace=False)

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(28, "no space left")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no space"):
        _autotune.write(path, "a", {"y": {"kernel": "two"}}, replace=False)
    assert json.loads(path.read_text()) == good("a")
    assert not list(tmp_path.glob("*.tmp"))


def test_kernels_that_do_not_exist_are_ignored(tmp_path: Path) -> None:
    first = run(tmp_path, "1")
    file = Path(first["file"])
    content = json.loads(file.read_text())
    for value in content["choices"].values():
        value["kernel"] = "../../etc/passwd"
    file.write_text(json.dumps(content))
    run(tmp_path, "stored")  # computes, by the estimate's choice


@pytest.mark.parametrize("what", ["a file", "read-only"])
def test_folders_that_cannot_be_written(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    if what == "a file":
        folder.write_text("in the way")
    else:
        folder.mkdir(mode=0o500)
    info = run(folder, "1")
    assert [origin for _, origin in kernels(info).values()] == ["measured"]


def test_default_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with setting(cache_folder=str(tmp_path)):
        assert _autotune.folder() == tmp_path
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert _autotune.folder() == tmp_path / "wgtensor"
    assert _autotune.folder().name.lower().startswith("wgtensor") or sys.platform == "win32"


def test_forks_store_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_autotune, "_owner", -1)
    rows = [("matmul x", "k", "measured", {"k": 1.0})]
    monkeypatch.setattr(wt._core, "tuning_news", iter([[("key", rows, [])], []]).__next__)
    with setting(cache_folder=str(tmp_path)):
        _autotune.save()
    assert not list(tmp_path.iterdir())


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    from wgtensor import _tune_command

    monkeypatch.setattr(_tune_command, "_PRODUCTS", ((20, 20, 20, 1),))
    monkeypatch.setattr(_tune_command, "_ROWS", ((3, 64),))
    mode = wt.config.autotune
    with setting(cache_folder=str(tmp_path)):
        assert cli.main(["autotune"]) == 0
        text = capsys.readouterr().out
        (file,) = tmp_path.glob("autotune-*.json")
        stored = json.loads(file.read_text())["choices"]
        for shape_class, value in stored.items():
            assert f"[{shape_class}]" in text
            assert f"* {value['kernel']}" in text
        assert f"stored in {file}" in text
        families = {name.split()[0] for name in stored}
        assert families == {"matmul", "softmax", "normalize", "reduce"}
        assert cli.main(["autotune", "--clear"]) == 0
        assert f"deleted {file}" in capsys.readouterr().out
        assert not list(tmp_path.iterdir())
        assert cli.main(["autotune", "--clear"]) == 0
        assert capsys.readouterr().out == f"nothing in {tmp_path}\n"
    assert wt.config.autotune == mode


def test_the_command_looks_for_its_folder_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from wgtensor import _tune_command

    monkeypatch.setattr(_tune_command, "_PRODUCTS", "nothing is measured")
    (tmp_path / "file").write_text("in the way")
    with setting(cache_folder=str(tmp_path / "file")):
        assert cli.main(["autotune"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("nothing can be stored: ")
    assert "cannot be written" in out
    monkeypatch.setattr(_autotune, "clear", lambda: (tmp_path / "none").unlink())
    assert cli.main(["autotune", "--clear"]) == 2
    assert capsys.readouterr().err.startswith("wgtensor autotune: ")


def test_the_command_tells_when_not_all_was_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from wgtensor import _tune_command

    monkeypatch.setattr(_tune_command, "_PRODUCTS", ((20, 20, 20, 1),))
    monkeypatch.setattr(_tune_command, "_ROWS", ())
    monkeypatch.setattr(_autotune, "_store", lambda key, measured: None)  # as on a full disk
    with setting(cache_folder=str(tmp_path)):
        assert cli.main(["autotune"]) == 1
    assert "\nnot all was stored: " in capsys.readouterr().out
