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
    assert min(accuracies) >= 0.96
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


def test_a_step_is_that_of_numpy(rng: np.random.Generator) -> None:
    model = digits.Classifier(np.random.default_rng(1))
    w1, b1, w2, b2 = (p.numpy().astype(float) for p in model.parameters)
    x = rng.random((16, 64), np.float32)
    y = np.eye(10, dtype=np.float32)[rng.integers(0, 10, 16)]
    for _ in range(2):  # the second step has a velocity
        loss = model.step(wt.asarray(x), wt.asarray(y), 0.1)
    velocity = [np.zeros_like(p) for p in (w1, b1, w2, b2)]
    for _ in range(2):
        h = np.maximum(x @ w1 + b1, 0)
        logits = h @ w2 + b2
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        expected = -np.log((p * y).sum(axis=1)).mean()
        d = (p - y) / 16
        dh = d @ w2.T * (h > 0)
        for i, g in enumerate((x.T @ dh, dh.sum(axis=0), h.T @ d, d.sum(axis=0))):
            w = (w1, b1, w2, b2)[i]
            velocity[i] = digits.MOMENTUM * velocity[i] + g + digits.DECAY * w
        w1, b1, w2, b2 = (w - 0.1 * v for w, v in zip((w1, b1, w2, b2), velocity, strict=True))
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    for ours, reference in zip(model.parameters, (w1, b1, w2, b2), strict=True):
        np.testing.assert_allclose(ours.numpy(), reference, rtol=1e-4, atol=1e-6)


def test_steps_make_no_new_kernels() -> None:
    data = digits.load()
    model = digits.Classifier(np.random.default_rng(0))
    x, y = wt.asarray(data.train_x), wt.asarray(data.train_y)

    def steps(first: int, last: int) -> dict[str, int]:
        for i in range(first, last):
            model.step(x[i * 64 : i * 64 + 64], y[i * 64 : i * 64 + 64], 0.1)
            wt.eval(*model.parameters, *model.velocities)
        return wt.stats()

    warm = steps(0, 3)
    done = steps(3, 13)
    assert done["pipelines"] == warm["pipelines"]
    assert done["plans"] == warm["plans"]
    assert done["bytes_read"] == warm["bytes_read"]
    assert (done["dispatches"] - warm["dispatches"]) / 10 <= 12


def test_confusion() -> None:
    p = wt.asarray([[0.1, 0.9], [0.8, 0.2], [0.6, 0.4]])
    y = wt.asarray([[0.0, 1], [1, 0], [0, 1]])
    assert digits.confusion(p, y).tolist() == [[1, 0], [1, 1]]


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
