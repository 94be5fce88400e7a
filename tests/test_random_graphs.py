"""Random programs: fused, not fused and NumPy agree, whatever is held, dropped or assigned."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import wgtensor as wt
from helpers import setting
from random_programs import Program, disagreement, expected_reads, generate, minimal, run

GRAPHS = 300
CHUNK = 10

#: how a program runs: as usual, without fusion, and in forms between them
MODES: list[dict[str, Any]] = [
    {"debug": True},
    {"max_fusion": 1},
    {"max_fusion": 3, "flush_nodes": 2},
    {"flush_nodes": 5},
    {"max_plans": 1, "max_pipelines": 1, "submit_dispatches": 1},
]


def modes_of(seed: int) -> list[dict[str, Any]]:
    return MODES[:2] + [MODES[2 + seed % 3]] * (seed % 5 == 0)


def examine(seed: int) -> None:
    """AssertionError with a program as short as it can be made."""
    program = generate(seed)
    reads = expected_reads(program)
    for mode in modes_of(seed):
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
