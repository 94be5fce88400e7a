"""A two-layer classifier of scikit-learn's handwritten digits: wgtensor alone does the maths.

The gradients are written out: a step is four matrix products, two reductions and what fuses into
them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import wgtensor as wt

HIDDEN = 128
BATCH = 64
EPOCHS = 40
RATE, MOMENTUM, DECAY = 0.1, 0.9, 1e-3
WANTED = 0.96  # accuracy that each seed must reach with EPOCHS epochs

Array = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Data:
    """Images in rows of 64 numbers from 0 to 1, and classes as rows of ten, on the host."""

    train_x: Array
    train_y: Array
    test_x: Array
    test_y: Array


def load() -> Data:
    """The 1,797 digits, a quarter of them held out."""
    x, y = load_digits(return_X_y=True)
    parts = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
    train_x, test_x = (np.asarray(p / 16, np.float32) for p in parts[:2])
    train_y, test_y = (np.eye(10, dtype=np.float32)[p] for p in parts[2:])
    return Data(train_x, train_y, test_x, test_y)


class Classifier:
    """relu(x @ w1 + b1) @ w2 + b2, trained by gradient descent with momentum."""

    def __init__(self, rng: np.random.Generator) -> None:
        def layer(inputs: int, outputs: int) -> list[wt.Tensor]:
            w = rng.normal(0, 0.3 * (2 / inputs) ** 0.5, (inputs, outputs))
            return [wt.asarray(w, dtype=wt.float32), wt.zeros(outputs)]

        self.parameters = layer(64, HIDDEN) + layer(HIDDEN, 10)
        self.velocities = [wt.zeros_like(p) for p in self.parameters]

    def forward(self, x: wt.Tensor) -> tuple[wt.Tensor, wt.Tensor]:
        """The hidden layer and the probability of each class."""
        w1, b1, w2, b2 = self.parameters
        hidden = (x @ w1 + b1).relu()
        return hidden, (hidden @ w2 + b2).softmax(axis=1)

    def step(self, x: wt.Tensor, y: wt.Tensor, rate: float) -> wt.Tensor:
        """One step on a batch; the loss before it."""
        w2 = self.parameters[2]
        hidden, p = self.forward(x)
        d_out = (p - y) / x.shape[0]
        d_hidden = (d_out @ w2.T) * (hidden > 0)
        gradients = (x.T @ d_hidden, d_hidden.sum(axis=0), hidden.T @ d_out, d_out.sum(axis=0))
        for i, gradient in enumerate(gradients):
            w = self.parameters[i]
            self.velocities[i] = v = MOMENTUM * self.velocities[i] + gradient + DECAY * w
            self.parameters[i] = w - rate * v
        return cross_entropy(p, y)


def cross_entropy(p: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
    """Mean of -log(probability of the right class)."""
    return -((p + 1e-9).log() * y).sum(axis=1).mean()


def confusion(p: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
    """How often class i (row) was taken for class j (column)."""
    predicted = (p == p.max(axis=1, keepdims=True)).astype(wt.float32)
    return y.T @ predicted


@dataclass
class Result:
    """What one seed gives."""

    seed: int
    seconds: float = 0
    train_loss: list[float] = field(default_factory=list)
    test_loss: list[float] = field(default_factory=list)
    confusion: Any = None
    weights: Any = None

    @property
    def accuracy(self) -> float:
        return float(np.trace(self.confusion) / self.confusion.sum())


def train(data: Data, seed: int, epochs: int, bar: tqdm[Any]) -> Result:
    """Trains one classifier. The host only shuffles; a batch is a slice of the shuffled tensors."""
    started = time.perf_counter()
    rng = np.random.default_rng(seed)
    model, result = Classifier(rng), Result(seed)
    test_x, test_y = wt.asarray(data.test_x), wt.asarray(data.test_y)
    steps = len(data.train_x) // BATCH
    for epoch in range(epochs):
        order = rng.permutation(len(data.train_x))
        x, y = wt.asarray(data.train_x[order]), wt.asarray(data.train_y[order])
        rate = RATE * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
        total = wt.zeros(())
        for start in range(0, steps * BATCH, BATCH):
            total = total + model.step(x[start : start + BATCH], y[start : start + BATCH], rate)
            # Starts the step's work, so that each step is the same few kernels.
            wt.eval(total, *model.parameters, *model.velocities)
        p = model.forward(test_x)[1]
        result.train_loss.append(float(total) / steps)
        result.test_loss.append(float(cross_entropy(p, test_y)))
        bar.set_postfix(seed=seed, loss=f"{result.train_loss[-1]:.4f}")
        bar.update()
    p = model.forward(test_x)[1]
    result.confusion = confusion(p, test_y).numpy()
    result.weights = model.parameters[0].numpy()
    result.seconds = time.perf_counter() - started
    return result


def first_result(data: Data) -> float:
    """Seconds until the loss of a first step is on the host; the device is made on the way."""
    started = time.perf_counter()
    model = Classifier(np.random.default_rng(0))
    x, y = wt.asarray(data.train_x[:BATCH]), wt.asarray(data.train_y[:BATCH])
    float(model.step(x, y, RATE))
    return time.perf_counter() - started


def run(device: wt.Device, *, seeds: int, epochs: int | None, png: Path) -> int:
    """The demonstration; 1 where a seed stays below the wanted accuracy."""
    started = time.perf_counter()
    data = load()
    print(f"adapter    {device.name} ({device.backend}, {device.type})")
    print(f"data       {len(data.train_x):,} digits to learn from, {len(data.test_x)} held out")
    first = first_result(data)
    wanted = WANTED if epochs is None else 0.0
    epochs = EPOCHS if epochs is None else epochs
    with tqdm(total=seeds * epochs, unit="epoch", mininterval=0.5) as bar:
        results = [train(data, seed, epochs, bar) for seed in range(seeds)]
    for r in results:
        print(
            f"seed {r.seed}     accuracy {r.accuracy:.4f}, "
            f"loss {r.train_loss[-1]:.4f}, {r.seconds:.2f} s"
        )
    from wgtensor.demo import figure

    figure.draw(results, f"{device.name}, {device.backend}", png)
    print(f"figure     {png}")
    print(f"times      first result {first:.2f} s, in all {time.perf_counter() - started:.2f} s")
    worst = min(r.accuracy for r in results)
    if worst < wanted:
        print(f"an accuracy of {worst:.4f} is below {wanted}")
        return 1
    return 0
