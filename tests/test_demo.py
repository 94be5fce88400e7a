"""The digits demo: it learns, draws, and says what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wgtensor as wt
from test_cli import NO_ADAPTER, linux_only
from wgtensor import optim
from wgtensor.demo import digits
from wgtensor.demo.__main__ import main


def run(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "wgtensor.demo", *arguments],
        env={**os.environ, **env},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_demo_learns_and_draws(tmp_path: Path) -> None:
    done = run(tmp_path, "digits", "--seeds", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert wt.default_device().name in done.stdout
    accuracies = [
        float(line.split("accuracy ")[1].split(",")[0])
        for line in done.stdout.splitlines()
        if line.startswith("seed")
    ]
    assert len(accuracies) == 2
    assert min(accuracies) >= 0.97
    assert "first result" in done.stdout
    assert "in all" in done.stdout
    assert "epoch" in done.stderr  # the progress bar
    png = (tmp_path / "digits.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 20_000


def test_a_short_run_in_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.png"
    assert main(["digits", "--seeds", "1", "--epochs", "2", "--png", str(path)]) == 0
    assert path.stat().st_size > 10_000
    assert "other.png" in capsys.readouterr().out


def test_the_gradients_of_a_step_are_numpys(rng: np.random.Generator) -> None:
    model = digits.Classifier()
    w1, b1, w2, b2 = (p.detach().numpy().astype(float) for p in model.parameters())
    x, y = rng.random((16, 64), np.float32), rng.integers(0, 10, 16).astype(np.int32)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    loss = digits.step(model, optimizer, wt.asarray(x), wt.asarray(y))
    h = np.maximum(x @ w1.T + b1, 0)
    logits = h @ w2.T + b2
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert float(loss) == pytest.approx(-np.log(p[np.arange(16), y]).mean(), rel=1e-5)
    d = (p - np.eye(10)[y]) / 16
    dh = d @ w2 * (h > 0)
    gradients = (dh.T @ x, dh.sum(axis=0), d.T @ h, d.sum(axis=0))
    for p, before, g in zip(model.parameters(), (w1, b1, w2, b2), gradients, strict=True):
        assert p.grad is not None
        np.testing.assert_allclose(p.grad.numpy(), g, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(p.detach().numpy(), before - 0.1 * g, rtol=1e-4, atol=1e-6)


def test_steps_make_no_new_kernels() -> None:
    data = digits.load()
    model = digits.Classifier()
    optimizer = optim.AdamW(model.parameters())
    x, y = wt.asarray(data.train_x), wt.asarray(data.train_y)

    def steps(first: int, last: int) -> dict[str, int]:
        for i in range(first, last):
            part = slice(i * 64, i * 64 + 64)
            digits.step(model, optimizer, x[part], y[part])
        return wt.stats()

    warm = steps(0, 3)
    done = steps(3, 13)
    assert done["pipelines"] == warm["pipelines"]
    assert done["plans"] == warm["plans"]
    assert done["bytes_read"] == warm["bytes_read"]
    # With eight bindings to a kernel, the weights' updates are kernels of their own.
    few = wt.default_device().limits["max_storage_buffers"] <= 8
    assert (done["dispatches"] - warm["dispatches"]) / 10 <= (15 if few else 11)


def test_confusion() -> None:
    scores = np.zeros((3, 10), np.float32)
    scores[[0, 1, 2], [1, 0, 0]] = 1
    counts = digits.confusion(wt.asarray(scores), wt.asarray(np.int32([1, 0, 1]))).numpy()
    assert counts[:2, :2].tolist() == [[1, 0], [1, 1]]
    assert counts.sum() == 3


@linux_only
def test_without_an_adapter(tmp_path: Path) -> None:
    done = run(tmp_path, "digits", **NO_ADAPTER)
    assert done.returncode == 2
    assert "No GPU adapter was found" in done.stderr
    assert "install" in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "digits.png").exists()


def test_with_a_selector_that_names_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "digits", WGTENSOR_DEVICE="voodoo")
    assert done.returncode == 2
    assert "'voodoo'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("package", ["sklearn", "matplotlib", "tqdm"])
def test_a_missing_package_names_the_extra(tmp_path: Path, package: str) -> None:
    (tmp_path / f"{package}.py").write_text(f"raise ImportError('no {package}')")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    done = run(tmp_path, "digits", PYTHONPATH=path)
    assert done.returncode == 2
    assert "wgtensor[demo]" in done.stderr
    assert {"sklearn": "scikit-learn"}.get(package, package) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [[], ["letters"], ["digits", "--seeds", "0"]])
def test_bad_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage" in capsys.readouterr().err
