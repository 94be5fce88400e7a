"""`wgtensor autotune`: measures kernels for common shapes ahead of time."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import wgtensor as wt
from wgtensor import _autotune, _core

#: rows, shared and columns of products, and how many of them; the last ones for hardware alone
_PRODUCTS = (
    (32, 32, 32, 1),
    (64, 64, 64, 1),
    (128, 784, 512, 1),
    (128, 512, 16, 1),
    (128, 128, 128, 1),
    (256, 256, 256, 1),
    (512, 512, 512, 1),
    (64, 64, 64, 16),
    (1, 1024, 1024, 1),
    (1024, 1024, 1024, 1),
    (1024, 4096, 1024, 1),
    (2048, 2048, 2048, 1),
    (4096, 64, 4096, 1),
    (64, 4096, 4096, 1),
    (4096, 4096, 64, 1),
    (256, 256, 256, 64),
    (4096, 4096, 4096, 1),
)
_MOST_ON_SOFTWARE = 512**3
#: rows and their elements, of softmax, norms and sums
_ROWS = ((128, 64), (128, 1024), (1024, 1024), (4096, 4096), (64, 1 << 20), (1 << 20, 64))
_MOST_ELEMENTS_ON_SOFTWARE = 1 << 20


@dataclass(frozen=True)
class _Work:
    name: str
    make: Callable[[], wt.Tensor]


def _products(device: wt.Device) -> Iterator[_Work]:
    for rows, shared, columns, count in _PRODUCTS:
        if device.type == "cpu" and rows * shared * columns * count > _MOST_ON_SOFTWARE:
            continue
        stack = () if count == 1 else (count,)
        a = wt.ones((*stack, rows, shared), device=device).eval()
        b = wt.ones((*stack, shared, columns), device=device).eval()
        across = wt.ones((*stack, columns, shared), device=device).eval().mT
        over = wt.ones((*stack, shared, rows), device=device).eval().mT
        size = "x".join(map(str, (*stack, rows, shared, columns)))
        yield _Work(f"matmul {size}", partial(operator.matmul, a, b))
        # What the gradients of both operands are.
        yield _Work(f"matmul {size}, second turned", partial(operator.matmul, a, across))
        yield _Work(f"matmul {size}, first turned", partial(operator.matmul, over, b))


def _folds(device: wt.Device) -> Iterator[_Work]:
    for rows, count in _ROWS:
        if device.type == "cpu" and rows * count > _MOST_ELEMENTS_ON_SOFTWARE:
            continue
        # In memory, as what is made on the way reads none.
        x = wt.ones((rows, count), device=device).eval()
        size = f"{rows}x{count}"
        yield _Work(f"softmax {size}", partial(wt.softmax, x))
        yield _Work(f"layer norm {size}", partial(wt.nn.functional.layer_norm, x, count))
        for axis, name in ((-1, "of rows"), (0, "of columns"), (None, "of all")):
            yield _Work(f"sum {name} {size}", partial(wt.sum, x, axis=axis))


def _print_choice(title: str, kernels: dict[str, float], chosen: str) -> None:
    print(f"\n{title}")
    if not kernels:
        print("    not measured: it takes too long, or one kernel alone fits")
    for kernel, ms in sorted(kernels.items(), key=lambda row: row[1]):
        print(f"  {'*' if kernel == chosen else ' '} {kernel:<28}{ms:>12.4f} ms")


def clear() -> int:
    """Deletes what is stored of all adapters."""
    files = _autotune.clear()
    print("\n".join(f"deleted {path}" for path in files) or f"nothing in {_autotune.folder()}")
    return 0


def autotune(selector: str | None) -> int:
    """Measures, prints and stores; 1 where the folder cannot be written."""
    before = wt.config.autotune
    wt.config.autotune = "1"
    _autotune.replacing = True
    _core.tuning_rules(budget=math.inf)
    try:
        return _run(wt.Device(selector))
    finally:
        wt.config.autotune = before
        _autotune.replacing = False
        _core.tuning_rules()


def _run(device: wt.Device) -> int:
    key = _core.tuning_key(device)
    assert key is not None
    path = _autotune.path_of(key)
    try:  # before the minutes that it takes to measure
        _autotune.write(path, key, {}, replace=False)
    except OSError as error:
        print(f"nothing can be stored: {path} cannot be written: {error}")
        return 1
    _core.tuning_forget(key)
    print(f"{device.name} ({device.backend}, {device.driver}); * is chosen")
    seen: set[str] = set()
    measured: set[str] = set()
    for work in itertools.chain(_products(device), _folds(device)):
        work.make().eval()
        device.synchronize()
        _autotune.save()
        for shape_class, kernel, origin, ms in _core.tuning_choices(key):
            if origin == "measured":
                measured.add(shape_class)
            if shape_class not in seen:
                seen.add(shape_class)
                _print_choice(f"{work.name}  [{shape_class}]", ms, kernel)
    if not measured <= _autotune.read(path, key).keys():
        print(f"\nnot all was stored: {path} cannot be written")
        return 1
    print(f"\nstored in {path}")
    return 0
