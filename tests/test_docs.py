"""The documents: README's example runs, generated pages are current, links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import wgtensor as wt

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def script(path: Path) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


check_docs = script(ROOT / "tools" / "check_docs.py")
build = script(DOCS / "build.py")
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def test_readmes_example_is_short_and_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    program = check_docs.example(text)
    lines = [line for line in program.splitlines() if line.strip()]
    assert 5 <= len(lines) <= 10
    assert check_docs.failed_example(ROOT / "README.md", program) == []


def test_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"\n    make {target} " in text
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_links(path: Path) -> None:
    assert check_docs.broken_links(path, path.read_text(encoding="utf-8")) == []


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for path in DOCS.rglob("*.md"):
        if path.name != "index.md":
            assert f"({path.relative_to(DOCS).as_posix()})" in index


def test_generated_pages_are_current() -> None:
    assert build.outdated() == [], "run `python docs/build.py`"
    assert build.main(["--check"]) == 0


def test_a_stale_page_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "HERE", tmp_path)
    assert build.main(["--check"]) == 1
    assert "settings.md" in capsys.readouterr().out
    assert build.main([]) == 0
    assert build.main(["--check"]) == 0
    (tmp_path / "operations.md").write_text("old")
    assert build.outdated() == ["operations.md"]


def test_pages_list_everything() -> None:
    operations = (DOCS / "operations.md").read_text(encoding="utf-8")
    names = set(re.findall(r"^\| `(\w+)", operations, re.MULTILINE))
    functions = {
        name
        for name in wt.__all__
        if callable(getattr(wt, name)) and not isinstance(getattr(wt, name), (type, wt.DType))
    }
    assert functions - names == set()
    settings = (DOCS / "settings.md").read_text(encoding="utf-8")
    for name in dir(wt.config):
        assert f"| `{name}` |" in settings


def test_errors_page_lists_every_exception() -> None:
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    for name in wt.__all__:
        value = getattr(wt, name)
        if isinstance(value, type) and issubclass(value, wt.WgtensorError):
            assert f"`{name}`" in text or f"`wt.{name}`" in text
