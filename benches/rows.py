"""The rows of compare_peers.py: how each library does one and how its result is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from peers import Array, Peer

Mi = 1 << 20
CPU_BATCH = 240  # operations recorded from an idle device, for the CPU's share


#: that have no such function, or one of their own kind
FEW = ("ferrotensor", "tinygrad", "torch.compile")


class WrongResultError(Exception):
    """What was timed did not compute what it should: a benchmark of garbage."""


@dataclass
class Job:
    """What one library does in one row."""

    run: Callable[[int], Any]  # n iterations, started
    wait: Callable[[Any], None]
    check: Callable[[Any], None]
    cpu: Callable[[], Any] | None = None  # one recording of CPU_BATCH operations
    fuse: Callable[[bool], None] | None = None  # called with False before, with True after
    operations: int = 1  # per iteration
    inner: int = 1
    seconds: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)


@dataclass
class Row:
    name: str
    unit: str  # us, GB/s or GFLOP/s
    prepare: Callable[[Peer], Job]
    bytes: float = 0
    flops: float = 0
    dtype: str = "float32"
    leave_out: tuple[str, ...] = ()

    def value(self, seconds: float) -> float:
        if self.unit == "us":
            return seconds * 1e6
        return (self.bytes or self.flops) / seconds * 1e-9


def vectors(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(n * 31 + m)
    return (r.random(n, np.float32) * 2 - 0.5), (r.random(m, np.float32) + 0.25)


def places(n: int) -> list[int]:
    return sorted({0, n // 3, n - 1})


def close(peer: Peer, row: str, got: list[float], want: list[float], tolerance: float) -> None:
    for g, w in zip(got, want, strict=True):
        if not abs(g - w) <= tolerance * max(abs(w), 1e-30):
            raise WrongResultError(f"{row}: {peer.name} computed {g:.7g} instead of {w:.7g}")


def operation(
    peer: Peer, make: Callable[[], Array], check: Callable[[Array], None], size: float
) -> Job:
    """Results of `size` elements are computed and let go, several at once where they are small:
    a lazy library sends one batch for them, an eager one has sent them by then."""
    at_once = int(min(32, max(1, 2**29 // size)))

    def run(n: int) -> Array:
        for i in range(0, n, at_once):
            results = [make() for _ in range(min(at_once, n - i))]
            peer.start_all(results)
        return results[-1]

    return Job(run, peer.wait, check)


def elementwise_row(name: str, side: int, passes: int) -> Row:
    """`add_`, `chain2_` or `chain6_`: so many operations, which may share a kernel."""
    u, v = vectors(side, side)
    n = side * side
    at = places(n)
    host = [float(u[i // side] * v[i % side]) for i in at]

    def prepare(peer: Peer) -> Job:
        y = peer.outer(u, v, (n,))
        if name.startswith("chain6"):
            want = [max(abs(h * 2 + 1) ** 0.5 * h - 1, 0.0) for h in host]
            make = lambda: peer.chain(y)  # noqa: E731
        elif name.startswith("chain2"):
            want = [h * 2 + 1 for h in host]
            make = lambda: y * 2 + 1  # noqa: E731
        else:
            want = [h * 1.5 for h in host]
            half = peer.outer(u * np.float32(0.5), v, (n,))
            make = lambda: y + half  # noqa: E731
        return operation(peer, make, lambda x: close(peer, name, peer.peek(x, at), want, 1e-5), n)

    return Row(name, "GB/s", prepare, bytes=4.0 * passes * n)


def sum_row(name: str, rows: int, columns: int, axis: int | None) -> Row:
    u, v = vectors(rows, columns)
    u64, v64 = u.astype(np.float64), v.astype(np.float64)
    whole = {None: np.atleast_1d(u64.sum() * v64.sum()), 0: u64.sum() * v64, 1: u64 * v64.sum()}[
        axis
    ]
    at = places(whole.size)

    def prepare(peer: Peer) -> Job:
        x = peer.outer(u, v, (rows, columns))

        def check(s: Array) -> None:
            close(peer, name, peer.peek(s, at), [float(whole[i]) for i in at], 1e-4)

        return operation(peer, lambda: peer.sum(x, axis), check, whole.size)

    return Row(name, "GB/s", prepare, bytes=4.0 * rows * columns)


def softmax_row(name: str, rows: int, columns: int) -> Row:
    u, v = vectors(rows, columns)
    at = places(rows * columns)
    want = []
    for i in at:
        e = np.exp((u[i // columns] * v).astype(np.float64))
        want.append(float(e[i % columns] / e.sum()))

    def prepare(peer: Peer) -> Job:
        x = peer.outer(u, v, (rows, columns))
        check = lambda s: close(peer, name, peer.peek(s, at), want, 1e-4)  # noqa: E731
        return operation(peer, lambda: peer.softmax(x), check, rows * columns)

    return Row(name, "GB/s", prepare, bytes=8.0 * rows * columns)


def norm_row(name: str, rows: int, columns: int) -> Row:
    """`layer_norm_` or `rms_norm_`, with weights, and biases where there are any."""
    u, v = vectors(rows, columns)
    w, b = vectors(columns, columns)
    at = places(rows * columns)
    centred = name.startswith("layer")
    want = []
    for i in at:
        x = (u[i // columns] * v).astype(np.float64)
        x -= x.mean() if centred else 0
        k = i % columns
        want.append(float(x[k] / np.sqrt((x * x).mean() + 1e-5) * w[k] + (b[k] if centred else 0)))

    def prepare(peer: Peer) -> Job:
        x, weight, bias = peer.outer(u, v, (rows, columns)), peer.array(w), peer.array(b)
        make = (
            (lambda: peer.layer_norm(x, weight, bias))
            if centred
            else (lambda: peer.rms_norm(x, weight))
        )
        check = lambda y: close(peer, name, peer.peek(y, at), want, 1e-4)  # noqa: E731
        return operation(peer, make, check, rows * columns)

    return Row(name, "GB/s", prepare, bytes=8.0 * rows * columns, leave_out=FEW)


def cumsum_row(name: str, rows: int, columns: int) -> Row:
    """Running sums of each row."""
    u, v = vectors(rows, columns)
    at = places(rows * columns)
    v64 = np.cumsum(v.astype(np.float64))
    want = [float(u[i // columns] * v64[i % columns]) for i in at]

    def prepare(peer: Peer) -> Job:
        x = peer.outer(u, v, (rows, columns))
        check = lambda y: close(peer, name, peer.peek(y, at), want, 1e-4)  # noqa: E731
        return operation(peer, lambda: peer.cumsum(x), check, rows * columns)

    return Row(name, "GB/s", prepare, bytes=8.0 * rows * columns, leave_out=FEW)


def take_row(name: str, table: int, columns: int, count: int) -> Row:
    """A lookup of rows in no order."""
    u, v = vectors(table, columns)
    rows = np.random.default_rng(count).integers(0, table, count).astype(np.int32)
    at = places(count * columns)
    want = [float(u[rows[i // columns]] * v[i % columns]) for i in at]

    def prepare(peer: Peer) -> Job:
        x, i = peer.outer(u, v, (table, columns)), peer.array(rows)
        check = lambda r: close(peer, name, peer.peek(r, at), want, 1e-5)  # noqa: E731
        return operation(peer, lambda: peer.take(x, i), check, count * columns)

    return Row(name, "GB/s", prepare, bytes=8.0 * count * columns, leave_out=FEW)


def scatter_add_row(name: str, count: int, bins: int) -> Row:
    """Sums of floats by bin: wgtensor's are the same bits every time."""
    r = np.random.default_rng(bins)
    values, into = r.random(count, np.float32), r.integers(0, bins, count).astype(np.int32)
    whole = np.bincount(into, values, bins)
    at = places(bins)
    want = [float(whole[i]) for i in at]

    def prepare(peer: Peer) -> Job:
        v, b = peer.array(values), peer.array(into)
        # Atomic sums of so many into one lose digits.
        check = lambda s: close(peer, name, peer.peek(s, at), want, 2e-2)  # noqa: E731
        return operation(peer, lambda: peer.scatter_add(v, b, bins), check, count)

    return Row(name, "us", prepare, leave_out=FEW)


