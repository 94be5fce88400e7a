"""The benchmarks' own parts: their names, targets, and what is made of results."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).parents[1] / "benches"
sys.path.insert(0, str(BENCHES))

import compare  # noqa: E402
import host_cost  # noqa: E402
import plot  # noqa: E402
import results  # noqa: E402
import rows  # noqa: E402
import targets  # noqa: E402
import training  # noqa: E402

LIMITS = {"GB/s": 100.0, "GFLOP/s": 1000.0, "float16 GFLOP/s": 2000.0}


def row(name: str, library: str, seconds: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "library": library, "unit": "GB/s", "seconds": [seconds] * 4} | more


def names(software: bool) -> set[str]:
    def pick(full: Any, reduced: Any, smoke: Any) -> Any:
        return reduced if software else full

    found = {r.name for r in rows.all_rows(pick, software)}
    return (
        found
        | {*training.MLPS, "character GPT", *host_cost.ROWS}
        | {
            "import after it",
            "first result",
        }
    )


@pytest.mark.parametrize("software", [False, True])
def test_every_target_has_a_row(software: bool) -> None:
    known = names(software)
    for t in (*(targets.SOFTWARE if software else targets.HARDWARE), *targets.EVERYWHERE):
        for library, _, name in (t.row.partition(":"), t.other.partition(":")):
            assert not library or library == "core" or name in known, t


def test_verdicts() -> None:
    files = [
        {
            "ceilings": LIMITS,
            "rows": [
                row("tiny_tensor", "wgtensor", 2e-6),
                row("add_256M", "wgtensor", 0.02, bytes=1e9),
                row("add_256M", "torch", 0.01, bytes=1e9),
                row("matmul_4096", "wgtensor", 0.5, flops=1e11, value=200.0),
                row("matvec16_4096x4096", "wgtensor", 0.011, bytes=1e9),
                row("chain6_64M", "wgtensor", 1e-4, bytes=8e6),
                row("softmax_4096x4096", "wgtensor", 1.0, error="lost"),
            ],
        },
        {"rows": [row("tiny_raw", "core", 1.6e-6)]},
    ]
    found = {(v.target.row, v.target.how): v for v in targets.verdicts(files, software=False)}
    tiny = found["wgtensor:tiny_tensor", "slower"]
    assert (round(tiny.value, 3), tiny.met, tiny.bound) == (1.25, False, "at most 1.15")
    assert found["wgtensor:add_256M", "faster"].value == 0.5
    product = found["wgtensor:matmul_4096", "rate"]
    assert (product.value, product.share, product.met) == (200.0, 0.2, False)
    vector = found["wgtensor:matvec16_4096x4096", "limit"]
    assert vector.met
    assert vector.value == pytest.approx(10 / 11)
    chain = found["wgtensor:chain6_64M", "ms"]
    assert chain.met
    assert chain.share == pytest.approx(0.8)
    assert "wgtensor:softmax_4096x4096" not in {name for name, _ in found}


def test_halves_have_a_limit_of_their_own() -> None:
    product = row("matmul16_64", "wgtensor", 1.0, flops=1e12, dtype="float16")
    assert targets.share(product, LIMITS) == 0.5
    assert targets.share(row("upload_1MB", "wgtensor", 1.0, bytes=1e9), LIMITS) is None
    assert targets.share(product, {}) is None


def test_pages_are_made_of_results() -> None:
    paths = sorted((BENCHES / "results").glob("*.json"))
    assert paths
    page = results.render([(p, json.loads(p.read_text())) for p in paths])
    assert (BENCHES / "RESULTS.md").read_text() == page
    for path in paths:
        assert f"(results/{path.name})" in page


def test_plot_shows_what_both_have() -> None:
    data = {
        "adapter": {"name": "card <1>"},
        "versions": {"wgtensor": "1", "torch": "2"},
        "rows": [
            row("add", "wgtensor", 0.5),
            row("add", "torch", 1.0),
            row("sum", "torch", 1.0),
            row("item", "wgtensor", 1.0),
            row("item", "torch", 1.0, error="none"),
        ],
    }
    assert plot.ratios(data, "torch") == [("add", 2.0)]
    picture = plot.svg(data, "torch")
    assert picture.count("<rect") == 1
    assert "card &lt;1&gt;" in picture
    assert plot.place(1000) == plot.place(plot.MOST) > plot.place(1) > plot.place(0)


def test_compare_puts_files_beside_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("a", 2.0), ("b", 1.0)):
        data = {
            "adapter": {"name": "card", "backend": "vulkan", "driver": "1"},
            "versions": {"wgtensor": "1"},
            "command": "x",
            "rows": [row("add", "wgtensor", seconds, value=1 / seconds)],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    words = ["compare.py", str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    monkeypatch.setattr(sys, "argv", words)
    assert compare.main() == 0
    assert "2.00x" in capsys.readouterr().out
