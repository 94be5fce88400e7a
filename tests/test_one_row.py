"""One inserted row of the table is a whole operation: see one_row.sh."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("one_row.sh")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a shell script")
@pytest.mark.skipif(
    bool(os.environ.get("WGTENSOR_LIMITS")), reason="the build is the same whatever the limits"
)
def test_one_row_is_an_operation() -> None:
    pytest.importorskip("pybind11")
    env = {**os.environ, "PYTHON": sys.executable}
    run = subprocess.run(
        [os.fspath(SCRIPT)], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert run.returncode == 0, run.stdout
    assert "function, method, stub, docs row and parametrised test are there" in run.stdout