def tiny_row(name: str, scalar: bool, ops: int) -> Row:
    def prepare(peer: Peer) -> Job:
        count = min(ops, peer.tiny_ops)
        x = peer.start(peer.array(np.zeros(64, np.float32)))
        y = 1.0 if scalar else peer.start(peer.array(np.ones(64, np.float32)))
        batch = min(CPU_BATCH, count)

        def run(n: int) -> Array:
            for _ in range(n):
                r = peer.tiny(x, y, count)
            return r

        def check(r: Array) -> None:
            close(peer, name, peer.peek(r, [0, 63]), [count, count], 0)

        return Job(run, peer.wait, check, lambda: peer.tiny(x, y, batch), peer.fuse, count)

    return Row(name, "us", prepare)


def item_row(name: str) -> Row:
    def prepare(peer: Peer) -> Job:
        x = peer.start(peer.array(np.ones(1, np.float32)))

        def run(n: int) -> float:
            for _ in range(n):
                v = peer.item(x + 1.0)
            return v

        return Job(run, lambda v: None, lambda v: close(peer, name, [v], [2.0], 0))

    return Row(name, "us", prepare)


def transfer_rows(size: int) -> Iterator[Row]:
    u, v = vectors(1024, size // 4096)
    host = np.ascontiguousarray(u[:, None] * v)

    def upload(peer: Peer) -> Job:
        def check(x: Array) -> None:
            if not np.array_equal(peer.numpy(x), host):
                raise WrongResultError(f"upload: {peer.name} has other elements")

        return operation(peer, lambda: peer.array(host), check, size)

    def download(peer: Peer) -> Job:
        x = peer.start(peer.array(host))
        peer.wait(x)

        def run(n: int) -> np.ndarray:
            for _ in range(n):
                a = peer.numpy(x)
            return a

        def check(a: np.ndarray) -> None:
            if not np.array_equal(a, host):
                raise WrongResultError(f"download: {peer.name} gave other elements")

        return Job(run, lambda a: None, check)

    slow = ("ferrotensor",)  # converts to Python numbers
    yield Row(f"upload_{size // Mi}MB", "GB/s", upload, bytes=float(size), leave_out=slow)
    yield Row(f"download_{size // Mi}MB", "GB/s", download, bytes=float(size), leave_out=slow)


def memory_rows(size: Callable[[Any, Any, Any], Any]) -> Iterator[Row]:
    """Elementwise work, reductions, normalizations, scans and lookups."""

    def elementwise(kind: str, side: int, passes: int) -> Row:
        n = side * side
        label = f"{n // Mi}M" if n >= Mi else f"{n >> 10}K"
        return elementwise_row(f"{kind}_{label}", side, passes)

    for side in size((4096, 16384), (4096,), (512,)):
        yield elementwise("add", side, 3)
    yield elementwise("chain2", size(8192, 4096, 512), 2)
    yield elementwise("chain6", size(8192, 4096, 512), 2)
    n = size(4096, 4096, 256)
    wide = size(Mi, Mi // 4, 4096)
    wide_name = f"{wide // Mi}M" if wide >= Mi else f"{wide >> 10}K"
    for shape, label in [
        ((n, n), f"{n}x{n}"),
        ((64, wide), f"64x{wide_name}"),
        ((wide, 64), f"{wide_name}x64"),
    ]:
        for axis in (None, 0, 1):
            yield sum_row(f"sum{'' if axis is None else axis}_{label}", *shape, axis)
    n = size(4096, 2048, 256)
    yield softmax_row(f"softmax_{n}x{n}", n, n)
    yield norm_row(f"layer_norm_{n}x{n}", n, n)
    yield norm_row(f"rms_norm_{n}x{n}", n, n)
    yield cumsum_row(f"cumsum1_{n}x{n}", n, n)
    yield take_row(f"take_{n}", size(50_000, 20_000, 500), size(768, 768, 64), size(16384, n, n))
    count = size(10 * Mi, Mi, 4096)
    label = f"{count // Mi}M" if count >= Mi else f"{count >> 10}K"
    for bins in (1, 100, count // 10):
        yield scatter_add_row(f"scatter_add_{label}_into_{bins}", count, bins)


def all_rows(size: Callable[[Any, Any, Any], Any], reduced: bool) -> Iterator[Row]:
    """size(full, reduced, smoke) picks by mode and adapter."""
    from rows_products import product_rows

    yield tiny_row("tiny_tensor", False, size(2000, 2000, 480))
    yield tiny_row("tiny_scalar", True, size(2000, 2000, 480))
    yield item_row("item")
    yield from memory_rows(size)
    yield from product_rows(size, reduced)
    yield from transfer_rows(size(256, 64, 4) * Mi)
