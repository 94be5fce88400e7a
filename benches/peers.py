"""The libraries that compare_peers.py times, behind one small interface."""

from __future__ import annotations

import importlib.metadata
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any


class Peer:
    """A library and its arrays. `start` begins a lazy array's work, `wait` waits for all."""

    name = ""
    tiny_ops = 2000

    def version(self) -> str:
        return importlib.metadata.version(self.name)

    def device(self) -> str:
        """What computes, in words."""
        raise NotImplementedError

    def array(self, values: np.ndarray) -> Array:
        raise NotImplementedError

    def outer(self, u: np.ndarray, v: np.ndarray, shape: tuple[int, ...]) -> Array:
        """u[:, None] * v, the data of every row: equal in all libraries, to the last bit."""
        return self.array((u[:, None] * v).reshape(shape))

    def start(self, x: Array) -> Array:
        return x

    def start_all(self, results: list[Array]) -> None:
        """Begins the work of several results at once."""
        for x in results:
            self.start(x)

    def wait(self, x: Array) -> None:
        """Until `x`, the newest result, and all before it are there."""

    def peek(self, x: Array, at: list[int]) -> list[float]:
        raise NotImplementedError

    def numpy(self, x: Array) -> np.ndarray:
        raise NotImplementedError

    def sum(self, x: Array, axis: int | None) -> Array:
        return x.sum() if axis is None else x.sum(axis)

    def softmax(self, x: Array) -> Array:
        return x.softmax(-1)

    def matmul_half_sums(self, x: Array, y: Array) -> Array:
        """A product of float16 with sums of float16 for a few terms at a time."""
        raise NotImplementedError

    def chain(self, y: Array) -> Array:
        return ((y * 2 + 1).abs().sqrt() * y - 1).relu()

    def matmul(self, a: Array, b: Array) -> Array:
        return a @ b

    def transposed(self, x: Array) -> Array:
        return x.T

    def layer_norm(self, x: Array, weight: Array, bias: Array) -> Array:
        """Of rows, with 1e-5 added to the variance; so below."""
        raise NotImplementedError

    def rms_norm(self, x: Array, weight: Array) -> Array:
        raise NotImplementedError

    def cumsum(self, x: Array) -> Array:
        """Along rows."""
        return x.cumsum(1)

    def take(self, x: Array, rows: Array) -> Array:
        """Rows of a matrix."""
        return x[rows]

    def scatter_add(self, values: Array, bins: Array, count: int) -> Array:
        """Sums of the values that have the same bin."""
        raise NotImplementedError

    def tiny(self, x: Array, y: Array | float, ops: int) -> Array:
        """x + y, so many times, each operation a kernel of its own; started."""
        for _ in range(ops):
            x = x + y
        return x

    def fuse(self, on: bool) -> None:
        """Whether operations may share a kernel, where the library can be told."""

    def item(self, x: Array) -> float:
        return float(x.item())


class Wgtensor(Peer):
    name = "wgtensor"

    def __init__(self) -> None:
        import wgtensor as wt

        self.wt = wt
        self.software = wt.get_device().type == "cpu"

    def version(self) -> str:
        return self.wt.__version__

    def device(self) -> str:
        d = self.wt.get_device()
        return f"{d.name} ({d.backend}, {d.driver})"

    def array(self, values: np.ndarray) -> Array:
        return self.wt.asarray(values)

    def start(self, x: Array) -> Array:
        return x.eval()

    def start_all(self, results: list[Array]) -> None:
        self.wt.eval(*results)

    def wait(self, x: Array) -> None:
        self.wt.synchronize()

    def peek(self, x: Array, at: list[int]) -> list[float]:
        flat = x.reshape(-1)
        return [flat[i].item() for i in at]

    def numpy(self, x: Array) -> np.ndarray:
        return x.numpy()

    def softmax(self, x: Array) -> Array:
        return self.wt.softmax(x, axis=-1)

    def layer_norm(self, x: Array, weight: Array, bias: Array) -> Array:
        return self.wt.nn.functional.layer_norm(x, weight.shape, weight, bias, 1e-5)

    def rms_norm(self, x: Array, weight: Array) -> Array:
        return self.wt.nn.functional.rms_norm(x, weight.shape, weight, 1e-5)

    def matmul_half_sums(self, x: Array, y: Array) -> Array:
        self.wt.config.half_sums = True
        try:
            return x @ y
        finally:
            self.wt.config.half_sums = False

    def scatter_add(self, values: Array, bins: Array, count: int) -> Array:
        return self.wt.segment_sum(values, bins, count)

    def tiny(self, x: Array, y: Array | float, ops: int) -> Array:
        return super().tiny(x, y, ops).eval()

    def fuse(self, on: bool) -> None:
        self.wt.config.max_fusion = 64 if on else 1


