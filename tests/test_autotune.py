"""Measured choices of kernels: which is taken, what it costs, and that results stay right.

Times are given, not measured: what a busy machine makes of them is no property of the library.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import random_array, setting

Array = np.ndarray[Any, Any]
DEAR = 1.0


def start_over(device: wt.Device) -> None:
    """No choice is remembered or stored any more."""
    wt._autotune.save()
    key = wt._core.tuning_key(device)
    assert key is not None
    wt._core.tuning_forget(key)
    wt._autotune.clear()


def measuring(folder: Path, **settings: Any) -> Iterator[wt.Device]:
    with setting(autotune="1", cache_folder=str(folder), **settings):
        made = wt.Device()
        start_over(made)
        wt._core.tuning_rules(budget=math.inf)
        try:
            yield made
        finally:
            wt._core.tuning_rules()
            start_over(made)


@pytest.fixture
def device(tmp_path: Path) -> Iterator[wt.Device]:
    """A device of its own that measures, with a table that knows nothing yet."""
    yield from measuring(tmp_path)


@pytest.fixture
def checked(tmp_path: Path) -> Iterator[wt.Device]:
    """The same in debug mode."""
    yield from measuring(tmp_path, debug=True)


def operands(
    rng: np.random.Generator, m: int = 40, k: int = 40, n: int = 40
) -> tuple[Array, Array]:
    return random_array(rng, (m, k), "int32"), random_array(rng, (k, n), "int32")


def product(device: wt.Device, a: Array, b: Array) -> None:
    """Integers are exact: the choice among kernels must not show."""
    x, y = wt.asarray(a, device=device), wt.asarray(b, device=device)
    np.testing.assert_array_equal((x @ y).numpy(), a @ b)


def choice(device: wt.Device) -> dict[str, Any]:
    (only,) = [
        c for name, c in wt.autotune_info(device)["choices"].items() if name.startswith("matmul ")
    ]
    return dict(only)


NAMES: list[str] = []


@pytest.fixture
def kernels(device: wt.Device, rng: np.random.Generator) -> list[str]:
    """What may be chosen for operands(), the estimate's choice first."""
    if not NAMES:
        product(device, *operands(rng))
        NAMES.extend(choice(device)["ms"])
        start_over(device)
    assert len(NAMES) > 2
    return NAMES


def fresh(device: wt.Device) -> wt.Device:
    """One more of the same table, without the plans that the first has made."""
    return wt.Device(str(device).split("#", maxsplit=1)[0].removeprefix("gpu:"))


def test_the_fastest_is_taken_whichever_it_is(
    device: wt.Device, kernels: list[str], rng: np.random.Generator
) -> None:
    for fastest in (kernels[0], kernels[-1]):
        start_over(device)
        times = dict.fromkeys(kernels, DEAR) | {fastest: DEAR / 2}
        wt._core.tuning_rules(budget=math.inf, seconds=times)
        own = fresh(device)
        product(own, *operands(rng))
        assert choice(own)["kernel"] == fastest
        assert choice(own)["origin"] == "measured"
        assert choice(own)["ms"] == {name: 1e3 * t for name, t in times.items()}


def test_a_little_faster_is_not_enough(
    device: wt.Device, kernels: list[str], rng: np.random.Generator
) -> None:
    wt._core.tuning_rules(
        budget=math.inf, seconds=dict.fromkeys(kernels, DEAR * 0.99) | {kernels[0]: DEAR}
    )
    own = fresh(device)
    product(own, *operands(rng))
    assert choice(own)["kernel"] == kernels[0]


