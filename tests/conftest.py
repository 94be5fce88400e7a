"""Fixtures of all tests. Nothing here imports wgtensor before a test that needs it does."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# What an earlier run measured must not choose the kernels of this one: tests of that ask for it.
os.environ.setdefault("WGTENSOR_AUTOTUNE", "0")

settings.register_profile(
    "repeatable",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("repeatable")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu"):
        import wgtensor as wt

        if wt.default_device().type == "cpu":
            pytest.skip("needs a hardware adapter")


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the test's name alone."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture
def a() -> np.ndarray[Any, Any]:
    """A small matrix; `t` is a tensor of it."""
    return np.arange(1, 7, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def t(a: np.ndarray[Any, Any]) -> Any:
    import wgtensor as wt

    return wt.asarray(a)


@pytest.fixture(autouse=True)
def _quiet_references() -> Iterator[None]:
    """NumPy's references may overflow and divide by zero: that is what they are asked about."""
    with np.errstate(all="ignore"):
        yield