class NumPy(Peer):
    name = "numpy"

    def device(self) -> str:
        return "CPU"

    def array(self, values: np.ndarray) -> Array:
        return values.copy()

    def peek(self, x: Array, at: list[int]) -> list[float]:
        flat = np.reshape(x, -1)
        return [float(flat[i]) for i in at]

    def numpy(self, x: Array) -> np.ndarray:
        return x.copy()

    def softmax(self, x: Array) -> Array:
        e = np.exp(x - x.max(-1, keepdims=True))
        e /= e.sum(-1, keepdims=True)
        return e

    def layer_norm(self, x: Array, weight: Array, bias: Array) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        centred /= np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-5))
        return centred * weight + bias

    def rms_norm(self, x: Array, weight: Array) -> Array:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * weight

    def scatter_add(self, values: Array, bins: Array, count: int) -> Array:
        return np.bincount(bins, values, count)

    def chain(self, y: Array) -> Array:
        return np.maximum(np.sqrt(np.abs(y * 2 + 1)) * y - 1, 0)

    def item(self, x: Array) -> float:
        return float(x.ravel()[0])


class Torch(Peer):
    name = "torch"

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.cuda = torch.cuda.is_available()
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.set_grad_enabled(False)

    def device(self) -> str:
        if not self.cuda:
            return f"CPU, {self.torch.get_num_threads()} threads"
        return f"{self.torch.cuda.get_device_name()} (CUDA {self.torch.version.cuda}, TF32 off)"

    def array(self, values: np.ndarray) -> Array:
        t = self.torch.from_numpy(values)
        return t.to("cuda") if self.cuda else t.clone()

    def wait(self, x: Array) -> None:
        if self.cuda:
            self.torch.cuda.synchronize()

    def peek(self, x: Array, at: list[int]) -> list[float]:
        flat = x.reshape(-1)
        return [flat[i].item() for i in at]

    def numpy(self, x: Array) -> np.ndarray:
        return x.cpu().numpy() if self.cuda else x.numpy().copy()

    def layer_norm(self, x: Array, weight: Array, bias: Array) -> Array:
        return self.torch.nn.functional.layer_norm(x, weight.shape, weight, bias, 1e-5)

    def rms_norm(self, x: Array, weight: Array) -> Array:
        return self.torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-5)

    def scatter_add(self, values: Array, bins: Array, count: int) -> Array:
        return self.torch.zeros(count, device=values.device).index_add_(0, bins, values)


class TorchCompiled(Torch):
    """The same through torch.compile; for rows where fusion matters."""

    name = "torch.compile"

    def __init__(self) -> None:
        super().__init__()
        self.chain = self.torch.compile(super().chain)  # type: ignore[method-assign]
        self.softmax = self.torch.compile(super().softmax)  # type: ignore[method-assign]

    def version(self) -> str:
        return self.torch.__version__


class Ferrotensor(Peer):
    name = "ferrotensor"

    def __init__(self) -> None:
        import ferrotensor as ft

        self.ft = ft
        self.where = ft.Device.best()
        if os.environ.get("WGTENSOR_BENCH_FERROTENSOR") == "cpu":
            self.where = ft.Device.cpu()

    def device(self) -> str:
        return f"{self.where.name} ({self.where.backend})"

    def array(self, values: np.ndarray) -> Array:
        return self.ft.tensor(values, device=self.where)

    def outer(self, u: np.ndarray, v: np.ndarray, shape: tuple[int, ...]) -> Array:
        # It takes nested lists only, a second for each 16M elements: made on the device instead.
        return (self.array(u[:, None]) * self.array(v)).reshape(shape)

    def wait(self, x: Array) -> None:
        self.peek(x, [0])  # it has no other way

    def peek(self, x: Array, at: list[int]) -> list[float]:
        flat = x.reshape(x.numel())
        return [flat.narrow(0, i, 1).item() for i in at]

    def numpy(self, x: Array) -> np.ndarray:
        return np.array(x.tolist(), np.float32)


