"""The picture of the digits demo: loss curves, confusion matrix, learned weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from wgtensor.demo.digits import Result

_INK, _GREY, _BLUE, _ORANGE = "#222222", "#888888", "#1f5fa8", "#d9722e"
_STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": _GREY,
    "axes.labelcolor": _INK,
    "text.color": _INK,
    "xtick.color": _GREY,
    "ytick.color": _GREY,
}


def _loss(axes: Any, results: Sequence[Result]) -> None:
    epochs = np.arange(1, len(results[0].train_loss) + 1)
    for name, colour in (("train_loss", _BLUE), ("test_loss", _ORANGE)):
        curves = np.array([getattr(r, name) for r in results])
        label = "training" if name == "train_loss" else "held out"
        for curve in curves:
            axes.plot(epochs, curve, color=colour, lw=0.8, alpha=0.3)
        axes.plot(epochs, curves.mean(axis=0), color=colour, lw=2, label=label)
    axes.set_yscale("log")
    axes.set(title="Loss: cross-entropy", xlabel="epoch", xlim=(1, epochs[-1]))
    axes.grid(axis="y", color="#e6e6e6", lw=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right")


def _confusion(axes: Any, results: Sequence[Result]) -> None:
    counts = sum(r.confusion for r in results).astype(int)
    share = counts / counts.sum(axis=1, keepdims=True)
    axes.imshow(share**0.5, cmap="Blues", vmin=0, vmax=1.15)
    for (i, j), n in np.ndenumerate(counts):
        if n:
            colour = "white" if share[i, j] > 0.3 else _INK
            axes.text(j, i, str(n), ha="center", va="center", fontsize=8, color=colour)
    axes.set(title="Confusion, all seeds", xlabel="predicted", ylabel="digit")
    axes.set_xticks(range(10))
    axes.set_yticks(range(10))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _weights(axes: Any, weights: Any, rows: int = 8) -> None:
    """The strongest hidden units, each as the image that it answers to."""
    order = np.argsort(-np.linalg.norm(weights, axis=0))[: rows * rows]
    gap = 1
    side = rows * (8 + gap) - gap
    sheet = np.full((side, side), np.nan)
    for place, unit in enumerate(order):
        top, left = (8 + gap) * (place // rows), (8 + gap) * (place % rows)
        tile = weights[:, unit].reshape(8, 8)
        sheet[top : top + 8, left : left + 8] = tile / np.abs(tile).max()
    axes.imshow(sheet, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
    axes.set_title("Learned weights")
    axes.set_xlabel(f"{len(order)} of {weights.shape[1]} hidden units: red adds, blue subtracts")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


def draw(results: Sequence[Result], adapter: str, path: Path) -> None:
    """Writes the picture of all seeds; the weights are the first one's."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(14, 4.9), dpi=120, layout="constrained")
        loss, matrix, units = figure.subplots(1, 3, width_ratios=(1.15, 1, 1))
        _loss(loss, results)
        _confusion(matrix, results)
        _weights(units, results[0].weights)
        accuracies = [r.accuracy for r in results]
        figure.suptitle(
            f"Handwritten digits on {adapter}: held-out accuracy "
            f"{min(accuracies):.3f} to {max(accuracies):.3f}",
            x=0.01,
            ha="left",
            fontsize=13,
        )
        figure.savefig(path)
