"""Time of training steps, beside PyTorch and ferrotensor (its MLPs) where they are installed.

python benches/training.py [--smoke] [--rows A,B] [--steps N] [--json FILE]

Each step is forward, backward and an AdamW update on data that is on the device already, with no
read in between; a row is the median of five rounds, per step. `jit` is the same step recorded.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from record import Record, head, timed_row, write

import wgtensor as wt
from wgtensor import nn, optim

ROUNDS = 5
MLPS = {
    "mlp 784-512-10, batch 128": (784, 512, 10, 128),
    "mlp 1024-4096-1024, batch 1024": (1024, 4096, 1024, 1024),
}
SMOKE_MLPS = {"mlp 8-16-4, batch 8": (8, 16, 4, 8)}
GPT = {"layers": 4, "width": 128, "heads": 4, "context": 64, "batch": 32, "tokens": 96}


def data(shape: tuple[int, ...], classes: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal(shape, dtype=np.float32), rng.integers(
        0, classes, size, dtype=np.int32
    )


def tokens() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    text = rng.integers(0, GPT["tokens"], (GPT["batch"], GPT["context"] + 1), dtype=np.int32)
    return np.ascontiguousarray(text[:, :-1]), np.ascontiguousarray(text[:, 1:]).reshape(-1)


class Block(nn.Module):
    """A layer of a decoder: attention to earlier places, then two linear maps."""

    def __init__(self, lib: Any, functional: Any, width: int, heads: int) -> None:
        super().__init__()
        self.f, self.heads = functional, heads
        self.norm1, self.norm2 = lib.LayerNorm(width), lib.LayerNorm(width)
        self.qkv, self.out = lib.Linear(width, 3 * width), lib.Linear(width, width)
        self.up, self.down = lib.Linear(width, 4 * width), lib.Linear(4 * width, width)

    def forward(self, x: Any, mask: Any) -> Any:
        b, t, c = x.shape
        parts = self.qkv(self.norm1(x)).reshape((b, t, 3, self.heads, c // self.heads))
        q, k, v = (parts[:, :, i] for i in range(3))
        q, k, v = (p.swapaxes(1, 2) for p in (q, k, v))
        scores = (q @ k.swapaxes(-1, -2)) * (c // self.heads) ** -0.5 + mask
        y = self.f.softmax(scores, -1) @ v
        x = x + self.out(y.swapaxes(1, 2).reshape((b, t, c)))
        return x + self.down(self.f.gelu(self.up(self.norm2(x))))


def ours(name: str) -> tuple[Callable[[], Any], Callable[[], None]]:
    """A step, and how to wait for it."""
    wt.random.manual_seed(0)
    if name in MLPS:
        i, h, o, batch = MLPS[name]
        x, y = (wt.asarray(a) for a in data((batch, i), o, batch))
        net: nn.Module = nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, o))
        forward = lambda: net(x)  # noqa: E731
    else:
        x, y = (wt.asarray(a) for a in tokens())
        net, forward = gpt(nn, nn.functional, x, wt.asarray(causal()), wt.arange(GPT["context"]))
    optimizer = optim.AdamW(net.parameters(), lr=1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(forward(), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, wt.synchronize


def causal() -> np.ndarray:
    n = GPT["context"]
    return np.where(np.tri(n, dtype=bool), np.float32(0), np.float32(-1e9)).astype(np.float32)


def gpt(lib: Any, functional: Any, x: Any, mask: Any, places: Any) -> tuple[Any, Callable[[], Any]]:
    width = GPT["width"]
    base = lib.Module
    block = (
        Block
        if lib is nn
        else type("Block", (base,), {"__init__": _torch_init, "forward": Block.forward})
    )
    net = lib.ModuleList(
        [lib.Embedding(GPT["tokens"], width), lib.Embedding(GPT["context"], width)]
    )
    blocks = [block(lib, functional, width, GPT["heads"]) for _ in range(GPT["layers"])]
    net.extend([*blocks, lib.LayerNorm(width), lib.Linear(width, GPT["tokens"])])

    def forward() -> Any:
        h = net[0](x) + net[1](places)
        for b in blocks:
            h = b(h, mask)
        return net[-1](net[-2](h)).reshape((-1, GPT["tokens"]))

    return net, forward


def _torch_init(self: Any, lib: Any, functional: Any, width: int, heads: int) -> None:
    lib.Module.__init__(self)
    self.f, self.heads = functional, heads
    self.norm1, self.norm2 = lib.LayerNorm(width), lib.LayerNorm(width)
    self.qkv, self.out = lib.Linear(width, 3 * width), lib.Linear(width, width)
    self.up, self.down = lib.Linear(width, 4 * width), lib.Linear(4 * width, width)


def theirs(torch: Any, name: str) -> tuple[Callable[[], Any], Callable[[], None]]:
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tnn = torch.nn
    if name in MLPS:
        i, h, o, batch = MLPS[name]
        a, b = data((batch, i), o, batch)
        x, y = torch.from_numpy(a).to(device), torch.from_numpy(b).long().to(device)
        net = tnn.Sequential(tnn.Linear(i, h), tnn.ReLU(), tnn.Linear(h, o)).to(device)
        forward = lambda: net(x)  # noqa: E731
    else:
        a, b = tokens()
        x, y = torch.from_numpy(a).to(device), torch.from_numpy(b).long().to(device)
        mask = torch.from_numpy(causal()).to(device)
        net, forward = gpt(
            tnn, tnn.functional, x, mask, torch.arange(GPT["context"], device=device)
        )
        net.to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        loss = tnn.functional.cross_entropy(forward(), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, torch.cuda.synchronize if device == "cuda" else lambda: None


def ferrotensors(ft: Any, name: str) -> tuple[Callable[[], Any], Callable[[], None]]:
    i, h, o, batch = MLPS[name]
    device = ft.Device.best()
    a, b = data((batch, i), o, batch)
    x, y = ft.tensor(a, device=device), ft.tensor(b.astype(np.float32), device=device)
    first, second = (ft.nn.Linear(n, m, device=device) for n, m in ((i, h), (h, o)))
    net = ft.nn.Sequential(first, ft.nn.ReLU(), second)
    optimizer = ft.optim.AdamW(list(net.parameters()), lr=1e-3)
    losses: list[Any] = []

    def step() -> Any:
        optimizer.zero_grad()
        loss = ft.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses[:] = [loss]
        return loss

    def wait() -> None:  # it has no other way; the update's kernels are behind the loss's
        losses[0].item()
        second.bias.detach().narrow(0, 0, 1).item()

    return step, wait


def seconds(step: Callable[[], Any], wait: Callable[[], None], steps: int) -> list[float]:
    """Of one step, each round."""
    for _ in range(5):
        step()
    wait()
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        wait()
        rounds.append((time.perf_counter() - begin) / steps)
    return rounds


def counts(step: Callable[[], Any]) -> dict[str, float]:
    """Of one step: kernels, submissions, and bytes that were read back."""
    before = wt.stats()
    for _ in range(10):
        step()
    read = wt.stats()["bytes_read"]
    wt.synchronize()
    after = wt.stats()
    after["bytes_read"] = read  # the wait itself looks for indices out of range
    return {k: (after[k] - before[k]) / 10 for k in ("dispatches", "submits", "bytes_read")}


def installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def measure(name: str, steps: int, torch: Any, ft: Any) -> list[Record]:
    step, wait = ours(name)
    rows = [timed_row(name, "wgtensor", seconds(step, wait, steps), "ms", counts=counts(step))]
    recorded = wt.jit(step)
    samples = seconds(recorded, wait, steps)
    loss = float(recorded().item())
    if not np.isfinite(loss):
        raise SystemExit(f"training: {name}: the loss is {loss}")
    rows.append(timed_row(name, "wgtensor.jit", samples, "ms", counts=counts(recorded), loss=loss))
    if torch:
        rows.append(timed_row(name, "torch", seconds(*theirs(torch, name), steps), "ms"))
    if ft and name in MLPS:
        try:
            rows.append(
                timed_row(name, "ferrotensor", seconds(*ferrotensors(ft, name), steps), "ms")
            )
        except Exception as e:  # a peer that is broken is a peer that is missing
            print(f"ferrotensor: {type(e).__name__}: {e}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a tiny network, two steps a round")
    parser.add_argument("--rows", default="", help="only rows whose names begin so: A,B")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    steps = 2 if options.smoke else options.steps
    if options.smoke:
        MLPS.clear()
        MLPS.update(SMOKE_MLPS)
        GPT.update(layers=1, width=16, heads=2, context=8, batch=2)
    torch = installed("torch")
    ft = None if wt.default_device().type == "cpu" else installed("ferrotensor")
    versions = {"torch": torch.__version__} if torch else {}
    versions |= {"ferrotensor": version("ferrotensor")} if ft else {}
    about = head("training", "smoke" if options.smoke else "full", versions)
    devices = {"wgtensor": wt.default_device().name}
    if torch:
        cuda = torch.cuda.is_available()
        devices["torch"] = torch.cuda.get_device_name() + ", TF32 off" if cuda else "CPU"
    if ft:
        devices["ferrotensor"] = f"{ft.Device.best().name} ({ft.Device.best().backend})"
    about |= {"devices": devices}
    print(", ".join(f"{k} {v}" for k, v in (about["versions"] | {"on": devices}).items()))
    rows: list[Record] = []
    for name in [*MLPS, "character GPT"]:
        if not name.startswith(tuple(options.rows.split(","))):
            continue
        found = measure(name, steps, torch, ft)
        rows += found
        write(options.json, about, rows)
        shown = ", ".join(f"{r['library']} {r['value']:.3f} ms" for r in found)
        print(f"{name}: {shown}; a step {found[0]['counts']}, jit {found[1]['counts']}", flush=True)


if __name__ == "__main__":
    main()
