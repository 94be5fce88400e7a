"""Random programs: fused, not fused and NumPy agree, whatever is held, dropped or assigned."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import setting
from random_programs import Program, disagreement, generate, generate_with_reads, minimal, run
from random_rows import apply
from random_values import Unsuitable, Value
from references import ROWS

GRAPHS = 250
CHUNK = 10

#: how a program runs: checked, without fusion, and in forms between them
MODES: list[dict[str, Any]] = [
    {"debug": True},
    {"max_fusion": 1},
    {"max_fusion": 3, "flush_nodes": 2},
    {"flush_nodes": 5},
    {"max_plans": 1, "max_pipelines": 1, "submit_dispatches": 1},
    {"max_binding": 1024},
    {"kernels": "gpu"},
]


def modes_of(seed: int) -> list[dict[str, Any]]:
    return MODES[:2] + [MODES[2 + seed // 5 % (len(MODES) - 2)]] * (seed % 5 == 0)


def examine(
    seed: int, modes: list[dict[str, Any]] | None = None, length: int | None = None
) -> None:
    """AssertionError with a program as short as it can be made."""
    program, reads = generate_with_reads(seed, length)
    for mode in modes_of(seed) if modes is None else modes:
        with setting(**mode):
            trouble = disagreement(program, reads)
            if trouble:
                raise AssertionError(report(program, mode, trouble))


def report(program: Program, mode: dict[str, Any], trouble: str) -> str:
    short = minimal(program, disagreement)
    told = disagreement(short) or trouble
    return f"seed {program.seed}, {mode or 'default settings'}: {told}\n\n{short.text()}"


@pytest.mark.parametrize("first", range(0, GRAPHS, CHUNK))
def test_graphs(first: int) -> None:
    for seed in range(first, first + CHUNK):
        examine(seed)


def test_every_row_is_drawn() -> None:
    """A new row of the table takes part with no edit here."""
    drawn = {line.row for seed in range(2 * GRAPHS) for line in generate(seed).lines}
    assert drawn >= {row.name for row in ROWS}


def test_a_seed_gives_the_same_program() -> None:
    for seed in range(20):
        assert generate(seed).text() == generate(seed).text()


def alive() -> dict[str, int]:
    """What a device holds after its caches of memory are emptied."""
    gc.collect()
    wt.synchronize()
    wt.default_device().empty_cache()
    return {name: n for name, n in wt.stats().items() if name.startswith("live_")}


def unbounded(before: dict[str, int]) -> dict[str, int]:
    """What of alive() is more than it was, and more than its cache may keep."""
    caps = {"live_pipelines": wt.config.max_pipelines, "live_plans": wt.config.max_plans}
    return {k: n for k, n in alive().items() if n > max(before[k], caps.get(k, 0))}


def test_graphs_leave_nothing() -> None:
    """Buffers and bind groups die with tensors, plans and pipelines stay within their caps."""
    gc.collect()  # of what tests before held
    examine(4000)
    before = alive()
    with setting(max_pipelines=20, max_plans=20):
        for seed in range(4001, 4009):
            examine(seed)
        assert unbounded({k: min(n, 20) if "p" in k else n for k, n in before.items()}) == {}
    before = alive()
    kept = wt.ones((64, 64)) + 1
    kept.eval()
    assert "live_bytes" in unbounded(before)  # so that the test can fail


@pytest.mark.short
def test_a_few_graphs() -> None:
    for seed in range(1000, 1005):
        examine(seed)


def test_runs_agree_to_the_bit() -> None:
    for seed in range(2000, 2010):
        program = generate(seed)
        for first, second in zip(run(program), run(program), strict=True):
            assert np.array_equal(first, second, equal_nan=first.dtype.kind == "f"), seed


def test_threads() -> None:
    """Programs of several threads on one device."""
    troubles = []

    def work(first: int) -> None:
        for seed in range(first, first + 8):
            trouble = disagreement(generate(seed))
            if trouble:
                troubles.append((seed, trouble))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3000, 3400, 100)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not troubles


def test_threads_that_share_a_tensor() -> None:
    """Each step is whole: whatever the order, the sum is one that some order gives."""
    x = wt.zeros((16, 16))
    troubles = []

    def work(first: int) -> None:
        try:
            for i in range(first, first + 120):
                turn = i % 6
                if turn == 0:
                    x[i % 16] = 0.0
                elif turn == 1:
                    (x * 2 + x.T).sum().item()
                elif turn == 2:
                    x[3:9].eval()
                elif turn == 3:
                    (x @ x.T).eval()
                elif turn == 4:
                    x.reshape(-1)[5:9].tolist()
                else:
                    wt.add(x, 1, out=x)
        except Exception as error:
            troubles.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not troubles
    values = x.numpy()
    assert np.array_equal(values, np.rint(values))
    assert 0 <= values.min() <= values.max() <= 120


def test_failures_are_reported_short() -> None:
    """The shrinker finds the line that matters."""
    program = next(p for p in map(generate, range(100)) if "wt.tanh" in p.text())
    short = minimal(program, lambda p: "bad" if "wt.tanh" in p.text() else "")
    assert len(short.lines) <= 5
    assert "wt.tanh" in short.text()


def test_wrong_results_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tanh that is off in its sixth place fails, with a program that shows it."""
    right = wt.tanh
    monkeypatch.setattr(wt, "tanh", lambda x: right(x) * (1 + 1e-5))
    asked = [generate_with_reads(seed) for seed in range(100)]
    troubles = [
        report(program, {}, trouble)
        for program, reads in asked
        if "wt.tanh" in program.text() and (trouble := disagreement(program, reads))
    ]
    assert len(troubles) >= 5
    assert all("wt.tanh" in t for t in troubles)


def test_errors_of_operands_reach_the_result() -> None:
    """By the slope of the row, whatever the row; what they could turn over is refused."""
    x = Value(np.array([1.0, -2.0]), 1e-4)
    assert np.allclose(apply("exp", x).error, np.exp(x.data) * 1e-4, rtol=0.05)
    both = apply("multiply", x, Value(np.array([3.0, 4.0]), 1e-3))
    assert np.allclose(both.error, [1e-3 + 3e-4, 2e-3 + 4e-4], rtol=0.01)
    assert apply("maximum", x, x).error.tolist() == pytest.approx([1e-4, 1e-4])
    assert not apply("floor", Value(np.array([1.5, 2.0]))).error.any()
    for name, operands in [
        ("floor", [Value(np.array([2.0]), 1e-6)]),
        ("less", [x, x]),
        ("signbit", [Value(np.array([0.0]))]),
        ("remainder", [Value(np.array([1.0])), Value(np.array([3e-8]), 1e-13)]),
        ("sqrt", [Value(np.array([1e-5]), 1e-4)]),
        ("logical_not", [Value(np.array([0.0]), 1e-6)]),
    ]:
        with pytest.raises(Unsuitable):
            apply(name, *operands)