class Tinygrad(Peer):
    name = "tinygrad"
    tiny_ops = 100

    def __init__(self) -> None:
        from tinygrad import Device, Tensor

        self.tensor, self.devices = Tensor, Device
        self.device()  # raises where there is none

    def device(self) -> str:
        return str(self.devices.DEFAULT)

    def array(self, values: np.ndarray) -> Array:
        return self.tensor(values).realize()

    def start(self, x: Array) -> Array:
        return x.realize()

    def wait(self, x: Array) -> None:
        self.devices[self.devices.DEFAULT].synchronize()

    def peek(self, x: Array, at: list[int]) -> list[float]:
        flat = x.reshape(-1)
        return [float(flat[i].item()) for i in at]

    def numpy(self, x: Array) -> np.ndarray:
        return x.numpy()

    def tiny(self, x: Array, y: Array | float, ops: int) -> Array:
        for _ in range(ops):
            x = (x + y).realize()
        return x


KNOWN: dict[str, type[Peer]] = {
    c.name: c for c in (Wgtensor, NumPy, Torch, TorchCompiled, Ferrotensor, Tinygrad)
}


def load(names: list[str] | None) -> tuple[list[Any], dict[str, str]]:
    """The peers that import, or just the named ones; and why the others don't."""
    found: list[Any] = []
    missing: dict[str, str] = {}
    for name, kind in KNOWN.items():
        if names is None and name == "torch.compile":
            continue  # only when asked for: compiling takes long
        if names is not None and name not in names and name != "wgtensor":
            continue
        if names is None and name == "ferrotensor" and found[0].software:
            missing[name] = "0.3.0 crashes now and then on software adapters: name it with --peers"
            continue
        try:
            found.append(kind())
        except Exception as e:  # a peer that is broken is a peer that is missing
            if name in ("wgtensor", "numpy"):
                raise
            missing[name] = f"{type(e).__name__}: {e}".splitlines()[0]
    return found, missing


def ceilings(peers: list[Any], quick: bool) -> dict[str, Any]:
    """Bandwidth and float32 rate of what wgtensor runs on, by that machine's own library."""
    by_name = {p.name: p for p in peers}
    software = peers[0].software
    torch = by_name.get("torch")

    def best(run: Callable[[], Any], wait: Callable[[], Any]) -> float:
        times = []
        for _ in range(8):
            wait()
            begin = time.perf_counter()
            run()
            wait()
            times.append(time.perf_counter() - begin)
        return min(times[2:])

    if torch is not None and torch.cuda and not software:
        t = torch.torch
        a = t.rand(1 << 28, device="cuda")
        b = t.empty_like(a)
        copy = best(lambda: [b.copy_(a) for _ in range(5)], t.cuda.synchronize) / 5
        m, n = a[: 1 << 24].reshape(4096, 4096), 4096
        product = best(lambda: [m @ m for _ in range(5)], t.cuda.synchronize) / 5
        how = "torch: copy of 1 GiB, float32 matmul 4096 (cuBLAS)"
        size = a.nbytes
    elif software:
        x = np.random.default_rng(0).random(1 << (22 if quick else 25), np.float32)
        y = np.empty_like(x)
        copy = best(lambda: np.copyto(y, x), lambda: None)
        n = 256 if quick else 1024
        m = x[: n * n].reshape(n, n)
        product = best(lambda: m @ m, lambda: None)
        how = f"NumPy: copy of {x.nbytes >> 20} MiB, float32 matmul {n}, on the same cores"
        size = x.nbytes
    else:
        return {}
    rate = 2 * n**3 / product * 1e-9
    halves = rate if software else 2 * rate  # of float16 in pairs, without matrix units
    limits = {"GB/s": 2 * size / copy * 1e-9, "GFLOP/s": rate, "float16 GFLOP/s": halves}
    return limits | {"how": how}
