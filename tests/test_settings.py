"""Settings: what each accepts, from the environment and from Python, and names that are none."""

from __future__ import annotations

from typing import Any

import pytest

import wgtensor as wt
from children import run_script
from helpers import setting

NUMBERS = [row[0] for row in wt._core.settings() if row[1] == "int"]


def test_every_number_has_bounds() -> None:
    for name, kind, _, _, values, _ in wt._core.settings():
        if kind == "int":
            assert values.startswith("a whole number: "), name


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_number_of_a_setting(name: str) -> None:
    before = getattr(wt.config, name)
    for wrong in (-1, 2**31, 1.5, "", " 1", "1 ", "0x10", "many"):
        with pytest.raises(ValueError, match=f"{name}='.*': expected a whole number: "):
            setattr(wt.config, name, wrong)
    assert getattr(wt.config, name) == before


@pytest.mark.parametrize(
    ("name", "lowest"),
    [
        ("max_binding", 1024),
        ("wait_limit", 1),
        ("flush_nodes", 1),
        ("max_fusion", 1),
        ("max_plans", 1),
        ("max_pipelines", 1),
        ("submit_dispatches", 1),
    ],
)
def test_lowest_values(name: str, lowest: int) -> None:
    with setting(**{name: lowest}):
        assert getattr(wt.config, name) == lowest
    with pytest.raises(ValueError, match=f"{lowest} to "):
        setattr(wt.config, name, lowest - 1)


def test_zero_that_stands_for_something_else() -> None:
    with setting(max_binding=0, dispatch_ms=0, memory_limit_mb=0, compile_threads=0):
        assert wt.config.max_binding == 0


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("limits", "none", "expected 'default' or nothing"),
        ("kernels", "cpu", "expected 'gpu', 'gpu:ballots', 'software', 'matmul:NAME', or nothing"),
        (
            "kernels",
            "matmul:",
            "'gpu:ballots', 'software', nothing, or 'matmul:' and one of ",
        ),
        ("log", "loud", "expected 'off', 'error', 'warning', 'info', 'debug', or 'trace'"),
        ("debug", "maybe", "expected 0 or 1"),
    ],
)
def test_words(name: str, value: Any, words: str) -> None:
    before = getattr(wt.config, name)
    with pytest.raises(ValueError, match=words):
        setattr(wt.config, name, value)
    assert getattr(wt.config, name) == before


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("WGTENSOR_MAX_BINDING", "1023", "a whole number: 0, or 1024 to 2147483647"),
        ("WGTENSOR_WAIT_LIMIT", "0", "a whole number: 1 to 2147483647"),
        ("WGTENSOR_MAX_FUSION", "257", "a whole number: 1 to 256"),
        ("WGTENSOR_KERNELS", "matmul:64", "'matmul:' and one of 128x128x16_8x16_b, "),
    ],
)
def test_environment_is_checked(variable: str, value: str, words: str) -> None:
    out = run_script(
        "import wgtensor as wt\ntry:\n    wt.ones(3).eval()\nexcept ValueError as e:\n    print(e)",
        env={variable: value},
    )
    assert f"{variable}='{value}': expected" in out
    assert words in out


def test_unknown_variables_give_a_warning() -> None:
    out = run_script(
        "import warnings, wgtensor as wt\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    wt.ones(3).eval(); wt.Device()\n"
        "print(*(w.message for w in seen), sep='\\n')",
        env={
            "WGTENSOR_MAX_BINDINGS": "4096",
            "WGTENSOR_COLOUR": "red",
            "WGTENSOR_BUILD_TESTS": "1",
        },
    )
    near = "; did you mean WGTENSOR_MAX_BINDING?"
    assert out.splitlines() == [
        f"the environment variable {name} is no setting of wgtensor and has no effect{hint}"
        for name, hint in (("WGTENSOR_COLOUR", ""), ("WGTENSOR_MAX_BINDINGS", near))
    ]
