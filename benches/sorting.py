"""Sorting, scans and what is made of them: wgtensor beside NumPy and, on CUDA, PyTorch.

python benches/sorting.py [--smoke] [--size N] [--large N] [--sums N] [--repeats R] [--rows A,B]
    [--json FILE]

A sample is the wall time of one call and the wait for its result; medians count. Results are
checked against NumPy; sums into places that are data also for the same bits on ten runs. "x NAME"
is wgtensor's speed over that library's: above 1, it is faster.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from record import Record, head, timed_row, write

import wgtensor as wt

try:
    import torch

    CUDA = torch.cuda.is_available()
except ImportError:
    CUDA = False

Array = np.ndarray[Any, Any]


@dataclass
class Row:
    """The same work in each library; sums are compared with NumPy's in float64."""

    name: str
    data: Callable[[np.random.Generator, int], Array]
    wgtensor: Callable[[Any], Any]
    numpy: Callable[[Array], Any]
    torch: Callable[[Any], Any] | None
    large: bool = False
    sums: bool = False


def integers(rng: np.random.Generator, n: int) -> Array:
    return rng.integers(-(2**31), 2**31, n, dtype=np.int32)


def floats(rng: np.random.Generator, n: int) -> Array:
    a = rng.standard_normal(n, dtype=np.float32)
    a[rng.random(n) < 0.01] = np.nan
    return a


def mask(rng: np.random.Generator, n: int) -> Array:
    return rng.random(n) < 0.5


def few(rng: np.random.Generator, n: int) -> Array:
    return rng.integers(0, 100_000, n, dtype=np.int32)


def summands(rng: np.random.Generator, n: int) -> Array:
    return rng.integers(-100, 100, n, dtype=np.int32)


