"""Follow the relative links of README.md and docs/, and run their Python examples.

The examples of one file run in order as one program. A block that starts with ```python no-run is
shown and not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```python *(.*?)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANY_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def broken_links(path: Path, text: str) -> list[str]:
    """Links to files that are not there."""
    errors = []
    for target in LINK.findall(ANY_FENCE.sub("", text)):
        file = target.split("#")[0]
        if file and not re.match(r"[a-z]+:", file) and not (path.parent / file).exists():
            errors.append(f"{path.relative_to(ROOT)}: no {target}")
    return errors


def example(text: str) -> str:
    """The program of all blocks, each at its line of the document, so that errors point there."""
    lines: list[str] = []
    for block in FENCE.finditer(text):
        if block.group(1) != "no-run":
            lines += [""] * (text.count("\n", 0, block.start(2)) - len(lines))
            lines += block.group(2).splitlines()
    return "\n".join(lines)


def failed_example(path: Path, program: str) -> list[str]:
    """Run the program in an empty folder."""
    runner = "import sys; n = sys.argv[1]; exec(compile(sys.stdin.read(), n, 'exec'))"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", runner, os.fspath(path)],
            input=program,
            text=True,
            capture_output=True,
            cwd=folder,
            timeout=300,
            check=False,
        )
    if done.returncode == 0:
        return []
    return [f"{path.relative_to(ROOT)}: the examples fail\n{done.stdout}{done.stderr}"]


def main() -> int:
    errors = []
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        errors += broken_links(path, text)
        program = example(text)
        if program:
            errors += failed_example(path, program)
    print("\n".join(errors) or f"{len(paths)} documents are right")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
