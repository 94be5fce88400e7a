"""A two-layer classifier of scikit-learn's handwritten digits, by automatic differentiation.

A step is four matrix products, of which two update the weights as they make their gradients, two
reductions that do so for the biases, and what the loss takes.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import wgtensor as wt
from wgtensor import nn, optim
from wgtensor.nn.functional import cross_entropy

HIDDEN = 128
BATCH = 64
EPOCHS = 40
RATE, DECAY = 4e-3, 0.05
WANTED = 0.97  # accuracy that each seed must reach with EPOCHS epochs

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Data:
    """Images in rows of 64 numbers from 0 to 1, and their classes, on the host."""

    train_x: Array
    train_y: Array
    test_x: Array
    test_y: Array


def load() -> Data:
    """The 1,797 digits, a quarter of them held out."""
    x, y = load_digits(return_X_y=True)
    parts = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
    train_x, test_x = (np.asarray(p / 16, np.float32) for p in parts[:2])
    train_y, test_y = (np.asarray(p, np.int32) for p in parts[2:])
    return Data(train_x, train_y, test_x, test_y)


class Classifier(nn.Sequential):
    """Two linear maps with a relu between: 64 pixels to the scores of ten classes."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(64, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))


def step(model: nn.Module, optimizer: optim.Optimizer, x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
    """One step on a batch; the loss before it."""
    optimizer.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def confusion(scores: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
    """How often class i (row) was taken for class j (column)."""
    classes = wt.arange(10)
    actual = (y.expand_dims(1) == classes).astype(wt.float32)
    predicted = (scores.argmax(axis=1).expand_dims(1) == classes).astype(wt.float32)
    return actual.T @ predicted


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
    """Trains one classifier. Batches are slices of what a permutation on the device made."""
    started = time.perf_counter()
    wt.random.manual_seed(seed)
    model, result = Classifier(), Result(seed)
    optimizer = optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    train_x, train_y, test_x, test_y = (
        wt.asarray(a) for a in (data.train_x, data.train_y, data.test_x, data.test_y)
    )
    steps = len(data.train_x) // BATCH
    for _ in range(epochs):
        order = wt.random.permutation(len(data.train_x))
        x, y = train_x[order], train_y[order]
        wt.eval(x, y)
        total = wt.zeros(())
        for start in range(0, steps * BATCH, BATCH):
            part = slice(start, start + BATCH)
            total = total + step(model, optimizer, x[part], y[part])
        schedule.step()
        with wt.no_grad():
            held_out = cross_entropy(model(test_x), test_y)
        result.train_loss.append(float(total) / steps)
        result.test_loss.append(float(held_out))
        bar.set_postfix(seed=seed, loss=f"{result.train_loss[-1]:.4f}")
        bar.update()
    with wt.no_grad():
        result.confusion = confusion(model(test_x), test_y).numpy()
    result.weights = model[0].weight.detach().numpy().T
    result.seconds = time.perf_counter() - started
    return result


def first_result(data: Data) -> float:
    """Seconds until the loss of a first step is on the host; the device is made on the way."""
    started = time.perf_counter()
    model = Classifier()
    optimizer = optim.AdamW(model.parameters())
    x, y = wt.asarray(data.train_x[:BATCH]), wt.asarray(data.train_y[:BATCH])
    loss = float(step(model, optimizer, x, y))
    if not math.isfinite(loss):
        raise ArithmeticError(f"the first loss is {loss}")
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