def test_a_kernel_that_is_wrong_is_never_taken(
    device: wt.Device,
    kernels: list[str],
    rng: np.random.Generator,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for wrong in kernels[:2]:  # the estimate's choice, and another
        start_over(device)
        caplog.clear()
        times = dict.fromkeys(kernels, DEAR) | {wrong: DEAR / 1000}
        wt._core.tuning_rules(budget=math.inf, seconds=times, wrong={wrong})
        own = fresh(device)
        product(own, *operands(rng))
        wt._autotune.save()  # tells what the main thread has not told yet
        assert choice(own)["kernel"] != wrong
        assert wrong not in choice(own)["ms"]
        assert f"the kernel {wrong} gives other results than most" in caplog.text


@pytest.mark.parametrize(("step", "tried"), [(0.01, 20), (0.06, 3), (0.08, 2), (0.15, 1), (9.0, 1)])
def test_the_budget_is_held(
    step: float, tried: int, device: wt.Device, kernels: list[str], rng: np.random.Generator
) -> None:
    # 200 ms: another kernel is tried only where it fits if it takes what the dearest took.
    wt._core.tuning_rules(seconds=dict.fromkeys(kernels, DEAR), step=step)
    own = fresh(device)
    before = own.stats()["pipelines"]
    product(own, *operands(rng))
    assert own.stats()["pipelines"] - before == min(tried, len(kernels))
    made = choice(own)
    if tried < 2:
        assert (made["kernel"], made["origin"], made["ms"]) == (kernels[0], "estimate", {})
    else:
        assert list(made["ms"]) == kernels[:tried]
        assert tried * step <= 0.2


def test_what_takes_no_time_is_not_worth_any(
    device: wt.Device, kernels: list[str], rng: np.random.Generator
) -> None:
    times = dict.fromkeys(kernels, 1e-9) | {kernels[0]: 9e-6}
    wt._core.tuning_rules(seconds=times, step=1e-3)
    own = fresh(device)
    product(own, *operands(rng))
    assert (choice(own)["kernel"], choice(own)["origin"]) == (kernels[0], "estimate")


@pytest.mark.parametrize("axis", [0, 1])
def test_folds_are_tried_with_the_memory_that_each_takes(
    axis: int, tmp_path: Path, caplog: pytest.LogCaptureFixture, rng: np.random.Generator
) -> None:
    """Partial results of one shape may be many more than those of the shape tried before."""
    a = random_array(rng, (64, 40_000), "int32")
    for device in measuring(tmp_path, kernels="gpu"):
        total = wt.sum(wt.asarray(a, device=device), axis=axis)
        np.testing.assert_array_equal(total.numpy(), a.sum(axis=axis, dtype=np.int32))
        wt._autotune.save()
        assert len(next(iter(wt.autotune_info(device)["choices"].values()))["ms"]) > 1
    assert "is not used" not in caplog.text


def test_a_choice_lasts_as_long_as_the_process(
    device: wt.Device, kernels: list[str], rng: np.random.Generator
) -> None:
    first, second = kernels[:2]
    own = fresh(device)
    times = dict.fromkeys(kernels, DEAR)
    wt._core.tuning_rules(budget=math.inf, seconds=times | {second: DEAR / 2})
    product(own, *operands(rng))
    assert choice(own)["kernel"] == second
    before = wt.autotune_info(own)["hash"]
    wt._core.tuning_rules(budget=math.inf, seconds=times | {first: DEAR / 9})
    product(own, *operands(rng, m=44))  # the same class
    product(fresh(device), *operands(rng))
    assert choice(own)["kernel"] == second
    assert wt.autotune_info(own)["hash"] == before


def test_without_tuning_the_estimate_chooses(tmp_path: Path, rng: np.random.Generator) -> None:
    sources = []
    for mode in ("0", "stored"):
        with setting(autotune=mode, cache_folder=str(tmp_path), dump=str(tmp_path / mode)):
            own = wt.Device()
            for shape in ((40, 40, 40), (5, 300, 7), (130, 90, 70)):
                product(own, *operands(rng, *shape))
            info = wt.autotune_info(own)
        sources.append({path.name for path in (tmp_path / mode).iterdir()})
        assert (info["key"] is None) == (mode == "0")
        assert all(c["origin"] == "estimate" for c in info["choices"].values())
    assert sources[0] == sources[1]
    assert len(sources[0]) >= 2


@pytest.mark.parametrize(
    ("dtype", "shapes"),
    [
        ("int32", [(1, 64, 64), (33, 65, 17)]),
        ("float32", [(130, 70, 96)]),
        ("float16", [(36, 66, 20)]),
    ],
)
def test_results_with_tuning_on(
    dtype: str,
    shapes: list[tuple[int, int, int]],
    checked: wt.Device,
    rng: np.random.Generator,
) -> None:
    device = checked
    for m, k, n in shapes:
        a = rng.integers(0, 8, (m, k)).astype(dtype)
        b = rng.integers(0, 8, (k, n)).astype(dtype)
        x, y = wt.asarray(a, device=device), wt.asarray(b, device=device)
        expected = (a.astype("int64") @ b.astype("int64")).astype(dtype)
        turned = wt.asarray(np.ascontiguousarray(b.T), device=device).mT
        for result in (x @ y, x @ turned):
            np.testing.assert_array_equal(result.numpy(), expected)
    assert all(c["ms"] for c in wt.autotune_info(device)["choices"].values())


def test_epilogues_stacks_and_slices(checked: wt.Device, rng: np.random.Generator) -> None:
    device = checked
    a, b = random_array(rng, (3, 20, 30), "int32"), random_array(rng, (3, 30, 12), "int32")
    x, y = wt.asarray(a, device=device), wt.asarray(b, device=device)
    bias = wt.arange(12, device=device)
    long = wt.clip(((x @ y + bias) * 3 - 1) // 2 + bias, -500, 500) + 1
    want = np.clip(((a @ b + np.arange(12)) * 3 - 1) // 2 + np.arange(12), -500, 500) + 1
    np.testing.assert_array_equal(long.numpy(), want)
    part = x[:, 1:, 3:] @ y[:, 3:, 1:]
    np.testing.assert_array_equal(part.numpy(), a[:, 1:, 3:] @ b[:, 3:, 1:])


def test_operands_that_die_are_not_written_over(
    device: wt.Device, rng: np.random.Generator
) -> None:
    a, b = operands(rng)
    x, y = wt.asarray(a, device=device), wt.asarray(b, device=device)
    z = wt.asarray(a, device=device)
    z += x @ y  # takes over the memory of what was added to
    np.testing.assert_array_equal(z.numpy(), a + a @ b)
    np.testing.assert_array_equal(x.numpy(), a)
    np.testing.assert_array_equal(y.numpy(), b)


def test_under_jit(device: wt.Device, kernels: list[str], rng: np.random.Generator) -> None:
    wt._core.tuning_rules(
        budget=math.inf, seconds={name: DEAR / (i + 1) for i, name in enumerate(kernels)}
    )
    own = fresh(device)
    step = wt.jit(lambda x, y: x @ y + 1)
    for _ in range(3):
        a, b = operands(rng)
        x, y = wt.asarray(a, device=own), wt.asarray(b, device=own)
        np.testing.assert_array_equal(step(x, y).numpy(), a @ b + 1)
    assert choice(own)["kernel"] == kernels[-1]


def test_in_threads(device: wt.Device, rng: np.random.Generator) -> None:
    cases = [operands(rng, m, m, m) for m in (20, 40, 80)] * 2
    failures: list[str] = []

    def work(a: Array, b: Array) -> None:
        x, y = wt.asarray(a, device=device), wt.asarray(b, device=device)
        for _ in range(3):
            if not np.array_equal((x @ y).numpy(), a @ b):
                failures.append(f"{a.shape}")

    threads = [threading.Thread(target=work, args=case) for case in cases]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


def test_counters_show_the_users_work_alone(device: wt.Device, rng: np.random.Generator) -> None:
    a, b = operands(rng)
    x, y = (wt.asarray(v, device=device).eval() for v in (a, b))
    device.synchronize()
    before = device.stats()
    (x @ y).eval()
    after = device.stats()
    assert after["dispatches"] - before["dispatches"] == 1
    assert after["live_pipelines"] - before["live_pipelines"] == 1  # losers are let go
    assert after["bytes_read"] == before["bytes_read"]
    assert after["peak_bytes"] < before["peak_bytes"] + 64 * 1024


def test_a_memory_limit_is_kept(tmp_path: Path, rng: np.random.Generator) -> None:
    with setting(autotune="1", cache_folder=str(tmp_path), memory_limit_mb=1):
        own = wt.Device()
        start_over(own)
        a = np.ones((256, 256), "int32")
        x = wt.asarray(a, device=own)
        np.testing.assert_array_equal((x @ x).numpy(), a @ a)  # 512 KiB: measuring takes as much
        assert choice(own)["origin"] == "estimate"


def test_a_lost_device(device: wt.Device, rng: np.random.Generator) -> None:
    a, b = operands(rng)
    x, y = wt.asarray(a, device=device), wt.asarray(b, device=device)
    z = x @ y
    device.destroy()
    with pytest.raises(wt.DeviceLostError):
        z.numpy()
    device.recover()
    product(device, a, b)
    assert choice(device)["origin"] == "measured"


def test_explain_measures_nothing(device: wt.Device, rng: np.random.Generator) -> None:
    a, b = operands(rng)
    x, y = wt.asarray(a, device=device), wt.asarray(b, device=device)
    z = x @ y
    assert "matmul" in wt.explain(z)
    assert wt.autotune_info(device)["choices"] == {}
    z.eval()
    assert choice(device)["origin"] == "measured"


def rows(device: wt.Device, data: Array) -> dict[str, Array]:
    """What families of kernels other than products make of rows, by the name of their choice."""
    x = wt.asarray(data, device=device)
    return {
        "softmax": wt.softmax(x, axis=-1).numpy(),
        "normalize": wt.nn.functional.layer_norm(x, data.shape[-1:]).numpy(),
        "reduce sum": x.sum(axis=-1).numpy(),
        "reduce max": x.max().numpy(),
    }


@pytest.mark.parametrize("shape", [(3, 5000), (100, 70), (7, 33)])
def test_reductions_softmax_and_norms(
    shape: tuple[int, int], checked: wt.Device, rng: np.random.Generator
) -> None:
    data = random_array(rng, shape)
    wt._core.tuning_rules(budget=math.inf, seconds={"64 lanes": DEAR / 9, "usual": DEAR})
    exact = data.astype("float64")
    e = np.exp(exact - exact.max(-1, keepdims=True))
    mean = exact - exact.mean(-1, keepdims=True)
    want = {
        "softmax": e / e.sum(-1, keepdims=True),
        "normalize": mean / np.sqrt((mean**2).mean(-1, keepdims=True) + 1e-5),
        "reduce sum": exact.sum(-1),
        "reduce max": exact.max(),
    }
    for name, result in rows(checked, data).items():
        np.testing.assert_allclose(result, want[name], rtol=1e-5, atol=1e-4, err_msg=name)
    choices = wt.autotune_info(checked)["choices"]
    for name in want:
        assert any(key.startswith(name) and c["ms"] for key, c in choices.items()), name