def rows_of(length: int) -> Callable[[np.random.Generator, int], Array]:
    return lambda rng, n: floats(rng, n // length * length).reshape(-1, length)


def stable(x: Any) -> Any:
    return torch.sort(x, stable=True)


def normals(rng: np.random.Generator, n: int) -> Array:
    return rng.standard_normal(n, dtype=np.float32)


@functools.cache
def bins_of(n: int, bins: int, library: str) -> Any:
    """A bin for each of n elements, as a library takes it."""
    if library == "NumPy":
        return np.random.default_rng(2).integers(0, bins, n, dtype=np.int32)
    host = bins_of(n, bins, "NumPy")
    return wt.asarray(host) if library == "wgtensor" else torch.from_numpy(host).cuda().long()


def scatter_add(bins: int) -> Row:
    def ours(x: Any) -> Any:
        return wt.index_add(wt.zeros(bins), 0, bins_of(x.size, bins, "wgtensor"), x)

    def numpy(a: Array) -> Array:
        return np.bincount(bins_of(a.size, bins, "NumPy"), a, bins)

    def peer(x: Any) -> Any:
        zero = torch.zeros(bins, device=x.device)
        return zero.index_add_(0, bins_of(x.numel(), bins, "PyTorch"), x)

    return Row(f"scatter-add {bins} bins", normals, ours, numpy, peer, sums=True)


ROWS = [
    *map(scatter_add, (1, 100, 1_000_000)),
    Row("sort int32", integers, wt.sort, lambda a: np.sort(a, kind="stable"), stable),
    Row(
        "argsort int32",
        integers,
        wt.argsort,
        lambda a: np.argsort(a, kind="stable"),
        lambda x: stable(x)[1],
    ),
    Row("sort float32 NaN", floats, wt.sort, lambda a: np.sort(a, kind="stable"), stable),
    Row(
        "argsort float32 NaN",
        floats,
        wt.argsort,
        lambda a: np.argsort(a, kind="stable"),
        lambda x: stable(x)[1],
    ),
    Row("sort rows of 100", rows_of(100), wt.sort, lambda a: np.sort(a, -1), stable),
    Row("sort rows of 1000", rows_of(1000), wt.sort, lambda a: np.sort(a, -1), stable),
    Row("sort rows of 20000", rows_of(20_000), wt.sort, lambda a: np.sort(a, -1), stable),
    Row(
        "topk 10",
        floats,
        lambda x: wt.topk(x, 10)[0],
        lambda a: np.sort(a[~np.isnan(a)])[:-11:-1],
        lambda x: torch.topk(torch.nan_to_num(x, nan=float("-inf")), 10)[0],
    ),
    Row(
        "cumulative_sum int32",
        summands,
        wt.cumulative_sum,
        lambda a: np.cumsum(a, dtype=np.int32),
        lambda x: torch.cumsum(x, 0, dtype=torch.int32),
    ),
    Row(
        "cumulative_sum int32, large",
        summands,
        wt.cumulative_sum,
        lambda a: np.cumsum(a, dtype=np.int32),
        lambda x: torch.cumsum(x, 0, dtype=torch.int32),
        large=True,
    ),
    Row("nonzero bool", mask, wt.flatnonzero, np.flatnonzero, lambda x: torch.nonzero(x)),
    Row(
        "nonzero bool, large",
        mask,
        wt.flatnonzero,
        np.flatnonzero,
        lambda x: torch.nonzero(x),
        large=True,
    ),
    Row("unique int32", few, wt.unique_values, np.unique, lambda x: torch.unique(x)),
    Row("unique int32, large", few, wt.unique_values, np.unique, lambda x: torch.unique(x), True),
    Row(
        "unique inverse",
        few,
        lambda x: wt.unique_inverse(x)[1],
        lambda a: np.unique(a, return_inverse=True)[1],
        lambda x: torch.unique(x, return_inverse=True)[1],
    ),
    Row(
        "searchsorted",
        few,
        lambda x: wt.searchsorted(wt.arange(0, 100_000, 3), x),
        lambda a: np.searchsorted(np.arange(0, 100_000, 3), a),
        lambda x: torch.searchsorted(torch.arange(0, 100_000, 3, device=x.device), x.long()),
    ),
]


def times(call: Callable[[], Any], wait: Callable[[Any], None], repeats: int) -> list[float]:
    """Seconds of one call and the wait for it, after one that compiles."""
    seconds = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        wait(call())
        seconds.append(time.perf_counter() - begin)
    return seconds[1:]


def wait_wgtensor(result: Any) -> None:
    wt.eval(result)
    wt.synchronize()


def measure(row: Row, n: int, repeats: int) -> list[Record]:
    a = row.data(np.random.default_rng(1), n)
    t = wt.asarray(a)
    expected = row.numpy(a)
    result = row.wgtensor(t).numpy()
    if row.sums:
        np.testing.assert_allclose(result, expected, rtol=1e-6, err_msg=row.name)
        for _ in range(9):
            again = row.wgtensor(t).numpy()
            np.testing.assert_array_equal(again.view(np.int32), result.view(np.int32))
    else:
        np.testing.assert_array_equal(result, expected, err_msg=row.name)
    found = {"wgtensor": times(lambda: row.wgtensor(t), wait_wgtensor, repeats)}
    found["numpy"] = times(lambda: row.numpy(a), lambda _: None, 1)
    if CUDA and row.torch:
        x = torch.from_numpy(a).cuda()
        peer = row.torch
        found["torch"] = times(lambda: peer(x), lambda _: torch.cuda.synchronize(), repeats)
    return [timed_row(row.name, name, seconds, "ms", elements=n) for name, seconds in found.items()]


def line(records: list[Record]) -> str:
    own = records[0]
    text = f"{own['name']:28} {own['elements']:>11,}"
    for r in records:
        text += f"  {r['library']} {r['value']:9.3f} ms"
    return text + "".join(
        f"  x {r['library']} {r['value'] / own['value']:6.2f}" for r in records[1:]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="few elements, two repeats")
    parser.add_argument("--size", type=int, default=1 << 24, help="elements")
    parser.add_argument("--large", type=int, default=1 << 26, help="of the rows named large")
    parser.add_argument("--sums", type=int, default=10_000_000, help="of the rows that add")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--rows", default="", help="parts of names, separated by commas")
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    if options.smoke:
        options.size = options.large = options.sums = 40_000
        options.repeats = 2
    wanted = [part for part in options.rows.split(",") if part]
    versions = {"numpy": np.__version__} | ({"torch": torch.__version__} if CUDA else {})
    about = head("sorting", "smoke" if options.smoke else "full", versions)
    print(f"wgtensor on {wt.default_device()}; PyTorch CUDA: {'yes' if CUDA else 'no'}")
    rows: list[Record] = []
    for row in ROWS:
        if wanted and not any(part in row.name for part in wanted):
            continue
        n = options.sums if row.sums else options.large if row.large else options.size
        found = measure(row, n, options.repeats)
        rows += found
        write(options.json, about, rows)
        print(line(found), flush=True)


if __name__ == "__main__":
    main()
