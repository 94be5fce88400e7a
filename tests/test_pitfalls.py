"""The page of faults that are kept out: its tests are there; and those that had none."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np

import wgtensor as wt

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parent / "docs" / "pitfalls.md"
KINDS = 20


def rows() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [line.strip("|").split("|") for line in lines if line.startswith("|")]
    return [[c.strip() for c in row] for row in cells[2:]]


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_kind_has_tests_that_exist() -> None:
    table = rows()
    assert len(table) == KINDS
    for fault, guard, tests in table:
        assert fault
        assert guard
        named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", tests)
        assert named, fault
        assert tests.count("::") == len(named)
        for file, name in named:
            assert (TESTS / file).exists(), f"{file}, for {fault}"
            assert name in functions(TESTS / file), f"{file}::{name}, for {fault}"


def test_many_uploads_before_a_submission() -> None:
    """Each keeps its bytes, also where they are no multiple of 4."""
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 256, 1 + 7 * i % 900, dtype=np.uint8) for i in range(400)]
    tensors = [wt.asarray(a) for a in arrays]
    doubled = [t * 2 for t in tensors[::3]]
    for a, t in zip(arrays, tensors, strict=True):
        np.testing.assert_array_equal(t.numpy(), a)
    for a, t in zip(arrays[::3], doubled, strict=True):
        np.testing.assert_array_equal(t.numpy(), a * np.uint8(2))


def test_memory_serves_again_in_order() -> None:
    """A buffer that Python lets go serves the next tensor at once, though its work still waits."""
    rng = np.random.default_rng(1)
    a = rng.random((200, 200), dtype=np.float32)
    sums, expected = [], []
    for i in range(60):
        t = wt.asarray(a + np.float32(i))
        u = (t @ t).eval()
        sums.append(u.sum())
        expected.append(((a + np.float32(i)).astype(np.float64) @ (a + np.float32(i))).sum())
        del t, u  # their memory is the next turn's
    np.testing.assert_allclose([s.item() for s in sums], expected, rtol=1e-5)
    assert wt.stats()["buffer_hits"] > 60
