"""The rows of compare_peers.py that multiply matrices, of float32 and of float16."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from peers import Peer
from rows import FEW, Job, Row, close, operation, places, vectors

#: also NumPy, whose float16 is made of float32 one by one
FEW_HALVES = (*FEW, "numpy")


def of_dtype(peer: Peer, u: np.ndarray, v: np.ndarray, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype == "float32":
        return peer.outer(u, v, shape)
    return peer.array((u[:, None] * v).astype(dtype).reshape(shape))


def matmul_row(
    name: str,
    m: int,
    k: int,
    n: int,
    batch: int = 1,
    transposed: bool = False,
    half: bool = False,
    half_sums: bool = False,
) -> Row:
    (ua, va), (ub, vb) = vectors(batch * m, k), vectors(k, n)
    dtype, tolerance = ("float16", 1e-2) if half else ("float32", 1e-4)
    at = places(batch * m * n)

    def rounded(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (u * v).astype(dtype).astype(np.float64)

    want = [float(rounded(ua[i // n], va) @ rounded(ub, vb[i % n])) for i in at]

    def prepare(peer: Peer) -> Job:
        a = of_dtype(peer, ua, va, (batch, m, k) if batch > 1 else (m, k), dtype)
        if transposed:
            b = of_dtype(peer, vb, ub, (n, k), dtype)
        elif batch > 1:
            b = of_dtype(peer, np.tile(ub, batch), vb, (batch, k, n), dtype)
        else:
            b = of_dtype(peer, ub, vb, (k, n), dtype)
        multiply = peer.matmul_half_sums if half_sums else peer.matmul
        make = lambda: multiply(a, peer.transposed(b) if transposed else b)  # noqa: E731
        check = lambda x: close(peer, name, peer.peek(x, at), want, tolerance)  # noqa: E731
        return operation(peer, make, check, batch * m * n)

    flops = 2.0 * batch * m * k * n
    leave_out = (*FEW_HALVES, "torch") if half_sums else FEW_HALVES if half else ()
    return Row(name, "GFLOP/s", prepare, 0, flops, dtype, leave_out)


def matvec_row(name: str, rows: int, columns: int, dtype: str) -> Row:
    """A matrix, read once, times a vector."""
    u, v = vectors(rows, columns)
    x = vectors(columns, 1)[0].astype(dtype)
    at = places(rows)
    half = dtype == "float16"
    want = [float((u[i] * v).astype(dtype).astype(np.float64) @ x.astype(np.float64)) for i in at]

    def prepare(peer: Peer) -> Job:
        a, b = of_dtype(peer, u, v, (rows, columns), dtype), peer.array(x)
        check = lambda y: close(peer, name, peer.peek(y, at), want, 1e-2 if half else 1e-4)  # noqa: E731
        return operation(peer, lambda: peer.matmul(a, b), check, rows)

    size = float(rows * columns * np.dtype(dtype).itemsize)
    return Row(name, "GB/s", prepare, size, 0, dtype, FEW_HALVES if half else FEW)


def product_rows(size: Callable[[Any, Any, Any], Any], reduced: bool) -> Iterator[Row]:
    for n in size((512, 1024, 2048, 4096, 8192), (256, 512, 1024), (128,)):
        yield matmul_row(f"matmul_{n}", n, n, n)
    if not reduced:
        for m, k, n in ((4096, 64, 4096), (64, 4096, 4096), (4096, 4096, 64)):
            yield matmul_row(f"matmul_{m}x{k}x{n}", m, k, n)
    b, n = size((64, 256), (64, 64), (3, 32))
    yield matmul_row(f"matmul_{b}of{n}", n, n, n, batch=b)
    n = size(4096, 512, 64)
    yield matmul_row(f"matmul_{n}_transposed", n, n, n, transposed=True)
    for n in size((1024, 2048, 4096, 8192), (512,), (128,)):
        yield matmul_row(f"matmul16_{n}", n, n, n, half=True)
        yield matmul_row(f"matmul16_{n}_half_sums", n, n, n, half=True, half_sums=True)
    shapes = size(
        ((4096, 4096), (8192, 28672)), ((4096, 4096), (2048, 7168)), ((256, 256), (64, 448))
    )
    for rows, columns in shapes:
        yield matvec_row(f"matvec_{rows}x{columns}", rows, columns, "float32")
        yield matvec_row(f"matvec16_{rows}x{columns}", rows, columns, "float16")
