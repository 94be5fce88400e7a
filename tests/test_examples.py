"""The examples run, and do what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from test_docs import script

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda p: p.name)
def test_examples_run(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", os.fspath(path), "32"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 5


def test_the_mandelbrot_set_is_numpys() -> None:
    count = script(EXAMPLES / "mandelbrot.py").mandelbrot(40, 15, turns=20).numpy()
    c = (np.arange(40) * (3.2 / 40) - 2.3)[None] + 1j * (np.arange(15) * (2.4 / 15) - 1.2)[:, None]
    z, expected = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(20):
        z = z * z + c
        expected += np.abs(z) < 2
        z = np.where(np.abs(z) < 2, z, 2 + 2j)
    assert np.mean(count != expected) < 0.02  # points at the edge, in float32


def test_a_step_of_heat_is_numpys(rng: np.random.Generator) -> None:
    import wgtensor as wt

    a = rng.random((9, 7)).astype(np.float32)
    r = script(EXAMPLES / "heat.py").step(wt.asarray(a))
    b = a.copy()
    b[1:-1, 1:-1] += 0.2 * (
        a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4 * a[1:-1, 1:-1]
    )
    np.testing.assert_allclose(r.numpy(), b, rtol=1e-5, atol=1e-6)
